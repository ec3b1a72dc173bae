"""Pages made to hurt: they are read to their end, and what is kept of them is bounded."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.linked_feeds import feeds_of_page

from feedmill.canonicalise.discovery.html_page import (
    MAX_ELEMENTS,
    MAX_PAGE_CHARS,
    plain_url,
    read_page,
)
from feedmill.canonicalise.discovery.page_links import MAX_FEEDS
from feedmill.canonicalise.discovery.search import find_feeds

URL = "https://example.com/"
SIZE = 500_000  # what is not linear in it would not end

HOSTILE = {
    "nothing but anchors": "<a href=/feed>",
    "nothing but links": '<link rel=alternate type="application/rss+xml" href=/f>',
    "deep nesting": "<div><b><table>",
    "only angles": "<",
    "tags that never end": "<a ",
    "unbalanced quotes": "<a href=\"'>",
    "comments that never end": "<!--",
    "empty comments": "<!---->",
    "texts that never end": "<title><script><textarea>",
    "many texts": "<title></title>",
    "entities": '<a href="&amp;&amp;&amp;&amp;">',
    "bases": "<base href=/x/>",
    "long feed-like addresses": "<a href=" + "/feed-rss-atom" * 250 + ">",
    "long hosts": "<a href=https://" + "feedly." * 500 + "com/feed>",
    "slow titles": "<a href=/x title='" + "rss2 comment " * 100 + "'>",
    "half escapes": '"feedUrl":"https:\\/',
    "nulls": "\x00<a\x00 href=\x00>",
}


@pytest.mark.no_cover  # a very long input: tracing it would take most of the time
@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_page_is_read_to_its_end_and_leads_to_a_short_list(kind: str) -> None:
    piece = HOSTILE[kind]

    found = feeds_of_page(piece * (SIZE // len(piece)), URL)

    assert len(found) <= MAX_FEEDS


def test_links_behind_deep_nesting_are_seen() -> None:
    html = "<div>" * 100_000 + '<link rel=alternate type="application/rss+xml" href=/f>'

    assert [feed.url for feed in feeds_of_page(html, URL)] == ["https://example.com/f"]


def test_what_is_kept_of_a_page_of_ten_megabytes_is_bounded() -> None:
    page = read_page(b"<a href=/rss>RSS</a>" * 500_000, URL)

    assert (len(page.text), len(page.anchors)) == (MAX_PAGE_CHARS, MAX_ELEMENTS)


@pytest.mark.parametrize("host", ["podcasts.apple.com", "soundcloud.com", "www.youtube.com"])
def test_rules_that_look_into_scripts_stay_bounded(host: str) -> None:
    html = '"feedUrl":"http:' * 40_000 + "soundcloud:users:" * 40_000 + '"channelId":"UC' * 40_000

    assert next(find_feeds(read_page(html, f"https://{host}/x"))).role == "guess"


def test_a_page_cannot_choose_the_credentials_that_are_sent() -> None:
    html = (
        '<base href="https://me:secret@example.net/">'
        '<link rel=feed href="https://you:secret@example.org/a"><link rel=feed href="b">'
    )

    assert [feed.url for feed in feeds_of_page(html, URL)] == [
        "https://example.org/a",
        "https://example.net/b",
    ]


_PIECES = st.sampled_from(
    (
        *("<link ", "<a ", "<base ", "<meta ", "<!--", "-->", "<script>", "</script>", "</a>", ">"),
        *(
            "href=",
            "rel=alternate ",
            "rel=feed ",
            'type="application/rss+xml" ',
            "title=",
            '"',
            "'",
        ),
        *(
            "/feed",
            "//",
            "feed:",
            "http://",
            "user@",
            "[",
            "]",
            "%",
            "&amp;",
            "&#x110000;",
            "#",
            "?",
        ),
        *("example.com", "generator", "WordPress", "content=", "name=", "\ud800", "\x00", "\udc80"),
    )
)
_URLS = st.sampled_from(
    (
        *(
            "https://example.com/a/",
            "http://[::1]:8080/@x",
            "about:blank",
            "",
            "https://youtu.be/x",
        ),
        *("https://github.com/{a}/b", "https://e.example/%", "https://a.wordpress.com/tag/x/"),
    )
)


@given(pieces=st.lists(_PIECES | st.text(max_size=5), max_size=60), url=_URLS)
def test_whatever_a_page_says_the_feeds_it_leads_to_are_web_addresses(
    pieces: list[str], url: str
) -> None:
    search = find_feeds(read_page("".join(pieces), url))

    try:
        urls = [next(search).url]
    except StopIteration as end:
        urls = [feed.url for feed in end.value.feeds]

    assert urls == [plain_url(one) for one in urls]
    assert all(feed.url == plain_url(feed.url) for feed in feeds_of_page("".join(pieces), url))
