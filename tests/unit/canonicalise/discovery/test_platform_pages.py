"""The feeds of a platform's pages by what the pages say of themselves."""

import pytest

from feedmill.canonicalise.discovery.html_page import read_page
from feedmill.canonicalise.discovery.platform_pages import page_platform_feeds

CHANNEL = "UCabcdefghijklmnopqrstuv"
OTHER = "UCzyxwvutsrqponmlkjihgfe"
VIDEOS = f"https://www.youtube.com/feeds/videos.xml?channel_id={CHANNEL}"
HANDLE = "https://www.youtube.com/@handle"


def urls(html: str, url: str) -> list[str]:
    return [feed.url for feed in page_platform_feeds(html, url)]


@pytest.mark.parametrize(
    "html",
    [
        f'<link rel="canonical" href="https://www.youtube.com/channel/{CHANNEL}">',
        f'<meta itemprop="identifier" content="{CHANNEL}">',
        f'<meta itemprop="channelId" content="{CHANNEL}"><script>{{"channelId":"{OTHER}"}}</script>',
        f'<script>var ytInitialData = {{"metadata":{{"externalId":"{CHANNEL}"}}}};</script>',
        f'<script>{{"channelId":"{CHANNEL}"}},{{"channelId":"{OTHER}"}}</script>',
        (
            '<link rel="canonical" href="https://www.youtube.com/@handle"><link rel=icon href=/x>'
            f'<meta itemprop="name" content="{OTHER}"><meta itemprop="identifier" content="short">'
            f'<script>"channelId":"{CHANNEL}"</script>'
        ),
    ],
)
@pytest.mark.parametrize(
    "url", [HANDLE, "https://www.youtube.com/c/Name", "https://www.youtube.com/watch?v=x"]
)
def test_a_channel_is_found_behind_its_handle(html: str, url: str) -> None:
    (feed,) = page_platform_feeds(html, url)

    assert (feed.url, feed.rule, feed.is_published) == (VIDEOS, "youtube-page", True)


def test_a_page_without_a_channel_or_on_another_host_leads_nowhere() -> None:
    assert urls("<script>{}</script>", HANDLE) == []
    assert urls(f'<script>"channelId":"{CHANNEL}"</script>', "https://example.com/@handle") == []


@pytest.mark.parametrize(
    "html",
    [
        '<script>{"feedUrl":"https://feeds.example.com/show"}</script>',
        r'<script>{"feedUrl":"https:\/\/feeds.example.com\/show"}</script>',
        r'<script>{"feedUrl":"https:\u002F\u002Ffeeds.example.com\u002Fshow"}</script>',
    ],
)
def test_a_podcasts_page_names_the_publishers_feed(html: str) -> None:
    url = "https://podcasts.apple.com/gb/podcast/show/id1"

    assert urls(html, url) == ["https://feeds.example.com/show"]
    assert urls(html, "https://example.com/") == []
    assert urls("<p>", url) == []


def test_an_artists_number_is_found() -> None:
    html = '<meta property="twitter:app:url:iphone" content="soundcloud://users:4711">'

    assert urls(html, "https://soundcloud.com/artist") == [
        "https://feeds.soundcloud.com/users/soundcloud:users:4711/sounds.rss"
    ]
    assert urls("<p>", "https://soundcloud.com/artist") == []


@pytest.mark.parametrize(
    ("html", "root"),
    [
        ('<meta name="generator" content="WordPress 6.5">', "https://example.com/"),
        ('<link rel="stylesheet" href="/wp-content/themes/x.css">', "https://example.com/"),
        ('<link rel="stylesheet" href="/blog/wp-includes/x.css">', "https://example.com/blog/"),
        (
            '<link rel="https://api.w.org/" href="https://example.com/wp-json/">',
            "https://example.com/",
        ),
    ],
)
def test_wordpress_is_known_by_its_generator_or_its_files(html: str, root: str) -> None:
    assert urls(html, "https://example.com/about/") == [f"{root}feed/", f"{root}?feed=rss2"]


def test_the_files_of_another_host_say_nothing() -> None:
    html = '<link rel=stylesheet href="https://other.example/wp-content/x.css"><link rel=icon href="http://[">'

    assert urls(html, "https://example.com/") == []


def test_an_archive_of_wordpress_has_a_feed_of_its_own() -> None:
    html = '<meta name="generator" content="WordPress 6.5">'

    assert urls(html, "https://example.com/category/news/?x=1")[:2] == [
        "https://example.com/category/news/feed/",
        "https://example.com/feed/",
    ]


@pytest.mark.parametrize(
    ("html", "url", "rule", "expected"),
    [
        ("<meta content='blogger' name='generator'/>", "https://example.com/2024/05/p.html",
         "blogger-site", "https://example.com/feeds/posts/default"),
        ('<link rel=preload href="https://substackcdn.com/x.css">', "https://example.com/p/post",
         "substack-site", "https://example.com/feed"),
        ('<meta property="al:ios:app_name" content="Medium">', "https://example.com/post-1",
         "medium-site", "https://example.com/feed"),
        (('<meta property="al:ios:url" content="tumblr://x-callback-url/blog?blogName=n">'
         '<meta content="tumblr://y">'), "https://example.com/post/1",
         "tumblr-site", "https://example.com/rss"),
        ('<meta name="generator" content="Mastodon v4.2">', "https://example.com/@name/1",
         "mastodon-site", "https://example.com/@name.rss"),
        ('<meta name="generator" content="Mastodon v4.2">', "https://example.com/users/name",
         "mastodon-site", "https://example.com/@name.rss"),
    ],
)  # fmt: skip
def test_a_platform_is_known_on_a_domain_of_its_own(
    html: str, url: str, rule: str, expected: str
) -> None:
    (feed,) = page_platform_feeds(html, url)

    assert (feed.url, feed.rule, feed.is_published) == (expected, rule, False)


@pytest.mark.parametrize(
    ("html", "url"),
    [
        (('<meta name="generator" content="Hugo"><link rel=icon href="https://example.net/x">'
         '<meta property="al:ios:app_name" content="Other">'), "https://example.com/@name"),
        ('<meta name="generator" content="Mastodon v4.2">', "https://example.com/about"),
        ('<meta name="generator" content="WordPress">', "about:blank"),
    ],
)  # fmt: skip
def test_other_pages_lead_nowhere(html: str, url: str) -> None:
    assert urls(html, url) == []


def test_a_page_that_was_read_before_is_not_read_again() -> None:
    page = read_page('<meta name="generator" content="blogger">', "https://example.com/")

    assert [feed.rule for feed in page_platform_feeds(page, page.url)] == ["blogger-site"]
