"""The feeds of a platform's pages by address alone."""

import re

import pytest

from feedmill.canonicalise.discovery.platforms import (
    PlatformRule,
    read_rules,
    shipped_rules,
)

CHANNEL = "UCabcdefghijklmnopqrstuv"
VIDEOS = "https://www.youtube.com/feeds/videos.xml"
REDDIT = "https://www.reddit.com"
REPO = "https://github.com/owner/my.repo"
PROJECT = "https://gitlab.com/group/sub/project"

CASES = [
    # address, rule, feeds
    (f"https://www.youtube.com/channel/{CHANNEL}", "youtube-channel", [f"{VIDEOS}?channel_id={CHANNEL}"]),
    (f"http://m.youtube.com/channel/{CHANNEL}/about?x=1", "youtube-channel", [f"{VIDEOS}?channel_id={CHANNEL}"]),
    (f"http://m.youtube.com/channel/{CHANNEL}/videos?x=1", "youtube-videos", [f"{VIDEOS}?playlist_id=UULF{CHANNEL[2:]}"]),
    (f"https://www.youtube.com/channel/{CHANNEL}/shorts", "youtube-shorts", [f"{VIDEOS}?playlist_id=UUSH{CHANNEL[2:]}"]),
    (f"https://www.youtube.com/channel/{CHANNEL}/streams", "youtube-streams", [f"{VIDEOS}?playlist_id=UULV{CHANNEL[2:]}"]),
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
    ("https://name.bsky.social", "bluesky-handle", ["https://bsky.app/profile/name.bsky.social/rss"]),
    ("https://codeberg.org/ada/engine", "codeberg-repository", ["https://codeberg.org/ada/engine/releases.rss", "https://codeberg.org/ada/engine.rss"]),
    ("https://codeberg.org/ada/engine/releases", "codeberg-releases", ["https://codeberg.org/ada/engine/releases.rss"]),
    ("https://codeberg.org/ada/engine/tags", "codeberg-tags", ["https://codeberg.org/ada/engine/tags.rss"]),
    ("https://codeberg.org/ada", "codeberg-user", ["https://codeberg.org/ada.rss"]),
    ("https://stackoverflow.com/questions/tagged/python", "stack-exchange-tag", ["https://stackoverflow.com/feeds/tag?tagnames=python&sort=newest"]),
    ("https://unix.stackexchange.com/questions/12/how", "stack-exchange-question", ["https://unix.stackexchange.com/feeds/question/12"]),
    ("https://mathoverflow.net/users/7/ada", "stack-exchange-user", ["https://mathoverflow.net/feeds/user/7"]),
    ("https://askubuntu.com/", "stack-exchange", ["https://askubuntu.com/feeds"]),
    ("https://arxiv.org/list/cs.LG/recent", "arxiv-category", ["https://rss.arxiv.org/atom/cs.LG"]),
    ("https://arxiv.org/a/lovelace_a_1", "arxiv-author", ["https://arxiv.org/a/lovelace_a_1.atom"]),
    ("https://dev.to/t/python", "dev-to-tag", ["https://dev.to/feed/tag/python"]),
    ("https://dev.to/ada/a-post-1", "dev-to", ["https://dev.to/feed/ada"]),
    ("https://vimeo.com/ada", "vimeo", ["https://vimeo.com/ada/videos/rss"]),
    ("https://vimeo.com/channels/art", "vimeo-channel", ["https://vimeo.com/channels/art/videos/rss"]),
    ("https://www.dailymotion.com/ada", "dailymotion", ["https://www.dailymotion.com/rss/user/ada"]),
    ("https://pypi.org/project/feedmill/#history", "pypi-project", ["https://pypi.org/rss/project/feedmill/releases.xml"]),
    ("https://sourceforge.net/projects/engine/files/", "sourceforge", ["https://sourceforge.net/projects/engine/rss"]),
    ("https://store.steampowered.com/app/4711/Game/", "steam-news", ["https://store.steampowered.com/feeds/news/app/4711"]),
    ("https://letterboxd.com/ada/films/", "letterboxd", ["https://letterboxd.com/ada/rss/"]),
    ("https://lobste.rs/t/python", "lobsters-tag", ["https://lobste.rs/t/python.rss"]),
    ("https://lobste.rs/", "lobsters", ["https://lobste.rs/rss"]),
    ("https://ada.itch.io/game", "itch-io", ["https://ada.itch.io/game/devlog.rss"]),
    ("https://www.pinterest.com/ada/", "pinterest", ["https://www.pinterest.com/ada/feed.rss"]),
    ("https://en.wikipedia.org/wiki/Ada_Lovelace", "wikipedia-history", ["https://en.wikipedia.org/w/index.php?title=Ada_Lovelace&action=history&feed=atom"]),
    ("https://lemmy.example/c/news", "lemmy-community", ["https://lemmy.example/feeds/c/news.xml", "https://lemmy.example/feeds/videos.xml?videoChannelName=news"]),
    ("https://tube.example/a/ada/videos", "peertube-account", ["https://tube.example/feeds/videos.xml?accountName=ada"]),
    ("https://git.example/group/project/-/releases", "gitlab-elsewhere", ["https://git.example/group/project/-/releases?format=atom"]),
    ("https://social.example:8443/@name/123", "mastodon", ["https://social.example:8443/@name.rss"]),
    ("https://social.example/@name/tagged/art", "mastodon-tagged", ["https://social.example/@name/tagged/art.rss", "https://social.example/@name.rss"]),
    ("https://social.example/@name@home.example", "mastodon-elsewhere", ["https://home.example/@name.rss"]),
]  # fmt: skip


@pytest.mark.parametrize(("url", "rule", "expected"), CASES)
def test_a_platforms_page_leads_to_its_feeds(url: str, rule: str, expected: list[str]) -> None:
    found = [feed for feed in shipped_rules().feeds_of_address(url) if not feed.is_extra]

    assert [feed.url for feed in found] == expected
    assert {(feed.rule, feed.found_by) for feed in found} == {(rule, "platform")}


def test_every_rule_is_shown_by_an_example() -> None:
    by_address = {rule.name for rule in shipped_rules().rules if not rule.reads_page}

    assert by_address == {rule for _, rule, _ in CASES}


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
    assert shipped_rules().feeds_of_address(url) == ()


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
    assert shipped_rules().feeds_of_address(url) == ()


@pytest.mark.parametrize("url", ["https://github.com/atom/atom", "https://www.reddit.com/r/rss/"])
def test_a_page_about_feeds_is_no_feed(url: str) -> None:
    assert shipped_rules().feeds_of_address(url) != ()


def test_comments_are_marked() -> None:
    found = shipped_rules().feeds_of_address("https://www.reddit.com/r/python/comments/1abc/title/")

    assert [feed.is_comments for feed in found] == [False, True]


def test_the_platforms_own_word_is_told_from_our_guess() -> None:
    (published,) = shipped_rules().feeds_of_address("https://name.substack.com/")
    (guessed,) = shipped_rules().feeds_of_address("https://social.example/@name")

    assert (published.is_published, guessed.is_published) == (True, False)


def test_credentials_and_fragments_do_not_come_along() -> None:
    (feed,) = shipped_rules().feeds_of_address("https://me:secret@social.example/@name#top")

    assert feed.url == "https://social.example/@name.rss"


OWN = """
[[rule]]
name = "club"
host = 'club\\.example'
path = '/room/(?P<room>\\w+)'
feeds = ["https://bridge.example/?room={room}&from={origin}"]

[[rule]]
name = "no-github"
host = 'github\\.com'
feeds = ["https://bridge.example/github"]

[[handle]]
name = "club"
pattern = 'club:(?P<room>\\w+)'
page = "https://club.example/room/{room}"
"""


def test_rules_of_a_user_are_asked_before_the_shipped_ones() -> None:
    rules = shipped_rules().after(read_rules(OWN))

    assert [feed.url for feed in rules.feeds_of_address("https://club.example/room/7")] == [
        "https://bridge.example/?room=7&from=https://club.example"
    ]
    assert [feed.rule for feed in rules.feeds_of_address(REPO)] == ["no-github"]
    assert rules.page_of_handle("club:blue") == "https://club.example/room/blue"
    assert rules.page_of_handle("r/python") == "https://www.reddit.com/r/python/"
    assert rules.feeds_of_address("https://name.substack.com/") != ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("[[rule", "at", id="no TOML"),
        pytest.param('[[rule]]\nname = "a"', "missing required field `feeds`", id="no feeds"),
        pytest.param('[[rule]]\nname = "a"\nfeeds = []\nhots = ""', "hots", id="unknown field"),
        pytest.param('[[rule]]\nname = "a"\nfeeds = []', "feeds is empty", id="empty feeds"),
        pytest.param(
            '[[rule]]\nname = "a"\npath = "("\nfeeds = ["x"]', "no regular expression", id="pattern"
        ),
        pytest.param(
            '[[rule]]\nname = "a"\nfeeds = ["{b}"]', "no pattern has a group called 'b'", id="place"
        ),
        pytest.param(
            f'[[rule]]\nname = "a"\npath = "{"a" * 1001}"\nfeeds = ["x"]', "1000 char", id="long"
        ),
        *(
            pytest.param(
                f"[[rule]]\nname = 'a'\npath = '{path}'\nfeeds = ['x']", "take for ever", id=path
            )
            for path in (
                "(a+)+",
                "((?:a*)b)*",
                "(a|aa)*",
                "(a|aa){2,}",
                "([ab)]+x){3,99}",
                r"(\)a*)+",
                "(?:(?P<x>a+)?)*",
            )
        ),
        pytest.param(
            '[[handle]]\nname = "a"\npattern = "("\npage = "{b}"',
            "no group is called 'b'",
            id="handle",
        ),
    ],
)
def test_mistakes_in_a_file_of_rules_are_named(text: str, expected: str) -> None:
    with pytest.raises(ValueError, match=re.escape(expected)):
        read_rules(text)


@pytest.mark.parametrize(
    ("text", "page"),
    [
        ("@ada.bsky.social", "https://bsky.app/profile/ada.bsky.social"),
        ("did:plc:abc123", "https://bsky.app/profile/did:plc:abc123"),
        (" r/python ", "https://www.reddit.com/r/python/"),
        ("/u/ada", "https://www.reddit.com/u/ada/"),
        ("gh:ada/engine", "https://github.com/ada/engine"),
        ("youtube:@ada", "https://www.youtube.com/@ada"),
        ("@ada", None),
        ("ada/engine", None),
    ],
)
def test_a_bare_handle_stands_for_a_page(text: str, page: str | None) -> None:
    assert shipped_rules().page_of_handle(text) == page


@pytest.mark.parametrize("rule", shipped_rules().rules, ids=lambda rule: rule.name)
def test_no_shipped_pattern_backtracks_on_long_addresses(rule: PlatformRule) -> None:
    """A hang here would end the run by its hang guard."""
    for text in ("a" * 4_000, "/a" * 2_000, "a/-/" * 1_000, "a." * 2_000, "@" * 4_000):
        for pattern in rule.patterns:
            re.compile(pattern).fullmatch(text)
            re.compile(pattern).fullmatch(f"/{text}")


def test_a_place_for_the_query_is_empty_where_a_rule_asks_for_none() -> None:
    rules = read_rules(
        """
        [[rule]]
        name = "search"
        host = 'search\\.example'
        feeds = ["https://search.example/rss?{query}"]
        """
    )

    (found,) = rules.feeds_of_address("https://search.example/find?q=ada")

    assert found.url == "https://search.example/rss?"


@pytest.mark.parametrize(
    "path",
    [
        pytest.param("(?:a+)*+", id="possessive"),
        pytest.param(r"(?:[(*]+/)?(?:x|y)/\(*", id="signs without their meaning"),
        pytest.param("(?:ab)*(?:a|b){1,3}", id="nothing repeats inside"),
        pytest.param("(?:a{2})+", id="a fixed number inside"),
    ],
)
def test_pattern_that_ends_soon_is_taken(path: str) -> None:
    rules = read_rules(f"[[rule]]\nname = 'a'\npath = '{path}'\nfeeds = ['https://e.org/feed']")

    assert len(rules.rules) == 1
