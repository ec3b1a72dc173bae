"""A whole document made clean, from whatever a publisher wrote."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import html5lib
import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.model.entry import Author
from feedmill.model.parsed import (
    Category,
    Content,
    Enclosure,
    Image,
    Itunes,
    Link,
    ParsedEntry,
    ParsedFeed,
    Person,
    Text,
)
from feedmill.normalise.feed import normalise

SEEN = datetime(2025, 10, 14, 9, 30, 5, tzinfo=UTC)
VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "xss.json").read_text("utf-8"))
TEXT_CASES = [case for case in VECTORS["cases"] if case["context"] == "plain_text"]


def feed_of(**fields: Any) -> ParsedFeed:
    return ParsedFeed(format="rss20", encoding="utf-8", encoding_source="utf-8", **fields)


def test_a_whole_feed_comes_out_clean() -> None:
    parsed = feed_of(
        title=Text(value="<b>My</b> feed", kind="html"),
        subtitle=Text(value=" about\nthings "),
        link="/",
        self_url="/feed.xml",
        authors=(Person(name="Jane Doe"),),
        categories=(Category(term="b"), Category(term="a")),
        language="en_GB",
        image=Image(url="/logo.png"),
        updated="Mon, 13 Oct 2025 00:00:00 GMT",
        entries=(ParsedEntry(id="1"), ParsedEntry(id="2")),
    )

    feed = normalise(parsed, url="https://example.com/feed.xml", seen_at=SEEN)

    assert feed.title == "My feed"
    assert feed.subtitle == "about things"
    assert feed.link == "https://example.com/"
    assert feed.self_url == "https://example.com/feed.xml"
    assert feed.authors == (Author(name="Jane Doe"),)
    assert feed.categories == ("a", "b")
    assert feed.language == "en-GB"
    assert feed.image == "https://example.com/logo.png"
    assert feed.updated == datetime(2025, 10, 13, tzinfo=UTC)
    assert [entry.guid for entry in feed.entries] == ["1", "2"]
    assert [entry.language for entry in feed.entries] == ["en-GB", "en-GB"]
    assert [entry.published_source for entry in feed.entries] == ["feed", "feed"]
    assert feed.findings == ()


def test_the_document_s_own_base_comes_before_its_address() -> None:
    parsed = feed_of(base="https://e.com/base/", entries=(ParsedEntry(link="a"),))

    feed = normalise(parsed, url="https://example.com/feed.xml")

    assert feed.entries[0].link == "https://e.com/base/a"


def test_the_link_of_the_feed_is_the_base_when_nothing_else_is_known() -> None:
    parsed = feed_of(link="https://e.com/", entries=(ParsedEntry(link="a"),))

    assert normalise(parsed).entries[0].link == "https://e.com/a"


@pytest.mark.parametrize(
    ("fields", "image"),
    [
        pytest.param({"image": Image(url="data:x"), "icon": "https://e.com/i"}, "https://e.com/i", id="icon"),
        pytest.param({"itunes": Itunes(image="https://e.com/p")}, "https://e.com/p", id="podcast"),
        pytest.param({}, None, id="none"),
    ],
)  # fmt: skip
def test_the_first_usable_picture_stands_for_the_feed(
    fields: dict[str, Any], image: str | None
) -> None:
    assert normalise(feed_of(**fields)).image == image


def test_suspicious_facts_of_the_feed_are_reported() -> None:
    parsed = feed_of(
        title=Text(value="<script>x</script>T"),
        subtitle=Text(value="<iframe>", kind="html"),
        link="javascript:x",
        published="2025-10-01T00:00:00Z",
    )

    feed = normalise(parsed)

    assert feed.title == "T"
    assert feed.subtitle is None
    assert feed.updated == datetime(2025, 10, 1, tzinfo=UTC)
    assert [(f.code, f.field) for f in feed.findings] == [
        ("script", "title"),
        ("embedded-frame", "subtitle"),
        ("bad-link", "link"),
    ]


@pytest.mark.parametrize("case", TEXT_CASES, ids=lambda case: f"{case['id']} {case['why']}")
def test_a_title_shown_as_it_is_makes_no_element(case: dict[str, str]) -> None:
    parsed = feed_of(entries=(ParsedEntry(title=Text(value=case["payload"])),))

    title = normalise(parsed).entries[0].title or ""

    assert len(html5lib.parseFragment(title)) == 0


STRANGE = st.text(alphabet="<>&;#=\"'/ abjs:\x00\ud800\u200b\n0123456789", max_size=30)
TEXTS = st.builds(
    Text, value=STRANGE, kind=st.sampled_from(["text", "html", "xhtml"]), base=STRANGE
)
ENTRIES = st.builds(
    ParsedEntry,
    id=STRANGE,
    link=STRANGE,
    links=st.tuples(st.builds(Link, href=STRANGE)),
    title=TEXTS,
    summary=TEXTS,
    contents=st.tuples(st.builds(Content, value=STRANGE, type=STRANGE | st.just("xhtml"))),
    authors=st.tuples(st.builds(Person, name=STRANGE, email=STRANGE, uri=STRANGE)),
    categories=st.tuples(st.builds(Category, term=STRANGE, label=STRANGE)),
    published=STRANGE,
    updated=STRANGE,
    enclosures=st.tuples(st.builds(Enclosure, url=STRANGE, type=STRANGE, title=STRANGE)),
    image=STRANGE,
    comments=STRANGE,
    external_url=STRANGE,
    base=STRANGE,
    lang=STRANGE,
)


@given(ENTRIES, STRANGE)
def test_no_document_makes_normalising_fail(entry: ParsedEntry, url: str) -> None:
    feed = normalise(feed_of(entries=(entry,), link=url, base=url), url=url, seen_at=SEEN)

    (clean,) = feed.entries
    assert all(len(finding.detail) <= 200 for finding in clean.findings)
    for text in (clean.guid, clean.link, clean.title, clean.summary, clean.content):
        assert text is None or text.encode().decode() == text
