"""HTTP header lookup, redaction and validity, and the Link header; fields keep their order and duplicates."""

import re
from collections.abc import Iterator

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
