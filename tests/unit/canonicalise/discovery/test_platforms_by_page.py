"""The feeds of a platform's pages by what the pages say of themselves."""

import pytest

from feedmill.canonicalise.discovery.html_page import read_page
from feedmill.canonicalise.discovery.platforms import shipped_rules
from feedmill.model.canonical import FoundFeed

CHANNEL = "UCabcdefghijklmnopqrstuv"
OTHER = "UCzyxwvutsrqponmlkjihgfe"
VIDEOS = f"https://www.youtube.com/feeds/videos.xml?channel_id={CHANNEL}"
HANDLE = "https://www.youtube.com/@handle"


def feeds_of(html: str, url: str) -> list[FoundFeed]:
    found = shipped_rules().feeds_of_page(read_page(html, url))
    return [feed for feed in found if not feed.is_extra]


def urls(html: str, url: str) -> list[str]:
    return [feed.url for feed in feeds_of(html, url)]


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
    (feed,) = feeds_of(html, url)

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
        ('<meta name="generator" content="Ghost 5.8">', "https://example.com/post/",
         "ghost-site", "https://example.com/rss/"),
        ('<meta name="generator" content="Discourse 3.4 - https://discourse.example">',
         "https://example.com/", "discourse-site", "https://example.com/latest.rss"),
        ('<meta property="og:platform" content="PeerTube">', "https://example.com/videos/trending",
         "peertube-site", "https://example.com/feeds/videos.xml?sort=-publishedAt"),
    ],
)  # fmt: skip
def test_a_platform_is_known_on_a_domain_of_its_own(
    html: str, url: str, rule: str, expected: str
) -> None:
    (feed,) = feeds_of(html, url)

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


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://example.com/t/a-topic/12/3", ["/t/a-topic/12.rss", "/latest.rss"]),
        ("https://example.com/c/meta/sub/7/l/new", ["/c/meta/sub/7.rss", "/latest.rss"]),
    ],
)
def test_a_part_of_a_forum_has_a_feed_of_its_own(url: str, expected: list[str]) -> None:
    html = '<meta name="generator" content="Discourse 3.4">'

    assert urls(html, url) == [f"https://example.com{path}" for path in expected]


@pytest.mark.parametrize("mark", ['content="Forgejo 9"', 'name="keywords" content="git,forgejo"'])
def test_a_repository_on_a_forge_of_its_own_has_feeds(mark: str) -> None:
    assert urls(f"<meta {mark}>", "https://git.example/ada/engine/src/branch/main") == [
        "https://git.example/ada/engine.rss",
        "https://git.example/ada/engine/releases.rss",
    ]


@pytest.mark.parametrize(
    ("html", "url"),
    [
        (
            '<script>{"@type":"PodcastSeries","webFeed": "https://feeds.example.com/show"}</script>',
            "https://directory.example/show/7",
        ),
        (
            '<script>{"feed_url":"https:\\/\\/feeds.example.com\\/show"}</script>',
            "https://podcastindex.org/podcast/920666",
        ),
    ],
)
def test_the_page_of_a_podcast_directory_names_the_publishers_feed(html: str, url: str) -> None:
    assert urls(html, url) == ["https://feeds.example.com/show"]


def test_the_tab_of_videos_leads_to_the_playlist_without_shorts() -> None:
    html = f'<meta itemprop="identifier" content="{CHANNEL}">'
    playlist = f"https://www.youtube.com/feeds/videos.xml?playlist_id=UULF{CHANNEL[2:]}"
    channel = shipped_rules().feeds_of_page(read_page(html, HANDLE))

    assert urls(html, f"{HANDLE}/videos") == [playlist]
    assert [(feed.url, feed.is_extra) for feed in channel] == [(VIDEOS, False), (playlist, True)]
