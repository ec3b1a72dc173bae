"""What in a field looks like an attack, reported and never deleted (003 §3, D18).

Deleting by pattern destroys text (`Update on the Jet Set` is not SQL); the sanitiser decides what
is kept. A clean field costs a few substring searches over its bytes.
"""

import re

from feedmill.model.entry import Finding, FindingCode
from feedmill.normalise.entities import decode_references

DETAIL_MAX_CHARS = 200

# All on lower-case UTF-8: `bytes.lower` and `in` are many times faster than ignoring case.
_ELEMENTS = re.compile(
    rb"<(?:(?P<script>script)|(?P<frame>iframe|object|embed|applet|frameset|frame)"
    rb"|(?P<form>form|input|textarea|button|select))(?=[\s/>])"
)
_ELEMENT_CODES: dict[str | None, FindingCode] = {
    "script": "script",
    "frame": "embedded-frame",
    "form": "form",
}
_HANDLER = re.compile(rb"on(?<=[\s/\"']on)[a-z]{3,24}+\s*+=(?=[^<>]{0,500}+(?:>|\Z))")

# Code, a substring that must occur, and what is looked for if it does.
_SIGNS: tuple[tuple[FindingCode, bytes, re.Pattern[bytes]], ...] = (
    ("script", b"script", re.compile(rb"(?:java|vb)\s*+script\s*+:")),
    (
        "data-url",
        b"data:",
        re.compile(
            rb"(?:src|href|data|action|poster|srcset|background)\s*+=\s*+[\"']?+\s*+data:"
        ),
    ),
    ("data-url", b"blob:", re.compile(rb"(?:src|href|data|action)\s*+=\s*+[\"']?+\s*+blob:")),
    ("css-trick", b"expression", re.compile(rb":\s*+expression\s*+\(")),
    ("css-trick", b"-moz-binding", re.compile(rb"-moz-binding\s*+:")),
    ("css-trick", b"script", re.compile(rb"url\(\s*+[\"']?+\s*+(?:java|vb)\s*+script\s*+:")),
    ("meta-refresh", b"http-equiv", re.compile(rb"http-equiv\s*+=\s*+[\"']?+\s*+refresh")),
)

# A reference where an address begins: `java&#115;cript:`, `javascript&colon;`.
_DISGUISED = re.compile(rb"=\s*+[\"']?+[a-z\s]{0,12}+&(?:#|tab;|newline;|colon;)")

_OVERRIDES = re.compile("[\u202d\u202e]")
_EMBEDDINGS = re.compile("[\u202a\u202b\u2066-\u2068]")
_SPLIT_WORD = re.compile("(?<=[A-Za-z])[\u200b\u2060\ufeff\u00ad]+(?=[A-Za-z])")
_TAG_CHARACTERS = re.compile("(?<![\U0001f3f4\U000e0020-\U000e007f])[\U000e0020-\U000e007f]+")
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")


def find_suspicious(field_name: str, value: str) -> tuple[Finding, ...]:
    """One finding for each kind of thing seen in the field, as its publisher wrote it."""
    findings = _find_markup(field_name, value) if "<" in value else []
    if not value.isascii() and (hidden := _hidden_text(value)):
        findings.append(Finding(code="hidden-text", field=field_name, detail=hidden))
    return tuple(findings)


def describe(value: str) -> str:
    """The beginning of a value for a finding: one line of printable characters, never long."""
    shown = value[:DETAIL_MAX_CHARS]
    if not shown.isprintable():
        shown = "".join(c if c.isprintable() else " " for c in shown)
    return shown.strip()


def _find_markup(field_name: str, value: str) -> list[Finding]:
    written = value.encode(errors="replace")
    lowered = written.lower()
    if _DISGUISED.search(lowered):
        written = decode_references(value).encode(errors="replace")
        lowered = written.lower()
    places: dict[FindingCode, int] = {}
    for element in _ELEMENTS.finditer(lowered):
        places.setdefault(_ELEMENT_CODES[element.lastgroup], element.start())
    if handler := _HANDLER.search(lowered):
        places["event-handler"] = handler.start()
    for code, needle, pattern in _SIGNS:
        if needle in lowered and code not in places and (found := pattern.search(lowered)):
            places[code] = found.start()
    return [
        Finding(code=code, field=field_name, detail=_excerpt(written, place))
        for code, place in places.items()
    ]


def _excerpt(written: bytes, place: int) -> str:
    return describe(written[place : place + DETAIL_MAX_CHARS].decode(errors="ignore"))


def _hidden_text(value: str) -> str:
    """The code points of characters that hide or reorder what a person reads; empty if none.

    Embeddings and isolates are ordinary where there is right-to-left text, tag characters in
    flags, and a zero-width space everywhere but inside a Latin word.
    """
    found = _OVERRIDES.search(value) or _SPLIT_WORD.search(value) or _TAG_CHARACTERS.search(value)
    if found is None and not _RIGHT_TO_LEFT.search(value):
        found = _EMBEDDINGS.search(value)
    return "" if found is None else " ".join(f"U+{ord(c):04X}" for c in found[0][:8])
