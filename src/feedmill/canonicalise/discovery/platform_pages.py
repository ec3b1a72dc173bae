"""What platforms are known to do, for pages whose address says too little.

A channel's page behind a handle, or a blog on a domain of its own: the page tells which platform
serves it, or the number behind the name. Only proposals, like those of platforms.py.
"""

import re
from collections.abc import Callable, Iterator
from typing import Final

from feedmill.canonicalise.discovery.html_page import HtmlPage, plain_url, read_page
from feedmill.canonicalise.discovery.page_links import distinct_feeds
from feedmill.canonicalise.urls import split_url
from feedmill.model.canonical import FoundFeed

_YOUTUBE_HOST: Final = re.compile(r"(?:(?:www|m|music)\.)?youtube\.com|youtu\.be")
_YOUTUBE_URL: Final = re.compile(r"/channel/(UC[\w-]{22})")
_YOUTUBE_META: Final = re.compile(r"UC[\w-]{22}")
_YOUTUBE_SCRIPT: Final = re.compile(r'"(?:externalId|externalChannelId|channelId)":"(UC[\w-]{22})"')
_PODCAST_FEED: Final = re.compile(r'"feedUrl":"(https?:[^"\\]{0,2000}(?:\\[/u][^"\\]{0,2000})*)"')
_SOUNDCLOUD_USER: Final = re.compile(r"soundcloud:(?://)?users:(\d{1,15})")
_WORDPRESS_FILE: Final = re.compile(r"(.*?/)wp-(?:content|includes|json)/", re.DOTALL)
_WORDPRESS_PART: Final = re.compile(r"/(?:category|tag|author)/[^/]+/?\Z")
_MASTODON_PATH: Final = re.compile(r"/(?:@|users/)(\w+)(?:/.*)?")


def page_platform_feeds(html: str | bytes | HtmlPage, url: str) -> tuple[FoundFeed, ...]:
    """The feeds that the page's platform is known to have, by what the page says of itself."""
    page = html if isinstance(html, HtmlPage) else read_page(html, url)
    if page.url != plain_url(page.url):
        return ()
    return distinct_feeds(feed for rule in _RULES for feed in rule(page))


def _youtube(page: HtmlPage) -> Iterator[FoundFeed]:
    """A channel by handle or old name, a video: the page knows the channel's id."""
    if not _YOUTUBE_HOST.fullmatch(split_url(page.url).host):
        return
    channel = _youtube_channel(page)
    if channel is not None:
        feed = f"https://www.youtube.com/feeds/videos.xml?channel_id={channel}"
        yield _feed(feed, "youtube-page", is_published=True)


def _youtube_channel(page: HtmlPage) -> str | None:
    for link in page.links:
        if "canonical" in link.get("rel").lower() and (
            url := _YOUTUBE_URL.search(link.get("href"))
        ):
            return url[1]
    for meta in page.metas:
        named = meta.get("itemprop").lower() in ("identifier", "channelid")
        if named and _YOUTUBE_META.fullmatch(meta.get("content")):
            return meta.get("content")
    script = _YOUTUBE_SCRIPT.search(page.text)
    return script[1] if script else None


def _apple_podcasts(page: HtmlPage) -> Iterator[FoundFeed]:
    """A podcast's page carries the address of the publisher's own feed."""
    if split_url(page.url).host != "podcasts.apple.com":
        return
    found = _PODCAST_FEED.search(page.text)
    url = plain_url(found[1].replace("\\u002F", "/").replace("\\/", "/")) if found else None
    if url is not None:
        yield _feed(url, "apple-podcasts", is_published=True)


def _soundcloud(page: HtmlPage) -> Iterator[FoundFeed]:
    """An artist's page carries the artist's number."""
    if split_url(page.url).host not in ("soundcloud.com", "www.soundcloud.com", "m.soundcloud.com"):
        return
    user = _SOUNDCLOUD_USER.search(page.text)
    if user is not None:
        address = f"https://feeds.soundcloud.com/users/soundcloud:users:{user[1]}/sounds.rss"
        yield _feed(address, "soundcloud", is_published=True)


def _wordpress(page: HtmlPage) -> Iterator[FoundFeed]:
    """WordPress on any domain and in any folder: its generator, or its own files."""
    root = _wordpress_root(page)
    if root is None:
        return
    path = split_url(page.url).path
    if page.url.startswith(root) and _WORDPRESS_PART.search(path):
        yield _feed(f"{page.url.partition('?')[0].rstrip('/')}/feed/", "wordpress-archive")
    yield _feed(f"{root}feed/", "wordpress-site")
    yield _feed(f"{root}?feed=rss2", "wordpress-site")


def _wordpress_root(page: HtmlPage) -> str | None:
    """Where the blog begins; only what lies on the page's own host tells."""
    origin = _origin(page)
    for link in page.links:
        file = _WORDPRESS_FILE.match(plain_url(link.get("href"), page.base) or "")
        if file is not None and file[1].startswith(origin):
            return file[1]
    return origin if _generator(page).startswith("wordpress") else None


def _blogger(page: HtmlPage) -> Iterator[FoundFeed]:
    if _generator(page) == "blogger":
        yield _feed(f"{_origin(page)}feeds/posts/default", "blogger-site")


def _substack(page: HtmlPage) -> Iterator[FoundFeed]:
    """A Substack under its own domain loads everything from one host."""
    hrefs = (link.get("href") for link in page.links)
    if any(split_url(url).host == "substackcdn.com" for href in hrefs if (url := plain_url(href))):
        yield _feed(f"{_origin(page)}feed", "substack-site")


def _medium(page: HtmlPage) -> Iterator[FoundFeed]:
    """Medium under a publication's own domain."""
    names = ("al:ios:app_name", "al:android:app_name")
    if any(m.get("property") in names and m.get("content") == "Medium" for m in page.metas):
        yield _feed(f"{_origin(page)}feed", "medium-site")


def _tumblr(page: HtmlPage) -> Iterator[FoundFeed]:
    """A Tumblr under its own domain says where its app finds it."""
    for meta in page.metas:
        if meta.get("content").startswith("tumblr://"):
            yield _feed(f"{_origin(page)}rss", "tumblr-site")
            return


def _mastodon(page: HtmlPage) -> Iterator[FoundFeed]:
    """Mastodon under any domain; a post leads to its author."""
    user = _MASTODON_PATH.fullmatch(split_url(page.url).path)
    if user is not None and _generator(page).startswith("mastodon"):
        yield _feed(f"{_origin(page)}@{user[1]}.rss", "mastodon-site")


_RULES: Final[tuple[Callable[[HtmlPage], Iterator[FoundFeed]], ...]] = (
    _youtube,
    _apple_podcasts,
    _soundcloud,
    _mastodon,
    _wordpress,
    _blogger,
    _substack,
    _medium,
    _tumblr,
)


def _origin(page: HtmlPage) -> str:
    """Scheme and host of the page with the slash."""
    return page.url[: page.url.index("/", page.url.index("://") + 3) + 1]


def _generator(page: HtmlPage) -> str:
    """What the page says it was made with, lower case."""
    named = (meta for meta in page.metas if meta.get("name").lower() == "generator")
    return next((meta.get("content").lower() for meta in named), "")


def _feed(url: str, rule: str, *, is_published: bool = False) -> FoundFeed:
    return FoundFeed(url=url, found_by="platform", rule=rule, is_published=is_published)
