"""One entry through all rules: what is taken from where, and what is told about it.

A whole document made clean, from whatever a publisher wrote.
"""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import html5lib
import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.config import NormaliseConfig
from feedmill.model.entry import Author, Entry
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
    Slice,
    Text,
)
from feedmill.normalise.entry import FeedContext, normalise, normalise_entry

SEEN = datetime(2025, 10, 14, 9, 30, 5, tzinfo=UTC)
FEED = FeedContext(base="https://example.com/feed.xml", language="de")
DEFAULTS = NormaliseConfig()

VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "xss.json").read_text("utf-8"))
TEXT_CASES = [case for case in VECTORS["cases"] if case["context"] == "plain_text"]


def entry_of(parsed: ParsedEntry, config: NormaliseConfig = DEFAULTS) -> Entry:
    return normalise_entry(parsed, FEED, config, SEEN)


def findings_of(entry: Entry) -> list[tuple[str, str]]:
    return [(finding.code, finding.field) for finding in entry.findings]


def test_a_whole_entry_comes_out_clean() -> None:
    parsed = ParsedEntry(
        id=" post-1 ",
        link="/post/1?utm_source=rss",
        title=Text(value="<b>Hello</b> &amp; welcome", kind="html"),
        summary=Text(value="<p>Short</p>", kind="html"),
        contents=(Content(value='<p onclick="x">Long <a href="more">text</a></p>'),),
        authors=(Person(name="Jane Doe"),),
        categories=(Category(term="b"), Category(term="A"), Category(term="B")),
        published="Tue, 14 Oct 2025 09:00:00 +0000",
        updated="2025-10-14T09:10:00Z",
        enclosures=(Enclosure(url="/a.mp3", type="audio/mpeg"),),
        image="/i.png",
        comments="/post/1#comments",
        lang="en_US",
        slice=Slice(offset=1, length=2, digest="x"),
    )

    entry = entry_of(parsed)

    assert entry.guid == "post-1"
    assert entry.link == "https://example.com/post/1?utm_source=rss"
    assert entry.canonical_link == "https://example.com/post/1"
    assert entry.article_link == "https://example.com/post/1"
    assert entry.title == "Hello & welcome"
    assert entry.summary == "Short"
    assert entry.content == (
        '<p>Long <a href="https://example.com/post/more" rel="noopener noreferrer nofollow">text'
        "</a></p>"
    )
    assert entry.content_from == "content"
    assert entry.authors == (Author(name="Jane Doe"),)
    assert entry.categories == ("A", "b")
    assert [file.url for file in entry.enclosures] == ["https://example.com/a.mp3"]
    assert entry.published == datetime(2025, 10, 14, 9, 0, tzinfo=UTC)
    assert entry.updated == datetime(2025, 10, 14, 9, 10, tzinfo=UTC)
    assert entry.published_effective == entry.published
    assert entry.published_source == "published"
    assert entry.image == "https://example.com/i.png"
    assert entry.comments_url == "https://example.com/post/1#comments"
    assert entry.language == "en-US"
    assert entry.slice == parsed.slice
    assert findings_of(entry) == [("event-handler", "content")]
    assert entry.modified == ("title", "summary", "content", "link", "categories")


def test_nothing_is_invented_for_an_empty_entry() -> None:
    entry = entry_of(ParsedEntry())

    assert entry == Entry(language="de", published_effective=SEEN, published_source="first_seen")


def test_a_clean_entry_is_not_modified() -> None:
    parsed = ParsedEntry(
        link="https://e.com/",
        title=Text(value="Title"),
        summary=Text(value="Summary"),
        contents=(Content(value="<p>Text</p>"),),
        authors=(Person(name="Jane"),),
        categories=(Category(term="a"),),
    )

    assert entry_of(parsed).modified == ()


@pytest.mark.parametrize(
    ("contents", "content"),
    [
        pytest.param(
            (Content(value="<i>short</i>"), Content(value="<p>much longer</p>")),
            "<p>much longer</p>",
            id="the longest",
        ),
        pytest.param(
            (
                Content(value="plain text that is long", type="text/plain"),
                Content(value="<b>x</b>"),
            ),
            "<b>x</b>",
            id="HTML before text",
        ),
        pytest.param(
            (Content(value="a < b\n\nc", type="text"),),
            "<p>a &lt; b</p><p>c</p>",
            id="text as HTML",
        ),
        pytest.param(
            (Content(value="<p>a<a/>b</p>", type="application/xhtml+xml; x=y"),),
            '<p>a<a rel="noopener noreferrer nofollow"></a>b</p>',
            id="XHTML as it was meant",
        ),
        pytest.param(
            (Content(value="<p>a</p>", type="HTML"),), "<p>a</p>", id="a type in capitals"
        ),
        pytest.param((Content(value="R0lG", type="image/gif"),), None, id="pictures are no text"),
        pytest.param((Content(value=" ", src="https://e.com/x"),), None, id="what is elsewhere"),
        pytest.param((Content(value="<script>x</script>"),), None, id="nothing that may be shown"),
        pytest.param((), None, id="none"),
    ],
)
def test_the_best_content_is_chosen(contents: tuple[Content, ...], content: str | None) -> None:
    entry = entry_of(ParsedEntry(contents=contents))

    assert entry.content == content
    assert entry.content_from == (None if content is None else "content")


@pytest.mark.parametrize(
    ("summary", "content"),
    [
        pytest.param(Text(value="<p>a</p>", kind="html"), "<p>a</p>", id="markup"),
        pytest.param(Text(value="<p>a<i/>b</p>", kind="xhtml"), "<p>a<i></i>b</p>", id="XHTML"),
        pytest.param(Text(value="a &amp; b", kind="html"), None, id="HTML that is only text"),
        pytest.param(Text(value="a <b> c", kind="text"), None, id="text is text"),
        pytest.param(Text(value="<script>a</script>", kind="html"), None, id="nothing to show"),
        pytest.param(None, None, id="none"),
    ],
)
def test_a_summary_in_markup_stands_in_for_the_content(
    summary: Text | None, content: str | None
) -> None:
    entry = entry_of(ParsedEntry(summary=summary))

    assert entry.content == content
    assert entry.content_from == (None if content is None else "summary")


def test_the_summary_stands_in_when_nothing_of_the_content_may_be_shown() -> None:
    parsed = ParsedEntry(
        contents=(Content(value="<script>x</script>"),),
        summary=Text(value="<p>a</p>", kind="html"),
    )

    entry = entry_of(parsed)

    assert entry.content == "<p>a</p>"
    assert entry.content_from == "summary"
    assert findings_of(entry) == [("script", "content")]


def test_without_a_summary_the_content_is_summarised_by_its_beginning() -> None:
    parsed = ParsedEntry(contents=(Content(value="<p>one</p><script>x</script><p>two three</p>"),))

    entry = entry_of(parsed, NormaliseConfig(summary_max_chars=8))

    assert entry.summary == "one two"
    assert "summary" not in entry.modified


def test_relative_addresses_are_resolved_against_the_nearest_base() -> None:
    content = Content(value='<img src="a.png">', base="https://e.com/content/")
    parsed = ParsedEntry(link="b", base="https://e.com/entry/", contents=(content,))

    entry = entry_of(parsed)

    assert entry.link == "https://e.com/entry/b"
    assert entry.content == '<img src="https://e.com/content/a.png">'


def test_oversized_and_deep_fields_are_cut_and_reported() -> None:
    parsed = ParsedEntry(
        title=Text(value="x" * 200),
        summary=Text(value="<p>y</p>" * 50, kind="html"),
        contents=(Content(value="<div>" * 1_001 + "z" * 3000),),
    )

    entry = entry_of(
        parsed,
        NormaliseConfig(
            title_max_chars=10, summary_max_chars=10, content_max_chars=6_000, html_max_depth=3
        ),
    )

    assert entry.title == "x" * 10
    assert entry.summary == "y y y y y"
    assert entry.content is not None
    assert entry.content.count("<div>") == 3
    assert findings_of(entry) == [
        ("oversized", "title"),
        ("oversized", "summary"),
        ("oversized", "content"),
        ("too-deep", "content"),
    ]


def test_a_deep_summary_in_place_of_the_content_is_reported() -> None:
    parsed = ParsedEntry(summary=Text(value="<div>" * 1_001 + "x", kind="html"))

    assert ("too-deep", "content") in findings_of(
        entry_of(parsed, NormaliseConfig(html_max_depth=3))
    )


def test_what_cannot_be_used_is_reported() -> None:
    parsed = ParsedEntry(
        link="javascript:x",
        title=Text(value="<script>x</script>"),
        comments="data:x",
        published="some day",
        enclosures=(Enclosure(url="ftp://e.com/x"),),
    )

    entry = entry_of(parsed)

    assert findings_of(entry) == [
        ("script", "title"),
        ("bad-link", "link"),
        ("bad-link", "enclosures"),
        ("bad-date", "published"),
        ("bad-link", "comments_url"),
    ]
    assert entry.modified == ("title", "link")


def test_the_date_of_creation_stands_in_for_that_of_publication() -> None:
    entry = entry_of(ParsedEntry(created="2003-12-13T08:29:29-04:00"))

    assert entry.published == datetime(2003, 12, 13, 12, 29, 29, tzinfo=UTC)


@pytest.mark.parametrize(
    ("persons", "authors"),
    [
        pytest.param((Person(name=" Jane "),), (Author(name="Jane"),), id="one"),
        pytest.param(
            (Person(name="Jane"), Person(name="John")),
            (Author(name="Jane"), Author(name="John")),
            id="several",
        ),
        pytest.param(
            (Person(name="Jane", uri="x" * 300),), (Author(name="Jane"),), id="one with too much"
        ),
    ],
)
def test_authors_are_clean(persons: tuple[Person, ...], authors: tuple[Author, ...]) -> None:
    assert entry_of(ParsedEntry(authors=persons)).authors == authors


@pytest.mark.parametrize(
    ("lang", "language"),
    [
        pytest.param("pt-BR", "pt-BR", id="a tag"),
        pytest.param(" en_us ", "en-us", id="a locale"),
        pytest.param("English (US)", "de", id="words are no tag: the feed's"),
        pytest.param(None, "de", id="none: the feed's"),
    ],
)
def test_the_language_is_a_tag_or_that_of_the_feed(lang: str | None, language: str) -> None:
    assert entry_of(ParsedEntry(lang=lang)).language == language


def test_an_entry_that_is_only_an_embed_keeps_a_link_to_it_and_a_file() -> None:
    parsed = ParsedEntry(
        id="1",
        link="https://example.com/1",
        contents=(Content(value='<iframe src="//v.example/1" title="A talk"></iframe>'),),
        enclosures=(Enclosure(url="https://example.com/a.mp3"),),
    )

    entry = normalise_entry(parsed, FeedContext(), NormaliseConfig())

    assert entry.content is not None
    assert '<a href="https://v.example/1"' in entry.content
    assert [(file.url, file.type) for file in entry.enclosures] == [
        ("https://example.com/a.mp3", None),
        ("https://v.example/1", "text/html"),
    ]


def test_link_and_file_of_an_embed_have_the_same_address() -> None:
    content = Content(value="<iframe src='/7'></iframe>", base="https://feeds.example/rss")
    parsed = ParsedEntry(link="https://site.example/post", contents=(content,))

    entry = normalise_entry(parsed, FeedContext(), NormaliseConfig())

    assert [file.url for file in entry.enclosures] == ["https://feeds.example/7"]
    assert 'href="https://feeds.example/7"' in (entry.content or "")


def test_an_embed_beside_text_is_no_file_of_the_entry() -> None:
    parsed = ParsedEntry(contents=(Content(value="words <embed src='https://v.example/1'>"),))

    assert normalise_entry(parsed, FeedContext(), NormaliseConfig()).enclosures == ()


def test_an_embed_that_is_a_file_already_or_has_no_usable_address_is_not_added() -> None:
    parsed = ParsedEntry(
        contents=(Content(value="<embed src='https://v.example/1'><embed src='http://[::'>"),),
        enclosures=(Enclosure(url="https://v.example/1"),),
    )

    entry = normalise_entry(parsed, FeedContext(), NormaliseConfig())

    assert [file.url for file in entry.enclosures] == ["https://v.example/1"]


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
