"""Fields that publishers write in places and spellings of their own."""

import json

import pytest

from feedmill.model.fetch import RawDocument
from feedmill.model.parsed import ParsedEntry, ParsedFeed, Unreadable
from feedmill.parse.document import parse_document

ITUNES = 'xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd"'
MEDIA = 'xmlns:media="http://search.yahoo.com/mrss/"'


def read(body: str) -> ParsedFeed:
    feed = parse_document(RawDocument(body=body.encode(), url="https://example.com/feed"))
    assert isinstance(feed, ParsedFeed)
    return feed


def item(inside: str, namespaces: str = "") -> ParsedEntry:
    return read(
        f'<rss version="2.0" {namespaces}><channel><item>{inside}</item></channel></rss>'
    ).entries[0]


def terms(entry: ParsedEntry) -> list[str]:
    return [category.term for category in entry.categories]


def test_a_json_item_without_authors_has_those_of_the_feed() -> None:
    feed = read(
        json.dumps(
            {
                "version": "https://jsonfeed.org/version/1.1",
                "title": "t",
                "authors": [{"name": "Ada"}],
                "items": [{"id": "1"}, {"id": "2", "authors": [{"name": "Bob"}]}],
            }
        )
    )

    assert [[author.name for author in entry.authors] for entry in feed.entries] == [
        ["Ada"],
        ["Bob"],
    ]


@pytest.mark.parametrize(
    ("inside", "expected"),
    [
        pytest.param("<itunes:keywords>one, two</itunes:keywords>", ["one", "two"], id="itunes"),
        pytest.param("<media:keywords>one,two</media:keywords>", ["one", "two"], id="media"),
        pytest.param(
            "<media:content url='/a'><media:keywords>one</media:keywords></media:content>"
            "<media:group><media:content url='/b'><media:keywords>two</media:keywords>"
            "</media:content></media:group>",
            ["one", "two"],
            id="of single files",
        ),
        pytest.param(
            "<media:group><media:keywords>one</media:keywords></media:group>", ["one"], id="a group"
        ),
        pytest.param(
            "<categories><category>one</category><category>two</category></categories>",
            ["one", "two"],
            id="wrapped",
        ),
        pytest.param("<categories>one, two</categories>", ["one", "two"], id="a list of words"),
    ],
)
def test_keywords_are_categories(inside: str, expected: list[str]) -> None:
    assert terms(item(inside, f"{ITUNES} {MEDIA}")) == expected


@pytest.mark.parametrize("name", ["itunes:summary", "media:description"])
def test_the_fullest_description_becomes_the_content(name: str) -> None:
    entry = item(
        f"<description>short</description><{name}>a much longer text</{name}>", f"{ITUNES} {MEDIA}"
    )

    assert entry.summary is not None
    assert entry.summary.value == "short"
    assert [content.value for content in entry.contents] == ["a much longer text"]


def test_of_two_fuller_descriptions_the_longer_one_is_the_content() -> None:
    entry = item(
        "<description>d</description><itunes:summary>the longest of all</itunes:summary>"
        "<media:description>less of it</media:description>",
        f"{ITUNES} {MEDIA}",
    )

    assert [content.value for content in entry.contents] == ["the longest of all"]


@pytest.mark.parametrize(
    "inside",
    [
        pytest.param("<description>the longer text</description><itunes:summary>short</itunes:summary>", id="shorter"),
        pytest.param("<itunes:summary>the only text</itunes:summary>", id="the only one"),
    ],
)  # fmt: skip
def test_a_description_that_says_no_more_is_no_content(inside: str) -> None:
    assert item(inside, ITUNES).contents == ()


CONTENT = 'xmlns:content="http://purl.org/rss/1.0/modules/content/"'
MEDIA = 'xmlns:media="http://search.yahoo.com/mrss/"'


def test_description_longer_than_the_content_is_one_more_content() -> None:
    entry = item(
        "<content:encoded>body</content:encoded><description>d</description>"
        "<itunes:summary>a much longer text</itunes:summary>",
        f"{ITUNES} {CONTENT}",
    )

    assert [content.value for content in entry.contents] == ["body", "a much longer text"]


def test_longest_plain_description_beside_html_becomes_html() -> None:
    entry = item(
        "<content:encoded>body</content:encoded><description>d</description>"
        '<media:description type="plain">a &lt; b\nand more</media:description>',
        f"{MEDIA} {CONTENT}",
    )

    assert entry.contents[-1].value == "a &lt; b<br>and more"
    assert entry.contents[-1].type == "text/html"


@pytest.mark.parametrize("name", ["summary", "dc:description"])
def test_any_other_description_becomes_the_content_when_it_is_fuller(name: str) -> None:
    entry = item(
        f"<description>d</description><{name}>a longer text</{name}>",
        'xmlns:dc="http://purl.org/dc/elements/1.1/"',
    )

    assert [content.value for content in entry.contents] == ["a longer text"]


@pytest.mark.parametrize(
    "start",
    [
        "<html><body>",
        "<html lang='en'><body class=x>\n",
        "<body>",
        "<html><body><pre class=x>\n<div>",
    ],
)
def test_a_feed_that_is_wrapped_into_a_page_is_read(start: str) -> None:
    feed = read(
        f'{start}<feed xmlns="http://www.w3.org/2005/Atom"><entry><id>1</id></entry></feed>'
        "</body></html>"
    )

    assert feed.format == "atom10"
    assert [entry.id for entry in feed.entries] == ["1"]


def test_a_page_that_only_shows_a_feed_is_a_page() -> None:
    page = "<html><body><p>Write <code>&lt;feed&gt;</code></p><!-- <feed> --></body></html>"

    found = parse_document(RawDocument(body=page.encode()))

    assert isinstance(found, Unreadable)
    assert found.reason == "html-page"


@pytest.mark.parametrize(
    "written",
    ["https://e.com/?a=1&amp;b=2", "https://e.com/?a=1&amp;amp;b=2", "https://e.com/?a=1&amp;#38;b=2"],
)  # fmt: skip
def test_an_address_that_was_escaped_too_often_is_unescaped(written: str) -> None:
    entry = item(f'<link>{written}</link><enclosure url="{written}" type="audio/mpeg"/>')

    assert entry.link == "https://e.com/?a=1&b=2"
    assert entry.enclosures[0].url == "https://e.com/?a=1&b=2"


def test_a_less_than_sign_in_an_address_is_unescaped() -> None:
    assert item("<link>https://e.com/?q=a&amp;lt;b</link>").link == "https://e.com/?q=a<b"


def test_atom_without_a_namespace_keeps_its_enclosures_and_kinds_of_text() -> None:
    feed = read(
        "<feed><title type='text'>if x&lt;y</title><entry><id>1</id>"
        "<title type='text'>Using &lt;script&gt; tags</title><summary type='html'>&lt;b&gt;</summary>"
        "<link rel='enclosure' href='/a.mp3' type='audio/mpeg' length='5'/><link href='/1'/>"
        "</entry></feed>"
    )

    entry = feed.entries[0]
    assert feed.title is not None
    assert feed.title.kind == "text"
    assert entry.title is not None
    assert entry.title.kind == "text"
    assert entry.summary is not None
    assert entry.summary.kind == "html"
    assert entry.link == "https://example.com/1"
    assert [(file.url, file.type, file.length) for file in entry.enclosures] == [
        ("https://example.com/a.mp3", "audio/mpeg", 5)
    ]


def test_an_atom_prefix_that_is_never_declared_is_believed_but_for_hub_and_self() -> None:
    feed = read(
        '<rss version="2.0"><channel><atom:link rel="hub" href="https://hub.example/"/>'
        '<atom:link rel="self" href="https://example.com/self"/><title>t</title>'
        "<item><guid>1</guid><atom:updated>2025-01-02T03:04:05Z</atom:updated></item>"
        "</channel></rss>"
    )

    assert feed.hubs == ()
    assert feed.self_url is None
    assert feed.entries[0].updated == "2025-01-02T03:04:05Z"


def test_atom_whose_prefix_is_never_declared_is_atom() -> None:
    feed = read("<atom:feed><atom:entry><atom:id>1</atom:id></atom:entry></atom:feed>")

    assert feed.format == "atom10"
    assert [entry.id for entry in feed.entries] == ["1"]


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(
            '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"'
            ' xmlns:foaf="http://xmlns.com/foaf/0.1/"><foaf:Person/></rdf:RDF>',
            id="FOAF",
        ),
        pytest.param(
            '<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF'
            ' xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description/></rdf:RDF>'
            "</x:xmpmeta>",
            id="the data of a picture",
        ),
        pytest.param(
            '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"'
            ' xmlns="http://purl.org/rss/1.0/" xmlns:foaf="http://xmlns.com/foaf/0.1/">'
            "<foaf:Person/></rdf:RDF>",
            id="FOAF that declares RSS",
        ),
    ],
)
def test_rdf_without_rss_in_it_is_no_feed(body: str) -> None:
    found = parse_document(RawDocument(body=body.encode()))

    assert isinstance(found, Unreadable)
    assert found.reason == "not-a-feed"


def test_rdf_with_nothing_in_it_but_the_namespace_of_rss_is_an_empty_feed() -> None:
    feed = read(
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"'
        ' xmlns="http://purl.org/rss/1.0/"/>'
    )

    assert feed.entries == ()
