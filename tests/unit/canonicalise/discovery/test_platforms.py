"""The feeds of a platform's pages by address alone."""

import re

import pytest

from feedmill.canonicalise.discovery.platforms import RULES, platform_feeds

CHANNEL = "UCabcdefghijklmnopqrstuv"
VIDEOS = "https://www.youtube.com/feeds/videos.xml"
REDDIT = "https://www.reddit.com"
REPO = "https://github.com/owner/my.repo"
PROJECT = "https://gitlab.com/group/sub/project"

CASES = [
    # address, rule, feeds
    (f"https://www.youtube.com/channel/{CHANNEL}", "youtube-channel", [f"{VIDEOS}?channel_id={CHANNEL}"]),
    (f"http://m.youtube.com/channel/{CHANNEL}/videos?x=1", "youtube-channel", [f"{VIDEOS}?channel_id={CHANNEL}"]),
    ("https://youtube.com/playlist?list=PL0123456789abcdef", "youtube-playlist", [f"{VIDEOS}?playlist_id=PL0123456789abcdef"]),
    ("https://www.youtube.com/watch?v=abc&list=PL0123456789abcdef&index=2", "youtube-playlist", [f"{VIDEOS}?playlist_id=PL0123456789abcdef"]),
    ("https://youtu.be/abcdefghijk?list=PL0123456789abcdef", "youtube-playlist", [f"{VIDEOS}?playlist_id=PL0123456789abcdef"]),
    ("https://www.youtube.com/user/somebody/videos", "youtube-user", [f"{VIDEOS}?user=somebody"]),
    ("https://github.com/owner/my.repo", "github-repository", [f"{REPO}/releases.atom", f"{REPO}/commits.atom", f"{REPO}/tags.atom"]),
    ("https://github.com/owner/my.repo.git", "github-repository", [f"{REPO}/releases.atom", f"{REPO}/commits.atom", f"{REPO}/tags.atom"]),
    ("https://github.com/owner/my.repo/releases/tag/v1", "github-releases", [f"{REPO}/releases.atom"]),
    ("https://github.com/owner/my.repo/tags", "github-tags", [f"{REPO}/tags.atom"]),
    ("https://github.com/owner/my.repo/commits", "github-commits", [f"{REPO}/commits.atom"]),
    ("https://github.com/owner/my.repo/commits/main", "github-commits", [f"{REPO}/commits/main.atom"]),
    ("https://github.com/owner/my.repo/tree/main/docs/", "github-commits", [f"{REPO}/commits/main/docs.atom"]),
    ("https://github.com/owner/my.repo/blob/main/a%20b.md", "github-commits", [f"{REPO}/commits/main/a%20b.md.atom"]),
    ("https://github.com/owner/my.repo/wiki/Home", "github-wiki", [f"{REPO}/wiki.atom"]),
    ("https://github.com/owner/my.repo/discussions/7", "github-discussions", [f"{REPO}/discussions.atom"]),
    ("https://github.com/owner/", "github-user", ["https://github.com/owner.atom"]),
    ("https://gist.github.com/owner/0123abcd", "github-gists", ["https://gist.github.com/owner.atom"]),
    (PROJECT, "gitlab-project", [f"{PROJECT}/-/releases.atom", f"{PROJECT}.atom", f"{PROJECT}/-/tags?format=atom"]),
    (f"{PROJECT}/-/releases", "gitlab-releases", [f"{PROJECT}/-/releases.atom"]),
    (f"{PROJECT}/-/tags", "gitlab-tags", [f"{PROJECT}/-/tags?format=atom"]),
    (f"{PROJECT}/-/commits/main", "gitlab-commits", [f"{PROJECT}/-/commits/main?format=atom"]),
    ("https://gitlab.com/somebody", "gitlab-user", ["https://gitlab.com/somebody.atom"]),
    ("https://old.reddit.com/r/python", "reddit-subreddit", [f"{REDDIT}/r/python/.rss"]),
    ("https://www.reddit.com/r/python+rust/", "reddit-subreddit", [f"{REDDIT}/r/python+rust/.rss"]),
    ("https://www.reddit.com/r/python/new/", "reddit-sorted", [f"{REDDIT}/r/python/new/.rss"]),
    ("https://www.reddit.com/r/python/comments/1abc/title/", "reddit-thread", [f"{REDDIT}/r/python/.rss", f"{REDDIT}/r/python/comments/1abc/.rss"]),
    ("https://www.reddit.com/r/python/search?q=feeds&utm_source=x&restrict_sr=1", "reddit-search", [f"{REDDIT}/r/python/search.rss?q=feeds&restrict_sr=1"]),
    ("https://www.reddit.com/search/?q=a+b&sort=new", "reddit-search", [f"{REDDIT}/search.rss?q=a+b&sort=new"]),
    ("https://www.reddit.com/user/me/m/news", "reddit-multireddit", [f"{REDDIT}/user/me/m/news/.rss"]),
    ("https://www.reddit.com/u/me/submitted", "reddit-user", [f"{REDDIT}/user/me/.rss"]),
    ("https://www.reddit.com/domain/example.com/", "reddit-domain", [f"{REDDIT}/domain/example.com/.rss"]),
    ("https://blog.wordpress.com/2024/05/post/", "wordpress", ["https://blog.wordpress.com/feed/", "https://blog.wordpress.com/comments/feed/"]),
    ("https://blog.wordpress.com/category/news/", "wordpress-archive", ["https://blog.wordpress.com/category/news/feed/", "https://blog.wordpress.com/feed/"]),
    ("https://name.substack.com/p/post", "substack", ["https://name.substack.com/feed"]),
    ("https://substack.com/@name", "substack-profile", ["https://name.substack.com/feed"]),
    ("https://medium.com/@name/post-123", "medium", ["https://medium.com/feed/@name"]),
    ("https://medium.com/publication", "medium", ["https://medium.com/feed/publication"]),
    ("https://medium.com/publication/tagged/news", "medium-tagged", ["https://medium.com/feed/publication/tagged/news", "https://medium.com/feed/publication"]),
    ("https://medium.com/tag/python/latest", "medium-topic", ["https://medium.com/feed/tag/python"]),
    ("https://name.medium.com/post-123", "medium-subdomain", ["https://name.medium.com/feed"]),
    ("https://name.tumblr.com/post/1", "tumblr", ["https://name.tumblr.com/rss"]),
    ("https://name.tumblr.com/tagged/art", "tumblr-tagged", ["https://name.tumblr.com/tagged/art/rss", "https://name.tumblr.com/rss"]),
    ("https://www.tumblr.com/name/123/post", "tumblr-profile", ["https://name.tumblr.com/rss"]),
    ("https://www.tumblr.com/blog/view/name", "tumblr-profile", ["https://name.tumblr.com/rss"]),
    ("http://name.blogspot.co.uk/2024/05/post.html", "blogger", ["https://name.blogspot.com/feeds/posts/default", "https://name.blogspot.com/feeds/posts/default?alt=rss", "https://name.blogspot.com/feeds/comments/default"]),
    ("https://name.blogspot.com/search/label/My%20label", "blogger-label", ["https://name.blogspot.com/feeds/posts/default/-/My%20label", "https://name.blogspot.com/feeds/posts/default"]),
    ("https://bsky.app/profile/name.bsky.social/post/1", "bluesky", ["https://bsky.app/profile/name.bsky.social/rss"]),
    ("https://news.ycombinator.com/", "hacker-news", ["https://news.ycombinator.com/rss"]),
    ("https://social.example:8443/@name/123", "mastodon", ["https://social.example:8443/@name.rss"]),
    ("https://social.example/@name/tagged/art", "mastodon-tagged", ["https://social.example/@name/tagged/art.rss", "https://social.example/@name.rss"]),
    ("https://social.example/@name@home.example", "mastodon-elsewhere", ["https://home.example/@name.rss"]),
]  # fmt: skip


@pytest.mark.parametrize(("url", "rule", "expected"), CASES)
def test_a_platforms_page_leads_to_its_feeds(url: str, rule: str, expected: list[str]) -> None:
    found = platform_feeds(url)

    assert [feed.url for feed in found] == expected
    assert {(feed.rule, feed.found_by) for feed in found} == {(rule, "platform")}


def test_every_rule_is_shown_by_an_example() -> None:
    assert {rule.name for rule in RULES} == {rule for _, rule, _ in CASES}


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com/",
        "https://www.youtube.com/@handle",  # only the page knows the channel
        "https://www.youtube.com/watch?v=abc",
        "https://www.youtube.com/watch?v=abc&list=RDabcdefghijk",  # made for one viewer
        "https://www.youtube.com/playlist",
        "https://youtu.be/abcdefghijk",
        "https://www.youtube.com/channel/not-an-id",
        "https://github.com/",
        "https://github.com/topics/python",
        "https://github.com/features",
        "https://github.com/owner/repo/issues",
        "https://gitlab.com/explore",
        "https://www.reddit.com/search",
        "https://medium.com/",
        "https://medium.com/search",
        "https://www.tumblr.com/explore",
        "https://www.tiktok.com/@name",
        "https://example.com/users/name",  # too common to mean anything
        "https://evil-github.com/owner/repo",
        "https://github.com.evil.example/owner/repo",
        "mailto:name@example.com",
    ],
)
def test_other_addresses_lead_nowhere(url: str) -> None:
    assert platform_feeds(url) == ()


@pytest.mark.parametrize(
    "url",
    [
        "https://name.tumblr.com/rss",
        "https://name.tumblr.com/tagged/art/rss",
        "https://blog.wordpress.com/feed/",
        "https://blog.wordpress.com/category/news/feed/",
        "https://blog.wordpress.com/?feed=rss2",
        "https://name.blogspot.com/feeds/posts/default",
        "https://name.blogspot.com/atom.xml",
        "https://name.substack.com/feed",
        "https://name.medium.com/feed",
        "https://medium.com/feed/@name",
        "https://github.com/owner.atom",
        "https://github.com/owner/repo/releases.atom",
        "https://github.com/owner/repo/commits/main.atom",
        "https://gitlab.com/group/project.atom",
        "https://gitlab.com/group/project/-/commits/main?format=atom",
        "https://www.reddit.com/r/python/.rss",
        "https://www.reddit.com/r/python/new/.rss",
        "https://bsky.app/profile/name.bsky.social/rss",
        "https://www.youtube.com/feeds/videos.xml?playlist_id=PL0123456789abcdef",
        "https://social.example/@name.rss",
    ],
)
def test_what_is_a_feed_already_needs_no_other(url: str) -> None:
    assert platform_feeds(url) == ()


@pytest.mark.parametrize("url", ["https://github.com/atom/atom", "https://www.reddit.com/r/rss/"])
def test_a_page_about_feeds_is_no_feed(url: str) -> None:
    assert platform_feeds(url) != ()


def test_comments_are_marked() -> None:
    found = platform_feeds("https://www.reddit.com/r/python/comments/1abc/title/")

    assert [feed.is_comments for feed in found] == [False, True]


def test_the_platforms_own_word_is_told_from_our_guess() -> None:
    (published,) = platform_feeds("https://name.substack.com/")
    (guessed,) = platform_feeds("https://social.example/@name")

    assert (published.is_published, guessed.is_published) == (True, False)


def test_credentials_and_fragments_do_not_come_along() -> None:
    (feed,) = platform_feeds("https://me:secret@social.example/@name#top")

    assert feed.url == "https://social.example/@name.rss"


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_every_place_in_a_template_is_filled_by_its_rule(rule: object) -> None:
    assert isinstance(rule, tuple)
    _, host, path, feeds, query, _ = rule
    places = {name for feed in feeds for name in re.findall(r"\{(\w+)\}", feed)}
    groups = set(re.findall(r"\?P<(\w+)>", host + path + query))

    assert places <= groups | {"origin", "query"}
