"""Decides whether an extracted text is the full text of an entry, or the feed's own content is better."""

from typing import Final

from feedmill.config import FullTextConfig
from feedmill.model.derived.full_text import ExtractedText, NoFullText

_TEASER_WORDS: Final = 250  # behind a paywall, a text up to here is its beginning
_SHARE_OF_FEED: Final = 0.8  # a text below this share of the feed's own has lost something


def judge_text(
    found: ExtractedText | NoFullText, *, feed_words: int, config: FullTextConfig
) -> ExtractedText | NoFullText:
    """The text, or the reason to keep what the feed has."""
    if isinstance(found, NoFullText):
        return found
    words = f"{found.words} words"
    if found.paywalled and found.words < _TEASER_WORDS:
        return NoFullText(reason="paywall", detail=words)
    if found.words < config.min_words:
        return NoFullText(reason="too-short", detail=words)
    if found.words < _SHARE_OF_FEED * feed_words:
        return NoFullText(reason="shorter-than-feed", detail=f"{words}, the feed has {feed_words}")
    return found
