"""Retry-After: how long a server asks us to wait before the next request (RFC 9110 10.2.3)."""

import re
from datetime import datetime

from feedmill.fetch.headers import header_value
from feedmill.fetch.http_dates import parse_http_date
from feedmill.model.fetch import Headers

_SECONDS = re.compile(r"0*([0-9]{1,15})")  # fifteen digits are 30 million years


def parse_retry_after(value: str, now: datetime, date_header: str | None = None) -> float | None:
    """Seconds to wait, 0 or more, or None when the value says nothing.

    A date is read against the server's own clock where it sent one: a server that is an hour
    fast means two minutes, not an hour and two minutes. No upper bound; the caller clamps.
    """
    text = value.strip(" \t")
    if (seconds := _SECONDS.fullmatch(text)) is not None:
        return float(seconds[1])
    moment = parse_http_date(text, now)
    if moment is None:
        return None
    server_now = parse_http_date(date_header, now) if date_header is not None else None
    return max(0.0, (moment - (server_now or now)).total_seconds())


def retry_after_sec(status: int, headers: Headers, now: datetime) -> float | None:
    """The wait that an answer asks for, where it has a meaning.

    On success, on 304 and on 410 it has none. On every other failure it costs nothing to
    believe: the RFCs name 3xx, 413, 429 and 503, and rate limiters also send it with 403.
    """
    if status < 300 or status in (304, 410):
        return None
    value = header_value(headers, "retry-after")
    return None if value is None else parse_retry_after(value, now, header_value(headers, "date"))
