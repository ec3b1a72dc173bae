"""Fields that feeds and entries share: text, language tags and categories (003 §3).

Reports what looks like an attack in a field; nothing is deleted for it (003 §3, D18).

Deleting by pattern destroys text (`Update on the Jet Set` is not SQL); the sanitiser decides what
is kept. A clean field costs a few substring searches over its bytes.
"""

import re
from collections.abc import Callable, Iterable
from functools import lru_cache

from feedmill.model.entry import Finding, FindingCode
from feedmill.model.parsed import Category, Text
from feedmill.normalise.text import (
    clean_plain_text,
    clean_text,
    clean_title,
    decode_references,
    remove_surrogates,
)

# Markup is seldom this many times as long as its text; what lies behind is not looked at.
_MARKUP_FACTOR = 16
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_LANGUAGE = re.compile(r"[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8}){0,7}")  # the shape of RFC 5646 tags
MAX_CATEGORY_CHARS = 256
_SHORT_CHARS = 64  # what is longer is not worth remembering
DETAIL_MAX_CHARS = 200
_EXCERPT_CHARS = 256

_CODES: dict[str, FindingCode] = {
    "script": "script",
    "event_handler": "event-handler",
    "embedded_frame": "embedded-frame",
    "form": "form",
    "data_url": "data-url",
    "css_trick": "css-trick",
    "meta_refresh": "meta-refresh",
}

# All on lower-case UTF-8: `bytes.lower` and three passes are many times cheaper than a pattern
# that ignores case. Group names are codes, with _ for -.
_ELEMENTS = re.compile(
    rb"<(?:(?P<script>script)|(?P<embedded_frame>iframe|object|embed|applet|frameset|frame)"
    rb"|(?P<form>form|input|textarea|button|select))(?=[\s/>])"
)
_VALUES = re.compile(
    rb"=\s*+[\"']?+\s*+(?:(?P<data_url>(?:data|blob):)|(?P<script>(?:java|vb)\s*+script\s*+:)"
    rb"|(?P<meta_refresh>refresh(?=[\s\"'>]))"
    # A reference where an address begins: `java&#115;cript:`, `javascript&colon;`.
    rb"|(?P<disguise>[a-z\s]{0,12}+&(?:#|tab;|newline;|colon;)))"
)
_HANDLERS = re.compile(
    rb"on(?<=[\s/\"']on)(?P<event_handler>[a-z]{3,24}+)\s*+=(?=[^<>]{0,500}+(?:>|\Z))"
)
_STYLES = re.compile(
    rb"style\s*+=[^<>]{0,300}?(?P<css_trick>expression\s*+\(|-moz-binding"
    rb"|url\(\s*+[\"']?+\s*+(?:java|vb)\s*+script)"
)
_ALL = (_ELEMENTS, _VALUES, _HANDLERS, _STYLES)
_WITHOUT_STYLES = _ALL[:-1]

# Overrides and marks that split words; where nothing is written from right to left, also the
# embeddings and isolates that such text needs.
_EMBEDDINGS = "\u202a\u202b\u2066\u2067\u2068"
_TAG_CHARACTERS = "\U000e0001".encode()[:2]  # the block that spells ASCII invisibly, in UTF-8
_HIDING = re.compile(
    "[\u202d\u202e]|(?<=[A-Za-z])[\u200b\u2060\ufeff]+(?=[A-Za-z])"
    # Three flags are spelled with tag characters behind a black flag (UTS #51 section 4).
    "|(?<![\U0001f3f4\U000e0001-\U000e007f])[\U000e0001-\U000e007f]+"
)
_REORDERING = re.compile(f"[{_EMBEDDINGS}]")
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")


def field_text(text: Text | None, max_chars: int) -> str | None:
    """The clean text of a field; None when nothing is left.

    Text is text only where no markup is meant in it: publishers often call HTML text.
    """
    return _cleaned_by(clean_text, text, max_chars)


def title_text(text: Text | None, max_chars: int) -> str | None:
    """The same for a title, which may talk about an element: `Using <script> tags`."""
    return _cleaned_by(clean_title, text, max_chars)


def _cleaned_by(clean: Callable[[str, int], str], text: Text | None, max_chars: int) -> str | None:
    if text is None:
        return None
    if text.kind == "text":
        clean = clean_plain_text
    return clean(text.value[: max_chars * _MARKUP_FACTOR], max_chars) or None


def published_text(text: Text | None, max_chars: int) -> str | None:
    """The text as it was published, markup and all; only controls and outer white space go."""
    if text is None:
        return None
    value = _CONTROL.sub("", remove_surrogates(text.value[: max_chars * _MARKUP_FACTOR]))
    return value.strip() or None


def field_findings(field_name: str, text: Text | None, max_chars: int) -> tuple[Finding, ...]:
    """What is suspicious in a field, and whether it was too long to be read whole."""
    if text is None:
        return ()
    limit = max_chars * _MARKUP_FACTOR
    findings = find_suspicious(field_name, text.value[:limit])
    if len(text.value) <= limit:
        return findings
    detail = f"{len(text.value)} characters, limit {limit}"
    return (*findings, Finding(code="oversized", field=field_name, detail=detail))


def clean_language(tag: str | None) -> str | None:
    """The language tag with hyphens (`en_US` is a locale's spelling); None if it is none."""
    tag = (tag or "").strip().replace("_", "-")
    return tag if _LANGUAGE.fullmatch(tag) else None


def clean_categories(categories: Iterable[Category], max_tags: int) -> tuple[str, ...]:
    """The tags, sorted; of spellings that differ only in case the first one stays.

    The cap counts in document order, because publishers put what matters first.
    """
    spellings: dict[str, str] = {}
    for category in categories:
        if len(spellings) >= max_tags:
            break
        if tag := _name_of(category):
            spellings.setdefault(tag.casefold(), tag)
    return tuple([spellings[key] for key in sorted(spellings)])


def _name_of(category: Category) -> str:
    """The term, which is the tag's identity (RFC 4287 §4.2.2.1); a label only if it is missing."""
    return _cleaned(category.term) or (_cleaned(category.label) if category.label else "")


def _cleaned(name: str) -> str:
    return _remembered(name) if len(name) <= _SHORT_CHARS else clean_text(name, MAX_CATEGORY_CHARS)


@lru_cache(maxsize=1024)
def _remembered(name: str) -> str:
    """Remembered, because the entries of a feed share their tags."""
    return clean_text(name, MAX_CATEGORY_CHARS)


def find_suspicious(field_name: str, value: str) -> tuple[Finding, ...]:
    """One finding for each kind of thing seen in the field, as its publisher wrote it."""
    findings = _find_markup(field_name, value) if "<" in value else ()
    # What hides is never printable, so that most titles are done here.
    if value.isascii() or (len(value) <= _EXCERPT_CHARS and value.isprintable()):
        return findings
    hidden = _hidden_text(value)
    if not hidden:
        return findings
    return (*findings, Finding(code="hidden-text", field=field_name, detail=hidden))


def describe(value: str) -> str:
    """The beginning of a value for a finding: one line of printable characters, never long."""
    shown = value[:DETAIL_MAX_CHARS]
    if not shown.isprintable():
        shown = "".join(c if c.isprintable() else " " for c in shown)
    return shown.strip()


def _find_markup(field_name: str, value: str) -> tuple[Finding, ...]:
    written = value.encode(errors="replace")
    places = _places(written.lower())
    if not places:
        return ()
    if "disguise" in places:
        written = decode_references(value).encode(errors="replace")
        places = {**places, **_places(written.lower())}
        del places["disguise"]
    return tuple(
        Finding(code=code, field=field_name, detail=_excerpt(written, places[group]))
        for group, code in _CODES.items()
        if group in places
    )


def _places(lowered: bytes) -> dict[str, int]:
    """Where each kind of thing occurs first, by the name of its group."""
    places: dict[str, int] = {}
    tricky = b"expression" in lowered or b"url(" in lowered or b"-moz-binding" in lowered
    for pattern in _ALL if tricky else _WITHOUT_STYLES:
        for found in pattern.finditer(lowered):
            places.setdefault(str(found.lastgroup), found.start())
    return places


def _excerpt(written: bytes, place: int) -> str:
    return describe(written[place : place + DETAIL_MAX_CHARS].decode(errors="ignore"))


def _hidden_text(value: str) -> str:
    """The code points of characters that hide or reorder what a person reads; empty if none."""
    found = _HIDING.search(value) if _may_hide(value) else None
    if found is None and _may_reorder(value) and not _RIGHT_TO_LEFT.search(value):
        found = _REORDERING.search(value)
    return "" if found is None else " ".join(f"U+{ord(c):04X}" for c in found[0][:8])


def _may_hide(value: str) -> bool:
    # One search for each character, spelled out: a third of what a pattern or a loop costs.
    return (
        "\u200b" in value
        or "\u202d" in value
        or "\u202e" in value
        or "\u2060" in value
        or "\ufeff" in value
        or _TAG_CHARACTERS in value.encode(errors="replace")
    )


def _may_reorder(value: str) -> bool:
    return (
        "\u202a" in value
        or "\u202b" in value
        or "\u2066" in value
        or "\u2067" in value
        or "\u2068" in value
    )
