"""Parses the Link header, which announces hubs, the feed's own URL and alternates (RFC 8288)."""

import re
from collections.abc import Iterator

import ada_url

from feedmill.fetch.headers import header_list, header_text
from feedmill.model.fetch import Headers
from feedmill.model.parsed import Link

_MAX_CHARS = 65_536
_MAX_LINKS = 100
_REGISTRY = "http://www.iana.org/assignments/relation/"

_TARGET = re.compile(r"[\s,]*<([^>]*)>")
_PARAM = re.compile(
    r'\s*;\s*([^\s=;,"<>]*)(?:\s*=\s*(?:"((?:[^"\\]|\\.)*)"?|([^\s;,"]*)))?', re.DOTALL
)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


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
