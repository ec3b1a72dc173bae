"""Atom 1.0 (RFC 4287), Atom 0.3, and Atom's elements inside RSS (standards.md A01 to A14)."""

import pytest

from feedmill.model.fetch import RawDocument
from feedmill.model.parsed import (
    Category,
    Content,
    Enclosure,
    Image,
    Link,
    ParsedEntry,
    ParsedFeed,
    Person,
    Source,
    Text,
    Unreadable,
)
from feedmill.parse.document import parse_document

URL = "https://example.com/feed.xml"
XHTML = 'xmlns="http://www.w3.org/1999/xhtml"'


def read(body: str) -> ParsedFeed:
    parsed = parse_document(RawDocument(body=body.encode(), url=URL))
    assert isinstance(parsed, ParsedFeed)
    return parsed


def feed(elements: str) -> ParsedFeed:
    return read(f'<feed xmlns="http://www.w3.org/2005/Atom">{elements}</feed>')


def entry(elements: str) -> ParsedEntry:
    return feed(f"<entry>{elements}</entry>").entries[0]


def old_entry(elements: str) -> ParsedEntry:
    """An entry of Atom 0.3."""
    body = f'<feed version="0.3" xmlns="http://purl.org/atom/ns#"><entry>{elements}</entry></feed>'
    return read(body).entries[0]


def test_a_feed_keeps_what_its_publisher_wrote() -> None:
    parsed = feed(
        "<id>urn:f</id><title>T</title><subtitle type='html'>&lt;b&gt;S&lt;/b&gt;</subtitle>"
        "<updated>2025-10-14T09:30:05Z</updated><rights>R</rights><icon>/i.ico</icon>"
        "<logo>/l.png</logo><generator uri='https://g.example/' version='1'>Mill</generator>"
        "<author><name>Jane</name></author><contributor><name>Joe</name></contributor>"
        "<category term='sea'/>"
    )

    assert parsed.id == "urn:f"
    assert parsed.title == Text(value="T", base=URL)
    assert parsed.subtitle == Text(value="<b>S</b>", kind="html", base=URL)
    assert parsed.updated == "2025-10-14T09:30:05Z"
    assert parsed.rights == Text(value="R", base=URL)
    assert parsed.icon == "https://example.com/i.ico"
    assert parsed.image == Image(url="https://example.com/l.png")
    assert parsed.generator == "Mill"
    assert parsed.authors == (Person(name="Jane"),)
    assert parsed.contributors == (Person(name="Joe"),)
    assert parsed.categories == (Category(term="sea"),)


def test_an_entry_keeps_what_its_publisher_wrote() -> None:
    parsed = entry(
        "<id>tag:X.example,2025:a%7Eb</id><title>T</title><summary>S</summary>"
        "<published>2025-10-14t09:30:05z</published><updated>2025-10-15T09:30:05Z</updated>"
        "<rights>R</rights><link href='/1'/><category term='sea' scheme='https://s.example/' "
        "label='The sea'/>"
    )

    assert parsed.id == "tag:X.example,2025:a%7Eb"
    assert not parsed.id_is_permalink
    assert parsed.title == Text(value="T", base=URL)
    assert parsed.summary == Text(value="S", base=URL)
    assert parsed.published == "2025-10-14t09:30:05z"
    assert parsed.updated == "2025-10-15T09:30:05Z"
    assert parsed.rights == Text(value="R", base=URL)
    assert parsed.link == "https://example.com/1"
    assert parsed.categories == (
        Category(term="sea", scheme="https://s.example/", label="The sea"),
    )


def test_elements_that_say_nothing_set_nothing() -> None:
    parsed = feed(
        "<id/><title/><subtitle> </subtitle><logo/><icon/><generator/><author/><category/>"
        "<link rel='self'/><entry><id/><title/><summary/><content/><author> </author>"
        "<contributor/><category/><link/><published/></entry>"
    )

    assert parsed.entries == (ParsedEntry(base=URL, slice=parsed.entries[0].slice),)
    assert (parsed.id, parsed.title, parsed.image, parsed.icon) == (None, None, None, None)
    assert (parsed.links, parsed.authors, parsed.categories) == ((), (), ())


def test_the_first_of_two_equal_elements_counts() -> None:
    parsed = entry(
        "<id>1</id><id>2</id><title>a</title><title>b</title><updated>x</updated>"
        "<updated>y</updated>"
    )

    assert parsed.id == "1"
    assert parsed.title == Text(value="a", base=URL)
    assert parsed.updated == "x"


@pytest.mark.parametrize(
    ("written", "value", "kind"),
    [
        pytest.param("<title>1 &lt; 2</title>", "1 < 2", "text", id="text by default"),
        pytest.param("<title type='text'>&lt;b&gt;</title>", "<b>", "text", id="text"),
        pytest.param("<title type=''>x</title>", "x", "text", id="empty type"),
        pytest.param(
            "<title type='html'>&lt;b&gt;x&lt;/b&gt; &amp;amp;</title>",
            "<b>x</b> &amp;",
            "html",
            id="html is unescaped once",
        ),
        pytest.param(
            "<title type=' Text/HTML '>&lt;b&gt;x&lt;/b&gt;</title>", "<b>x</b>", "html", id="mime"
        ),
        pytest.param(
            f"<title type='xhtml'><div {XHTML}>a <b>x</b></div></title>",
            "a <b>x</b>",
            "xhtml",
            id="the div is no part of it",
        ),
        pytest.param(
            f"<title type='xhtml'><div {XHTML}>1 &lt; 2</div></title>",
            "1 &lt; 2",
            "xhtml",
            id="text in xhtml is no markup",
        ),
        pytest.param(
            f"<title type='xhtml'>a <div {XHTML}>b</div></title>",
            "a <div>b</div>",
            "xhtml",
            id="a div beside text is kept",
        ),
        pytest.param(
            f"<title type='xhtml'><div {XHTML}>b</div> c</title>",
            "<div>b</div> c",
            "xhtml",
            id="a div before text is kept",
        ),
        pytest.param(
            f"<title type='xhtml'><b {XHTML}>a</b><b {XHTML}>b</b></title>",
            "<b>a</b><b>b</b>",
            "xhtml",
            id="no div at all",
        ),
        pytest.param(
            f"<title type='xhtml'><p {XHTML}>a</p></title>", "<p>a</p>", "xhtml", id="another tag"
        ),
        pytest.param(
            f"<title type='html'><div {XHTML}>&lt;b&gt;x&lt;/b&gt;</div></title>",
            "<b>x</b>",
            "html",
            id="escaped HTML in a div",
        ),
        pytest.param("<title><b>x</b></title>", "<b>x</b>", "xhtml", id="inline without a type"),
    ],
)
def test_a_text_construct_is_read_as_its_type_says(written: str, value: str, kind: str) -> None:
    title = entry(written).title

    assert title is not None
    assert _plain(title.value) == value
    assert title.kind == kind


def test_an_empty_div_is_no_text() -> None:
    parsed = entry(f"<title type='xhtml'><div {XHTML}> </div></title>")

    assert parsed.title is None


@pytest.mark.parametrize(
    ("written", "value", "mime"),
    [
        pytest.param("<content>a</content>", "a", "text/plain", id="text"),
        pytest.param("<content type='html'>a</content>", "a", "text/html", id="html"),
        pytest.param(
            f"<content type='xhtml'><div {XHTML}><b>a</b></div></content>",
            "<b>a</b>",
            "application/xhtml+xml",
            id="xhtml",
        ),
        pytest.param(
            f"<content><b {XHTML}>a</b></content>",
            "<b>a</b>",
            "application/xhtml+xml",
            id="inline without a type",
        ),
        pytest.param("<content type='text/x-c'>a</content>", "a", "text/x-c", id="text of a kind"),
        pytest.param(
            "<content type='application/json'>eyJhIjogMX0=</content>",
            '{"a": 1}',
            "application/json",
            id="base64",
        ),
        pytest.param(
            "<content type='application/json'>{\"a\": 1}</content>",
            '{"a": 1}',
            "application/json",
            id="promised base64",
        ),
        pytest.param("<content type='image/png'>é</content>", "é", "image/png", id="not ASCII"),
        pytest.param(
            "<content type='image/png'>iVBORw0KGgo=</content>",
            "iVBORw0KGgo=",
            "image/png",
            id="base64 of no text",
        ),
        pytest.param(
            "<content type='application/xml'>a</content>", "a", "application/xml", id="xml text"
        ),
        pytest.param(
            "<content type='image/svg+xml'>a</content>", "a", "image/svg+xml", id="xml of a kind"
        ),
    ],
)
def test_a_content_is_read_as_its_type_says(written: str, value: str, mime: str) -> None:
    contents = entry(written).contents

    assert [(_plain(one.value), one.type) for one in contents] == [(value, mime)]


def test_a_content_elsewhere_is_named_and_not_fetched() -> None:
    parsed = entry("<content type='video/mp4' src='/movie.mp4'/>")

    assert parsed.contents == (
        Content(value="", type="video/mp4", src="https://example.com/movie.mp4", base=URL),
    )


@pytest.mark.parametrize(
    ("written", "person"),
    [
        pytest.param(
            "<name>Jane</name><email>j@x.example</email><uri>/jane</uri><odd>x</odd><name>N</name>",
            Person(name="Jane", email="j@x.example", uri="https://example.com/jane"),
            id="all parts",
        ),
        pytest.param("<url>/j</url>", Person(uri="https://example.com/j"), id="atom 0.3's url"),
        pytest.param("<homepage>/j</homepage>", Person(uri="https://example.com/j"), id="homepage"),
        pytest.param("Jane", Person(name="Jane"), id="bare name"),
        pytest.param(
            "<name/><email>j@x.example</email>", Person(email="j@x.example"), id="no name"
        ),
    ],
)
def test_a_person_is_read_from_its_parts(written: str, person: Person) -> None:
    parsed = entry(f"<author>{written}</author>")

    assert parsed.authors == (person,)


def test_every_author_is_kept_in_order() -> None:
    parsed = entry("<author><name>A</name></author><author><name>B</name></author>")

    assert [author.name for author in parsed.authors] == ["A", "B"]


def test_a_missing_author_is_taken_from_the_source_and_then_from_the_feed() -> None:
    parsed = feed(
        "<author><name>Feed</name></author><entry><source><author><name>Source</name></author>"
        "</source></entry><entry/><entry><author><name>Own</name></author></entry>"
    )

    names = [one.authors[0].name for one in parsed.entries]
    assert names == ["Source", "Feed", "Own"]


def test_a_link_keeps_its_attributes_and_a_missing_relation_is_alternate() -> None:
    parsed = entry(
        "<link href='/1' type='text/html' hreflang='en' title='One' length='12'/>"
        "<link rel='Related' href='/2'/>"
        "<link rel='http://www.iana.org/assignments/relation/via' href='/3'/>"
        "<link rel='http://rel.example/X' href='/4'/>"
    )

    assert parsed.links == (
        Link(href="https://example.com/1", type="text/html", hreflang="en", title="One", length=12),
        Link(href="https://example.com/2", rel="related"),
        Link(href="https://example.com/3", rel="via"),
        Link(href="https://example.com/4", rel="http://rel.example/x"),
    )


@pytest.mark.parametrize(
    ("links", "best"),
    [
        pytest.param(
            "<link href='/a' type='application/pdf'/><link href='/b' type='text/HTML'/>",
            "https://example.com/b",
            id="HTML first",
        ),
        pytest.param(
            "<link href='/a' type='application/pdf'/>", "https://example.com/a", id="any at all"
        ),
        pytest.param(
            "<link rel='related' href='/r'/><link href='/a'/>",
            "https://example.com/a",
            id="no type",
        ),
        pytest.param("<link rel='related' href='/r'/>", None, id="no alternate"),
    ],
)
def test_the_link_is_the_alternate_that_a_person_would_open(links: str, best: str | None) -> None:
    parsed = entry(links)

    assert parsed.link == best


def test_an_enclosure_is_a_link_and_a_file() -> None:
    parsed = entry("<link rel='enclosure' href='/a.mp3' type='audio/mpeg' length='9' title='A'/>")

    assert parsed.enclosures == (
        Enclosure(url="https://example.com/a.mp3", type="audio/mpeg", length=9, title="A"),
    )
    assert [link.rel for link in parsed.links] == ["enclosure"]


def test_replies_are_comments_or_a_feed_of_them() -> None:
    parsed = entry(
        "<link rel='replies' href='/c.html' type='text/html' "
        "xmlns:thr='http://purl.org/syndication/thread/1.0' thr:count='7'/>"
        "<link rel='replies' href='/c.xml' type='application/atom+xml'/>"
    )

    assert parsed.comments == "https://example.com/c.html"
    assert parsed.comments_feed == "https://example.com/c.xml"
    assert parsed.comments_count == 7


def test_the_links_of_a_feed_say_where_it_lives_and_continues() -> None:
    parsed = feed(
        "<link href='/'/><link rel='self' href='/f'/><link rel='next' href='/f?2'/>"
        "<link rel='prev-archive' href='/a1'/><link rel='next-archive' href='/a3'/>"
        "<link rel='current' href='/c'/><link rel='hub' href='https://h1.example/'/>"
        "<link rel='hub' href='https://h2.example/'/><link rel='via' href='/v'/>"
    )

    assert parsed.link == "https://example.com/"
    assert parsed.self_url == "https://example.com/f"
    assert parsed.next_url == "https://example.com/f?2"
    assert parsed.prev_archive_url == "https://example.com/a1"
    assert parsed.next_archive_url == "https://example.com/a3"
    assert parsed.current_url == "https://example.com/c"
    assert parsed.hubs == ("https://h1.example/", "https://h2.example/")
    assert len(parsed.links) == 9


@pytest.mark.parametrize(
    ("written", "category"),
    [
        pytest.param("<category term='a'/>", Category(term="a"), id="term"),
        pytest.param("<category>b</category>", Category(term="b"), id="text, as in RSS"),
        pytest.param("<category label='C'/>", Category(term="C", label="C"), id="label only"),
    ],
)
def test_a_category_has_a_term(written: str, category: Category) -> None:
    parsed = entry(written)

    assert parsed.categories == (category,)


def test_the_source_of_an_entry_keeps_where_it_came_from() -> None:
    parsed = entry(
        "<source xml:lang='fr'><id>urn:o</id><title type='html'>&lt;b&gt;O&lt;/b&gt;</title>"
        "<updated>2025-10-14T09:30:05Z</updated><link href='https://o.example/'/>"
        "<author><name>Olga</name></author><odd>x</odd></source>"
    )

    assert parsed.source == Source(
        id="urn:o",
        title=Text(value="<b>O</b>", kind="html", base=URL, lang="fr"),
        link="https://o.example/",
        updated="2025-10-14T09:30:05Z",
        authors=(Person(name="Olga"),),
    )


@pytest.mark.parametrize(
    ("written", "generator"),
    [
        pytest.param("<generator uri='https://g.example/'/>", "https://g.example/", id="uri"),
        pytest.param("<generator url='https://g.example/'/>", "https://g.example/", id="0.3's url"),
    ],
)
def test_a_generator_without_a_name_is_its_address(written: str, generator: str) -> None:
    parsed = feed(written)

    assert parsed.generator == generator


def test_unknown_markup_is_no_error() -> None:
    parsed = feed("<odd><x/></odd><entry><title>T</title><odd>1</odd></entry>")

    assert parsed.repairs == ()
    assert parsed.entries[0].ext == (("{http://www.w3.org/2005/Atom}odd", "1"),)


def test_atom_03_has_other_names_for_the_same_things() -> None:
    parsed = read(
        '<feed version="0.3" xmlns="http://purl.org/atom/ns#"><tagline>S</tagline>'
        "<copyright>R</copyright><modified>m</modified><entry><issued>i</issued>"
        "<modified>n</modified><created>c</created></entry></feed>"
    )

    only = parsed.entries[0]
    assert parsed.subtitle == Text(value="S", base=URL)
    assert parsed.rights == Text(value="R", base=URL)
    assert parsed.updated == "m"
    assert (only.published, only.updated, only.created) == ("i", "n", "c")


@pytest.mark.parametrize(
    ("written", "value"),
    [
        pytest.param(
            "<title type='text/html' mode='escaped'>&lt;b&gt;</title>", "<b>", id="escaped"
        ),
        pytest.param("<title mode='base64'>PGI+eDwv\nYj4=</title>", "<b>x</b>", id="base64"),
        pytest.param(
            "<title type='application/x' mode='escaped'>aGk=</title>", "aGk=", id="mode beats type"
        ),
        pytest.param(
            f"<title type='application/xhtml+xml'><div {XHTML}>x</div></title>",
            "<div>x</div>",
            id="the div is part of it",
        ),
    ],
)
def test_atom_03_says_by_mode_how_a_text_is_written(written: str, value: str) -> None:
    title = old_entry(written).title

    assert title is not None
    assert _plain(title.value) == value


def test_atom_inside_rss_is_known_by_its_namespace() -> None:
    parsed = read(
        '<rss version="2.0" xmlns:a10="http://www.w3.org/2005/Atom"><channel>'
        '<a10:link rel="self" href="/f"/><a10:link rel="hub" href="https://h.example/"/>'
        "<link>https://example.com/</link><item><a10:updated>u</a10:updated>"
        "<a10:author><a10:name>Jane</a10:name></a10:author></item></channel></rss>"
    )

    only = parsed.entries[0]
    assert parsed.self_url == "https://example.com/f"
    assert parsed.hubs == ("https://h.example/",)
    assert parsed.link == "https://example.com/"
    assert only.updated == "u"
    assert only.authors == (Person(name="Jane"),)


def test_a_prefix_alone_makes_no_atom() -> None:
    parsed = read(
        '<rss version="2.0" xmlns:atom="http://other.example/"><channel>'
        '<atom:link rel="hub" href="https://h.example/"/></channel></rss>'
    )

    assert parsed.hubs == ()
    assert parsed.links == ()


def _plain(markup: str) -> str:
    """Markup without the namespace that a serialiser repeats on it."""
    return (
        markup.replace(f" {XHTML}", "")
        .replace(' xmlns="http://www.w3.org/2005/Atom"', "")
        .replace(' xmlns="http://purl.org/atom/ns#"', "")
    )


def test_rss_elements_in_atoms_namespace_are_read() -> None:
    read_entry = entry(
        "<guid>q</guid><link>/1</link><pubDate>d</pubDate><description>&lt;b&gt;t&lt;/b&gt;"
        "</description><enclosure url='/a.mp3' length='7'/>"
    )

    assert (read_entry.id, read_entry.link) == ("q", "https://example.com/1")
    assert (read_entry.published, read_entry.summary) == (
        "d",
        Text(value="<b>t</b>", kind="html", base=URL),
    )
    assert read_entry.enclosures == (Enclosure(url="https://example.com/a.mp3", length=7),)


@pytest.mark.parametrize(
    "namespace",
    [
        pytest.param("https://www.w3.org/2005/Atom", id="https for http"),
        pytest.param("http://w3.org/2005/Atom", id="another host"),
        pytest.param("http://www.w3.org/1999/xhtml", id="that of XHTML"),
        pytest.param("urn:ours", id="an invented one"),
    ],
)
def test_a_feed_with_entries_is_atom_whatever_its_default_namespace(namespace: str) -> None:
    parsed = read(
        f"<feed xmlns='{namespace}'><title>News</title><entry><id>1</id>"
        "<content type='html'>&lt;p&gt;x&lt;/p&gt;</content></entry></feed>"
    )

    assert parsed.format == "atom10"
    assert [(entry.id, entry.contents[0].type) for entry in parsed.entries] == [("1", "text/html")]


def test_a_feed_of_another_program_is_not_atom() -> None:
    body = b'<feed xmlns="urn:shop"><product><name>Lamp</name></product></feed>'

    parsed = parse_document(RawDocument(body=body, url=URL))

    assert isinstance(parsed, Unreadable)
    assert parsed.reason == "not-a-feed"


def test_addresses_in_xhtml_follow_the_bases_inside_it() -> None:
    parsed = read(
        '<feed xmlns="http://www.w3.org/2005/Atom" xml:base="https://h.example/f/">'
        '<entry xml:base="e/"><content type="xhtml" xml:base="c/">'
        f'<div {XHTML} xml:base="d/"><p xml:base="p/"><a href="1">x</a></p><img src="2"/></div>'
        f'</content><summary type="xhtml"><div {XHTML}><a href="3">y</a><i xml:base="q/">'
        '<a href="4">z</a></i></div></summary></entry></feed>'
    )

    written = parsed.entries[0].contents[0].value
    assert 'href="https://h.example/f/e/c/d/p/1"' in written
    assert 'src="https://h.example/f/e/c/d/2"' in written
    assert parsed.entries[0].summary is not None
    assert 'href="3"' in parsed.entries[0].summary.value
    assert 'href="https://h.example/f/e/q/4"' in parsed.entries[0].summary.value
