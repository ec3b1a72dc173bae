"""Follows redirects: which targets are allowed, and when a redirect is a permanent move.

The engine follows redirects itself, one at a time, so that every hop passes the guard.
"""

import re
from collections.abc import Sequence

import ada_url

from feedmill.fetch.guard import check_url, printable_url
from feedmill.fetch.headers import header_text
from feedmill.model.fetch import Follow, Hop, Refused

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_PERMANENT = frozenset({301, 308})
_UNSAFE = re.compile(r"[\x00-\x1f\x7f\\]")


def next_hop(
    current_url: str,
    status: int,
    location: str | None,
    hops: Sequence[Hop] = (),
    *,
    max_redirects: int = 5,
    allow_downgrade: bool = False,
    allow_cidrs: Sequence[str] = (),
) -> Follow | Refused:
    """The next URL, or why the chain ends here.

    `hops` are the redirects followed before this one. The host of the result still has to be
    resolved and shown to the guard.
    """
    if status not in _REDIRECTS:
        return Refused(reason="not-a-redirect", detail=str(status))
    if location is None or not location.strip(" \t"):
        return Refused(reason="no-location")
    if len(hops) >= max_redirects:
        return Refused(reason="too-many-redirects", detail=str(max_redirects))
    target = resolve_location(current_url, location)
    if target is None:
        return Refused(reason="bad-location", detail=printable_url(location))
    verdict = check_url(target, allow_cidrs=allow_cidrs)
    if isinstance(verdict, Refused):
        return verdict
    return _follow(current_url, target, hops, allow_downgrade=allow_downgrade)


def permanent_target(hops: Sequence[Hop]) -> str | None:
    """Where the resource has moved for good, or None.

    Every hop has to be 301 or 308 (RFC 9110 15.4.2, 15.4.9): behind a temporary hop the
    publisher asks to come back to the old address, and a permanent beginning of such a chain
    only says which address to ask first. A way that leaves https is never a move (D6).
    """
    if not hops or any(hop.status not in _PERMANENT for hop in hops):
        return None
    target = ""
    for hop in hops:
        resolved = resolve_location(hop.url, hop.location)
        if resolved is None or _is_downgrade(hop.url, resolved):
            return None
        target = resolved
    return _without_fragment(target)


def resolve_location(current_url: str, location: str) -> str | None:
    """The absolute URL that a Location means, without credentials, or None.

    A server does not choose which credentials we send, so userinfo is dropped. The fragment
    of the old URL is inherited (RFC 9110 10.2.2).
    """
    reference = header_text(location.strip(" \t"))
    if _UNSAFE.search(reference):
        return None
    base = _parse(current_url)
    target = _parse(reference, base=current_url)
    if base is None or target is None:
        return None
    if not target.hash and base.hash:
        target.hash = base.hash
    if target.username or target.password:  # a URL without a host takes no userinfo, not even none
        target.username = target.password = ""
    return str(target.href)


def same_origin(one: str, other: str) -> bool:
    """Whether both URLs have scheme, host and port in common (RFC 6454)."""
    first, second = _parse(one), _parse(other)
    return first is not None and second is not None and bool(first.origin == second.origin)


def _follow(
    current_url: str, target: str, hops: Sequence[Hop], *, allow_downgrade: bool
) -> Follow | Refused:
    seen = {_without_fragment(url) for url in (current_url, *(hop.url for hop in hops))}
    if _without_fragment(target) in seen:
        return Refused(reason="redirect-loop", detail=printable_url(target))
    # What was asked over a private line is not repeated in the open.
    if _is_downgrade(current_url, target) and not allow_downgrade:
        return Refused(reason="downgrade", detail=printable_url(target))
    return Follow(url=target)


def _is_downgrade(current_url: str, target: str) -> bool:
    return current_url[:6].lower() == "https:" and not target.startswith("https:")


def _without_fragment(url: str) -> str:
    parsed = _parse(url)
    return (url if parsed is None else str(parsed.href)).partition("#")[0]


def _parse(url: str, base: str | None = None) -> ada_url.URL | None:
    try:
        return ada_url.URL(url, base)
    except ValueError:
        return None
