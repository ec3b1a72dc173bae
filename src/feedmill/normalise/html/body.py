"""The body of an entry: which of its texts is the content, and how it becomes clean HTML."""
# Tested in tests/unit/normalise/html/test_sanitise.py

import re

from feedmill.config import NormaliseConfig
from feedmill.model.base import Value
from feedmill.model.entry import Finding
from feedmill.model.parsed import Content, ParsedEntry, Text
from feedmill.normalise.html.sanitise import from_text, from_xhtml, sanitise
from feedmill.normalise.html.unwrap import Embed
from feedmill.normalise.text import clean_text

_HTML_TYPES = ("text/html", "html", "")
_XHTML_TYPES = ("application/xhtml+xml", "xhtml")
_TEXT_TYPES = ("text", "text/plain", "text/markdown", "text/x-markdown")
_MARKUP = re.compile(r"<[A-Za-z/!]")
_LINK = re.compile(r"<a [^<]*</a>")


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
