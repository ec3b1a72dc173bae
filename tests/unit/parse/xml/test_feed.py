"""Broken documents: what can be read is read, and one broken entry costs one entry at most."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.config import ParseLimits
from feedmill.model.fetch import RawDocument
from feedmill.model.parsed import ParsedEntry, ParsedFeed
from feedmill.parse.document import parse_document

URL = "https://example.com/feed"
SECOND = "<item><guid>g2</guid><title>two</title></item>"
HEAD = "<title>Feed</title><link>https://example.com/</link>"
ATOM = "http://www.w3.org/2005/Atom"


def rss(items: str, head: str = HEAD) -> str:
    return f'<?xml version="1.0"?><rss version="2.0"><channel>{head}{items}</channel></rss>'


def read(body: str | bytes) -> ParsedFeed:
    raw = body.encode() if isinstance(body, str) else body
    feed = parse_document(RawDocument(body=raw, url=URL))
    assert isinstance(feed, ParsedFeed)
    return feed


def codes(feed: ParsedFeed) -> list[str]:
    return [repair.code for repair in feed.repairs]


def title(entry: ParsedEntry) -> str | None:
    return entry.title.value if entry.title else None


@pytest.mark.parametrize(
    ("first", "expected"),
    [
        pytest.param("<title>a &nbsp;&eacute; &mdash; b</title>", "a \xa0é — b", id="entities"),
        pytest.param("<title>a &nosuch; b</title>", "a &nosuch; b", id="an unknown entity"),
        pytest.param("<title>R&D & more</title>", "R&D & more", id="bare ampersands"),
        pytest.param("<title>a < b <3 <= c</title>", "a < b <3 <= c", id="a < in text"),
        pytest.param("<title>it&#146;s &#x93;x&#X94;</title>", "it’s “x”", id="C1 references"),
        pytest.param("<title>&#X41;&#0;&#xD83D;b</title>", "Ab", id="references to nothing"),
        pytest.param("<title>a\x01\x0bb\x00</title>", "ab", id="control characters"),
        pytest.param("<title>a ]]> b</title>", "a ]]> b", id="the end of no CDATA section"),
        pytest.param(
            "<title><![CDATA[a <![CDATA[ b ]]> c ]]></title>", "a <![CDATA[ b  c ]]>", id="nested"
        ),
        pytest.param("<title a=1 b='2' c=x/y>t</title>", "t", id="values without quotes"),
        pytest.param("<title>t</ title>", "t", id="a blank in an end tag"),
        pytest.param('<title a="1>t</title>', "t", id="a quote left out at the end"),
        pytest.param('<title a="1><![CDATA[t]]></title>', "t", id="in front of CDATA"),
        pytest.param("<x a='b/><title>t</title>", "t", id="of an element that ends itself"),
        pytest.param('<title b="2" a=1">t</title>', "t", id="a quote left out at the beginning"),
        pytest.param('<title a="1"">t</title>', "t", id="a quote too many"),
        pytest.param(
            '<title a=b/">t</title>', "t", id="a slash in front of the quote is the value's"
        ),
        pytest.param('<title a=b/"/><title>t</title>', "t", id="one behind it ends the element"),
        pytest.param('<title a="1" a="2">t</title>', "t", id="an attribute twice"),
        pytest.param("<title a>t</title>", "t", id="an attribute without a value"),
        pytest.param("<x:y>z</x:y><title>t</title>", "t", id="an undeclared prefix"),
        pytest.param("<title>t</title><b>bold</title></i>", "t", id="mismatched tags"),
        pytest.param("<title>t</title><description>a<br>b</description>", "t", id="HTML"),
        pytest.param("<title>t</title><description>a<p>b", "t", id="left open"),
        pytest.param("<title>t</title><!-- a -- b -->", "t", id="a comment with dashes"),
        pytest.param("<title>t</title><foo", "t", id="half a tag"),
    ],
)
def test_a_mistake_in_one_entry_costs_nothing_else(first: str, expected: str) -> None:
    feed = read(rss(f"<item><guid>g1</guid>{first}</item>{SECOND}"))

    assert [title(entry) for entry in feed.entries] == [expected, "two"]
    assert [entry.id for entry in feed.entries] == ["g1", "g2"]
    assert feed.repairs
    assert feed.title is not None
    assert feed.title.value == "Feed"
    assert not feed.truncated
    assert all(entry.slice is not None for entry in feed.entries)


@pytest.mark.parametrize(
    "value",
    [
        pytest.param('"http://purl.org/dc/elements/1.1/', id="a quote left out at the end"),
        pytest.param('http://purl.org/dc/elements/1.1/"', id="at the beginning"),
        pytest.param("http://purl.org/dc/elements/1.1/", id="at both"),
    ],
)
def test_a_slash_at_the_end_of_a_value_does_not_end_the_whole_feed(value: str) -> None:
    items = "<item><title>one</title><dc:creator><![CDATA[J]]></dc:creator></item>"

    feed = read(f'<rss version="2.0" xmlns:dc={value}><channel>{items}</channel></rss>')

    assert [(title(entry), entry.authors[0].name) for entry in feed.entries] == [("one", "J")]


def test_an_element_that_was_left_open_costs_no_other() -> None:
    item = "<title>t<link>/1</link><description>a <b>b<pubDate>d</pubDate><guid>g</item>"
    entry = read(rss(f"<item>{item}{SECOND}")).entries[0]

    assert (title(entry), entry.link, entry.published, entry.id) == (
        "t",
        "https://example.com/1",
        "d",
        "g",
    )
    assert entry.summary is not None
    assert entry.summary.value == "a <b>b</b>"


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param("<x a='1' a='2'/>", id="an attribute twice"),
        pytest.param("<x a>y</x>", id="an attribute without a value"),
        pytest.param("<x:y:z>y</x:y:z>", id="a name that is none"),
    ],
)
def test_references_behind_a_fault_are_kept(broken: str) -> None:
    text = "<description>&lt;p&gt;a &amp;amp; b<![CDATA[&lt;]]></description>"
    entry = read(rss(f"<item>{broken}<link>/?a&amp;b</link>{text}</item>{SECOND}")).entries[0]

    assert entry.link == "https://example.com/?a&b"
    assert entry.summary is not None
    assert entry.summary.value == "<p>a &amp; b&lt;"


def test_a_bare_ampersand_does_not_change_a_link() -> None:
    feed = read(rss(f"<item><link>http://a.example/?a=1&b=2&copy=3</link></item>{SECOND}"))

    assert feed.entries[0].link == "http://a.example/?a=1&b=2&copy=3"
    assert codes(feed) == ["stray-ampersands"]


def test_entities_in_attributes_cannot_end_them() -> None:
    feed = read(rss('<item><enclosure url="https://a.example/?&QUOT;&LT;&nbsp;x"/></item>'))

    assert feed.entries[0].enclosures[0].url == 'https://a.example/?"<\xa0x'
    assert codes(feed) == ["entities-decoded"]


def test_fields_after_a_mistake_are_kept_in_their_entry() -> None:
    feed = read(
        rss(f"<item><description>a<br>b<img src=x></description><guid>g1</guid></item>{SECOND}")
    )

    assert [entry.id for entry in feed.entries] == ["g1", "g2"]


@pytest.mark.parametrize(
    "items",
    [
        pytest.param(f"<item><guid>g1</guid>{SECOND}", id="the first"),
        pytest.param("<item><guid>g1</guid></item><item><guid>g2</guid>", id="the last"),
        pytest.param("<item><guid>g1</guid><item><guid>g2</guid>", id="both"),
        pytest.param(f"<item><guid>g1</guid></item></item>{SECOND}", id="one closed twice"),
    ],
)
def test_an_item_that_is_never_closed_ends_where_the_next_begins(items: str) -> None:
    feed = read(rss(items))

    assert [entry.id for entry in feed.entries] == ["g1", "g2"]
    assert not feed.truncated


def test_an_entry_that_is_never_closed_ends_with_its_feed() -> None:
    feed = read(f'<a:feed xmlns:a="{ATOM}"><a:entry><a:id>1</a:id></a:feed>')

    assert [entry.id for entry in feed.entries] == ["1"]
    assert not feed.truncated


ITEMS = "<item><guid>g1</guid></item>"


@pytest.mark.parametrize(
    ("cut", "ids"),
    [
        pytest.param(f"{HEAD}{ITEMS}<item><guid>g2</gu", ["g1"], id="in a tag of an item"),
        pytest.param(f"{HEAD}{ITEMS}<item><title>a te", ["g1"], id="in the text of an item"),
        pytest.param(f"{HEAD}{ITEMS}<item><x><![CDATA[a <b", ["g1"], id="in CDATA"),
        pytest.param(f"{HEAD}{ITEMS}<item><!-- a", ["g1"], id="in a comment of an item"),
        pytest.param(f"{HEAD}{ITEMS}<item><a b='c", ["g1"], id="in an attribute"),
        pytest.param(f"{HEAD}{ITEMS}<ite", ["g1"], id="in the name of an item"),
        pytest.param(f"{HEAD}{ITEMS}<item rdf:ab", ["g1"], id="in the start tag of an item"),
        pytest.param(f"{HEAD}{ITEMS}", ["g1"], id="between items"),
        pytest.param(f"{HEAD}{ITEMS}<!-- x", ["g1"], id="in a comment between items"),
        pytest.param(f"{HEAD}{ITEMS}{ITEMS[:-1]}", ["g1"], id="in the last end tag"),
        pytest.param(f"{HEAD}<item><guid>g1</guid>", [], id="in the first item"),
        pytest.param(f"{HEAD}<entry><guid>g1</guid></entry><ENTRY><guid>g2", ["g1"], id="odd"),
        pytest.param("<title>Feed</ti", [], id="in the head"),
        pytest.param("", [], id="at the very start"),
        pytest.param(
            f"{HEAD}<item><guid>g1</guid><x><![CDATA[</rss>]]></x></item><item>",
            ["g1"],
            id="quoted",
        ),
    ],
)
def test_a_cut_document_keeps_what_is_whole(cut: str, ids: list[str]) -> None:
    feed = read(f'<rss version="2.0"><channel>{cut}')

    assert [entry.id for entry in feed.entries] == ids
    assert feed.truncated
    assert codes(feed)[-1] == "truncated"


def test_a_document_cut_in_its_root_is_a_feed_without_anything() -> None:
    feed = read('<?xml version="1.0"?><rss vers')

    assert (feed.entries, feed.truncated) == ((), True)


def test_entries_without_a_name_we_can_scan_for_are_read_from_the_tree() -> None:
    feed = read("<rss><channel><ïtem/><b></channel></rss>")

    assert feed.entries == ()
    assert not feed.truncated


def test_trailing_junk_is_mentioned_and_ignored() -> None:
    feed = read(rss(SECOND) + "<script>alert(1)</script>\n<!-- cached -->")

    assert [entry.id for entry in feed.entries] == ["g2"]
    assert codes(feed) == ["trailing-junk"]


def test_a_broken_entry_cannot_disturb_the_feeds_own_fields() -> None:
    broken = "<item><title>x</channel></rss><channel><title>not me</title>"

    feed = read(rss(f"{broken}</item>{SECOND}"))

    assert feed.title is not None
    assert feed.title.value == "Feed"
    assert feed.link == "https://example.com/"


def test_an_unclosed_title_of_the_feed_does_not_swallow_its_entries() -> None:
    feed = read(rss(SECOND, head="<title>Feed<link>https://example.com/</link>"))

    assert feed.title is not None
    assert "two" not in feed.title.value
    assert [entry.id for entry in feed.entries] == ["g2"]


def test_namespaces_of_the_root_and_the_channel_hold_in_salvaged_entries() -> None:
    item = "<item><d:creator>Ann</d:creator><c:encoded>text</c:encoded><b></item>"
    feed = read(
        '<rss xmlns:d="http://purl.org/dc/elements/1.1/" a="x>y"><channel '
        f'xmlns:c="http://purl.org/rss/1.0/modules/content/">{item}</channel></rss>'
    )

    (entry,) = feed.entries
    assert [person.name for person in entry.authors] == ["Ann"]
    assert [content.value for content in entry.contents] == ["text"]


def test_a_channel_that_closes_itself_does_not_break_what_follows() -> None:
    feed = read(f"<rss><channel />{SECOND}<item><guid>g3</guid><b></item></rss>")

    assert [entry.id for entry in feed.entries] == ["g2", "g3"]


def test_a_root_that_closes_itself_is_the_whole_document() -> None:
    feed = read(f"<rss/><channel>{SECOND}</channel></rss>")

    assert (feed.entries, codes(feed)) == ((), ["trailing-junk"])


def test_start_tags_too_long_to_repeat_are_left_out() -> None:
    root = f'<rss note="{"x" * 60_000}"><channel>'

    feed = read(root + "<item><guid>g</guid></b></item>" * 1_000 + "</channel></rss>")

    assert {entry.id for entry in feed.entries} == {"g"}
    assert len(feed.entries) == 1_000


def test_a_very_long_broken_entry_is_left_to_the_recovering_parser() -> None:
    long = "<title>t</title><b>x</i>" + "x" * 1_000_000

    feed = read(rss(f"<item><guid>g1</guid>{long}</item>{SECOND}"))

    assert [entry.id for entry in feed.entries] == ["g1", "g2"]


@pytest.mark.parametrize(
    "root",
    [
        pytest.param('<rss version="2.0" {} <channel>', id="never closed"),
        pytest.param("<rss version='2.0 {}><channel>", id="a quote that never ends"),
        pytest.param("<rss a=<b> {}><channel>", id="a tag in it"),
        pytest.param('<rss a="1" a="2" {}><channel>', id="an attribute twice"),
        pytest.param("<rss version=2.0 {}><channel>", id="a value without quotes"),
    ],
)
def test_a_broken_root_does_not_cost_its_entries(root: str) -> None:
    spaces = 'xmlns:d="http://purl.org/dc/elements/1.1/" xmlns:d="urn:x"'
    item = "<item><guid>g1</guid><dc:creator>Ann</dc:creator></item>"

    feed = read(f"{root.format(spaces)}{item}{SECOND}</channel></rss>")

    assert [entry.id for entry in feed.entries] == ["g1", "g2"]
    assert [person.name for person in feed.entries[0].authors] == ["Ann"]


def test_a_start_tag_that_cannot_be_read_costs_its_entry_only() -> None:
    # Without the control character the tag has another name.
    feed = read(rss(f"<item\x0bx><guid>g1</guid></item>{SECOND}"))

    assert [entry.id for entry in feed.entries] == ["g2"]


def test_a_slice_in_which_nothing_can_be_read_costs_itself_only() -> None:
    deep = "<a>" * 300 + "</a>" * 300

    feed = read(rss(f"<item><guid>g1</guid>{deep}</item>{SECOND}"))

    assert "depth-capped" in codes(feed)
    assert feed.entries[-1].id == "g2"
    assert feed.truncated


@pytest.mark.parametrize("broken", ["", "<oops>"], ids=["sound", "salvaged"])
def test_a_smaller_depth_leaves_out_what_lies_deeper(broken: str) -> None:
    nested = f"<item><guid>g1</guid>{broken}<ext><a><b><c><d><e>x</e></d></c></b></a></ext></item>"
    raw = RawDocument(body=rss(f"{nested}{SECOND}").encode(), url=URL)

    whole, capped = parse_document(raw), parse_document(raw, ParseLimits(max_xml_depth=8))
    beyond = parse_document(raw, ParseLimits(max_xml_depth=10_000))

    assert isinstance(whole, ParsedFeed)
    assert isinstance(capped, ParsedFeed)
    assert [entry.id for entry in capped.entries] == [entry.id for entry in whole.entries]
    assert "depth-capped" in codes(capped)
    assert "depth-capped" not in codes(whole)
    assert beyond == whole
    assert not capped.truncated


@pytest.mark.parametrize("reference", ["&foo;", "&", "&#1;", "&eacute;"])
def test_more_references_than_are_looked_at_one_by_one_do_no_harm(reference: str) -> None:
    text = reference * 200_001

    feed = read(rss(f"<item><guid>g1</guid><title>x{text}</title></item>{SECOND}"))

    assert [entry.id for entry in feed.entries] == ["g1", "g2"]
    first = title(feed.entries[0])
    assert first is not None
    assert first.startswith("x")


@pytest.mark.parametrize(
    "first",
    [
        pytest.param("<![CDATA[ &foo; a", id="a CDATA section"),
        pytest.param("<!-- &foo; a", id="a comment"),
        pytest.param("<![CDATA[ a <!-- b <![CDATA[ c", id="both"),
    ],
)
def test_what_never_ends_costs_the_rest_of_its_entry_only(first: str) -> None:
    feed = read(rss(f"<item><guid>g1</guid>{first}</item>{SECOND}"))

    assert [entry.id for entry in feed.entries] == ["g1", "g2"]
    assert not feed.truncated


PIECES = st.sampled_from(
    ["<item>", "</item>", "<item/>", "<guid>g</guid>", "<title>", "</title>", "<![CDATA[", "]]>",
     "<!--", "-->", "&", "&nbsp;", "&#0;", "&#xD800;", "<", ">", "<b a=1>", "</b>", "<br>", "é", "\x00",
     "<?x", "?>", "<!DOCTYPE x [", "]>", "</channel>", "</rss>", "<a:b>", "<x:1b>", "text", '"', "'",
     "<entry>", "</entry>", "<channel>", "<description>", "</description>", "<link/>", "xml:base='/x'"]
)  # fmt: skip


@given(pieces=st.lists(PIECES, max_size=25), at=st.integers(0, 10), mark=st.binary(max_size=2))
def test_no_broken_document_raises_and_every_slice_lies_in_the_body(
    pieces: list[str], at: int, mark: bytes
) -> None:
    text = "<rss><channel>" + "".join(pieces) + "</channel></rss>"
    body = text[:at].encode() + mark + text[at:].encode()

    feed = parse_document(RawDocument(body=body, url=URL), ParseLimits(max_items=20))

    for entry in feed.entries if isinstance(feed, ParsedFeed) else ():
        assert str(entry).encode().find(b"\x00") < 0
        if entry.slice is not None:
            assert 0 <= entry.slice.offset <= entry.slice.offset + entry.slice.length <= len(body)
            assert entry.slice.length > 0


@given(body=st.binary(max_size=200))
def test_no_bytes_raise(body: bytes) -> None:
    for prefix in (b"", b"<rss>", b"{", b"<feed xmlns='http://www.w3.org/2005/Atom'><entry>"):
        parse_document(RawDocument(body=prefix + body, url=URL))
