"""Clean HTML: only what the allow-list names, links absolute, bounded work (D18).

The order is fixed: cap the size, take off what would cost text, cap the nesting, sanitise last. Nothing may touch the markup
after the sanitiser but the removal of characters that cannot be part of any.
"""

import re
from collections.abc import Callable
from contextvars import ContextVar
from functools import cache

import nh3

from feedmill.canonicalise.urls import http_url, join
from feedmill.model.base import Value
from feedmill.normalise.html.allowlist import (
    ALLOWED_ATTRIBUTES,
    ALLOWED_TAGS,
    LINK_REL,
    REMOVED_TAGS,
    URL_SCHEMES,
)
from feedmill.normalise.html.flatten import flatten
from feedmill.normalise.html.nesting import limit_nesting
from feedmill.normalise.html.tokens import VOID_TAGS
from feedmill.normalise.html.unwrap import Embed, unwrap
from feedmill.normalise.text import remove_surrogates

_HTTP = re.compile(r"https?://", re.IGNORECASE)
# An address is http or https where something is loaded from it; mailto is for links only.
# Tabs and line ends inside a scheme count for nothing (WHATWG URL §4.4).
_MAILTO_SCHEME = r"[\x00-\x20]*+" + "".join(rf"[{c}{c.upper()}][\t\n\r]*+" for c in "mailto") + ":"
_MAILTO = re.compile(_MAILTO_SCHEME)
_LOADED_MAILTO = re.compile(rf'="(?:(?<= src=")|(?<= poster=")){_MAILTO_SCHEME}')
_CONTROLS = bytes({*range(0x20), 0x7F} - {*b"\t\n\r"})
# Not those that HTML never closes: it reads `</br>` as one more line break.
_SELF_CLOSED = re.compile(
    rf"<(?!(?:{'|'.join(sorted(VOID_TAGS))})[\s/])"
    r"([A-Za-z][\w.-]*+)((?:\s++[^\s=<>/\"']++\s*+=\s*+(?:\"[^\"<]*+\"|'[^'<]*+'))*+)\s*+/>"
)
_LONGEST_WORD = 100

# Every & may become &amp;, and every link gets its rel. What grows more was nested wrongly on
# purpose, and rebuilt over and over.
_MAX_GROWTH = 5
_GROWTH_ALLOWANCE = 10_000


class Sanitised(Value):
    """HTML that may be shown, and what had to be done to it beyond sanitising."""

    html: str
    cut: bool = False
    flattened: bool = False
    embeds: tuple[Embed, ...] = ()


def clean_html(
    html: str, *, base: str | None = None, max_chars: int = 512_000, max_depth: int = 200
) -> str:
    """HTML that may be shown: see `sanitise`, which also tells what was cut."""
    return sanitise(html, base=base, max_chars=max_chars, max_depth=max_depth).html


def sanitise(html: str, *, base: str | None, max_chars: int, max_depth: int) -> Sanitised:
    """Only allowed elements and attributes; every address absolute and http, https or mailto.

    Without a base, relative addresses are removed: shown elsewhere they would name something
    that the publisher never meant.
    """
    cut = len(html) > max_chars
    unwrapped = unwrap(_cut(html, max_chars) if cut else html)
    tamed = limit_nesting(unwrapped.html, max_depth)
    cleaned, flattened = _clean_tree(tamed.html, base), tamed.flattened
    if len(cleaned) > _MAX_GROWTH * len(tamed.html) + _GROWTH_ALLOWANCE:
        cleaned, flattened = _clean_tree(flatten(tamed.html, max_depth), base), True
    return Sanitised(html=cleaned, cut=cut, flattened=flattened, embeds=unwrapped.embeds)


def from_xhtml(markup: str) -> str:
    """XHTML as HTML: an element that closes itself gets an end tag, which HTML wants to see.

    Read as HTML, `<script src="x"/>` or `<a/>` would swallow all that follows.
    """
    return _SELF_CLOSED.sub(r"<\1\2></\1>", markup) if "/>" in markup else markup


def from_text(text: str) -> str:
    """Plain text as HTML: paragraphs at blank lines, line breaks elsewhere."""
    escaped = text.strip().replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    lines = escaped.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    paragraphs = "\n".join(line.strip() for line in lines).split("\n\n")
    return "".join(
        f"<p>{body}</p>" for part in paragraphs if (body := part.strip().replace("\n", "<br>"))
    )


def _cut(html: str, max_chars: int) -> str:
    """The beginning of the markup up to a whole word; the parser drops a tag that is cut off."""
    html = html[:max_chars]
    edge = max(html.rfind(" "), html.rfind(">") + 1)
    return html[:edge] if edge > max(max_chars - _LONGEST_WORD, 0) else html


def _clean_tree(html: str, base: str | None) -> str:
    """What nh3 makes of the markup, without the characters that cannot be part of any."""
    _base.set(base if base and _HTTP.match(base) else None)
    try:
        cleaned = _cleaner().clean(html)
    except UnicodeEncodeError:  # looking for surrogates in every text would cost more
        cleaned = _cleaner().clean(remove_surrogates(html))
    if _LOADED_MAILTO.search(cleaned):
        cleaned = _mail_free_cleaner().clean(cleaned)
    return _without_controls(cleaned)


# The base of the text that is being cleaned here: building a cleaner for each costs as much as
# cleaning a paragraph, and every entry has a base of its own.
_base: ContextVar[str | None] = ContextVar("base_of_the_html", default=None)


@cache
def _cleaner() -> nh3.Cleaner:
    return _build(_absolute)


def _build(
    url_relative: Callable[[str], str | None],
    attribute_filter: Callable[[str, str, str], str | None] | None = None,
) -> nh3.Cleaner:
    return nh3.Cleaner(
        tags=set(ALLOWED_TAGS),
        clean_content_tags=set(REMOVED_TAGS),
        attributes={tag: set(names) for tag, names in ALLOWED_ATTRIBUTES.items()},
        attribute_filter=attribute_filter,
        url_schemes=set(URL_SCHEMES),
        url_relative=url_relative,
        link_rel=LINK_REL,
        strip_comments=True,
    )


def _absolute(reference: str) -> str | None:
    """A relative reference as an address; nothing where none can be built."""
    base = _base.get()
    if base is None or http_url(base) is None:  # an address that WHATWG cannot read is no base
        return _with_scheme(reference)
    return join(reference, base)


def _with_scheme(reference: str) -> str | None:
    """A reference that names a host, as https; nothing for the other relative ones."""
    reference = reference.strip()
    return f"https:{reference}" if reference.startswith("//") else None


@cache
def _mail_free_cleaner() -> nh3.Cleaner:
    """A sanitiser for what is clean but for mailto: where something is loaded from it."""
    return _build(_with_scheme, _without_mail)


def _without_mail(_tag: str, attribute: str, value: str) -> str | None:
    loads = attribute in ("src", "poster")
    return None if loads and _MAILTO.match(value) else value


def _without_controls(html: str) -> str:
    """HTML without the control characters that XML forbids; references may have named some."""
    if "\ufffe" in html or "\uffff" in html:
        html = html.replace("\ufffe", "").replace("\uffff", "")
    encoded = html.encode()  # in UTF-8 these bytes stand for nothing else
    kept = encoded.translate(None, _CONTROLS)
    return html if len(kept) == len(encoded) else kept.decode()
