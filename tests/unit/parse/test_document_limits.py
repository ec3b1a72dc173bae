"""What a document may cost: the ceilings that hold before and while it is read (D28)."""

import pytest

from feedmill.config import ParseLimits
from feedmill.model.fetch import RawDocument
from feedmill.model.parsed import ParsedFeed, Unreadable
from feedmill.parse.document import parse_document

LONG = b" " * 1_000_000  # from here on tags are counted
FEW = ParseLimits(max_tags=20, max_attributes=10)
RSS = b"<rss><channel>%s<item><guid>g1</guid></item></channel></rss>"
JSON = b'{"version": "https://jsonfeed.org/version/1.1", "items": [{"id": "g1", "x": [%s]}]}'


def answer(body: bytes, limits: ParseLimits = FEW) -> ParsedFeed | Unreadable:
    return parse_document(RawDocument(body=body, url="https://example.com/feed"), limits)


def codes(feed: ParsedFeed) -> list[str]:
    return [repair.code for repair in feed.repairs]


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        pytest.param(RSS % (b"<a/>" * 20 + LONG), "28 tags; the limit is 20", id="tags"),
        pytest.param(
            RSS % (b'<a b = "" c="1" d= \'\'/>' * 4 + b"e=f" * 9 + LONG),
            "11 attributes; the limit is 10",
            id="attributes, counted no further than they need to be",
        ),
        pytest.param(JSON % (b"1," * 20 + b"1" + LONG), "26 values; the limit is 20", id="JSON"),
        pytest.param(JSON % (b"[]" * 20 + LONG), "26 values; the limit is 20", id="lists"),
        pytest.param(
            (RSS % (b"<a/>" * 20 + LONG)).decode().encode("utf-16"),
            "28 tags; the limit is 20",
            id="UTF-16",
        ),
        pytest.param(
            (b"<?xml version='1.0'?>" + RSS % (b"<a/>" * 20 + LONG)).decode().encode("cp037"),
            "29 tags; the limit is 20",
            id="EBCDIC, where a tag begins with another byte",
        ),
    ],
)
def test_a_long_document_with_more_in_it_than_any_feed_has_is_refused(
    body: bytes, detail: str
) -> None:
    assert answer(body) == Unreadable(reason="too-large", detail=detail)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(RSS % (b"<a b='' c=''/>" * 20), id="a short one"),
        pytest.param(RSS % (LONG + b"?a=b&amp;c=d" * 10), id="a long one with = in its text"),
        pytest.param(RSS % (LONG + b"<a b=''/>" * 9), id="a long one within the limits"),
        pytest.param(JSON % (b"[]," * 20 + b"1"), id="short JSON"),
        pytest.param(JSON % (LONG + b"1,2"), id="long JSON"),
    ],
)
def test_only_what_is_in_a_long_document_is_counted(body: bytes) -> None:
    feed = answer(body)

    assert isinstance(feed, ParsedFeed)
    assert [entry.id for entry in feed.entries] == ["g1"]


def test_a_long_page_is_still_called_a_page() -> None:
    page = answer(b"<html><title>Hello</title>" + b"<p>" * 30 + LONG)

    assert isinstance(page, Unreadable)
    assert page.reason == "html-page"


def test_junk_that_looks_like_json_does_not_let_a_crowd_in() -> None:
    warned = b"[warning] x " + RSS % (b"<a/>" * 20 + LONG)

    read, refused = answer(warned, ParseLimits()), answer(warned)

    assert isinstance(read, ParsedFeed)
    assert refused == Unreadable(
        reason="malformed", detail="it begins like JSON but cannot be read"
    )


def test_more_broken_entries_than_are_worth_mending_are_read_as_they_stand() -> None:
    broken = b"<item><guid>g</guid><title>a &eacute; b</b></title></item>"

    feed = answer(RSS % (broken * 2_100), ParseLimits())

    assert isinstance(feed, ParsedFeed)
    assert [entry.id for entry in feed.entries] == ["g"] * 2_100 + ["g1"]
    titles = [entry.title.value for entry in feed.entries if entry.title is not None]
    assert titles[:2_000] == ["a é b"] * 2_000
    assert codes(feed)[-2:] == ["items-salvaged", "items-salvaged"]
    assert feed.repairs[-1].detail.startswith("101 after more broken ones")


def test_an_entry_too_long_to_be_mended_costs_itself_only() -> None:
    long = b"<item><guid>g0</guid></b>" + b"<b>" * 60_000 + b"</item>"

    feed = answer(RSS % long, ParseLimits())

    assert isinstance(feed, ParsedFeed)
    assert feed.entries[-1].id == "g1"


def test_the_head_of_a_broken_feed_is_read_from_its_tree_where_it_is_too_long_to_mend() -> None:
    head = b"<title>Feed</title><description>" + b"x" * 1_000_000 + b"</description>"

    feed = answer(RSS % (head + b"<item><guid>g0</guid></b></item>"), ParseLimits())

    assert isinstance(feed, ParsedFeed)
    assert feed.title is not None
    assert feed.title.value == "Feed"
    assert [entry.id for entry in feed.entries] == ["g0", "g1"]


@pytest.mark.parametrize(
    "sections", [pytest.param(b"<!---->", id="comments"), pytest.param(b"<![CDATA[]]>", id="CDATA")]
)
@pytest.mark.parametrize("mistake", [b"&foo;</b>", b"&foo;" * 21_000 + b"</b>"])
def test_more_sections_than_are_looked_at_one_by_one_do_no_harm(
    sections: bytes, mistake: bytes
) -> None:
    first = b"<item><guid>g0</guid>" + sections * 100_001 + mistake + b"</item>"

    feed = answer(RSS % first, ParseLimits())

    assert isinstance(feed, ParsedFeed)
    assert [entry.id for entry in feed.entries] == ["g0", "g1"]


def test_more_ampersands_than_mean_anything_are_dropped() -> None:
    feed = answer(RSS % (b"<item><title>a" + b"&" * 1_000_001 + b"b</title></item>"))

    assert isinstance(feed, ParsedFeed)
    assert feed.entries[0].title is not None
    assert feed.entries[0].title.value == "ab"


def test_values_without_quotes_are_mended_only_so_far() -> None:
    tag = b"<a " + b"b=c " * 60_000 + b"d=e>x</a>"

    feed = answer(RSS % (b"<item><guid>g0</guid>" + tag + b"<a b=c/></item>"), ParseLimits())

    assert isinstance(feed, ParsedFeed)
    assert [entry.id for entry in feed.entries] == ["g0", "g1"]


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        pytest.param("&#%s65;", "A", id="decimal"),
        pytest.param("&#x%s41;", "A", id="hexadecimal"),
        pytest.param("&#X%s41;", "A", id="hexadecimal with a large X"),
        pytest.param("&#%s150;", "–", id="windows-1252"),
        pytest.param("&#X%s96;", "–", id="windows-1252, hexadecimal"),
        pytest.param("&#%s;", "", id="nothing but zeros"),
        pytest.param("&#x%s;", "", id="nothing but zeros, hexadecimal"),
        pytest.param("&#%s55357;", "", id="half a surrogate pair"),
    ],
)
def test_zeros_before_a_number_do_not_make_it_long(number: str, expected: str) -> None:
    text = number % ("0" * 5_000)

    feed = answer(RSS % f"<item><title>a{text}b & c</title></item>".encode(), ParseLimits())

    assert isinstance(feed, ParsedFeed)
    assert feed.entries[0].title is not None
    assert feed.entries[0].title.value == f"a{expected}b & c"


@pytest.mark.parametrize(
    "reference",
    ["&#xD83D;", "&#XdFff;", "&#x00D800;", "&#55296;", "&#057343;", "&#0;", "&#x1f;", "&#65535;"],
)
@pytest.mark.parametrize(
    "body",
    [
        pytest.param("<rss v='<![CDATA[{}'><n>Caf{}</n><q>", id="in what only looks like CDATA"),
        pytest.param("<?i<!--?><rss v=''><n>Caf{}{}", id="in what only looks like a comment"),
    ],
)
def test_references_to_no_character_do_not_reach_the_recovering_parser(
    body: str, reference: str
) -> None:
    feed = answer(body.format(reference, reference).encode())

    assert isinstance(feed, ParsedFeed)
    assert feed.ext == (("n", "Caf"),)


def test_a_category_within_categories_is_named_by_its_own_text() -> None:
    space = b' xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd"'
    nested = b"<itunes:category>A<itunes:category>B</itunes:category></itunes:category>"
    body = b"<rss" + space + b"><channel>" + nested + b"</channel></rss>"

    feed = answer(body)

    assert isinstance(feed, ParsedFeed)
    assert feed.itunes is not None
    assert feed.itunes.categories == ("A", "B")


GML = 'xmlns:r="http://www.georss.org/georss" xmlns:g="http://www.opengis.net/gml"'


@pytest.mark.parametrize(
    ("inside", "shapes"),
    [
        pytest.param(
            "<r:line>" + "1 2 " * 30_001 + "</r:line><r:point>3 4</r:point>",
            (("point", "3 4"),),
            id="more numbers than any border has",
        ),
        pytest.param(
            "<r:where><g:Point><g:Point><g:pos>3 4</g:pos></g:Point></g:Point></r:where>",
            (("point", "3 4"),),
            id="a shape in a shape is one",
        ),
        pytest.param(
            "<r:where><g:Point>" + "<g:x/>" * 20 + "<g:pos>3 4</g:pos></g:Point></r:where>",
            (),
            id="a position far away from its shape",
        ),
    ],
)
def test_places_are_read_within_reason(inside: str, shapes: tuple[tuple[str, str], ...]) -> None:
    body = f"<rss {GML}><channel><item><guid>g</guid>{inside}</item></channel></rss>"

    feed = answer(body.encode(), ParseLimits())

    assert isinstance(feed, ParsedFeed)
    geo = feed.entries[0].geo
    assert (geo.shapes if geo is not None else ()) == shapes


@pytest.mark.parametrize(
    ("items", "ids"),
    [
        pytest.param(b'{"id": "g1"}, , {"id": "g2"}', ["g1", "g2"], id="a comma too many between"),
        pytest.param(b'{"id": "g1",, "x": [1, , ]},, ', ["g1"], id="several of them"),
        pytest.param(b'{"id": "g1", "x": ",, ]"},', ["g1"], id="none in a text"),
        pytest.param(b'{"id": "g1",, "x": tru}, {"id": "g2"}', ["g2"], id="not the only mistake"),
        pytest.param(b'{"id": "g1"},' + b"," * 200_000 + b"x", ["g1"], id="a great many"),
    ],
)
def test_commas_too_many_are_stepped_over(items: bytes, ids: list[str]) -> None:
    body = b'{"version": "https://jsonfeed.org/version/1.1", "items": [' + items + b"]}"

    feed = answer(body, ParseLimits())

    assert isinstance(feed, ParsedFeed)
    assert [entry.id for entry in feed.entries] == ids


def test_an_envelope_of_broken_json_that_is_longer_than_any_is_not_read() -> None:
    body = b'{"title": "' + b"x" * 1_000_000 + b'", "items": [], }'

    named = answer(body, ParseLimits())

    assert isinstance(named, Unreadable)
    assert named.reason == "not-a-feed"


def test_json_nested_without_end_is_given_up() -> None:
    named = answer(b"[" * 100_000 + b"]" * 100_000, ParseLimits())

    assert named == Unreadable(reason="malformed", detail="it begins like JSON but cannot be read")
