"""When an extracted text is better than the feed's own content."""

import pytest

from feedmill.config import FullTextConfig
from feedmill.engine.documents.fetched import judge_text
from feedmill.model.derived.fetched import ExtractedText, NoFullText


def found(words: int, *, paywalled: bool = False) -> ExtractedText:
    return ExtractedText(html="x", words=words, extractor="e", version="1", paywalled=paywalled)


@pytest.mark.parametrize(
    ("text", "feed_words", "reason"),
    [
        pytest.param(found(300), 40, None, id="longer than the feed"),
        pytest.param(found(30), 0, "too-short", id="a cookie notice"),
        pytest.param(found(100), 200, "shorter-than-feed", id="the feed has all of it"),
        pytest.param(found(100, paywalled=True), 0, "paywall", id="a teaser"),
        pytest.param(found(600, paywalled=True), 0, None, id="paywalled and whole all the same"),
        pytest.param(NoFullText(reason="no-text"), 0, "no-text", id="nothing to judge"),
    ],
)
def test_text_is_kept_when_it_is_better(
    text: ExtractedText | NoFullText, feed_words: int, reason: str | None
) -> None:
    judged = judge_text(text, feed_words=feed_words, config=FullTextConfig())

    assert (judged.reason if isinstance(judged, NoFullText) else None) == reason
