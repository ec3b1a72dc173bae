"""Clean HTML: only what the allow-list names, links absolute, bounded work (D18).

The order is fixed: cap the size, take off what would cost text, cap the nesting, sanitise last. Nothing may touch the markup
after the sanitiser but the removal of characters that cannot be part of any.

The body of an entry: which of its texts is the content, and how it becomes clean HTML.
"""

import re
from collections.abc import Callable
from contextvars import ContextVar
from functools import cache

import nh3

from feedmill.canonicalise.urls import http_url, join, with_forgotten_scheme
from feedmill.config import NormaliseConfig
from feedmill.model.base import Value
from feedmill.model.entry import Finding
from feedmill.model.parsed import Content, ParsedEntry, Text
from feedmill.normalise.html.nesting import flatten, limit_nesting
from feedmill.normalise.html.tokens import (
    ALLOWED_ATTRIBUTES,
    ALLOWED_TAGS,
    LINK_REL,
    REMOVED_TAGS,
    URL_SCHEMES,
    VOID_TAGS,
)
from feedmill.normalise.html.unwrap import Embed, unwrap, without_open_quotes
from feedmill.normalise.text import clean_text, remove_surrogates

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
_HTML_TYPES = ("text/html", "html", "")
_XHTML_TYPES = ("application/xhtml+xml", "xhtml")
_TEXT_TYPES = ("text", "text/plain", "text/markdown", "text/x-markdown")
_MARKUP = re.compile(r"<[A-Za-z/!]")
_LINK = re.compile(r"<a [^<]*</a>")


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
    # What is cut here may end within a value whose quote stood behind.
    html = _cut(html, max_chars) if cut else without_open_quotes(html)
    if "<![CDATA[" in html:  # as in XML: to HTML it would be a comment, and the text would go
        html = html.replace("<![CDATA[", "").replace("]]>", "")
    unwrapped = unwrap(html)
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
    reference = with_forgotten_scheme(reference.strip())
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


class EntryBody(Value):
    """Sanitised HTML, the publisher's text it was made from, and what had to be cut."""

    html: str  # empty when nothing of it may be shown
    written: str
    findings: tuple[Finding, ...] = ()
    embeds: tuple[Embed, ...] = ()  # what it consists of when it has no text of its own
    base: str | None = None  # of its relative addresses


def content_body(entry: ParsedEntry, base: str | None, config: NormaliseConfig) -> EntryBody | None:
    """The longest HTML among the contents, else the longest plain text; None if all are empty."""
    if not entry.contents:
        return None
    best = max(entry.contents, key=_rank)
    if not _rank(best)[0]:
        return None
    kind = _media_type(best)
    if kind in _TEXT_TYPES:
        markup = from_text(best.value[: config.content_max_chars])
    else:
        markup = from_xhtml(best.value) if kind in _XHTML_TYPES else best.value
    return _body(markup, best.value, best.base or base, config)


def summary_body(
    summary: Text | None, base: str | None, config: NormaliseConfig
) -> EntryBody | None:
    """The summary as a body when it is written in markup; None when it is only text."""
    if summary is None or summary.kind == "text" or not _MARKUP.search(summary.value):
        return None
    markup = from_xhtml(summary.value) if summary.kind == "xhtml" else summary.value
    return _body(markup, summary.value, summary.base or base, config)


def _rank(content: Content) -> tuple[int, int]:
    """How good a content is; 0 for what is empty, elsewhere, or neither HTML nor text."""
    kind = _media_type(content)
    quality = 2 if kind in _HTML_TYPES + _XHTML_TYPES else 1 if kind in _TEXT_TYPES else 0
    return (quality, len(content.value)) if content.value.strip() else (0, 0)


def _media_type(content: Content) -> str:
    return content.type.partition(";")[0].strip().lower()


def _body(markup: str, written: str, base: str | None, config: NormaliseConfig) -> EntryBody:
    clean = sanitise(
        markup,
        base=base,
        max_chars=config.content_max_chars,
        max_depth=config.html_max_depth,
    )
    findings: list[Finding] = []
    if clean.cut:
        detail = f"{len(markup)} characters, limit {config.content_max_chars}"
        findings.append(Finding(code="oversized", field="content", detail=detail))
    if clean.flattened:
        detail = f"flattened to {config.html_max_depth} levels"
        findings.append(Finding(code="too-deep", field="content", detail=detail))
    html = clean.html.strip()
    embeds = clean.embeds if clean.embeds and not clean_text(_LINK.sub("", html)) else ()
    return EntryBody(html=html, written=written, findings=tuple(findings), embeds=embeds, base=base)
