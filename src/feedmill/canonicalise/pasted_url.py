"""A pasted or declared address on its way to a URL that can be fetched."""

import re
from html import unescape
from html.entities import html5

from feedmill.canonicalise.schemes import (
    add_missing_protocol,
    convert_feed_scheme,
    repair_protocol,
)
from feedmill.canonicalise.urls import has_scheme, http_url

_ENTITY = re.compile(r"&(#[0-9]{1,9}|#[xX][0-9A-Fa-f]{1,8}|[A-Za-z][A-Za-z0-9]{1,31});")
_BREAKS = str.maketrans("", "", "\t\n\r")  # the URL parser drops them wherever they stand
_PAIRS = {'"': '"', "'": "'", "<": ">", "(": ")"}


def resolve_url(text: str, base: str | None = None) -> str | None:
    """The http(s) URL that somebody meant by this text, or None.

    For what a person pasted or a feed declared: entities, feed schemes, mangled and missing
    protocols are put right, in this order, and a relative reference is joined with the base. User
    information is kept here (it may be needed to fetch) and dropped by every policy (D4).
    """
    address = _unwrapped(decode_entities(text).translate(_BREAKS).strip())
    address = repair_protocol(convert_feed_scheme(address))
    if base is None or has_scheme(address):  # `host:8080/feed` reads like a scheme as well
        address = add_missing_protocol(address)
    return http_url(address, base)


def decode_entities(text: str) -> str:
    """The text with its well-formed HTML entities decoded once.

    Only those that end in `;`: HTML also reads `&section=2` as `§ion=2` and would destroy
    parameters called copy, reg, not, para, times … (D2).
    """
    return _ENTITY.sub(_decoded, text) if "&" in text else text


def _decoded(entity: re.Match[str]) -> str:
    if entity[1].startswith("#"):
        return unescape(entity[0])
    return html5.get(f"{entity[1]};", entity[0])


def _unwrapped(text: str) -> str:
    """The text without the quotes or brackets that mail programs put around an address."""
    closing = _PAIRS.get(text[:1])
    return text[1:-1].strip() if closing is not None and text[1:].endswith(closing) else text
