"""Elements that a sanitiser would drop with their text, taken off before it sees them (D39).

nh3 drops what stands in an element whose name MathML or SVG knows, also where no formula was
meant: of `the Action<int> is later executed` it keeps `the Action`. So every element that HTML
does not know loses its tags here, and so do containers that may not be shown but hold a reader's
text (forms, formulas, fallbacks). What is embedded from elsewhere becomes a link to it. None of
this needs to be safe: the sanitiser comes after it.
"""

import re
from html import escape, unescape

from feedmill.model.base import Value
from feedmill.normalise.html.allowlist import ALLOWED_TAGS, REMOVED_TAGS
from feedmill.normalise.html.tokens import (
    ATTRIBUTE_PATTERN,
    html_tokens,
    tag_name,
)

# Elements of HTML that nh3 takes off by itself and whose text it keeps.
_HARMLESS_TAGS = frozenset({
    "area", "base", "basefont", "bgsound", "blink", "body", "button", "canvas", "data", "datalist",
    "dialog", "dir", "fieldset", "font", "head", "hgroup", "html", "image", "input", "keygen",
    "label", "legend", "link", "main", "map", "marquee", "menu", "meta", "meter", "nobr", "output",
    "progress", "rb", "rtc", "search", "slot", "spacer",
})  # fmt: skip
_KNOWN_TAGS = ALLOWED_TAGS | _HARMLESS_TAGS
_EMBEDDING_TAGS = frozenset({"iframe", "embed", "object", "frame", "param"})
_RAW_TEXT = {  # markup inside them is text
    name: re.compile(rf"</{name}(?=[\t\n\f\r />])", re.IGNORECASE | re.ASCII)
    for name in ("xmp", "textarea", "plaintext")
}
_SPACED_TAGS = frozenset({"form", "option", "optgroup", "select", "textarea", "xmp", "desc"})
_TAG_NAMES = re.compile(r"</?([A-Za-z][^\t\n\f\r />]*+)")
_LOADED = re.compile(r"\s*(?:https?:|//|/(?!/)|\.{0,2}/|[\w%][^:]*$)", re.IGNORECASE)
_PLAYER_PARAMS = frozenset({"movie", "src", "url", "filename"})
_INVISIBLE_SIZES = frozenset({"0", "1", "0px", "1px"})
_MAX_LABEL_CHARS = 200
_MAX_EMBEDS = 100


class Embed(Value):
    """Something that the entry embeds from elsewhere."""

    url: str  # as written: it may be relative
    type: str | None = None


class Unwrapped(Value):
    """Markup without the tags that would cost text, and what was embedded in it."""

    html: str
    embeds: tuple[Embed, ...] = ()


def unwrap(html: str) -> Unwrapped:
    """The markup with unknown and unsafe containers taken off and embeds turned into links."""
    names = _TAG_NAMES.findall(html)
    if _KNOWN_TAGS.issuperset(names) or _KNOWN_TAGS.issuperset(map(str.lower, names)):
        return Unwrapped(html=html)
    writer = _Writer(html)
    return Unwrapped(html=writer.written(), embeds=tuple(writer.embeds.values()))


class _Writer:
    """One text being rewritten."""

    def __init__(self, html: str) -> None:
        self.embeds: dict[str, Embed] = {}
        self._html = html
        self._pieces: list[str] = []

    def written(self) -> str:
        html = self._html
        position = 0
        for token, resume in html_tokens(html):
            if token.start() < position:
                continue  # inside raw text that was written already
            self._pieces.append(html[position : token.start()])
            position = self._token(token, resume)
        self._pieces.append(html[position:])
        return "".join(self._pieces)

    def _token(self, token: re.Match[str], resume: int) -> int:
        """Write what becomes of one piece of markup; the answer is where the text goes on."""
        name = tag_name(token)
        if not name or name in _KNOWN_TAGS or not token["end"]:
            self._pieces.append(self._html[token.start() : resume])
            return resume
        if name in _EMBEDDING_TAGS and not token["slash"]:
            self._embed(name, token["attributes"])
        if name in REMOVED_TAGS:
            return resume
        if name in _SPACED_TAGS:
            self._pieces.append(" ")
        return self._raw_text(name, token.end()) if not token["slash"] else token.end()

    def _raw_text(self, name: str, start: int) -> int:
        closer = _RAW_TEXT.get(name)
        if closer is None:
            return start
        found = closer.search(self._html, start) if name != "plaintext" else None
        end = found.start() if found else len(self._html) if name == "plaintext" else start
        self._pieces.append(self._html[start:end].replace("<", "&lt;"))
        return end

    def _embed(self, tag: str, written: str) -> None:
        """A link to what is embedded, once for each address."""
        attributes = {
            key.lower(): _unquoted(value) for key, value in ATTRIBUTE_PATTERN.findall(written)
        }
        if tag == "param":
            player = attributes.get("name", "").lower() in _PLAYER_PARAMS
            address = attributes.get("value", "") if player else ""
        else:
            address = attributes.get("data" if tag == "object" else "src", "")
        address = address.strip()
        hidden = not _INVISIBLE_SIZES.isdisjoint(
            (attributes.get("width", ""), attributes.get("height", ""))
        )
        if hidden or not address or not _LOADED.match(address) or address in self.embeds:
            return
        if len(self.embeds) < _MAX_EMBEDS:
            media_type = attributes.get("type") or ("text/html" if tag == "iframe" else None)
            self.embeds[address] = Embed(url=address, type=media_type)
            label = attributes.get("title", "").strip() or address.partition("//")[2] or address
            self._pieces.append(
                f'<p><a href="{escape(address)}">{escape(label[:_MAX_LABEL_CHARS])}</a></p>'
            )


def _unquoted(value: str) -> str:
    value = value.strip("=\t\n\f\r ")
    return unescape(value.strip(value[0]) if value[:1] in ("'", '"') else value)
