"""What a page declares or shows as its feeds, and in which order they are offered."""

import pytest
from tests.support.linked_feeds import feeds_of_page

from feedmill.canonicalise.discovery.html_page import read_page
from feedmill.canonicalise.discovery.page_links import (
    MAX_FEEDS,
    anchored_feeds,
    declared_feeds,
)
from feedmill.model.canonical import FoundFeed
from feedmill.model.parsed import Link

URL = "https://example.com/blog/"
RSS = "application/rss+xml"
ATOM = "application/atom+xml"


def urls(html: str, *announced: Link, url: str = URL) -> list[str]:
    return [feed.url for feed in feeds_of_page(html, url, announced)]


def link(href: str, kind: str = RSS, title: str = "", rel: str = "alternate") -> str:
    return f'<link rel="{rel}" type="{kind}" title="{title}" href="{href}">'


@pytest.mark.parametrize(
    "attributes",
    [
        f'rel=alternate type="{RSS}"',
        f'rel=alternate type="{ATOM}"',
        'rel=alternate type="application/rdf+xml"',
        'rel=alternate type="application/feed+json"',
        'rel=alternate type="text/rss+xml"',
        'rel=alternate type="application/x.atom+xml"',
        f'rel="ALTERNATE" type="{RSS.upper()}; charset=utf-8"',
        f'rel="home alternate" type="{RSS}"',
        f'rel="feed" type="{RSS}"',
        "rel=feed",
        'rel="alternate feed"',
        f'rel=alternate type="{RSS}" hreflang=de',  # a feed in another language is a feed
        'rel=alternate type="text/xml"',  # the address speaks for it
        'rel=alternate type="application/json"',
        "rel=alternate",
    ],
)
def test_a_feed_is_declared_by_relation_and_type(attributes: str) -> None:
    assert urls(f"<link {attributes} href=/feed>") == ["https://example.com/feed"]


@pytest.mark.parametrize("kind", ["", "text/xml", "application/xml"])
def test_an_alternate_that_is_xml_is_taken_for_a_feed(kind: str) -> None:
    assert urls(f'<link rel=alternate type="{kind}" href=/all.xml>') == [
        "https://example.com/all.xml"
    ]


@pytest.mark.parametrize(
    "attributes",
    [
        f'rel="stylesheet alternate" type="{RSS}" href=/feed',
        f'rel=canonical type="{RSS}" href=/feed',
        f'type="{RSS}" href=/feed',
        f'rel=alternate type="{RSS}"',
        f'rel=alternate type="{RSS}" href=""',
        f'rel=alternate type="{RSS}" href="#feed"',
        f'rel=alternate type="{RSS}" href="javascript:feed()"',
        f'rel=alternate type="{RSS}" href="mailto:feed@example.com"',
        f'rel=alternate type="{RSS}" href="/blog/"',  # the page itself
        f'rel=alternate type="{RSS}" href="http://["',
        f'rel=alternate type="{ATOM};type=entry" href=/entry/1',
        "rel=alternate hreflang=de href=/de/feed/",  # a translation of the page
        'rel=alternate type="text/html" href=/feed',
        'rel=feed type="text/html" href=/feed',  # microformats
        'rel=alternate type="text/xml" href=/page',
        "rel=alternate href=/print",
        'rel=alternate type="application/json+oembed" href="/oembed?url=x&format=json"',
        'rel=alternate type="text/xml+oembed" href="/oembed?format=xml&feed=1"',
        'rel=alternate type="application/json" href="/wp-json/wp/v2/pages/2"',
        f'rel=alternate type="{RSS}" href="/wp-json/oembed/1.0/embed"',
        'rel=alternate type="application/activity+json" href="/@me"',
        'rel=EditURI type="application/rsd+xml" href="/xmlrpc.php?rsd"',
        'rel=service.post type="application/atom+xml" href="/feeds/1/posts/default"',
        'rel=sitemap type="application/xml" href="/sitemap.xml"',
    ],
)
def test_what_only_resembles_a_declaration_is_none(attributes: str) -> None:
    assert urls(f"<link {attributes}>") == []


@pytest.mark.parametrize(
    ("href", "expected"),
    [
        ("feed.xml", "https://example.com/blog/feed.xml"),
        ("//feeds.example.net/x", "https://feeds.example.net/x"),
        ("feed://example.net/x", "https://example.net/x"),
        ("feed:http://example.net/x", "http://example.net/x"),
        ("http://example.net/x?a=1&amp;b=2", "http://example.net/x?a=1&b=2"),
        (" /x#frag ", "https://example.com/x"),
        ("https://me:secret@example.net/x", "https://example.net/x"),
        ("?feed=rss2", "https://example.com/blog/?feed=rss2"),
    ],
)
def test_the_address_of_a_feed_is_made_whole(href: str, expected: str) -> None:
    assert urls(link(href)) == [expected]


def test_a_feed_scheme_on_an_open_page_stays_open() -> None:
    assert urls(link("feed://example.net/x"), url="http://example.com/") == ["http://example.net/x"]


def test_the_base_of_the_page_counts() -> None:
    assert urls(f'<base href="https://other.example/a/">{link("x")}') == [
        "https://other.example/a/x"
    ]


def test_the_http_header_declares_too_and_comes_first() -> None:
    header = Link(href="https://example.com/header", rel="alternate", type=RSS, title="H")
    other = Link(href="https://example.com/style", rel="stylesheet")

    found = feeds_of_page(link("/link"), URL, (other, header))

    assert [(feed.found_by, feed.url) for feed in found] == [
        ("header", "https://example.com/header"),
        ("link", "https://example.com/link"),
    ]


def test_what_a_feed_is_called_and_declared_as_is_kept() -> None:
    (feed,) = feeds_of_page(link("/x", f"{RSS}; charset=x", "News\n of   the &amp; day"), URL)

    assert feed == FoundFeed(
        url="https://example.com/x", found_by="link", title="News of the & day", type=RSS
    )


def test_one_feed_in_several_spellings_is_one() -> None:
    html = "".join(
        link(href)
        for href in (
            "https://www.example.com/feed/",
            "http://example.com/feed",
            "https://example.com/feed/?utm_source=page",
        )
    )

    assert urls(html) == ["https://www.example.com/feed/"]


def test_comments_come_last_and_parts_before_them() -> None:
    html = (
        link("/comments/feed/", title="Example » Comments Feed")
        + link("/blog/post/feed/", title="Example » A post Kommentar-Feed")
        + link("/category/news/feed/", title="Example » News Category Feed")
        + link("/feed/", title="Example » Feed")
        + link("/podcast/feed/", title="Example » Podcast")
    )

    found = feeds_of_page(html, URL)

    assert [(feed.url.removeprefix("https://example.com"), feed.is_comments) for feed in found] == [
        ("/feed/", False),
        ("/podcast/feed/", False),
        ("/category/news/feed/", False),
        ("/comments/feed/", True),
        ("/blog/post/feed/", True),
    ]


@pytest.mark.parametrize(
    ("href", "title"),
    [
        ("/feed", "Comments on my post"),
        ("/feed", "Flux des commentaires"),
        ("/feed", "RSS de los comentarios"),
        ("/feed", "Комментарии"),
        ("/feed", "コメントフィード"),
        ("/feed", "评论"),
        ("/comments/feed/", ""),
        ("/feeds/12345/comments/default", ""),
        ("/?feed=comments-rss2", ""),
    ],
)
def test_comment_feeds_are_known_by_title_or_address(href: str, title: str) -> None:
    assert [feed.is_comments for feed in feeds_of_page(link(href, title=title), URL)] == [True]


def test_a_feed_of_opinions_is_no_comment_feed() -> None:
    (feed,) = feeds_of_page(link("/commentisfree/rss", title="Comment is free"), URL)

    assert not feed.is_comments


def test_formats_of_one_feed_stay_apart_in_the_order_atom_rss_rdf_json_xml() -> None:
    html = (
        link("/index.xml", "application/xml", "Example XML")
        + link("/feed.json", "application/feed+json", "Example (JSON Feed)")
        + link("/index.rdf", "application/rdf+xml", "Example RDF")
        + link("/rss", RSS, "Example RSS 2.0")
        + link("/atom", ATOM, "Example Atom 1.0")
    )

    assert urls(html) == [
        f"https://example.com/{name}"
        for name in ("atom", "rss", "index.rdf", "feed.json", "index.xml")
    ]


def test_two_feeds_keep_the_order_of_the_page_whatever_their_formats() -> None:
    html = link("/blog.rss", RSS, "Blog") + link("/podcast.atom", ATOM, "Podcast")

    assert urls(html) == ["https://example.com/blog.rss", "https://example.com/podcast.atom"]


@pytest.mark.parametrize(
    "anchor",
    [
        '<a href="/feed">x</a>',
        '<a href="/feed/">x</a>',
        '<a href="/rss.xml">x</a>',
        '<a href="/news.rss">x</a>',
        '<a href="/index.xml">x</a>',
        '<a href="/blog_rss.php">x</a>',
        '<a href="/?feed=rss2">x</a>',
        '<a href="/list?format=atom">x</a>',
        '<a href="feed:https://example.com/x">x</a>',
        '<a href="itpc://example.com/x">x</a>',
        f'<a type="{ATOM}" href="/x">x</a>',
        '<a href="https://feeds.example.com/x">x</a>',
        '<a href="/subscribe">Our RSS</a>',
        '<a href="/subscribe" title="RSS feed"><i></i></a>',
        '<a href="/subscribe" aria-label="Atom feed"><svg/></a>',
    ],
)
def test_an_anchor_that_looks_like_a_feed_is_a_candidate(anchor: str) -> None:
    assert [feed.found_by for feed in feeds_of_page(anchor, URL)] == ["anchor"]


@pytest.mark.parametrize(
    "button",
    [
        "https://feedly.com/i/subscription/feed/https://example.com/x?a",
        "https://feedly.com/i/subscription/feed%2Fhttps%3A%2F%2Fexample.com%2Fx%3Fa",
        "https://www.inoreader.com/?add_feed=https%3A%2F%2Fexample.com%2Fx%3Fa&amp;b=1",
        "https://add.my.yahoo.com/rss?url=https%3A%2F%2Fexample.com%2Fx%3Fa",
    ],
)
def test_the_button_of_a_reader_has_the_feed_in_its_address(button: str) -> None:
    assert urls(f'<a href="{button}">Follow</a>') == ["https://example.com/x?a"]


@pytest.mark.parametrize(
    "anchor",
    [
        '<a href="/about">About</a>',
        '<a href="/feedback">Feedback</a>',
        '<a name="feed">Feed</a>',
        '<a href="#rss">RSS</a>',
        '<a href="javascript:rss()">RSS</a>',
        '<a href="mailto:rss@example.com">RSS</a>',
        '<a href="/sitemap.xml">Sitemap</a>',
        '<a href="https://feeds.example.com/">x</a>',
        '<a href="https://feedly.com/i/subscription">RSS</a>',
        '<a href="https://www.facebook.com/feed">x</a>',
        '<a href="https://x.com/share?url=https://example.com/feed">x</a>',
    ],
)
def test_other_anchors_are_not(anchor: str) -> None:
    assert urls(anchor) == []


def test_anchors_are_offered_surest_first_and_at_home_before_elsewhere() -> None:
    html = (
        '<a href="/subscribe">RSS</a><a href="/comments/feed/">x</a><a href="/rss/">x</a>'
        '<a href="https://other.example/rss.xml">x</a><a href="/rss.xml">x</a>'
        '<a href="feed://example.com/sure">x</a>'
    )

    found = anchored_feeds(read_page(html, URL))

    assert [feed.url for feed in found] == [
        "https://example.com/sure",
        "https://example.com/rss.xml",
        "https://other.example/rss.xml",
        "https://example.com/rss/",
        "https://example.com/subscribe",
        "https://example.com/comments/feed/",
    ]


def test_what_is_declared_comes_before_what_looks_alike() -> None:
    html = f'<a href="/rss.xml">RSS</a>{link("/declared")}'

    assert urls(html) == ["https://example.com/declared", "https://example.com/rss.xml"]


def test_a_list_has_an_end() -> None:
    html = "".join(link(f"/feed/{number}") for number in range(500))

    assert len(declared_feeds(read_page(html, URL))) == MAX_FEEDS


def test_a_page_without_a_web_address_leads_nowhere() -> None:
    assert urls(link("https://example.com/feed"), url="about:blank") == []


def test_a_page_in_bytes_is_read_like_one_in_text() -> None:
    body = f"<meta charset=iso-8859-1>{link('/x', title='Café')}".encode("latin-1")

    assert [feed.title for feed in feeds_of_page(body, URL)] == ["Café"]
