"""HTTP caching (RFC 9111): freshness by Cache-Control and Expires, validators for the next request.

ETag and Last-Modified are learnt from a response, renewed by a 304 and sent back byte for byte.
"""

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Literal

from feedmill.fetch.headers import (
    header_list,
    header_value,
    header_values,
    is_sendable,
    parse_http_date,
)
from feedmill.model.fetch import Headers, Validators

_DIRECTIVE = re.compile(r'([^\s,="]+)(?:=(?:"((?:[^"\\]|\\.)*)"|([^\s,"]*)))?', re.DOTALL)
_DELTA_MAX = 2**31  # RFC 9111 1.2.2
_MAX_DIRECTIVES_CHARS = 8_192

_MAX_VALIDATOR_CHARS = 16_384  # real ones have fewer than a hundred
# Servers that compress on the fly mark the tag of the compressed form (Apache bug 45023).
_CODING_SUFFIX = re.compile(r'[-;](?:gzip|deflate|br|zstd)"$')
# Credentials are not written down a second time; conditions differ by their nature.
_NOT_COMPARED = frozenset({"*", "authorization", "cookie", "if-none-match", "if-modified-since"})


def freshness_sec(headers: Headers, received_at: datetime) -> float | None:
    """Seconds for which asking again is pointless, or None when the server does not say.

    We are a private cache: s-maxage is not for us. Age has passed already. What cannot be
    read, or stands there twice, counts as stale (RFC 9111 4.2.1): 0. The caller caps it.
    """
    directives = cache_directives(headers)
    names = {name for name, _ in directives}
    if names & {"no-cache", "no-store"}:
        return None
    ages = [value for name, value in directives if name == "max-age"]
    lifetime = _max_age(ages) if ages else _expires(headers, received_at)
    return None if lifetime is None else max(0.0, lifetime - _age(headers))


def freshness_source(headers: Headers) -> Literal["max-age", "expires"]:
    """Which of the two the freshness comes from: max-age goes before Expires (RFC 9111 4.2.1)."""
    has_max_age = any(name == "max-age" for name, _ in cache_directives(headers))
    return "max-age" if has_max_age else "expires"


def cache_directives(headers: Headers) -> tuple[tuple[str, str], ...]:
    """Every directive of Cache-Control in order, lower case, with its argument or ''."""
    text = header_list(headers, "cache-control")[:_MAX_DIRECTIVES_CHARS]
    if not text:
        return ()
    return tuple(
        (match[1].lower(), match[2] if match[2] is not None else match[3] or "")
        for match in _DIRECTIVE.finditer(text)
    )


def learn_validators(headers: Headers, request_headers: Headers, url: str) -> Validators | None:
    """What the answer lets us ask with next time; None when it gave nothing."""
    etag = _usable(header_value(headers, "etag"))
    last_modified = _usable(header_value(headers, "last-modified"))
    if etag is None and last_modified is None:
        return None
    names = _vary_names(headers)
    return Validators(
        etag=etag,
        last_modified=last_modified,
        url=url.partition("#")[0],
        vary=_sent_values(names, request_headers),
        vary_any="*" in names,
    )


def renew_validators(
    stored: Validators, headers: Headers, request_headers: Headers, url: str
) -> Validators | None:
    """The stored validators brought up to date by a 304 (RFC 9111 3.2); None: start over.

    A strong tag that is not the stored one vouches for a representation that we do not have
    (RFC 9111 4.3.4), so the next request has to be unconditional.
    """
    etag = header_value(headers, "etag")
    if etag != stored.etag:
        etag = _usable(etag)
        if etag is not None and stored.etag is not None and _contradicts(etag, stored.etag):
            return None
    names = _vary_names(headers)
    return Validators(
        etag=etag or stored.etag,
        last_modified=_usable(header_value(headers, "last-modified")) or stored.last_modified,
        url=url.partition("#")[0],
        vary=_sent_values(names, request_headers) if names else stored.vary,
        vary_any="*" in names if names else stored.vary_any,
    )


def are_valid_for(validators: Validators, request_headers: Headers) -> bool:
    """Whether the request is the one they were given for, as far as Vary goes (RFC 9111 4.1).

    After an upgrade that changes our User-Agent or Accept, the server may have another
    representation for us, which a 304 would hide.
    """
    if validators.vary_any:
        return False
    names = [name for name, _ in validators.vary]
    return not names or _sent_values(names, request_headers) == validators.vary


def conditional_fields(validators: Validators) -> Headers:
    """If-None-Match and If-Modified-Since, both when both exist (RFC 9111 4.3.1)."""
    etag, last_modified = _usable(validators.etag), _usable(validators.last_modified)
    match = () if etag is None else (("If-None-Match", etag),)
    return match if last_modified is None else (*match, ("If-Modified-Since", last_modified))


def lead_over_server(headers: Headers, received_at: datetime) -> timedelta | None:
    """How far our clock was ahead of the server's when it answered; None when it sent no Date."""
    date = parse_http_date(header_value(headers, "date") or "", received_at)
    return None if date is None else received_at - date - timedelta(seconds=_age(headers))


def _max_age(values: list[str]) -> float:
    return float(_delta(values[0]) or 0) if len(values) == 1 else 0.0


def _expires(headers: Headers, received_at: datetime) -> float | None:
    values = header_values(headers, "expires")
    if not values:
        return None
    expires = parse_http_date(values[0], received_at) if len(values) == 1 else None
    if expires is None:  # "0" and other non-dates mean: already expired (RFC 9111 5.3)
        return 0.0
    # The server's clock for both ends, so that its skew cancels out.
    date = parse_http_date(header_value(headers, "date") or "", received_at)
    return (expires - (date or received_at)).total_seconds()


def _age(headers: Headers) -> int:
    return _delta(header_value(headers, "age") or "") or 0


def _delta(text: str) -> int | None:
    """delta-seconds, bounded; None when it is no such thing."""
    if not (text.isascii() and text.isdigit()):
        return None
    digits = text.lstrip("0") or "0"
    return _DELTA_MAX if len(digits) > 10 else min(int(digits), _DELTA_MAX)


def _usable(value: str | None) -> str | None:
    return value if value and len(value) <= _MAX_VALIDATOR_CHARS and is_sendable(value) else None


def _contradicts(etag: str, stored: str) -> bool:
    if etag.startswith("W/"):
        return False
    return _opaque(etag) != _opaque(stored)


def _opaque(etag: str) -> str:
    # nginx weakens a tag when it compresses, Apache adds a suffix, and both may leave that out
    # of the 304. The representation is the same.
    return _CODING_SUFFIX.sub('"', etag.removeprefix("W/"))


def _vary_names(headers: Headers) -> tuple[str, ...]:
    listed = header_list(headers, "vary")
    if not listed:  # as in most 304s
        return ()
    names = (name.strip().lower() for name in listed.split(","))
    return tuple(dict.fromkeys(name for name in names if name))


def _sent_values(names: Sequence[str], request_headers: Headers) -> Headers:
    return tuple(
        [(name, header_list(request_headers, name)) for name in names if name not in _NOT_COMPARED]
    )
