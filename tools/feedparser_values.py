"""Values that compare with feedparser's by meaning, and note what was asked of them.

Markup is compared as the tree an HTML parser builds, encodings by what their label means to the
web, durations in seconds.
"""

import re
from collections.abc import Iterable
from typing import Any, Final, Self, TypeAlias

import html5lib

from feedmill.canonicalise.urls import http_url
from feedmill.normalise.html.sanitise import clean_html
from feedmill.normalise.html.tokens import REMOVED_TAGS
from feedmill.parse.input.encoding_labels import encoding_of_label
from feedmill.parse.xml.elements import seconds

Anything: TypeAlias = Any  # an assertion may do with a value what it likes

_ALIASES: Final = {
    "guid": "id",
    "date": "updated",
    "date_parsed": "updated_parsed",
    "modified": "updated",
    "modified_parsed": "updated_parsed",
    "issued": "published",
    "issued_parsed": "published_parsed",
    "copyright": "rights",
    "copyright_detail": "rights_detail",
    "tagline": "subtitle",
    "tagline_detail": "subtitle_detail",
    "url": "href",
    "uri": "href",
}
_REMOVED: Final = re.compile(rf"<(?:{'|'.join(sorted(REMOVED_TAGS))})\b", re.IGNORECASE)
_EMBEDS: Final = re.compile(r"<(?:iframe|embed|object|video|audio)\b", re.IGNORECASE)
_EMBED_LINK: Final = re.compile(r"<p><a [^<]*</a></p>")
_TEXTS: Final = frozenset({"title", "summary", "subtitle", "rights", "value"})


class Notes:
    """What an assertion touched, and whether a difference was one of policy."""

    def __init__(self) -> None:
        self.touched: list[str] = []
        self.policy: str | None = None
        self.reason: str | None = None


class View(dict[str, Anything]):
    """A dictionary with feedparser's aliases that notes what it is asked for."""

    def __init__(self, notes: Notes, kind: str, **values: Anything) -> None:
        kept = kind == "text"  # feedparser has a language of None, and no author of None
        super().__init__((key, one) for key, one in values.items() if kept or one is not None)
        self._notes = notes
        self._kind = kind

    def __getitem__(self, key: str) -> Anything:
        if key == "category":
            return self["tags"][0]["term"]
        name = self._name(key)
        self._notes.touched.append(f"{self._kind}.{name}")
        if dict.__contains__(self, name):
            return dict.__getitem__(self, name)
        if name in ("updated", "updated_parsed"):  # feedparser falls back the same way
            return dict.__getitem__(self, name.replace("updated", "published"))
        if name in _TEXTS:  # feedmill does not tell an empty element from none
            return Markup("", self._notes)
        return dict.__getitem__(self, name)

    def __getattr__(self, key: str) -> Anything:
        try:
            return self[key]
        except KeyError as missing:
            raise AttributeError(key) from missing

    def __contains__(self, key: object) -> bool:
        name = self._name(str(key))
        self._notes.touched.append(f"{self._kind}.{name}")
        return dict.__contains__(self, name)

    def has_key(self, key: str) -> bool:
        """feedparser's spelling of `in`."""
        return key in self

    def get(self, key: str, default: Anything = None) -> Anything:
        """The value, or the default where there is none."""
        if key not in self:
            return default
        return self[key]

    def _name(self, key: str) -> str:
        if key in ("description", "description_detail"):
            own = "subtitle" if self._kind == "feed" else "summary"
            return key.replace("description", own) if self._kind in ("feed", "entry") else key
        return _ALIASES.get(key, key)


class Markup(str):
    """Sanitised markup; equal to what an HTML parser reads as the same tree."""

    __slots__ = ("_notes", "_raw")
    _notes: Notes
    _raw: str

    def __new__(cls, html: str, notes: Notes, raw: str = "") -> Self:
        """A text that remembers what it was made from, and where to note a difference."""
        made = super().__new__(cls, html)
        made._notes, made._raw = notes, raw
        return made

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, str):
            return False
        ours, theirs = _tree(str(self)), _tree(other)
        if ours == theirs:
            return True
        if self._raw and ours == _tree(clean_html(other)):
            self._notes.policy = "our allow-list is shorter: what feedparser keeps, we remove"
        elif _text(ours) == _text(theirs) and _tags(ours) >= _tags(theirs):
            self._notes.policy = "our allow-list keeps an element that feedparser removes"
        elif _REMOVED.search(self._raw) and _is_part(_text(ours), _text(theirs)):
            self._notes.policy = "what stands inside a removed element goes with it"
        elif _EMBEDS.search(self._raw) and _is_part(
            _text(_tree(_EMBED_LINK.sub("", str(self)))), _text(theirs)
        ):
            self._notes.policy = "what is embedded stays as a link"
        else:
            self._notes.reason = "markup is read as HTML 5, as a browser reads it"
        return False

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


class EncodingName(str):
    """An encoding; equal to every label that means it on the web (latin-1 is windows-1252)."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str) and (
            str(self) == other.lower() or encoding_of_label(other) == str(self)
        )

    __hash__ = str.__hash__


class Version(str):
    """A format; feedparser tells two kinds of RSS 0.91 apart by their DOCTYPE."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str) and str(self) == other.rstrip("un")

    __hash__ = str.__hash__


class Duration(int):
    """Seconds; equal to any spelling of the same duration."""

    def __eq__(self, other: object) -> bool:
        return int(self) == (seconds(other) if isinstance(other, str) else other)

    __hash__ = int.__hash__


def _tree(markup: str) -> list[tuple[str, ...]]:
    """What an HTML parser reads, as tokens: attributes sorted, `rel` left out, text joined."""
    walker = html5lib.getTreeWalker("etree")
    tokens: list[tuple[str, ...]] = []
    for token in walker(html5lib.parseFragment(markup)):
        kind = token["type"]
        if kind in ("Characters", "SpaceCharacters"):
            _add_text(tokens, token["data"])
        elif kind in ("StartTag", "EmptyTag"):
            given = ((name[1], value) for name, value in token["data"].items())
            known = sorted(
                (name, http_url(value) or value) for name, value in given if name != "rel"
            )
            tokens.append(("<", token["name"], *(f"{name}={value}" for name, value in known)))
        elif kind == "EndTag":
            tokens.append((">", token["name"]))
    return [token for token in _trimmed(tokens) if token != ("",)]


def _add_text(tokens: list[tuple[str, ...]], text: str) -> None:
    if tokens and len(tokens[-1]) == 1:
        tokens[-1] = (tokens[-1][0] + text,)
    else:
        tokens.append((text,))


def _trimmed(tokens: list[tuple[str, ...]]) -> Iterable[tuple[str, ...]]:
    for number, token in enumerate(tokens):
        if len(token) == 1 and number in (0, len(tokens) - 1):
            yield (token[0].strip(),)
        else:
            yield token


def _text(tree: list[tuple[str, ...]]) -> str:
    return "".join(token[0] for token in tree if len(token) == 1)


def _is_part(text: str, whole: str) -> bool:
    """Whether all words of a text stand in the whole, in the same order."""
    rest = iter(whole.split())
    return all(word in rest for word in text.split())


def _tags(tree: list[tuple[str, ...]]) -> frozenset[tuple[str, ...]]:
    return frozenset(token for token in tree if len(token) > 1)
