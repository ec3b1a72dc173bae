"""HTTP header lookup, redaction and validity; fields keep their order and their duplicates."""

import re

from feedmill.model.fetch import Headers

_UNSENDABLE = re.compile(r"[^\t\x20-\x7e\x80-\xff]")
_SECRET = frozenset({"authorization", "proxy-authorization", "cookie", "set-cookie", "x-api-key"})


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
