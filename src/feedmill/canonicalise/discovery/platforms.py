"""Platform rules: the feeds of a page by the page's URL alone (YouTube, GitHub, Reddit …).

Each rule has a name, the hosts it speaks for, the paths it knows, and where the feed is. A rule
only proposes: what it returns is proven by a fetch. Most say what the platform itself documents;
those that hold for any host are guesses of ours, and marked.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from feedmill.canonicalise.discovery.html_page import plain_url
from feedmill.canonicalise.urls import param_name, split_url
from feedmill.model.canonical import FoundFeed


class PlatformRule(NamedTuple):
    """One line of the table: `{…}` in a feed is a named group of host, path or query."""

    name: str
    host: str
    path: str
    feeds: tuple[str, ...]
    query: str = ""  # a pattern of one `name=value` that has to be there
    is_published: bool = True  # False: not the platform's word, but our guess


_YOUTUBE: Final = r"(?:(?:www|m|music)\.)?youtube\.com"
_VIDEOS: Final = "https://www.youtube.com/feeds/videos.xml"
_LIST: Final = r"list=(?P<list>(?:PL|UU|OL|FL)[\w-]{10,60})"  # not those made for one viewer
_GITHUB: Final = r"(?:www\.)?github\.com"
_REPO: Final = r"/(?P<owner>[\w-]+)/(?P<repo>[\w.-]+?)(?:\.git)?"
_ON_GITHUB: Final = "https://github.com/{owner}/{repo}"
_NO_USER: Final = (  # what GitHub keeps for itself
    r"(?!/(?:about|account|apps|blog|codespaces|collections|contact|customer-stories|dashboard|"
    r"enterprise|events|explore|features|issues|join|login|marketplace|new|notifications|"
    r"organizations|orgs|pricing|pulls|readme|search|security|sessions|settings|signup|site|"
    r"sponsors|stars|team|topics|trending|watching)(?:/|\Z))"
)
_GITLAB: Final = r"gitlab\.com"
_PROJECT: Final = r"/(?P<project>(?!users/|explore|help|dashboard|-/)[\w.-]+(?:/(?!-/)[\w.-]+)+)"
_ON_GITLAB: Final = "https://gitlab.com/{project}"
_REDDIT: Final = r"(?:(?:www|old|new|np|m|i|sh)\.)?reddit\.com"
_ON_REDDIT: Final = "https://www.reddit.com"
_MEDIUM: Final = r"(?:www\.)?medium\.com"
_BLOGSPOT: Final = r"(?P<blog>[\w.-]+)\.blogspot\.(?:com|[a-z]{2}|com?\.[a-z]{2})"
_ON_BLOGSPOT: Final = "https://{blog}.blogspot.com/feeds"
_TUMBLR: Final = r"(?!www\.)(?P<blog>[\w-]+)\.tumblr\.com"
# Where every page belongs to one feed, the feeds themselves are no such pages.
_NO_FEED: Final = r"(?!.*/(?:feed|rss|(?:atom|rss)\.xml)/?\Z|/feeds/)"
_ANY_PATH: Final = rf"{_NO_FEED}/.*"

RULES: Final = (
    PlatformRule(
        "youtube-channel", _YOUTUBE, r"/channel/(?P<id>UC[\w-]{22})(?:/.*)?",
        (f"{_VIDEOS}?channel_id={{id}}",),
    ),
    PlatformRule("youtube-playlist", _YOUTUBE, r"/(?:playlist|watch)", (f"{_VIDEOS}?playlist_id={{list}}",), _LIST),
    PlatformRule("youtube-playlist", r"youtu\.be", r"/[\w-]+", (f"{_VIDEOS}?playlist_id={{list}}",), _LIST),
    PlatformRule("youtube-user", _YOUTUBE, r"/user/(?P<user>[\w.-]+)(?:/.*)?", (f"{_VIDEOS}?user={{user}}",)),

    PlatformRule("github-releases", _GITHUB, rf"{_NO_USER}{_REPO}/releases(?:/.*)?", (f"{_ON_GITHUB}/releases.atom",)),
    PlatformRule("github-tags", _GITHUB, rf"{_NO_USER}{_REPO}/tags/?", (f"{_ON_GITHUB}/tags.atom",)),
    PlatformRule(
        "github-commits", _GITHUB, rf"{_NO_USER}{_REPO}/(?:commits|tree|blob)/(?P<ref>.+?)/?",
        (f"{_ON_GITHUB}/commits/{{ref}}.atom",),
    ),
    PlatformRule("github-commits", _GITHUB, rf"{_NO_USER}{_REPO}/commits/?", (f"{_ON_GITHUB}/commits.atom",)),
    PlatformRule("github-wiki", _GITHUB, rf"{_NO_USER}{_REPO}/wiki(?:/.*)?", (f"{_ON_GITHUB}/wiki.atom",)),
    PlatformRule(
        "github-discussions", _GITHUB, rf"{_NO_USER}{_REPO}/discussions(?:/.*)?",
        (f"{_ON_GITHUB}/discussions.atom",),
    ),
    PlatformRule(
        "github-repository", _GITHUB, rf"{_NO_USER}{_REPO}/?",
        (f"{_ON_GITHUB}/releases.atom", f"{_ON_GITHUB}/commits.atom", f"{_ON_GITHUB}/tags.atom"),
    ),
    PlatformRule("github-user", _GITHUB, rf"{_NO_USER}/(?P<user>[\w-]+)/?", ("https://github.com/{user}.atom",)),
    PlatformRule(
        "github-gists", r"gist\.github\.com", r"/(?P<user>[\w-]+)(?:/[0-9a-f]+)?/?",
        ("https://gist.github.com/{user}.atom",),
    ),

    PlatformRule("gitlab-releases", _GITLAB, rf"{_PROJECT}/-/releases(?:/.*)?", (f"{_ON_GITLAB}/-/releases.atom",)),
    PlatformRule("gitlab-tags", _GITLAB, rf"{_PROJECT}/-/tags(?:/.*)?", (f"{_ON_GITLAB}/-/tags?format=atom",)),
    PlatformRule(
        "gitlab-commits", _GITLAB, rf"{_PROJECT}/-/(?:commits|tree|blob)/(?P<ref>.+?)/?",
        (f"{_ON_GITLAB}/-/commits/{{ref}}?format=atom",),
    ),
    PlatformRule(
        "gitlab-project", _GITLAB, rf"{_PROJECT}/?",
        (f"{_ON_GITLAB}/-/releases.atom", f"{_ON_GITLAB}.atom", f"{_ON_GITLAB}/-/tags?format=atom"),
    ),
    PlatformRule(
        "gitlab-user", _GITLAB, r"/(?!explore|help|dashboard|users)(?P<user>[\w.-]+)/?",
        ("https://gitlab.com/{user}.atom",),
    ),

    PlatformRule(
        "reddit-thread", _REDDIT, r"/r/(?P<sub>[\w+]+)/comments/(?P<thread>\w+)(?:/.*)?",
        (f"{_ON_REDDIT}/r/{{sub}}/.rss", f"{_ON_REDDIT}/r/{{sub}}/comments/{{thread}}/.rss"),
    ),
    PlatformRule(
        "reddit-search", _REDDIT, r"(?P<where>/r/[\w+]+)?/search/?",
        (f"{_ON_REDDIT}{{where}}/search.rss?{{query}}",), r"q=.+",
    ),
    PlatformRule(
        "reddit-sorted", _REDDIT, r"/r/(?P<sub>[\w+]+)/(?P<order>new|hot|rising|top|controversial)/?",
        (f"{_ON_REDDIT}/r/{{sub}}/{{order}}/.rss",),
    ),
    PlatformRule("reddit-subreddit", _REDDIT, r"/r/(?P<sub>[\w+]+)(?:/.*)?", (f"{_ON_REDDIT}/r/{{sub}}/.rss",)),
    PlatformRule(
        "reddit-multireddit", _REDDIT, r"/(?:user|u)/(?P<user>[\w-]+)/m/(?P<multi>\w+)(?:/.*)?",
        (f"{_ON_REDDIT}/user/{{user}}/m/{{multi}}/.rss",),
    ),
    PlatformRule("reddit-user", _REDDIT, r"/(?:user|u)/(?P<user>[\w-]+)(?:/.*)?", (f"{_ON_REDDIT}/user/{{user}}/.rss",)),
    PlatformRule("reddit-domain", _REDDIT, r"/domain/(?P<domain>[\w.-]+)(?:/.*)?", (f"{_ON_REDDIT}/domain/{{domain}}/.rss",)),

    PlatformRule(
        "wordpress-archive", r"(?P<blog>[\w-]+)\.wordpress\.com", rf"{_NO_FEED}(?P<part>/(?:category|tag|author)/[^/]+)(?:/.*)?",
        ("https://{blog}.wordpress.com{part}/feed/", "https://{blog}.wordpress.com/feed/"),
    ),
    PlatformRule(
        "wordpress", r"(?P<blog>[\w-]+)\.wordpress\.com", _ANY_PATH,
        ("https://{blog}.wordpress.com/feed/", "https://{blog}.wordpress.com/comments/feed/"),
    ),
    PlatformRule("substack", r"(?!www\.)(?P<name>[\w-]+)\.substack\.com", _ANY_PATH, ("https://{name}.substack.com/feed",)),
    PlatformRule(
        "substack-profile", r"(?:www\.)?substack\.com", r"/@(?P<name>[\w-]+)(?:/.*)?",
        ("https://{name}.substack.com/feed",), is_published=False,
    ),
    PlatformRule("medium-topic", _MEDIUM, r"/tag/(?P<tag>[^/]+)(?:/.*)?", ("https://medium.com/feed/tag/{tag}",)),
    PlatformRule(
        "medium-tagged", _MEDIUM, r"/(?P<name>[\w-]+)/tagged/(?P<tag>[^/]+)/?",
        ("https://medium.com/feed/{name}/tagged/{tag}", "https://medium.com/feed/{name}"),
    ),
    PlatformRule(
        "medium", _MEDIUM, r"/(?!(?:m|me|p|s|u|about|feed|jobs|membership|search|topics)(?:/|\Z))(?P<name>@?[\w.-]+)(?:/.*)?",
        ("https://medium.com/feed/{name}",),
    ),
    PlatformRule(
        "medium-subdomain", r"(?!(?:www|help|policy|blog)\.)(?P<name>[\w-]+)\.medium\.com", _ANY_PATH,
        ("https://{name}.medium.com/feed",),
    ),
    PlatformRule(
        "tumblr-tagged", _TUMBLR, r"/tagged/(?P<tag>[^/]+)/?",
        ("https://{blog}.tumblr.com/tagged/{tag}/rss", "https://{blog}.tumblr.com/rss"),
    ),
    PlatformRule("tumblr", _TUMBLR, _ANY_PATH, ("https://{blog}.tumblr.com/rss",)),
    PlatformRule(
        "tumblr-profile", r"(?:www\.)?tumblr\.com",
        r"/(?:blog/view/)?(?!(?:blog|dashboard|explore|login|register|search|tagged)(?:/|\Z))(?P<blog>[\w-]+)(?:/.*)?",
        ("https://{blog}.tumblr.com/rss",),
    ),
    PlatformRule(
        "blogger-label", _BLOGSPOT, r"/search/label/(?P<label>[^/]+)/?",
        (f"{_ON_BLOGSPOT}/posts/default/-/{{label}}", f"{_ON_BLOGSPOT}/posts/default"),
    ),
    PlatformRule(
        "blogger", _BLOGSPOT, _ANY_PATH,
        (f"{_ON_BLOGSPOT}/posts/default", f"{_ON_BLOGSPOT}/posts/default?alt=rss", f"{_ON_BLOGSPOT}/comments/default"),
    ),
    PlatformRule("bluesky", r"bsky\.app", r"/profile/(?P<name>[\w.:-]+)(?:/.*)?", ("https://bsky.app/profile/{name}/rss",)),
    PlatformRule("hacker-news", r"news\.ycombinator\.com", r"/(?:news)?", ("https://news.ycombinator.com/rss",)),

    # What runs Mastodon and its relatives shows in the path; on hosts of other rules it means another thing.
    PlatformRule(
        "mastodon-tagged", r".+", r"/@(?P<user>\w+)/tagged/(?P<tag>\w+)/?",
        ("{origin}/@{user}/tagged/{tag}.rss", "{origin}/@{user}.rss"), is_published=False,
    ),
    PlatformRule(
        "mastodon-elsewhere", r".+", r"/@(?P<user>\w+)@(?P<home>[\w-]+(?:\.[\w-]+)+)(?:/.*)?",
        ("https://{home}/@{user}.rss",), is_published=False,
    ),
    PlatformRule(
        "mastodon", r".+", r"/@(?P<user>\w+)(?:/.*)?",
        ("{origin}/@{user}.rss",), is_published=False,
    ),
)  # fmt: skip

# Hosts with people behind an `@` that have no feed by address.
_NO_MASTODON: Final = re.compile(
    rf"{_YOUTUBE}|(?:www\.)?(?:tiktok|threads|instagram|flipboard|rumble|odysee|dev|note|quora)\."
    r"(?:com|net|to)"
)
_COMMENTS: Final = re.compile(r"/comments/")
_FEED_FILE: Final = re.compile(r"\.(?:atom|rss)\Z", re.IGNORECASE)
_FEED_QUERY: Final = re.compile(r"(?:^|&)(?:feed=|(?:format|alt)=(?:atom|rss)(?:&|\Z))")
_COMPILED: Final = tuple((rule, re.compile(rule.host), re.compile(rule.path)) for rule in RULES)


def platform_feeds(url: str) -> tuple[FoundFeed, ...]:
    """The feeds that the first rule knowing this address proposes; comment feeds last."""
    page = plain_url(url)
    if page is None:
        return ()
    parts = split_url(page)
    if _FEED_FILE.search(parts.path) or _FEED_QUERY.search(parts.query or ""):
        return ()  # it is one already
    origin = page[: page.index("/", len(parts.scheme) + 3)]
    for rule, host, path in _COMPILED:
        where, what = host.fullmatch(parts.host), path.fullmatch(parts.path)
        if (
            where is None
            or what is None
            or (rule.host == r".+" and _NO_MASTODON.fullmatch(parts.host))
        ):
            continue
        asked = _asked_for(rule, parts.query or "")
        if asked is not None:
            groups = {**where.groupdict(""), **what.groupdict(""), **asked, "origin": origin}
            return tuple(_proposed(rule, groups, page))
    return ()


def _asked_for(rule: PlatformRule, query: str) -> dict[str, str] | None:
    """What the query contributes; None when the rule needs something that is not there."""
    if not rule.query:
        return {}
    for piece in query.split("&"):
        if (match := re.fullmatch(rule.query, piece)) is not None:
            kept = (
                one
                for one in query.split("&")
                if param_name(one) in ("q", "sort", "t", "restrict_sr")
            )
            return {**match.groupdict(), "query": "&".join(kept)}
    return None


def _proposed(rule: PlatformRule, groups: dict[str, str], page: str) -> Iterator[FoundFeed]:
    for template in rule.feeds:
        url = plain_url(template.format_map(groups))
        if url is not None and url != page:
            yield FoundFeed(
                url=url,
                found_by="platform",
                is_comments=_COMMENTS.search(url) is not None,
                rule=rule.name,
                is_published=rule.is_published,
            )
