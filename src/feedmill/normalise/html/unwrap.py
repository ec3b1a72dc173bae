"""Elements that a sanitiser would drop with their text, taken off before it sees them (D39).

nh3 drops what stands in an element whose name MathML or SVG knows, also where no formula was
meant: of `the Action<int> is later executed` it keeps `the Action`. So every element that HTML
does not know loses its tags here, and so do containers that may not be shown but hold a reader's
text (forms, formulas, fallbacks). What is embedded from elsewhere becomes a link to it, and a
picture that waits to be scrolled to gets its address. None of this needs to be safe: the sanitiser
comes after it.
"""

import re
from collections.abc import Iterable
from html import escape, unescape

from feedmill.model.base import Value
from feedmill.normalise.html.tokens import (
    ALLOWED_TAGS,
    ATTRIBUTE_PATTERN,
    HARMLESS_TAGS,
    REMOVED_TAGS,
    TOKEN_PATTERN,
    html_tokens,
    is_address,
    is_cut_off,
    tag_name,
)
from feedmill.normalise.text import clean_text

_PLAYER_TAGS = frozenset({"audio", "video", "source"})
_KNOWN_TAGS = (ALLOWED_TAGS | HARMLESS_TAGS) - _PLAYER_TAGS

_LEFT_TAGS = _KNOWN_TAGS - {"img"}
_EMBEDDING_TAGS = frozenset({"iframe", "embed", "object", "frame", "param"})
_RAW_TEXT = {  # markup inside them is text
    name: re.compile(rf"</{name}(?=[\t\n\f\r />])", re.IGNORECASE | re.ASCII)
    for name in ("xmp", "textarea", "plaintext")
}
# Where many themes keep the address of what is loaded when it is scrolled to.
_LAZY_NAMES = ("data-src", "data-lazy-src", "data-original")
_LAZY = re.compile(rf"(?:{'|'.join(_LAZY_NAMES)})[\t\n\f\r ]*=")
_SPACED_TAGS = frozenset({"form", "option", "optgroup", "select", "textarea", "xmp", "desc"})
_TAG_NAMES = re.compile(r"</?([A-Za-z][^\t\n\f\r />]*+)")
_LOADED = re.compile(r"\s*(?:https?:|//|/(?!/)|\.{0,2}/|[\w%][^:]*$)", re.IGNORECASE)
_PLAYER_PARAMS = frozenset({"movie", "src", "url", "filename"})
_INVISIBLE_SIZES = frozenset({"0", "1", "0px", "1px"})
_MAX_LABEL_CHARS = 200
_MAX_EMBEDS = 100
_MAX_OPEN_QUOTES = 20
_MAX_BEFORE_QUOTE = 4_000  # characters of its tag, which are read again for each quote


class Embed(Value):
    """Something that the entry embeds from elsewhere."""

    url: str  # as written: it may be relative
    type: str | None = None


class Unwrapped(Value):
    """Markup without the tags that would cost text, and what was embedded in it."""

    html: str
    embeds: tuple[Embed, ...] = ()


def without_open_quotes(html: str) -> str:
    """The markup without a quote that begins a value and has no end: `<a href="x>` hides the rest."""
    for quote in ('"', "'"):
        for _ in range(_MAX_OPEN_QUOTES):
            at = html.rfind(quote)
            if at < 1 or html[at - 1] != "=":
                break
            begin = html.rfind("<", max(at - _MAX_BEFORE_QUOTE, 0), at)
            tag = None if begin < 0 else TOKEN_PATTERN.match(html, begin)
            if tag is None or tag["end"] != "":
                break
            html = html[:at] + html[at + 1 :]
    return html


def unwrap(html: str) -> Unwrapped:
    """The markup with unknown and unsafe containers taken off and embeds turned into links."""
    names = _TAG_NAMES.findall(html)
    are_known = _KNOWN_TAGS.issuperset(names) or _KNOWN_TAGS.issuperset(map(str.lower, names))
    is_lazy = "data-" in html and _LAZY.search(html) is not None
    if are_known and not is_lazy and html.rfind("<") <= html.rfind(">"):
        return Unwrapped(html=html)
    writer = _Writer(html)
    return Unwrapped(html=writer.written(), embeds=tuple(writer.embeds.values()))


class _Writer:
    """One text being rewritten."""

    def __init__(self, html: str) -> None:
        self.embeds: dict[str, Embed] = {}
        self._lazy: set[str] = set()  # addresses of pictures that had a placeholder
        self._links: dict[str, str] = {}  # of players, which stay as they are
        self._html = html
        self._pieces: list[str] = []
        self._player_title = ""
        self._unclosed: set[str] = set()

    def written(self) -> str:
        """The markup; where a player is all there is, with a link to what it plays."""
        written = self._rewritten()
        if not self._links or clean_text(written):
            return written
        return written + "".join(self._links.values())

    def _rewritten(self) -> str:
        html = self._html
        position = 0
        for token, resume in html_tokens(html):
            start = token.start()
            if token["name"] in _LEFT_TAGS and token["end"]:
                continue  # written with the next piece
            if start < position:
                continue  # inside raw text that was written already
            self._pieces.append(html[position:start])
            position = self._token(token, resume)
        self._pieces.append(html[position:])
        return "".join(self._pieces)

    def _token(self, token: re.Match[str], resume: int) -> int:
        """Write what becomes of one piece of markup; the answer is where the text goes on."""
        name = tag_name(token)
        if name == "img" and token["end"]:
            return self._picture(token)
        if not name or name in _KNOWN_TAGS or not token["end"]:
            written = self._html[token.start() : resume]
            is_text = token["end"] == "" and not is_cut_off(written)
            self._pieces.append(written.replace("<", "&lt;") if is_text else written)
            return resume
        if is_address(name):
            self._pieces.append(token[0].strip("<>").replace("<", "&lt;"))
            return resume
        if name in _PLAYER_TAGS:
            if not token["slash"]:
                self._player(name, token["attributes"])
            self._pieces.append(token[0])
            return resume
        if name in _EMBEDDING_TAGS and not token["slash"]:
            self._embed(name, token["attributes"])
        if name in REMOVED_TAGS:
            return resume
        if name in _SPACED_TAGS:
            self._pieces.append(" ")
        return self._raw_text(name, token.end()) if not token["slash"] else token.end()

    def _picture(self, token: re.Match[str]) -> int:
        """A picture with its own address in place of a placeholder's, and without its noscript copy."""
        attributes = _attributes_of(token["attributes"])
        address = _first_loaded(attributes, _LAZY_NAMES)
        if address and not address.isalnum():  # `data-original="true"` is none
            self._lazy.add(address)
            self._pieces.append(f'<img src="{escape(address)}"')  # the first of two counts
            return token.end("name")
        if attributes.get("src", "").strip() not in self._lazy:
            self._pieces.append(token[0])
        return token.end()

    def _raw_text(self, name: str, start: int) -> int:
        closer = _RAW_TEXT.get(name)
        if closer is None or name in self._unclosed:
            return start
        found = closer.search(self._html, start) if name != "plaintext" else None
        if found is None:
            self._unclosed.add(name)  # further ones would all search to the end
        end = found.start() if found else len(self._html) if name == "plaintext" else start
        self._pieces.append(self._html[start:end].replace("<", "&lt;"))
        return end

    def _player(self, tag: str, written: str) -> None:
        """Note what is played; pictures have sources too, without an address in `src`."""
        attributes = _attributes_of(written)
        if tag != "source":
            self._player_title = attributes.get("title", "")
        address = attributes.get("src", "").strip()
        if self._add(address, attributes.get("type")):
            self._links[address] = _link(address, self._player_title)

    def _embed(self, tag: str, written: str) -> None:
        """A link to what is embedded, once for each address."""
        attributes = _attributes_of(written)
        hidden = not _INVISIBLE_SIZES.isdisjoint(
            (attributes.get("width", ""), attributes.get("height", ""))
        )
        address = _address(tag, attributes)
        media_type = attributes.get("type") or ("text/html" if tag == "iframe" else None)
        if not hidden and self._add(address, media_type):
            self._pieces.append(_link(address, attributes.get("title", "")))

    def _add(self, address: str, media_type: str | None) -> bool:
        is_new = _LOADED.match(address) and address not in self.embeds
        if not is_new or len(self.embeds) >= _MAX_EMBEDS:
            return False
        self.embeds[address] = Embed(url=address, type=media_type or None)
        return True


def _address(tag: str, attributes: dict[str, str]) -> str:
    """What an element loads."""
    if tag == "param":
        player = attributes.get("name", "").lower() in _PLAYER_PARAMS
        return attributes.get("value", "").strip() if player else ""
    if tag == "object":
        return attributes.get("data", "").strip()
    return _first_loaded(attributes, ("src", *_LAZY_NAMES))


def _first_loaded(attributes: dict[str, str], names: Iterable[str]) -> str:
    written = (attributes.get(name, "").strip() for name in names)
    return next((address for address in written if _LOADED.match(address)), "")


def _link(address: str, title: str) -> str:
    label = title.strip() or address.partition("//")[2] or address
    return f'<p><a href="{escape(address)}">{escape(label[:_MAX_LABEL_CHARS])}</a></p>'


def _attributes_of(written: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for key, value in ATTRIBUTE_PATTERN.findall(written):
        found.setdefault(key.lower(), _unquoted(value))
    return found


def _unquoted(value: str) -> str:
    value = value.strip("=\t\n\f\r ")
    return unescape(value.strip(value[0]) if value[:1] in ("'", '"') else value)
