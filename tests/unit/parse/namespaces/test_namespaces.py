"""The modules that other people's namespaces add to a feed: dc, content, slash, thr, sy and more."""

import pytest

from feedmill.model.fetch import RawDocument
from feedmill.model.parsed import (
    Category,
    Content,
    InReplyTo,
    Link,
    ParsedEntry,
    ParsedFeed,
    Person,
    PublisherHints,
    Text,
    Tombstone,
)
from feedmill.parse.document import parse_document

URL = "https://example.com/feed.xml"
NAMESPACES = """
    xmlns:dc="http://purl.org/dc/elements/1.1/"
    xmlns:dcterms="http://purl.org/dc/terms/"
    xmlns:content="http://purl.org/rss/1.0/modules/content/"
    xmlns:sy="http://purl.org/rss/1.0/modules/syndication/"
    xmlns:slash="http://purl.org/rss/1.0/modules/slash/"
    xmlns:wfw="http://wellformedweb.org/CommentAPI/"
    xmlns:thr="http://purl.org/syndication/thread/1.0"
    xmlns:fh="http://purl.org/syndication/history/1.0"
    xmlns:at="http://purl.org/atompub/tombstones/1.0"
    xmlns:atom="http://www.w3.org/2005/Atom"
    xmlns:feedburner="http://rssnamespace.org/feedburner/ext/1.0"
    xmlns:admin="http://webns.net/mvcb/"
    xmlns:yandex="http://news.yandex.ru"
    xmlns:turbo="http://turbo.yandex.ru"
    xmlns:cc="http://web.resource.org/cc/"
    xmlns:creativeCommons="http://backend.userland.com/creativeCommonsRssModule"
    xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
"""


def channel(elements: str) -> ParsedFeed:
    body = f'<rss version="2.0" {NAMESPACES}><channel>{elements}</channel></rss>'
    parsed = parse_document(RawDocument(body=body.encode(), url=URL))
    assert isinstance(parsed, ParsedFeed)
    return parsed


def item(elements: str) -> ParsedEntry:
    return channel(f"<item>{elements}</item>").entries[0]


def html(value: str) -> Text:
    return Text(value=value, kind="html", base=URL)


def test_dublin_core_stands_in_for_what_an_item_lacks() -> None:
    entry = item(
        "<dc:title>T</dc:title><dc:creator>Jane</dc:creator><dc:author>Joe</dc:author>"
        "<dc:contributor>Cy</dc:contributor><dc:publisher>Press</dc:publisher>"
        "<dc:subject>sea</dc:subject><dc:rights>R</dc:rights><dc:date>2025-10-14</dc:date>"
        "<dc:description>D</dc:description><dc:identifier>urn:1</dc:identifier>"
        "<dc:language>de</dc:language>"
    )

    assert entry.title == html("T")
    assert entry.authors == (Person(name="Jane"), Person(name="Joe"))
    assert entry.contributors == (Person(name="Cy"),)
    assert entry.publisher == Person(name="Press")
    assert entry.categories == (Category(term="sea"),)
    assert entry.rights == html("R")
    assert entry.published == "2025-10-14"
    assert entry.summary == html("D")
    assert entry.id == "urn:1"
    assert entry.lang == "de"


def test_dublin_core_stands_in_for_what_a_channel_lacks() -> None:
    feed = channel(
        "<dc:title>T</dc:title><dc:creator>Jane</dc:creator><dc:publisher>Press</dc:publisher>"
        "<dc:date>2025-10-14</dc:date><dc:description>D</dc:description>"
        "<dc:language>de</dc:language><dcterms:modified>2025-10-15</dcterms:modified>"
    )

    assert feed.title == html("T")
    assert feed.authors == (Person(name="Jane"),)
    assert feed.publisher == Person(name="Press")
    assert feed.published == "2025-10-14"
    assert feed.updated == "2025-10-15"
    assert feed.subtitle == html("D")
    assert feed.language == "de"


def test_the_format_itself_beats_dublin_core_whatever_the_order() -> None:
    entry = item(
        "<dc:title>other</dc:title><dc:date>2000-01-01</dc:date><dc:identifier>urn:2</dc:identifier>"
        "<title>own</title><pubDate>now</pubDate><guid isPermaLink='false'>urn:1</guid>"
    )

    assert entry.title == html("own")
    assert entry.published == "now"
    assert entry.id == "urn:1"


def test_the_terms_refine_dublin_core() -> None:
    entry = item(
        "<dcterms:issued>1</dcterms:issued><dcterms:modified>2</dcterms:modified>"
        "<dcterms:created>3</dcterms:created><dcterms:abstract>A</dcterms:abstract>"
        "<dcterms:creator>Jane</dcterms:creator><dcterms:subject>sea</dcterms:subject>"
    )

    assert (entry.published, entry.updated, entry.created) == ("1", "2", "3")
    assert entry.summary == html("A")
    assert entry.authors == (Person(name="Jane"),)
    assert entry.categories == (Category(term="sea"),)


def test_dublin_core_that_says_nothing_sets_nothing() -> None:
    entry = item("<dc:creator/><dc:publisher> </dc:publisher><dc:subject/><dc:date/><dc:title/>")

    assert (entry.authors, entry.publisher, entry.categories) == ((), None, ())
    assert (entry.published, entry.title) == (None, None)


def test_a_known_prefix_is_believed_where_its_namespace_is_unknown() -> None:
    body = (
        '<rss version="2.0" xmlns:dc="http://wrong.example/dc"><channel><item>'
        "<dc:creator>Jane</dc:creator></item></channel></rss>"
    )

    feed = parse_document(RawDocument(body=body.encode()))

    assert isinstance(feed, ParsedFeed)
    assert feed.entries[0].authors == (Person(name="Jane"),)


@pytest.mark.parametrize(
    "order",
    [
        pytest.param("{encoded}{description}", id="encoded first"),
        pytest.param("{description}{encoded}", id="description first"),
    ],
)
def test_the_encoded_content_is_content_and_the_description_a_summary(order: str) -> None:
    entry = item(
        order.format(
            encoded="<content:encoded xml:lang='en'>&lt;p&gt;long&lt;/p&gt;</content:encoded>",
            description="<description>short</description>",
        )
    )

    assert entry.contents == (Content(value="<p>long</p>", base=URL, lang="en"),)
    assert entry.summary == html("short")


def test_an_empty_encoded_content_is_none() -> None:
    entry = item("<content:encoded/>")

    assert entry.contents == ()


@pytest.mark.parametrize("name", ["yandex:full-text", "turbo:content"])
def test_the_full_text_for_a_news_directory_is_content(name: str) -> None:
    entry = item(f"<description>short</description><{name}>&lt;p&gt;long&lt;/p&gt;</{name}>")

    assert entry.contents == (Content(value="<p>long</p>", base=URL),)
    assert entry.summary == html("short")


def test_the_modules_of_comments_are_kept() -> None:
    entry = item(
        "<slash:comments>12</slash:comments><wfw:commentRss>/c.xml</wfw:commentRss>"
        '<thr:in-reply-to ref="urn:0" href="/0" source="/feed" type="text/html"/>'
        '<thr:in-reply-to ref="urn:9"/>'
    )

    assert entry.comments_count == 12
    assert entry.comments_feed == "https://example.com/c.xml"
    assert entry.in_reply_to == (
        InReplyTo(
            ref="urn:0",
            href="https://example.com/0",
            source="https://example.com/feed",
            type="text/html",
        ),
        InReplyTo(ref="urn:9"),
    )


def test_the_total_of_a_thread_counts_comments_and_nonsense_does_not() -> None:
    total, nonsense = (
        item("<thr:total>3</thr:total>"),
        item("<slash:comments>many</slash:comments>"),
    )

    assert total.comments_count == 3
    assert nonsense.comments_count is None


def test_the_link_behind_a_counting_redirect_is_kept() -> None:
    entry = item(
        "<link>https://count.example/1</link>"
        "<feedburner:origLink>https://example.com/1</feedburner:origLink>"
    )

    assert entry.link == "https://count.example/1"
    assert entry.external_url == "https://example.com/1"


def test_a_licence_is_a_link() -> None:
    feed = channel(
        "<creativeCommons:license>https://l.example/by</creativeCommons:license><cc:license/>"
        '<item><cc:license rdf:resource="https://l.example/nc"/></item>'
    )

    assert feed.links == (Link(href="https://l.example/by", rel="license"),)
    assert feed.entries[0].links == (Link(href="https://l.example/nc", rel="license"),)
    assert feed.link is None


def test_the_generator_agent_stands_in_for_the_generator() -> None:
    alone = channel('<admin:generatorAgent rdf:resource="https://g.example/?v=1"/>')
    beside = channel(
        '<admin:generatorAgent rdf:resource="https://g.example/"/><generator>Mill</generator>'
    )

    assert alone.generator == "https://g.example/?v=1"
    assert beside.generator == "Mill"


def test_complete_feeds_and_archives_say_so() -> None:
    plain = channel("<title>T</title>")
    marked = channel("<fh:complete/><fh:archive/>")

    assert (plain.complete, plain.archive) == (False, False)
    assert (marked.complete, marked.archive) == (True, True)


def test_a_tombstone_tells_which_entry_was_withdrawn() -> None:
    feed = channel(
        '<at:deleted-entry ref="urn:1" when="2025-10-14T09:30:05Z"><at:by><atom:name>Jane'
        "</atom:name></at:by><at:comment>spam</at:comment><atom:link href='/x'/>"
        "</at:deleted-entry><at:deleted-entry ref='urn:2'/><at:deleted-entry ref=' '/>"
    )

    assert feed.tombstones == (
        Tombstone(ref="urn:1", when="2025-10-14T09:30:05Z", by=Person(name="Jane"), comment="spam"),
        Tombstone(ref="urn:2"),
    )


def test_the_syndication_module_says_how_often() -> None:
    feed = channel(
        "<sy:updatePeriod> Hourly </sy:updatePeriod><sy:updateFrequency>2</sy:updateFrequency>"
        "<sy:updateBase>2000-01-01T12:00+00:00</sy:updateBase><ttl>30</ttl>"
    )

    assert feed.hints == PublisherHints(
        ttl_minutes=30,
        update_period="hourly",
        update_frequency=2,
        update_base="2000-01-01T12:00+00:00",
    )


@pytest.mark.parametrize(
    "element",
    [
        pytest.param("<sy:updatePeriod>sometimes</sy:updatePeriod>", id="unknown period"),
        pytest.param("<sy:updatePeriod/>", id="no period"),
        pytest.param("<sy:updateFrequency>0</sy:updateFrequency>", id="frequency of nothing"),
        pytest.param("<sy:updateFrequency>often</sy:updateFrequency>", id="no number"),
    ],
)
def test_a_hint_that_makes_no_sense_is_ignored(element: str) -> None:
    feed = channel(element)

    assert feed.hints == PublisherHints()
