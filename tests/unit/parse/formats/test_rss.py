"""RSS 0.90 to 2.0, RSS 1.0 and 1.1: their own elements (standards.md R01 to R19)."""

import pytest

from feedmill.model.fetch import RawDocument
from feedmill.model.parsed import (
    Category,
    Cloud,
    Content,
    Enclosure,
    Image,
    Link,
    ParsedEntry,
    ParsedFeed,
    Person,
    PublisherHints,
    Source,
    Text,
)
from feedmill.parse.document import parse_document

URL = "https://example.com/feed.xml"


def read(body: str) -> ParsedFeed:
    parsed = parse_document(RawDocument(body=body.encode(), url=URL))
    assert isinstance(parsed, ParsedFeed)
    return parsed


def channel(elements: str) -> ParsedFeed:
    return read(f'<rss version="2.0"><channel>{elements}</channel></rss>')


def item(elements: str) -> ParsedEntry:
    return channel(f"<item>{elements}</item>").entries[0]


def test_a_channel_keeps_what_its_publisher_wrote() -> None:
    feed = channel(
        "<title>Ships &amp;amp; harbours</title><link>https://example.com/</link>"
        "<description>About &lt;b&gt;ships&lt;/b&gt;</description><language>en-gb</language>"
        "<copyright>1999 Jane</copyright><managingEditor>jane@example.com (Jane)</managingEditor>"
        "<webMaster>joe@example.com</webMaster><pubDate>Tue, 14 Oct 2025 09:30:05 GMT</pubDate>"
        "<lastBuildDate>Wed, 15 Oct 2025 09:30:05 GMT</lastBuildDate><category>Sea</category>"
        "<generator>Mill 1</generator><docs>/spec</docs>"
    )

    assert feed.title == Text(value="Ships &amp; harbours", kind="html", base=URL)
    assert feed.link == "https://example.com/"
    assert feed.links == (Link(href="https://example.com/"),)
    assert feed.subtitle == Text(value="About <b>ships</b>", kind="html", base=URL)
    assert feed.language == "en-gb"
    assert feed.rights == Text(value="1999 Jane", kind="html", base=URL)
    assert feed.authors == (Person(name="jane@example.com (Jane)"),)
    assert feed.publisher == Person(name="joe@example.com")
    assert feed.published == "Tue, 14 Oct 2025 09:30:05 GMT"
    assert feed.updated == "Wed, 15 Oct 2025 09:30:05 GMT"
    assert feed.categories == (Category(term="Sea"),)
    assert feed.generator == "Mill 1"
    assert feed.docs == "https://example.com/spec"


def test_an_item_keeps_what_its_publisher_wrote() -> None:
    entry = item(
        "<title>One</title><link>/1</link><description>Text</description>"
        "<author>jane@example.com</author><category domain='https://t.example/'>Sea</category>"
        "<comments>/1#c</comments><pubDate>Tue, 14 Oct 2025 09:30:05 GMT</pubDate>"
        "<expirationDate>Thu, 16 Oct 2025 09:30:05 GMT</expirationDate>"
        "<source url='https://other.example/rss'>Other</source>"
    )

    assert entry.title == Text(value="One", kind="html", base=URL)
    assert entry.link == "https://example.com/1"
    assert entry.summary == Text(value="Text", kind="html", base=URL)
    assert entry.authors == (Person(name="jane@example.com"),)
    assert entry.categories == (Category(term="Sea", scheme="https://t.example/"),)
    assert entry.comments == "https://example.com/1#c"
    assert entry.published == "Tue, 14 Oct 2025 09:30:05 GMT"
    assert entry.expired == "Thu, 16 Oct 2025 09:30:05 GMT"
    assert entry.source == Source(title=Text(value="Other"), link="https://other.example/rss")


def test_elements_that_say_nothing_set_nothing() -> None:
    feed = channel(
        "<title/><link/><description> </description><managingEditor/><webMaster/><category/>"
        "<copyright/><image/><ttl/><item><title/><link/><description/><guid> </guid><author/>"
        "<category> </category><enclosure/><comments/><source/><body/><image/></item>"
    )

    assert feed.entries == (ParsedEntry(base=URL, slice=feed.entries[0].slice),)
    assert feed.hints == PublisherHints()
    assert (feed.title, feed.link, feed.subtitle, feed.rights) == (None, None, None, None)
    assert (feed.authors, feed.publisher, feed.categories, feed.image) == ((), None, (), None)


def test_the_first_of_two_equal_elements_counts() -> None:
    feed = channel(
        "<title>a</title><title>b</title><description>c</description><description>d</description>"
        "<copyright>e</copyright><copyright>f</copyright><pubDate>1</pubDate><pubDate>2</pubDate>"
        "<item><title>g</title><title>h</title><description>i</description>"
        "<description>j</description><guid>k</guid><guid>l</guid></item>"
    )

    entry = feed.entries[0]
    assert feed.title is not None
    assert feed.subtitle is not None
    assert feed.rights is not None
    assert (feed.title.value, feed.subtitle.value, feed.rights.value) == ("a", "c", "e")
    assert feed.published == "1"
    assert entry.title is not None
    assert entry.summary is not None
    assert (entry.title.value, entry.summary.value, entry.id) == ("g", "i", "k")


@pytest.mark.parametrize(
    ("guid", "permalink", "link"),
    [
        pytest.param("<guid>https://x.example/1</guid>", True, "https://x.example/1", id="default"),
        pytest.param(
            '<guid isPermaLink="true">HTTPS://x.example/1</guid>',
            True,
            "HTTPS://x.example/1",
            id="said so",
        ),
        pytest.param(
            '<guid ispermalink="False">https://x.example/1</guid>', False, None, id="denied"
        ),
        pytest.param(
            '<guid isPermalink="false">https://x.example/1</guid>', False, None, id="misspelt"
        ),
        pytest.param("<guid>tag:x.example,2025:1</guid>", True, None, id="no address"),
    ],
)
def test_a_guid_is_a_link_only_as_a_permalink_with_an_address(
    guid: str, permalink: bool, link: str | None
) -> None:
    entry = item(guid)

    assert entry.id_is_permalink is permalink
    assert entry.link == link
    assert entry.links == ((Link(href=link),) if link else ())


def test_a_link_of_its_own_beats_the_permalink() -> None:
    entry = item("<guid>https://x.example/guid</guid><link>https://x.example/link</link>")

    assert entry.link == "https://x.example/link"
    assert entry.id == "https://x.example/guid"


@pytest.mark.parametrize(
    ("written", "href", "rel"),
    [
        pytest.param("<link>/a b</link>", "https://example.com/a%20b", "alternate", id="text"),
        pytest.param('<link href="/a"/>', "https://example.com/a", "alternate", id="attribute"),
        pytest.param(
            "<link/>https://x.example/t <b/>", "https://x.example/t", "alternate", id="tail"
        ),
        pytest.param('<link rel="self" href="/s"/>', "https://example.com/s", "self", id="rel"),
        pytest.param('<link REL="self" HREF="/s"/>', "https://example.com/s", "self", id="capital"),
    ],
)
def test_a_link_is_found_however_it_is_written(written: str, href: str, rel: str) -> None:
    entry = item(written)

    assert entry.links == (Link(href=href, rel=rel),)
    assert entry.link == (href if rel == "alternate" else None)


@pytest.mark.parametrize(
    "written",
    [
        pytest.param('<link href=" "/>', id="blank attribute"),
        pytest.param("<link/>some words", id="tail that is no address"),
    ],
)
def test_a_link_without_an_address_is_none(written: str) -> None:
    entry = item(written)

    assert entry.links == ()


def test_a_hub_without_a_namespace_is_not_believed() -> None:
    feed = channel('<link rel="hub" href="https://hub.example/"/><link rel="self" href="/f"/>')

    assert feed.hubs == ()
    assert feed.self_url is None
    assert [link.rel for link in feed.links] == ["hub", "self"]


def test_every_enclosure_is_kept_and_a_length_must_be_a_number() -> None:
    entry = item(
        '<enclosure url="/a.mp3" type="audio/mpeg" length="100"/>'
        '<enclosure href="https://x.example/b.mp3" length="unknown"/><enclosure type="a/b"/>'
        '<enclosure URL="/c.mp3" Type="audio/mpeg" LENGTH="7"/>'
    )

    assert entry.enclosures == (
        Enclosure(url="https://example.com/a.mp3", type="audio/mpeg", length=100),
        Enclosure(url="https://x.example/b.mp3"),
        Enclosure(url="https://example.com/c.mp3", type="audio/mpeg", length=7),
    )


def test_the_source_may_lack_its_title_or_its_address() -> None:
    bare = item('<source url="https://other.example/rss"/>')
    named = item("<source>Other</source>")
    capital = item('<source URL="https://other.example/rss"/>')

    assert capital.source == bare.source
    assert bare.source == Source(link="https://other.example/rss")
    assert named.source == Source(title=Text(value="Other"))


@pytest.mark.parametrize(
    ("element", "kind"),
    [
        pytest.param("<body>&lt;p&gt;x&lt;/p&gt;</body>", "text/html", id="escaped"),
        pytest.param("<body><p>x</p></body>", "text/html", id="inline"),
        pytest.param("<fullitem>&lt;p&gt;x&lt;/p&gt;</fullitem>", "text/html", id="fullitem"),
        pytest.param("<content>&lt;p&gt;x&lt;/p&gt;</content>", "text/html", id="content"),
        pytest.param(
            '<content type="html">&lt;p&gt;x&lt;/p&gt;</content>', "text/html", id="content typed"
        ),
        pytest.param(
            '<body xmlns="http://www.w3.org/1999/xhtml"><p>x</p></body>',
            "application/xhtml+xml",
            id="xhtml",
        ),
    ],
)
def test_a_body_is_content(element: str, kind: str) -> None:
    entry = item(element)

    assert [content.type for content in entry.contents] == [kind]
    assert "x</p>" in entry.contents[0].value


def test_text_in_an_xhtml_body_is_no_markup() -> None:
    xhtml = '<body xmlns="http://www.w3.org/1999/xhtml">{}</body>'

    full, empty = item(xhtml.format("1 &lt; 2")), item(xhtml.format(" "))

    assert full.contents == (Content(value="1 &lt; 2", type="application/xhtml+xml", base=URL),)
    assert empty.contents == ()


def test_inline_markup_is_kept_without_its_namespaces() -> None:
    entry = item('<description>a <x:b xmlns:x="http://www.w3.org/1999/xhtml">b</x:b></description>')

    assert entry.summary is not None
    assert entry.summary.value == "a <b>b</b>"


def test_a_summary_stands_in_for_a_missing_description() -> None:
    alone = item("<summary>short</summary>")
    beside = item("<summary>short</summary><description>long</description>")

    assert alone.summary == Text(value="short", kind="html", base=URL)
    assert beside.summary == Text(value="long", kind="html", base=URL)


def test_the_picture_of_a_channel_has_a_title_a_link_and_a_size() -> None:
    feed = channel(
        "<image><url>/logo.gif</url><title>Logo</title><link>/</link><width>88</width>"
        "<height>31</height></image><link>https://example.com/home</link>"
    )

    assert feed.image == Image(
        url="https://example.com/logo.gif",
        title="Logo",
        link="https://example.com/",
        width=88,
        height=31,
    )
    assert feed.link == "https://example.com/home"


@pytest.mark.parametrize(
    "element",
    [
        pytest.param("<image><url>/p.png</url></image>", id="as in a channel"),
        pytest.param('<image href="/p.png"/>', id="attribute"),
        pytest.param("<image>/p.png</image>", id="text"),
    ],
)
def test_the_picture_of_an_item_is_found(element: str) -> None:
    entry = item(element)

    assert entry.image == "https://example.com/p.png"


def test_the_picture_of_an_item_is_not_made_of_its_title() -> None:
    entry = item("<image><title>/p.png</title></image>")

    assert entry.image is None


def test_the_cloud_says_where_to_register() -> None:
    feed = channel(
        '<cloud domain="rpc.example" port="80" path="/RPC2" registerProcedure="notify" '
        'protocol="xml-rpc"/>'
    )

    assert feed.cloud == Cloud(
        domain="rpc.example",
        port="80",
        path="/RPC2",
        register_procedure="notify",
        protocol="xml-rpc",
    )


def test_the_hints_of_a_channel_are_gathered() -> None:
    feed = channel(
        "<ttl>60</ttl><ttl>90</ttl><skipHours><hour>24</hour><hour>7</hour><hour>25</hour>"
        "<hour>x</hour></skipHours><skipDays><day>sunday</day><day>Mon</day><day/></skipDays>"
    )

    assert feed.hints == PublisherHints(ttl_minutes=60, skip_hours=(0, 7), skip_days=("Mon", "Sun"))


@pytest.mark.parametrize("ttl", ["-5", "1.5", "soon", ""])
def test_a_ttl_that_is_no_number_of_minutes_is_ignored(ttl: str) -> None:
    feed = channel(f"<ttl>{ttl}</ttl>")

    assert feed.hints == PublisherHints()


def test_a_form_for_people_does_not_spill_into_the_channel() -> None:
    feed = channel(
        "<textInput><title>Search</title><link>/search</link></textInput><title>Feed</title>"
    )

    assert feed.title is not None
    assert feed.title.value == "Feed"
    assert feed.links == ()


def test_a_feed_that_moved_says_where_to() -> None:
    feed = read(
        '<rss version="2.0"><redirect><x/><newLocation>https://new.example/</newLocation></redirect>'
        "</rss>"
    )

    assert feed.new_feed_url == "https://new.example/"


def test_atom_without_its_namespace_is_read_too() -> None:
    feed = read(
        '<feed version="0.3"><title>T</title><id>urn:f</id><link rel="alternate" href="/h"/>'
        "<entry><id>urn:1</id><updated>2025-10-14T09:30:05Z</updated><link href='/1'/>"
        "<category term='sea'/><author><name>Jane</name><email>j@x.example</email></author>"
        "</entry></feed>"
    )

    entry = feed.entries[0]
    assert (feed.id, feed.link) == ("urn:f", "https://example.com/h")
    assert (entry.id, entry.link) == ("urn:1", "https://example.com/1")
    assert entry.updated == "2025-10-14T09:30:05Z"
    assert entry.categories == (Category(term="sea"),)
    assert entry.authors == (Person(name="Jane", email="j@x.example"),)


def test_an_item_without_title_and_description_is_kept() -> None:
    feed = channel("<item><pubDate>now</pubDate></item>")

    assert [entry.published for entry in feed.entries] == ["now"]


RDF = (
    '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="{}">'
    '<channel rdf:about="https://example.com/about"><title>T</title>'
    '<items><rdf:Seq><rdf:li rdf:resource="/1"/></rdf:Seq></items></channel>'
    "<image><url>/logo.png</url></image>"
    '<item rdf:about="https://example.com/1"><title>One</title><link>/1</link></item>'
    '<item rdf:about=" "><title>Two</title></item></rdf:RDF>'
)


def test_the_items_of_rss_1_stand_beside_their_channel() -> None:
    feed = read(RDF.format("http://purl.org/rss/1.0/"))

    assert feed.format == "rss10"
    assert feed.id == "https://example.com/about"
    assert [entry.id for entry in feed.entries] == ["https://example.com/1", None]
    assert feed.entries[0].link == "https://example.com/1"
    assert feed.image == Image(url="https://example.com/logo.png")


def test_the_items_of_rss_090_stand_beside_their_channel() -> None:
    feed = read(RDF.format("http://my.netscape.com/rdf/simple/0.9/"))

    assert feed.format == "rss090"
    assert len(feed.entries) == 2


def test_the_items_of_rss_11_stand_in_a_list() -> None:
    feed = read(
        '<Channel xmlns="http://purl.org/net/rss1.1#" xmlns:rdf="http://www.w3.org/1999/02/22-rdf-'
        'syntax-ns#" rdf:about="https://example.com/f"><title>T</title><items>'
        '<item rdf:about="https://example.com/1"><title>One</title></item></items></Channel>'
    )

    assert feed.format == "rss11"
    assert feed.id == "https://example.com/f"
    assert [entry.id for entry in feed.entries] == ["https://example.com/1"]


def test_items_in_a_list_inside_the_channel_are_found() -> None:
    feed = channel("<items><item><guid>1</guid></item></items><item><guid>2</guid></item>")

    assert [entry.id for entry in feed.entries] == ["1", "2"]


@pytest.mark.parametrize(
    "namespace",
    [
        pytest.param("http://www.w3.org/2005/Atom", id="Atom's, meant for a prefix"),
        pytest.param("http://purl.org/rss/1.0/modules/content/", id="a module's"),
        pytest.param("http://www.w3.org/1999/xhtml", id="that of XHTML"),
        pytest.param("https://example.com/our-rss", id="an invented one"),
    ],
)
def test_rss_is_read_whatever_its_default_namespace(namespace: str) -> None:
    feed = read(
        f'<rss xmlns:x="urn:x" xmlns="{namespace}" version="2.0"><channel><title>News</title>'
        "<item><title>One</title><pubDate>14 Oct 2025</pubDate></item></channel></rss>"
    )

    assert feed.title is not None
    assert feed.title.value == "News"
    assert [entry.published for entry in feed.entries] == ["14 Oct 2025"]
    assert [repair.code for repair in feed.repairs] == ["namespace-guessed"]


def test_an_empty_default_namespace_is_nothing_to_mend() -> None:
    feed = read("<rss xmlns=''><channel><item><title>One</title></item></channel></rss>")

    assert (len(feed.entries), feed.repairs) == (1, ())


def test_broken_rss_in_a_wrong_namespace_is_salvaged() -> None:
    feed = read(
        '<rss xmlns="urn:x"><channel><item><title>One</title></item>'
        "<item><title>Two</titel></item></channel></rss>"
    )

    assert [entry.title.value for entry in feed.entries if entry.title] == ["One", "Two"]


@pytest.mark.parametrize(
    ("written", "link"),
    [
        ("www.example.org/1", "https://www.example.org/1"),
        ("WWW.Example.org", "https://www.example.org/"),
        ("www.example.org:8080/1?x", "https://www.example.org:8080/1?x"),
        ("www.html", "https://example.com/www.html"),
        ("www.a/b", "https://example.com/www.a/b"),
    ],
)
def test_an_address_that_begins_with_www_lacks_its_scheme(written: str, link: str) -> None:
    entry = item(f"<link>{written}</link>")

    assert entry.link == link


@pytest.mark.parametrize(
    ("head", "item_base", "base"),
    [
        pytest.param("<link>https://blog.example/</link>", "", "https://blog.example/", id="page"),
        pytest.param("<link>/blog/</link>", "", "https://example.com/blog/", id="relative"),
        pytest.param("<link>urn:x</link>", "", URL, id="no page"),
        pytest.param("", "", URL, id="no link"),
        pytest.param(
            "<link>https://blog.example/</link>",
            ' xml:base="/b/"',
            "https://example.com/b/",
            id="xml",
        ),
    ],
)
def test_html_in_rss_is_relative_to_the_page_of_its_channel(
    head: str, item_base: str, base: str
) -> None:
    html = "&lt;img src='a.png'>"
    feed = channel(
        f"{head}<item{item_base}><description>{html}</description><body>{html}</body></item>"
    )

    entry = feed.entries[0]
    assert entry.summary is not None
    assert (entry.summary.base, entry.contents[0].base) == (base, base)


def test_a_base_of_the_document_beats_the_page_of_its_channel() -> None:
    feed = read(
        '<rss xml:base="https://b.example/"><channel><link>https://blog.example/</link>'
        "<item><description>x</description></item></channel></rss>"
    )

    assert feed.entries[0].summary is not None
    assert feed.entries[0].summary.base == "https://b.example/"
