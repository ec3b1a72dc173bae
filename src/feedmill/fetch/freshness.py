"""Freshness lifetime of a response by Cache-Control and Expires (RFC 9111 4.2)."""

import re
from datetime import datetime

from feedmill.fetch.headers import header_list, header_value, header_values
from feedmill.fetch.http_dates import parse_http_date
from feedmill.model.fetch import Headers

_DIRECTIVE = re.compile(r'([^\s,="]+)(?:=(?:"((?:[^"\\]|\\.)*)"|([^\s,"]*)))?', re.DOTALL)
_DELTA_MAX = 2**31  # RFC 9111 1.2.2
_MAX_CHARS = 8_192


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


def cache_directives(headers: Headers) -> tuple[tuple[str, str], ...]:
    """Every directive of Cache-Control in order, lower case, with its argument or ''."""
    text = header_list(headers, "cache-control")[:_MAX_CHARS]
    return tuple(
        (match[1].lower(), match[2] if match[2] is not None else match[3] or "")
        for match in _DIRECTIVE.finditer(text)
    )


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
