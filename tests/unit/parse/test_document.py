"""From a tree to values: which format it is, where its entries are, and what nobody knows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from feedmill.config import ParseLimits
from feedmill.model.fetch import RawDocument
from feedmill.model.parsed import ParsedFeed, Unreadable
from feedmill.parse.document import parse_document

URL = "https://example.com/feed.xml"
ATOM = 'xmlns="http://www.w3.org/2005/Atom"'


def read(body: str, limits: ParseLimits | None = None) -> ParsedFeed:
    parsed = parse_document(RawDocument(body=body.encode(), url=URL), limits or ParseLimits())
    assert isinstance(parsed, ParsedFeed)
    return parsed


@pytest.mark.parametrize(
    ("root", "expected"),
    [
        pytest.param('<rss version="0.90"/>', "rss090", id="0.90"),
        pytest.param('<rss version="0.91"/>', "rss091", id="0.91"),
        pytest.param('<rss version=" 0.92 "/>', "rss092", id="blanks"),
        pytest.param('<rss version="0.93"/>', "rss093", id="0.93"),
        pytest.param('<rss version="0.94"/>', "rss094", id="0.94"),
        pytest.param('<rss version="2.0"/>', "rss20", id="2.0"),
        pytest.param('<rss version="7"/>', "rss20", id="unknown version"),
        pytest.param("<RSS/>", "rss20", id="no version, capitals"),
        pytest.param('<rdf:RDF xmlns="http://purl.org/rss/1.0/" xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"/>', "rss10", id="rdf"),
        pytest.param("<channel/>", "rss20", id="bare channel"),
        pytest.param(f"<feed {ATOM}/>", "atom10", id="atom 1.0"),
        pytest.param('<feed xmlns="http://purl.org/atom/ns#"/>', "atom03", id="atom 0.3"),
        pytest.param(f"<a:feed {ATOM.replace('xmlns', 'xmlns:a')}/>", "atom10", id="atom by prefix"),
        pytest.param(f"<entry {ATOM}/>", "atom10", id="a lone entry"),
        pytest.param('<feed version="0.3"/>', "atom03", id="no namespace, 0.3"),
        pytest.param("<feed/>", "atom10", id="no namespace"),
    ],
)  # fmt: skip
def test_the_root_says_the_format(root: str, expected: str) -> None:
    feed = read(root)

    assert feed.format == expected


def test_a_feed_in_a_foreign_namespace_is_no_feed() -> None:
    parsed = parse_document(RawDocument(body=b'<feed xmlns="http://other.example/"><x/></feed>'))

    assert isinstance(parsed, Unreadable)
    assert parsed.reason == "not-a-feed"


def test_a_lone_entry_is_a_document() -> None:
    feed = read(f"<entry {ATOM}><id>urn:1</id></entry>")

    assert [entry.id for entry in feed.entries] == ["urn:1"]
    assert feed.id is None


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("<rss><item><guid>1</guid></item></rss>", id="item beside the channel"),
        pytest.param("<rss><channel><item><guid>1</guid></item></channel></rss>", id="in it"),
        pytest.param("<feed><entry><id>1</id></entry></feed>", id="entry without a namespace"),
        pytest.param(f"<feed {ATOM}><item><id>1</id></item></feed>", id="item in Atom"),
        pytest.param("<rss><items><item><guid>1</guid></item></items></rss>", id="in a list"),
    ],
)
def test_entries_are_found_where_they_stand(body: str) -> None:
    feed = read(body)

    assert [entry.id for entry in feed.entries] == ["1"]


def test_the_order_of_elements_does_not_matter() -> None:
    feed = read(
        "<rss><channel><item><guid>1</guid></item><title>T</title><item><guid>2</guid></item>"
        "</channel></rss>"
    )

    assert feed.title is not None
    assert feed.title.value == "T"
    assert [entry.id for entry in feed.entries] == ["1", "2"]


ELEMENTS = (
    "<title>T</title>",
    "<link>https://example.com/1</link>",
    "<guid isPermaLink='false'>urn:1</guid>",
    "<description>D</description>",
    "<content:encoded>C</content:encoded>",
    "<pubDate>now</pubDate>",
    "<dc:title>other</dc:title>",
    "<dc:date>then</dc:date>",
    "<dc:identifier>urn:2</dc:identifier>",
    "<media:description>other</media:description>",
    "<itunes:title>other</itunes:title>",
    "<itunes:author>Jane</itunes:author>",
    "<georss:point>1 2</georss:point>",
)


@given(order=st.permutations(ELEMENTS))
def test_the_order_of_the_elements_of_an_item_changes_nothing(order: list[str]) -> None:
    namespaces = (
        'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:media="http://search.yahoo.com/mrss/" '
        'xmlns:content="http://purl.org/rss/1.0/modules/content/" '
        'xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd" '
        'xmlns:georss="http://www.georss.org/georss"'
    )
    body = f"<rss version='2.0' {namespaces}><channel><item>{{}}</item></channel></rss>"

    sorted_entry = read(body.format("".join(ELEMENTS))).entries[0]
    mixed_entry = read(body.format("".join(order))).entries[0]

    assert replace(mixed_entry, slice=None) == replace(sorted_entry, slice=None)


def test_what_nobody_knows_is_kept_as_text() -> None:
    feed = read(
        '<rss xmlns:x="http://x.example/"><channel><x:a>1</x:a><odd/><item><b>2</b>'
        "<x:c> 3 <d>4</d></x:c></item></channel></rss>"
    )

    assert feed.ext == (("{http://x.example/}a", "1"),)
    assert feed.entries[0].ext == (("b", "2"), ("{http://x.example/}c", "3 4"))


def test_what_nobody_knows_is_kept_within_limits() -> None:
    many = "".join(f"<x{number}>{'y' * 2000}</x{number}>" for number in range(70))
    feed = read(f"<rss><channel><item>{many}</item></channel></rss>")

    ext = feed.entries[0].ext
    assert len(ext) == 64
    assert {len(text) for _, text in ext} == {1000}
    assert [repair.code for repair in feed.repairs] == ["values-capped"]


def test_repeated_elements_are_kept_up_to_the_limit() -> None:
    limits = ParseLimits(max_values=2)
    feed = read(
        "<rss><channel><item><category>a</category><category>b</category><category>c</category>"
        "</item></channel></rss>",
        limits,
    )

    assert [category.term for category in feed.entries[0].categories] == ["a", "b"]
    assert [repair.code for repair in feed.repairs] == ["values-capped"]


def test_the_base_is_inherited_element_by_element() -> None:
    feed = read(
        f'<feed {ATOM} xml:base="https://b.example/f/"><link href="l"/>'
        '<entry xml:base="e/"><link href="1"/><title xml:base="/t/" type="html">x</title>'
        '<summary type="html">y</summary></entry><entry><link href="2"/></entry></feed>'
    )

    first, second = feed.entries
    assert (feed.base, feed.link) == ("https://b.example/f/", "https://b.example/f/l")
    assert (first.base, first.link) == ("https://b.example/f/e/", "https://b.example/f/e/1")
    assert first.title is not None
    assert first.summary is not None
    assert first.title.base == "https://b.example/t/"
    assert first.summary.base == "https://b.example/f/e/"
    assert second.link == "https://b.example/f/2"


def test_without_a_base_the_document_is_the_base() -> None:
    feed = read("<rss><channel><link>home</link><item><link>1</link></item></channel></rss>")

    assert feed.link == "https://example.com/home"
    assert feed.entries[0].link == "https://example.com/1"


def test_the_language_is_inherited_and_may_be_taken_back() -> None:
    feed = read(
        f'<feed {ATOM} xml:lang="en"><title>x</title><entry xml:lang="fr"><title>a</title>'
        '<summary xml:lang="">b</summary></entry><entry><title>c</title></entry></feed>'
    )

    first, second = feed.entries
    assert feed.language == "en"
    assert feed.title is not None
    assert feed.title.lang == "en"
    assert (first.lang, second.lang) == ("fr", "en")
    assert first.title is not None
    assert first.summary is not None
    assert (first.title.lang, first.summary.lang) == ("fr", None)


def test_the_language_that_a_feed_states_beats_that_of_its_markup() -> None:
    feed = read('<rss xml:lang="en"><channel><language>de</language></channel></rss>')

    assert feed.language == "de"


def test_an_identity_of_its_own_beats_the_one_of_rdf() -> None:
    feed = read(
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" '
        'xmlns="http://purl.org/rss/1.0/"><item rdf:about="a"><guid>g</guid></item></rdf:RDF>'
    )

    assert feed.entries[0].id == "g"


def test_a_feed_with_more_elements_than_anybody_needs_is_read_up_to_the_limit() -> None:
    many = b"<ttl>1</ttl>" * 20_001
    body = b"<rss version='2.0'><channel>" + many + b"<title>late</title></channel></rss>"

    feed = parse_document(RawDocument(body=body))

    assert isinstance(feed, ParsedFeed)
    assert feed.title is None
    assert "values-capped" in [repair.code for repair in feed.repairs]


def test_a_script_address_never_becomes_the_base_of_links() -> None:
    body = (
        b'<feed xmlns="http://www.w3.org/2005/Atom" xml:base="javascript:alert(1)//">'
        b'<entry><link href="a"/></entry></feed>'
    )

    feed = parse_document(RawDocument(body=body, url="https://example.com/feed"))

    assert isinstance(feed, ParsedFeed)
    assert feed.entries[0].link == "https://example.com/a"
