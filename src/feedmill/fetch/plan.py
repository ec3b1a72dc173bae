"""Plans a request: one conditional GET with a feed's own headers and credentials.

A server may compare the ETag of another machine, or a date that it makes anew for each answer, and then
never answers 304 although one of the two alone would do (H06). After three answers with nothing new, the
ETag alone is tried, then the date alone; what leads to a 304 is remembered. When nothing helps, both are
sent again and the search is repeated more and more rarely, because a server may be repaired.

Follows redirects: which targets are allowed, and when a redirect is a permanent move.

The engine follows redirects itself, one at a time, so that every hop passes the guard.
"""

import re
from base64 import b64encode
from collections.abc import Sequence
from functools import lru_cache

import ada_url
from msgspec.structs import replace

from feedmill.canonicalise.urls import hides_ipv4, split_url
from feedmill.config import FetchConfig
from feedmill.fetch.caching import are_valid_for, conditional_fields
from feedmill.fetch.guard import check_url, printable_url
from feedmill.fetch.headers import header_text, is_sendable
from feedmill.model.feed import FeedOverrides, ValidatorUse
from feedmill.model.fetch import FetchLimits, FetchPlan, Follow, Headers, Hop, Refused, Validators

# Feed types by name, because some servers answer a request for anything with a page; then
# anything, because others answer 406 without it (RFC 9110 12.5.1).
ACCEPT_FEED = (
    "application/atom+xml, application/rss+xml, application/feed+json, application/rdf+xml;q=0.9, "
    "application/xml;q=0.8, text/xml;q=0.8, application/json;q=0.7, */*;q=0.1"
)
ACCEPT_PAGE = "text/html, application/xhtml+xml, */*;q=0.1"
ACCEPT_ROBOTS = "text/plain, */*;q=0.1"
ACCEPT_MEDIA = "audio/*, video/*, */*;q=0.8"

_ESCAPE = re.compile(rb"%([0-9A-Fa-f]{2})")

# Fields that do not identify the client and go to any host; all others stay with the origin.
_IMPERSONAL = frozenset({"user-agent", "accept", "accept-encoding", "accept-language"})

# Fields that a feed's own settings cannot bring in: they are ours to decide, or never sent.
_RESERVED = frozenset({
    "host", "connection", "content-length", "transfer-encoding", "te", "upgrade", "trailer",
    "cookie", "referer", "range", "if-range", "if-match", "if-none-match", "if-modified-since",
    "if-unmodified-since", "accept-encoding", "a-im",
})  # fmt: skip
TRIES = 3  # answers with nothing new before something else is tried
_SEARCH: tuple[ValidatorUse, ...] = ("both", "etag", "date")
EXHAUSTED = TRIES * len(_SEARCH)  # from here on nothing is known to help
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_PERMANENT = frozenset({301, 308})
_UNSAFE = re.compile(r"[\x00-\x1f\x7f\\]")


def plan_fetch(
    url: str,
    validators: Validators | None,
    config: FetchConfig,
    *,
    forced: bool = False,
    accept: str = ACCEPT_FEED,
    extra_headers: Sequence[tuple[str, str]] = (),
    credentials: tuple[str, str] | None = None,
) -> FetchPlan:
    """The request to send for this URL.

    Credentials in the URL become an Authorization field (RFC 7617) and leave the URL;
    `credentials`, a name and a password, take their place where they are given. It is
    unconditional when there are no validators, when it is `forced`, and when our own fields
    that the server's Vary named have changed.
    """
    bare_url, authorization = _split_credentials(url)
    if credentials is not None:
        authorization = _basic(*credentials)
    fields = _fields(config, accept, (*authorization, *extra_headers))
    conditions: Headers = ()
    if not forced and validators is not None and are_valid_for(validators, fields):
        conditions = conditional_fields(validators)
    usable = validators if conditions else None
    return FetchPlan(
        url=bare_url,
        headers=fields + conditions if _is_for(usable, bare_url) else fields,
        conditional=usable is not None,
        limits=limits_of(config, config.content_types if accept == ACCEPT_FEED else ()),
        validators=usable,
    )


def plan_feed_fetch(
    url: str,
    own: FeedOverrides,
    config: FetchConfig,
    *,
    validators: Validators | None = None,
    forced: bool = False,
    accept: str = ACCEPT_FEED,
) -> FetchPlan:
    """The request for this URL with everything that the feed sends of its own."""
    name = (("User-Agent", own.user_agent),) if own.user_agent else ()
    has_credentials = own.username is not None or own.password is not None
    return plan_fetch(
        url,
        validators,
        config,
        forced=forced,
        accept=accept,
        extra_headers=(*own.headers, *name),
        credentials=(own.username or "", own.password or "") if has_credentials else None,
    )


def is_trusted(url: str, given_url: str) -> bool:
    """Whether the address may see what was meant for the given one: its host, and no less secret."""
    if not given_url:
        return False
    target, given = split_url(url), split_url(given_url)
    is_downgrade = given.scheme == "https" and target.scheme != "https"
    return (target.host, target.port) == (given.host, given.port) and not is_downgrade


def without_credentials(own: FeedOverrides) -> FeedOverrides:
    """The feed's own settings for another host than the one that its secrets were meant for."""
    return replace(own, username=None, password=None, headers=(), verify_tls=True)


def headers_for_hop(plan: FetchPlan, target_url: str) -> Headers:
    """The fields to send after a redirect.

    Credentials and other fields that identify the client stay with the origin that they were meant
    for (RFC 9110 15.4). Validators go to the resource that gave them and to no other.
    """
    stays = same_origin(plan.url, target_url)
    fields = tuple(
        (name, value)
        for name, value in plan.headers
        if name.lower() in _IMPERSONAL or (stays and name.lower() not in _RESERVED)
    )
    known = plan.validators
    conditions = conditional_fields(known) if known and _is_for(known, target_url) else ()
    return fields + conditions + plan.range_fields


def plan_download(
    url: str,
    own: FeedOverrides,
    config: FetchConfig,
    *,
    range_fields: Headers,
    timeout_sec: float,
) -> FetchPlan:
    """The request for a file: as it is stored, without a content-coding, and only its rest if asked so."""
    plain = replace(config, accept_encodings=(), timeout_ms=int(timeout_sec * 1000))
    plan = plan_feed_fetch(url, own, plain, accept=ACCEPT_MEDIA)
    return replace(plan, headers=plan.headers + range_fields, range_fields=range_fields)


@lru_cache(maxsize=16_384)
def _split_credentials(url: str) -> tuple[str, Headers]:
    try:
        parsed = ada_url.URL(url)
    except ValueError:  # the guard refuses it with a reason
        return url, ()
    if hides_ipv4(url, str(parsed.href)):
        return url, ()  # so does this: the guard judges an address as it is spelled
    parsed.hash = ""
    if not parsed.username and not parsed.password:
        return str(parsed.href), ()
    authorization = _basic(_plain(parsed.username), _plain(parsed.password))
    parsed.username = parsed.password = ""
    return str(parsed.href), authorization


def _basic(username: str, password: str) -> Headers:
    pair = f"{username}:{password}".encode()
    return (("Authorization", f"Basic {b64encode(pair).decode()}"),)


def _plain(userinfo: str) -> str:
    """Userinfo with its escapes decoded."""
    octets = _ESCAPE.sub(lambda escape: bytes.fromhex(escape[1].decode()), userinfo.encode())
    return octets.decode("utf-8", "replace")


def _fields(config: FetchConfig, accept: str, extra: Headers) -> Headers:
    own = _own_fields(config.user_agent, accept, config.accept_encodings)
    if not extra:
        return own
    added = tuple((n, v) for n, v in extra if n.lower() not in _RESERVED and _is_field(n, v))
    replaced = {name.lower() for name, _ in added}
    return (*((n, v) for n, v in own if n.lower() not in replaced), *added)


@lru_cache(maxsize=64)
def _own_fields(user_agent: str, accept: str, encodings: tuple[str, ...]) -> Headers:
    own = (
        ("User-Agent", user_agent),
        ("Accept", accept),
        ("Accept-Encoding", ", ".join(encodings) or "identity"),
    )
    return tuple((name, value) for name, value in own if is_sendable(value))


def _is_field(name: str, value: str) -> bool:
    token = name.replace("-", "").replace("_", "")
    return token.isascii() and token.isalnum() and is_sendable(value)


def _is_for(validators: Validators | None, url: str) -> bool:
    """Whether this resource gave the validators, as far as is known."""
    return validators is not None and validators.url in (None, url.partition("#")[0])


def limits_of(config: FetchConfig, content_types: tuple[str, ...] = ()) -> FetchLimits:
    """The limits of one request."""
    return FetchLimits(
        timeout_ms=config.timeout_ms,
        max_redirects=config.max_redirects,
        max_body_bytes=config.max_body_bytes,
        max_wire_bytes=config.max_wire_bytes,
        max_header_bytes=config.max_header_bytes,
        min_bytes_per_sec=config.min_bytes_per_sec,
        min_throughput_window_sec=config.min_throughput_window_sec,
        content_types=content_types,
    )


def validators_to_send(
    validators: Validators | None, useless: int, remembered: ValidatorUse | None
) -> Validators | None:
    """The validators of the next request, after so many answers in a row that brought nothing new."""
    if validators is None or validators.etag is None or validators.last_modified is None:
        return validators
    match next_use(useless, remembered):
        case "etag":
            return replace(validators, last_modified=None)
        case "date":
            return replace(validators, etag=None)
        case _:
            return validators


def next_use(useless: int, remembered: ValidatorUse | None) -> ValidatorUse:
    """What to send next: what worked before, then each in turn, then both, with ever longer rests."""
    if useless < TRIES:
        return remembered or "both"
    turn = useless // TRIES
    if turn < len(_SEARCH):
        return _SEARCH[turn]
    # Turns 3, 6, 12, 24 … are followed by another search; the rest send both.
    start = len(_SEARCH)
    while start * 2 <= turn:
        start *= 2
    return _SEARCH[turn - start] if turn - start < len(_SEARCH) else "both"


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
