"""Requests, responses and their verdicts: from the fetch plan to the raw document.

Header values are text in which each character is one octet (ISO-8859-1), so that a validator
goes back byte for byte as it came.
"""
# Tested in tests/unit/fetch/test_judge.py

from typing import Final, Literal

from feedmill.model.base import Value
from feedmill.model.parsed import Link

Headers = tuple[tuple[str, str], ...]  # in the order of the wire, duplicates kept

RefusalReason = Literal[
    "malformed-url",  # no parser agrees with another on it, or none reads it
    "unsafe-character",  # a control character, white space or a backslash
    "too-long",  # more characters than any address has
    "scheme",  # neither http nor https
    "empty-host",
    "bad-host",  # an over-long or empty label, or a name over 253 octets
    "non-canonical-ipv4",  # octal, hexadecimal, short or otherwise disguised
    "dotless-name",  # intranet, metadata
    "local-name",  # .localhost, .local, .internal, .onion and the like
    "bad-port",  # another protocol lives there
    "unresolved",  # the name has no address
    "bad-address",  # the resolver answered with something that is no address
    "private-address",  # not reachable over the public internet
    "host-not-listed",  # only the hosts of a list may be asked
    "not-a-redirect",
    "no-location",
    "bad-location",
    "redirect-loop",
    "too-many-redirects",
    "downgrade",  # from https to http
]

FailureReason = Literal[
    "timeout-connect",
    "timeout",  # the deadline of the whole fetch
    "too-slow",  # under the minimum throughput
    "dns-failure",
    "connection-failed",
    "tls-failure",
    "protocol-error",  # not HTTP, or HTTP that contradicts itself
    "headers-too-large",
    "decode-failed",  # the content-coding is broken
    "unsupported-encoding",  # a content-coding that we did not offer
    "too-large",
    "truncated",  # fewer octets than announced
    "empty-body",
    "no-content",  # 204, 205
    "partial-content",  # 206 without a Range in the request
    "delta-content",  # 226 without an A-IM in the request
    "unasked-304",
    "redirect-not-followed",
    "auth-required",
    "forbidden",
    "bot-wall",
    "not-found",
    "legally-unavailable",
    "rate-limited",
    "unavailable",  # 503
    "client-error",
    "server-error",
    "unexpected-status",
    "not-a-feed",
    "content-type",  # none of those that are allowed
]

# The server, or the way to it: another feed of this host would have failed alike.
HOST_FAILURES: Final = frozenset(
    {
        "timeout-connect", "timeout", "too-slow", "dns-failure", "unresolved", "connection-failed",
        "tls-failure", "protocol-error", "unavailable", "server-error",
    }
)  # fmt: skip
# An address that the guard refuses before anything is sent.
REFUSED_URLS: Final = frozenset(
    {
        "malformed-url", "unsafe-character", "too-long", "scheme", "empty-host", "bad-host",
        "non-canonical-ipv4", "dotless-name", "local-name", "bad-port", "private-address",
    }
)  # fmt: skip


class RawDocument(Value):
    """The exact bytes of one answer (content-coding removed) and what came with them."""

    body: bytes
    url: str | None = None
    content_type: str | None = None


class Validators(Value):
    """What a server gave us to ask "changed since?" with, and for which request it holds."""

    etag: str | None = None
    last_modified: str | None = None
    url: str | None = None  # the resource that gave them; they mean nothing to another
    vary: Headers = ()  # the fields that Vary named, lower case, with the values we had sent
    vary_any: bool = False  # Vary: *


class FetchLimits(Value):
    """Ceilings of one fetch (D28); the defaults are for a program that may think before it answers."""

    timeout_ms: int
    max_body_bytes: int  # after the content-coding is removed
    max_wire_bytes: int  # as transferred
    max_redirects: int = 0
    max_header_bytes: int = 65_536
    min_bytes_per_sec: int = 0  # over min_throughput_window_sec
    min_throughput_window_sec: int = 10
    content_types: tuple[str, ...] = ()  # the only ones that are read; (): whatever parses


class FetchPlan(Value):
    """One GET: where, with which fields in which order, and within which limits."""

    url: str  # without credentials
    headers: Headers
    conditional: bool
    limits: FetchLimits
    validators: Validators | None = None  # sent to the resource that gave them only
    # by the monotonic clock: what has not left by then is not sent
    send_before: float | None = None
    range_fields: Headers = ()  # of a resumed download: sent at every hop


class Post(Value):
    """One POST: to one address, through the same guard; a redirect is an answer like any other."""

    url: str
    headers: Headers
    body: bytes
    limits: FetchLimits
    send_before: float | None = None  # as of a FetchPlan


class Hop(Value):
    """A redirect that was followed; `location` is the field as it was served."""

    url: str
    status: int
    location: str


class RawResponse(Value):
    """What came back, unjudged: the last answer and the hops that led to it."""

    url: str  # asked for
    final_url: str
    status: int | None = None  # None: no answer at all
    headers: Headers = ()
    body: bytes = b""  # content-coding removed
    hops: tuple[Hop, ...] = ()
    wire_length: int | None = None  # octets of the body as transferred
    truncated: bool = False  # the connection ended before the body did
    capped: bool = False  # we stopped reading at a limit
    error: FailureReason | RefusalReason | None = None
    request_headers: Headers = ()  # of the last request, without Host
    detail: str = ""  # the error in words, for a person; no credentials
    retries: int = 0  # connection attempts after the first, of all hops


class Allowed(Value):
    """The address may be dialled: only the listed ones, and only under this URL."""

    url: str  # as the WHATWG parser writes it; use this one, not the input
    host: str
    port: int
    addresses: tuple[str, ...] = ()
    needs_addresses: bool = False  # nothing speaks against the name; resolve it and ask again

    @property
    def allowed(self) -> bool:
        """True; `Refused.allowed` is False, for callers that want one word."""
        return True


class Refused(Value):
    """The address may not be dialled, or the redirect not be followed."""

    reason: RefusalReason
    detail: str = ""

    @property
    def allowed(self) -> bool:
        """False; see `Allowed.allowed`."""
        return False


class Follow(Value):
    """The redirect may be followed, once the guard has seen the addresses of its host."""

    url: str


class Fresh(Value):
    """A document arrived whole."""

    status: int
    document: RawDocument
    validators: Validators | None = None
    freshness_sec: float | None = None  # the server's wish; the scheduler caps it
    moved_to: str | None = None  # every hop was permanent (D6: a candidate, no more)
    links: tuple[Link, ...] = ()  # of the Link header


class Unchanged(Value):
    """304: what we have is what they have."""

    validators: Validators | None = None  # None: ask unconditionally next time
    freshness_sec: float | None = None
    moved_to: str | None = None
    links: tuple[Link, ...] = ()


class Failed(Value):
    """No usable document; `reason` is countable, `detail` is for a person."""

    reason: FailureReason | RefusalReason
    status: int | None = None
    detail: str = ""
    retry_after_sec: float | None = None  # as asked; the scheduler caps it
    freshness_sec: float | None = None
    document: RawDocument | None = None  # what was received, for the raw store and for discovery


class Gone(Value):
    """410: the publisher says that it will not come back."""

    status: int = 410
    document: RawDocument | None = None


Verdict = Fresh | Unchanged | Failed | Gone
