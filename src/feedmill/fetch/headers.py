"""HTTP header fields: lookup, redaction and validity, the Link header, dates and Retry-After.

Fields keep their order and duplicates. Dates have the three forms of RFC 9110 5.6.7, and common
variations; the dates inside feeds have a grammar of their own. Retry-After is how long a server asks
us to wait before the next request (RFC 9110 10.2.3).
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone

import ada_url

from feedmill.model.fetch import Headers
from feedmill.model.parsed import Link

_UNSENDABLE = re.compile(r"[^\t\x20-\x7e\x80-\xff]")
_SECRET = frozenset({"authorization", "proxy-authorization", "cookie", "set-cookie", "x-api-key"})
_MAX_CHARS = 65_536
_MAX_LINKS = 100
_REGISTRY = "http://www.iana.org/assignments/relation/"

_TARGET = re.compile(r"[\s,]*<([^>]*)>")
_PARAM = re.compile(
    r'\s*;\s*([^\s=;,"<>]*)(?:\s*=\s*(?:"((?:[^"\\]|\\.)*)"?|([^\s;,"]*)))?', re.DOTALL
)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_MAX_DATE_CHARS = 64
_FLAGS = re.ASCII | re.IGNORECASE
_ZONE = r"(?: ?(?P<zone>gmt|utc|ut|z|[+-]\d\d:?\d\d))?"
_TIME = r"(?P<hour>\d{1,2}):(?P<minute>\d\d):(?P<second>\d\d)"

_FORMS = (
    # Sun, 06 Nov 1994 08:49:37 GMT and Sunday, 06-Nov-94 08:49:37 GMT
    re.compile(
        r"(?:[a-z]{3,9},? ?)?(?P<day>\d{1,2})[ -](?P<month>[a-z]{3})[ -]"
        rf"(?P<year>\d{{4}}|\d\d) {_TIME}{_ZONE}",
        _FLAGS,
    ),
    # Sun Nov  6 08:49:37 1994
    re.compile(
        rf"[a-z]{{3,9}} (?P<month>[a-z]{{3}}) (?P<day>\d{{1,2}}) {_TIME} (?P<year>\d{{4}}){_ZONE}",
        _FLAGS,
    ),
    # 1994-11-06T08:49:37Z is no HTTP-date, but its meaning is beyond doubt
    re.compile(
        r"(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)[t ]"
        rf"{_TIME}(?:\.\d{{1,9}})?(?P<zone>z|[+-]\d\d:?\d\d)",
        _FLAGS,
    ),
)

_MONTHS = {
    name: number
    for number, name in enumerate(
        ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"),
        start=1,
    )
}
_SECONDS = re.compile(r"0*([0-9]{1,15})")  # fifteen digits are 30 million years


def header_values(headers: Headers, name: str) -> tuple[str, ...]:
    """Every value of the field, in order, without the white space around it."""
    wanted = name.lower()
    return tuple([value.strip(" \t") for field, value in headers if field.lower() == wanted])


def header_value(headers: Headers, name: str) -> str | None:
    """The first value of the field that is not empty."""
    wanted = name.lower()
    for field, value in headers:
        if field.lower() == wanted and (found := value.strip(" \t")):
            return found
    return None


def header_list(headers: Headers, name: str) -> str:
    """All values of the field as one list (RFC 9110 5.3)."""
    return ", ".join(header_values(headers, name))


def is_sendable(value: str) -> bool:
    """Whether the value can stand in a header field: no line ends, no controls (RFC 9110 5.5)."""
    return _UNSENDABLE.search(value) is None


def header_text(value: str) -> str:
    """The value as text: servers send UTF-8 although the field is made of octets."""
    try:
        return value.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return value


def redact_headers(headers: Headers) -> Headers:
    """The fields as they may be stored and shown, credentials replaced by a mark."""
    return tuple(
        [(name, "[redacted]" if name.lower() in _SECRET else value) for name, value in headers]
    )


def link_headers(headers: Headers, url: str) -> tuple[Link, ...]:
    """The links that an answer from `url` carries, one per relation, resolved.

    A link with an anchor is about another page (RFC 8288 3.2) and is left out, as is one
    that is not http or https. Reading stops at the first thing that is no link.
    """
    given = header_list(headers, "link")
    if not given:
        return ()
    text = header_text(given[:_MAX_CHARS])
    links: list[Link] = []
    for target, params in _link_values(text):
        links.extend(_links(target, params, url))
        if len(links) >= _MAX_LINKS:
            break
    return tuple(links[:_MAX_LINKS])


def links_with_rel(links: tuple[Link, ...], rel: str) -> tuple[str, ...]:
    """The targets of one relation, in order, each once."""
    return tuple(dict.fromkeys(link.href for link in links if link.rel == rel))


def _link_values(text: str) -> Iterator[tuple[str, dict[str, str]]]:
    position = 0
    while (target := _TARGET.match(text, position)) is not None:
        position = target.end()
        params: dict[str, str] = {}
        while (param := _PARAM.match(text, position)) is not None:
            position = param.end()
            quoted = param[2]
            value = _ESCAPED.sub(r"\1", quoted) if quoted is not None else param[3] or ""
            params.setdefault(param[1].lower(), value)  # the first one counts (RFC 8288 3.3)
        yield target[1], params


def _links(target: str, params: dict[str, str], url: str) -> Iterator[Link]:
    href = _resolve(target, url)
    if href is None or (
        "anchor" in params and _resolve(params["anchor"], url) != _resolve("", url)
    ):
        return
    for rel in dict.fromkeys(map(_relation, params.get("rel", "").split())):
        yield Link(
            href=href,
            rel=rel,
            type=params.get("type") or None,
            hreflang=params.get("hreflang") or None,
            title=params.get("title") or None,
        )


def _relation(name: str) -> str:
    """The short name of a registered relation, also where its long one is given (RFC 4287 4.2.7.2)."""
    short = name[len(_REGISTRY) :] if name.lower().startswith(_REGISTRY) else name
    return short if ":" in short else short.lower()


def _resolve(reference: str, base: str) -> str | None:
    try:
        resolved = ada_url.URL(reference.strip(), base)
    except ValueError:
        return None
    return str(resolved.href) if resolved.protocol in ("http:", "https:") else None


def parse_http_date(value: str, now: datetime) -> datetime | None:
    """The instant in UTC, or None for anything that is no date.

    `now` places two-digit years. The day name is not looked at: servers get it wrong, and the
    rest says it all. A missing zone is GMT, the only one that HTTP has.
    """
    if len(value) > _MAX_DATE_CHARS:
        return None
    text = " ".join(value.split())
    for form in _FORMS:
        if (match := form.fullmatch(text)) is not None:
            return _instant(match, now)
    return None


def _instant(match: re.Match[str], now: datetime) -> datetime | None:
    if len(match["year"]) == 4:
        return _in_year(match, int(match["year"]))
    # The latest year with these two digits that is not over 50 years ahead (RFC 9110 5.6.7).
    century = now.year - now.year % 100
    for base in (century + 100, century, century - 100):
        moment = _in_year(match, base + int(match["year"]))
        if moment is not None and moment <= _years_later(now, 50):
            return moment
    return None


def _in_year(match: re.Match[str], year: int) -> datetime | None:
    month = match["month"].lower()
    second = int(match["second"])
    leap = second == 60  # RFC 9110 5.6.7 allows a leap second
    try:
        moment = datetime(
            year,
            int(month) if month.isdigit() else _MONTHS[month],
            int(match["day"]),
            int(match["hour"]),
            int(match["minute"]),
            59 if leap else second,
            tzinfo=_zone(match["zone"]),
        )
        return moment.astimezone(UTC) + timedelta(seconds=int(leap))
    except (ValueError, KeyError, OverflowError):
        return None


def _zone(text: str | None) -> timezone:
    if text is None or text[0] not in "+-":
        return UTC
    digits = text[1:].replace(":", "")
    offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return timezone(-offset if text[0] == "-" else offset)


def _years_later(moment: datetime, years: int) -> datetime:
    try:
        return moment.replace(year=moment.year + years)
    except ValueError:  # 29 February
        return moment.replace(year=moment.year + years, day=28)


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
