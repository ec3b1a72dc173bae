"""Meta-feeds: valid in three formats, read back equal by strangers, unbroken by hostile entries."""

import json
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import feedparser
import html5lib
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.support.feed_validation import complaints, strict_tree

import feedmill
from feedmill.model.entry import Author, EntryEnclosure, NormalisedFeed
from feedmill.model.event import StoredEntry
from feedmill.model.parsed import ParsedFeed
from feedmill.publish.metafeeds import FORMATS, EntrySource, MetaFeed, MetaFeedFormat

VECTORS = json.loads((Path(__file__).parents[3] / "vectors" / "xss.json").read_text("utf-8"))
KINDS: tuple[MetaFeedFormat, ...] = ("atom", "rss", "json")
in_every_format = pytest.mark.parametrize("kind", KINDS)
NOON = datetime(2025, 10, 14, 12, 0, tzinfo=UTC)
A = "{http://www.w3.org/2005/Atom}"

FEED = MetaFeed(
    key="tag:news",
    title="News & views",
    description="Everything tagged news",
    updated=NOON,
    self_url="https://mill.example/tags/news/feed.atom?cursor=1.2.3",
    home_url="https://mill.example/",
    first_url="https://mill.example/tags/news/feed.atom",
    next_url="https://mill.example/tags/news/feed.atom?cursor=0.2.3",
    previous_url="https://mill.example/tags/news/feed.atom?cursor=-2.2.3",
    hub_url="https://hub.example/",
    language="en-GB",
)
SOURCES = {
    "f1": EntrySource(
        feed_id="f1",
        url="https://user:secret@paper.example/feed",
        title="The Paper",
        site_url="https://paper.example/",
    ),
    "f2": EntrySource(feed_id="f2", url="https://quiet.example/rss"),
    "f3": EntrySource(feed_id="f3", url="about:blank", title="Nowhere"),
}


def stored(number: int, **fields: Any) -> StoredEntry:
    plain: dict[str, Any] = {
        "entry_uid": f"guid:{number:032x}",
        "feed_id": "f1",
        "first_seen": NOON + timedelta(minutes=number),
        "last_seen": NOON + timedelta(hours=9),
        "seen_count": 3,
        "content_hash": "c",
        "dedupe_key": "d",
        "match_confidence": "high",
        "title": f"Title {number}",
        "link": f"https://paper.example/{number}",
        "summary": f"Summary of {number}.",
        "content": f"<p>Text of <b>{number}</b> &amp; more.</p>",
        "published": NOON,
        "published_effective": NOON,
        "published_source": "published",
    }
    return StoredEntry(**(plain | fields))


FULL = stored(
    1,
    title="Fish & chips: 5 < 6",
    authors=(
        Author(name="Ada", email="ada@paper.example", uri="https://ada.example/"),
        Author(name="Bob"),
    ),
    categories=("news", "Science & art"),
    enclosures=(
        EntryEnclosure(
            url="https://cdn.example/1.mp3",
            type="audio/mpeg",
            length=123,
            title="Hear",
            duration=60,
        ),
        EntryEnclosure(url="https://cdn.example/1.ogg", type="audio/ogg", length=99),
        EntryEnclosure(url="https://cdn.example/1.bin"),
    ),
    updated=NOON + timedelta(hours=1),
    language="de",
    image="https://cdn.example/1.jpg",
    comments_url="https://paper.example/1#comments",
)
BARE = stored(
    2,
    feed_id="unknown",
    title=None,
    link=None,
    summary=None,
    content=None,
    published=None,
    published_effective=None,
)
ENTRIES = (
    FULL,
    BARE,
    stored(3, feed_id="f2", content=None),
    stored(4, feed_id="f3", summary=None, title=None),
    stored(5, link=None, content=None, summary=None),
    stored(6, summary=None, content=None, title=None),
)


def written(kind: MetaFeedFormat, *entries: StoredEntry, feed: MetaFeed = FEED) -> bytes:
    return FORMATS[kind].write(feed, entries, SOURCES)


def read_back(document: bytes) -> NormalisedFeed:
    feed = feedmill.parse(document, url="https://mill.example/")
    assert isinstance(feed, ParsedFeed)
    # A control character that an entry holds itself is a letter to who reads it.
    assert {repair.code for repair in feed.repairs} <= {"characters-restored"}
    return feedmill.normalise(feed)


@in_every_format
def test_a_validator_has_no_complaint(kind: MetaFeedFormat) -> None:
    assert complaints(written(kind, *ENTRIES), kind) == []


@in_every_format
def test_a_feed_of_nothing_is_valid_too(kind: MetaFeedFormat) -> None:
    empty = MetaFeed(
        key="k",
        title="T",
        updated=NOON,
        self_url="https://a.example/f",
        home_url="https://a.example/",
    )

    assert complaints(written(kind, feed=empty), kind) == []
    assert complaints(FORMATS[kind].write(empty, (BARE,), None), kind) == []


@in_every_format
def test_a_collection_whose_name_cannot_be_written_has_another(kind: MetaFeedFormat) -> None:
    nameless = replace(FEED, title="\x00 \ud800", description="")

    assert complaints(written(kind, feed=nameless), kind) == []
    assert read_back(written(kind, feed=nameless)).title == "feedmill"


@in_every_format
def test_the_same_entries_give_the_same_bytes(kind: MetaFeedFormat) -> None:
    again = replace(FULL, last_seen=NOON + timedelta(days=9), seen_count=99)

    assert written(kind, FULL) == written(kind, again)


@pytest.mark.parametrize("kind", ["atom", "rss"])  # feedparser 6 reads no JSON Feed
def test_feedparser_reads_what_was_written(kind: MetaFeedFormat) -> None:
    feed = feedparser.parse(written(kind, *ENTRIES))

    assert not feed.bozo
    assert feed.feed.title == FEED.title
    entry = feed.entries[0]
    assert len(feed.entries) == len(ENTRIES)
    assert entry.id == f"urn:feedmill:entry:{FULL.entry_uid}"
    assert (entry.title, entry.link) == (FULL.title, FULL.link)
    assert entry.content[0].value == FULL.content
    assert [one["name"] for one in entry.authors] == ["Ada", "Bob"]
    assert entry.published_parsed[:6] == (2025, 10, 14, 12, 0, 0)
    files = [(one["href"], one["type"]) for one in entry.enclosures]
    assert files[0] == ("https://cdn.example/1.mp3", "audio/mpeg")
    assert [one.term for one in entry.tags] == list(FULL.categories)
    assert entry.summary == FULL.summary


@in_every_format
def test_our_own_parser_reads_the_same_entries_back(kind: MetaFeedFormat) -> None:
    back = read_back(written(kind, *ENTRIES))

    assert len(back.entries) == len(ENTRIES)
    assert back.title == FEED.title
    first = back.entries[0]
    assert first.guid == f"urn:feedmill:entry:{FULL.entry_uid}"
    for name in ("title", "link", "summary", "content", "categories", "image", "language"):
        assert getattr(first, name) == getattr(FULL, name), name
    assert (first.published, first.updated) == (FULL.published, FULL.updated)
    assert [one.name for one in first.authors] == ["Ada", "Bob"]
    assert {one.url for one in first.enclosures} == {one.url for one in FULL.enclosures}
    assert [entry.title for entry in back.entries[2:5]] == ["Title 3", None, "Title 5"]
    assert all(entry.published is not None for entry in back.entries)


@pytest.mark.parametrize("kind", ["atom", "rss"])
def test_pages_lead_to_their_neighbours_and_to_the_hub(kind: MetaFeedFormat) -> None:
    root = strict_tree(written(kind))

    place = root if kind == "atom" else root[0]
    links = {link.get("rel"): link.get("href") for link in place.findall(f"{A}link")}
    assert links == {
        **({"alternate": FEED.home_url} if kind == "atom" else {}),
        "self": FEED.self_url,
        "first": FEED.first_url,
        "next": FEED.next_url,
        "previous": FEED.previous_url,
        "hub": FEED.hub_url,
    }


@pytest.mark.parametrize("kind", ["atom", "rss"])
def test_an_archive_document_says_so_and_leads_to_the_others(kind: MetaFeedFormat) -> None:
    archive = replace(FEED, archive=True, current_url="https://mill.example/now", hub_url=None)
    body = FORMATS[kind].write(archive, (), None)

    root = strict_tree(body)
    place = root if kind == "atom" else root[0]
    assert place.find("{http://purl.org/syndication/history/1.0}archive") is not None
    links = {link.get("rel"): link.get("href") for link in place.findall(f"{A}link")}
    assert links["current"] == "https://mill.example/now"


def test_a_json_feed_leads_to_its_next_page_and_to_its_hub() -> None:
    feed = json.loads(written("json"))

    assert feed["next_url"] == FEED.next_url
    assert feed["feed_url"] == FEED.self_url
    assert feed["hubs"] == [{"type": "WebSub", "url": FEED.hub_url}]
    assert feed["_feedmill"]["previous_url"] == FEED.previous_url


def test_an_entry_names_the_feed_that_it_came_from_without_its_password() -> None:
    by_atom = strict_tree(written("atom", FULL)).find(f"{A}entry/{A}source")
    by_rss = strict_tree(written("rss", FULL)).find("channel/item/source")
    by_json = json.loads(written("json", FULL))["items"][0]["_feedmill"]["source"]

    assert by_atom is not None
    assert by_rss is not None
    assert by_atom.findtext(f"{A}title") == by_rss.text == by_json["title"] == "The Paper"
    assert by_rss.get("url") == by_json["feed_url"] == "https://paper.example/feed"
    assert by_atom.findtext(f"{A}id") == by_json["id"] == "urn:feedmill:feed:f1"
    for kind in KINDS:
        assert b"secret" not in written(kind, FULL)


def test_an_entry_that_nobody_signed_is_its_feeds() -> None:
    source = strict_tree(written("atom", stored(1, feed_id="f2"))).find(f"{A}entry/{A}source")

    assert source is not None
    assert source.findtext(f"{A}author/{A}name") == "https://quiet.example/rss"


@in_every_format
def test_an_entry_is_shown_once_however_often_it_is_given(kind: MetaFeedFormat) -> None:
    assert written(kind, FULL, FULL) == written(kind, FULL)


@in_every_format
def test_ids_do_not_depend_on_the_address_of_the_mill(kind: MetaFeedFormat) -> None:
    moved = replace(FEED, self_url="https://new.example/f", home_url="https://new.example/")

    ids = [
        re.findall(rb"urn:feedmill:[\w:]+", written(kind, FULL, feed=one)) for one in (FEED, moved)
    ]

    assert ids[0] == ids[1]
    assert any(one.startswith(b"urn:feedmill:collection:") for one in ids[0]) is (kind != "rss")


# what hostile entries try

HOSTILE_TEXTS = [
    *(case["payload"] for case in VECTORS["cases"]),
    "]]><script>__xss(1)</script>",
    "a\x00b\x08c\x1f\ufffe\uffff\ud800d",
    "\u2028\u2029\u0085 lines",
    "</title></entry></feed>",
    '"/><evil/>',
    "&#0; &#x1; &bogus;",
    "<?xml-stylesheet href='https://evil.example/x.xsl'?>",
    "<!DOCTYPE feed [<!ENTITY x SYSTEM 'file:///etc/passwd'>]>&x;",
]


def hostile(text: str) -> StoredEntry:
    """An entry whose every field was written by an enemy; only its HTML went through our door."""
    return stored(
        1,
        entry_uid=f"guid:{'0' * 32}",
        title=text,
        summary=text,
        link=text,
        canonical_link=text,
        content=feedmill.clean_html(text),
        authors=(Author(name=text, email=text, uri=text), Author(email=text)),
        categories=(text, text),
        enclosures=(EntryEnclosure(url=text, type=text, title=text, length=-5, duration=-5),),
        language=text,
        image=text,
        comments_url=text,
    )


@in_every_format
@pytest.mark.parametrize("text", HOSTILE_TEXTS)
def test_no_hostile_entry_breaks_a_feed(kind: MetaFeedFormat, text: str) -> None:
    document = written(kind, hostile(text), stored(2))

    assert complaints(document, kind) == []
    assert [entry.title for entry in read_back(document).entries][1:] == ["Title 2"]


@in_every_format
@pytest.mark.parametrize("text", HOSTILE_TEXTS)
def test_no_hostile_entry_runs_in_a_reader(kind: MetaFeedFormat, text: str) -> None:
    (entry,) = shown_raw(written(kind, hostile(text)))

    for address in entry.addresses:
        assert re.match(r"https?://|mailto:[^\s@]+@", address)
    for html in entry.htmls:
        tree = html5lib.parseFragment(html, treebuilder="etree", namespaceHTMLElements=False)
        assert not [
            one.tag for one in tree.iter() if one.tag in ("script", "svg", "iframe", "style")
        ]
        assert not [name for one in tree.iter() for name in one.attrib if name.startswith("on")]


@pytest.mark.parametrize("text", HOSTILE_TEXTS)
def test_a_hostile_text_comes_back_as_the_text_that_it_is(text: str) -> None:
    expected = re.sub("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "", text)

    entry = strict_tree(written("atom", hostile(text))).find(f"{A}entry")
    item = json.loads(written("json", hostile(text)))["items"][0]

    assert entry is not None
    assert (entry.findtext(f"{A}title") or "") == expected
    assert item.get("title", "") == expected


def test_no_json_feed_can_leave_the_page_that_it_is_embedded_in() -> None:
    document = written("json", hostile("</script><!-- \u2028\u2029"))

    assert b"<" not in document
    assert "\u2028".encode() not in document


def test_a_title_without_markup_stays_as_it_is_in_rss() -> None:
    item = strict_tree(written("rss", FULL)).find("channel/item")

    assert item is not None
    assert item.findtext("title") == FULL.title


@in_every_format
@given(
    texts=st.lists(st.text(alphabet=st.characters(exclude_categories=())), min_size=8, max_size=8),
    at=st.datetimes(timezones=st.just(UTC)),
)
def test_any_text_and_any_date_give_a_valid_feed(
    kind: MetaFeedFormat, texts: Sequence[str], at: datetime
) -> None:
    title, link, summary, name, category, file, mime, content = texts
    entry = stored(
        1,
        title=title,
        link=f"https://paper.example/{link}",
        summary=summary,
        content=content,
        authors=(Author(name=name, email=f"{name}@{category}"),),
        categories=(category,),
        enclosures=(EntryEnclosure(url=f"https://cdn.example/{file}", type=mime),),
        published_effective=at,
        updated=at,
    )

    assert complaints(written(kind, entry), kind) == []


class Raw:
    """What a reader without any defence would put into its page, and where it would lead."""

    def __init__(self, htmls: list[str], addresses: list[str]) -> None:
        self.htmls = [html for html in htmls if html]
        self.addresses = [address for address in addresses if address]


def shown_raw(document: bytes) -> list[Raw]:
    if document.startswith(b"{"):
        return [_raw_json(item) for item in json.loads(document)["items"]]
    root = strict_tree(document)
    if root.tag == "rss":
        # Every text of RSS may be taken for HTML.
        return [
            Raw(
                [one.text or "" for one in item if one.tag not in ("link", "comments", "guid")],
                [value for one in item.iter() for value in _rss_addresses(one)],
            )
            for item in root.iterfind("channel/item")
        ]
    return [
        Raw(
            [entry.findtext(f"{A}content") or ""],
            [one.get("href", "") for one in entry.iter(f"{A}link")]
            + [one.text or "" for one in entry.iter(f"{A}uri")],
        )
        for entry in root.iterfind(f"{A}entry")
    ]


def _raw_json(item: dict[str, Any]) -> Raw:
    people = [author.get("url", "") for author in item.get("authors", [])]
    files = [one["url"] for one in item.get("attachments", [])]
    addresses = [item.get("url", ""), item.get("image", ""), *people, *files]
    return Raw([item.get("content_html", "")], addresses)


def _rss_addresses(element: Any) -> list[str]:
    own = [element.text or ""] if element.tag in ("link", "comments") else []
    return [*own, element.get("url", "")]
