"""Platform rules for feed URLs: rewrites, probes, and the URLs that a search starts with (seed 004).

A rewrite turns an address into the one the platform itself prefers; a probe lists addresses that
may serve the same feed. Both only propose: what they return is verified by a fetch (D4).
"""

import re
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from feedmill.canonicalise import pasted_url, urls
from feedmill.model.canonical import RequestRole

# A URL that a rewrite does not know is answered with None.
Rewrite = Callable[[str], str | None]
# Other addresses that may serve the feed at this one, the likeliest first.
ProbeRule = Callable[[str], Sequence[str]]

_FEEDBURNER = frozenset(("feeds.feedburner.com", "feeds2.feedburner.com", "feedproxy.google.com"))
_BLOGGER = frozenset(("blogger.com", "www.blogger.com", "beta.blogger.com"))
# Blogger served every blog under one domain per country: blogspot.de, blogspot.co.uk, ...
_BLOGSPOT = re.compile(r"([^.]+(?:\.[^.]+)*)\.blogspot\.(?:com|[a-z]{2}|com?\.[a-z]{2})")
# Parameters that choose a part or a wrapping of a Blogger feed, not another feed.
_BLOGGER_PARAMS = frozenset(
    (
        *("redirect", "v", "max-results", "start-index", "orderby"),
        *("published-min", "published-max", "updated-min", "updated-max"),
    )
)
_WORDPRESS_FEED = re.compile(r"(comments-)?(atom|rss2|rss|rdf)", re.IGNORECASE)
_WORDPRESS_PATH = re.compile(r"/feed(?:/(?:atom|rss2|rss|rdf))?\Z", re.IGNORECASE)


def starting_urls(address: str, rewrites: Sequence[Rewrite]) -> list[tuple[str, RequestRole]]:
    """The URLs that a search requests first, in order; () for what is no address."""
    url = pasted_url.resolve_url(address)
    if url is None or urls.hides_ipv4(address, url):
        return []
    url = urls.strip_userinfo_and_fragment(url)
    starts: dict[str, RequestRole] = {}
    rewritten = rewritten_url(url, rewrites)
    if rewritten is not None:
        starts[rewritten] = "rewrite"
    starts[url] = "input"
    if url.startswith("https:") and not _names_protocol(address.strip()):
        starts[urls.other_scheme(url)] = "input"
    bare = pasted_url.resolve_url(pasted_url.without_end_of_sentence(address))
    if bare is not None and not urls.hides_ipv4(
        address, bare
    ):  # only where the address as written is none
        starts.setdefault(urls.strip_userinfo_and_fragment(bare), "input")
    return list(starts.items())


def rewritten_url(url: str, rewrites: Sequence[Rewrite]) -> str | None:
    """The URL in the spelling of the first rewrite that knows it; None when none does.

    A rewrite is the caller's: one that fails, or answers with what is no address, knows nothing.
    """
    for rewrite in rewrites:
        try:
            answer = rewrite(url)
        except Exception:  # noqa: BLE001, S112  # foreign code; the address is left as it is
            continue
        if answer is not None:
            href = urls.http_url(answer)
            return None if href is None else urls.strip_userinfo_and_fragment(href)
    return None


def probed_urls(probe: ProbeRule, url: str) -> tuple[str, ...]:
    """The addresses that a probe proposes, without what is no URL; () when it fails."""
    try:
        hrefs = [urls.http_url(one) for one in probe(url)]
    except Exception:  # noqa: BLE001  # foreign code; nothing is probed
        return ()
    return tuple(urls.strip_userinfo_and_fragment(href) for href in hrefs if href is not None)


def feedburner(url: str) -> str | None:
    """A FeedBurner address under its one host, without query; None for other hosts."""
    parts = _parts(url)
    if parts is None or parts.host not in _FEEDBURNER:
        return None
    return urls.join_url(replace(_plain(parts), host="feeds.feedburner.com", query=None))


def blogger(url: str) -> str | None:
    """A Blogger feed on its .com host, by https and without paging; None for other hosts."""
    parts = _parts(url)
    if parts is None:
        return None
    host = _blogger_host(parts.host)
    if host is None:
        return None
    path, query = _blogger_feed(_plain(parts), is_blog=host != "www.blogger.com")
    return urls.join_url(
        replace(_plain(parts), scheme="https", host=host, path=path, query=query or None)
    )


def wordpress_candidates(url: str) -> tuple[str, ...]:
    """Pretty addresses for a WordPress `?feed=` address, without and with a trailing slash."""
    parts = _parts(url)
    if parts is None or parts.query is None:
        return ()
    suffix = _wordpress_suffix(parts.query)
    if suffix is None:
        return ()
    path = parts.path.rstrip("/")
    if not _WORDPRESS_PATH.search(path):
        path += suffix
    query = urls.drop_params(parts.query, lambda name: name == "feed") or None
    bare = replace(parts, userinfo="", query=query, fragment=None)
    return urls.join_url(replace(bare, path=path)), urls.join_url(replace(bare, path=f"{path}/"))


def _names_protocol(text: str) -> bool:
    """Whether the text itself says http or https; `feed://host` and `host/feed` do not."""
    is_feed_scheme = pasted_url.convert_feed_scheme(text) != pasted_url.convert_feed_scheme(
        text, "http"
    )
    return "://" in text and not is_feed_scheme


def _parts(url: str) -> urls.HttpUrl | None:
    href = urls.http_url(url)
    return None if href is None else urls.split_url(href)


def _plain(parts: urls.HttpUrl) -> urls.HttpUrl:
    """The parts that matter to a platform that serves from one host and the default port."""
    path = urls.tidy_path(parts.path).rstrip("/") or "/"
    return replace(parts, userinfo="", port="", path=path, fragment=None)


def _blogger_host(host: str) -> str | None:
    if host in _BLOGGER:
        return "www.blogger.com"
    blog = _BLOGSPOT.fullmatch(host)
    return None if blog is None else f"{blog[1]}.blogspot.com"


def _blogger_feed(parts: urls.HttpUrl, *, is_blog: bool) -> tuple[str, str]:
    """Path and query, with the addresses of before 2006 replaced."""
    kept = [piece for piece in (parts.query or "").split("&") if not _is_default(piece)]
    if is_blog and parts.path == "/rss.xml":
        kept = [*(piece for piece in kept if urls.param_name(piece) != "alt"), "alt=rss"]
    path = parts.path
    if is_blog and path in ("/atom.xml", "/rss.xml"):
        path = "/feeds/posts/default"
    return path, urls.sort_params("&".join(kept))


def _is_default(piece: str) -> bool:
    """Whether the piece says nothing: paging, or `alt` for the format that is served anyway."""
    name = urls.param_name(piece)
    if name == "alt":
        return urls.param_value(piece).lower() in ("", "atom", "json")
    return name in _BLOGGER_PARAMS


def _wordpress_suffix(query: str) -> str | None:
    """The pretty path for the first `feed=` that WordPress knows."""
    for piece in query.split("&"):
        feed = (
            _WORDPRESS_FEED.fullmatch(urls.param_value(piece))
            if urls.param_name(piece) == "feed"
            else None
        )
        if feed is not None:
            comments = "/comments" if feed[1] else ""
            return f"{comments}/feed/atom" if feed[2].lower() == "atom" else f"{comments}/feed"
    return None
