"""Where a search begins, and what other people's rules add to an address."""

from collections.abc import Callable, Sequence

from feedmill.canonicalise.pasted_url import resolve_url
from feedmill.canonicalise.rewrites import Rewrite
from feedmill.canonicalise.schemes import convert_feed_scheme
from feedmill.canonicalise.urls import http_url, other_scheme, strip_userinfo_and_fragment
from feedmill.model.canonical import RequestRole

# Other addresses that may serve the feed at this one, the likeliest first.
ProbeRule = Callable[[str], Sequence[str]]


def starting_urls(address: str, rewrites: Sequence[Rewrite]) -> list[tuple[str, RequestRole]]:
    """Where to begin, in order: () for what is no address."""
    url = resolve_url(address)
    if url is None:
        return []
    url = strip_userinfo_and_fragment(url)
    starts: dict[str, RequestRole] = {}
    rewritten = rewritten_url(url, rewrites)
    if rewritten is not None:
        starts[rewritten] = "rewrite"
    starts[url] = "input"
    if url.startswith("https:") and not _names_protocol(address.strip()):
        starts[other_scheme(url)] = "input"
    return list(starts.items())


def rewritten_url(url: str, rewrites: Sequence[Rewrite]) -> str | None:
    """The address as the first rewrite that knows it spells it; None when none does.

    A rewrite is the caller's: one that fails, or answers with what is no address, knows nothing.
    """
    for rewrite in rewrites:
        try:
            answer = rewrite(url)
        except Exception:  # noqa: BLE001, S112  # foreign code; the address is left as it is
            continue
        if answer is not None:
            href = http_url(answer)
            return None if href is None else strip_userinfo_and_fragment(href)
    return None


def probed_urls(probe: ProbeRule, url: str) -> tuple[str, ...]:
    """What a probe thinks of, without what is no address; one that fails thinks of nothing."""
    try:
        hrefs = [http_url(one) for one in probe(url)]
    except Exception:  # noqa: BLE001  # foreign code; nothing is probed
        return ()
    return tuple(strip_userinfo_and_fragment(href) for href in hrefs if href is not None)


def _names_protocol(text: str) -> bool:
    """Whether the text itself says http or https; `feed://host` and `host/feed` do not."""
    is_feed_scheme = convert_feed_scheme(text) != convert_feed_scheme(text, "http")
    return "://" in text and not is_feed_scheme
