"""Reads one element: text, markup, numbers, and the inherited xml:base and xml:lang."""

import re
from collections.abc import Callable
from typing import Any, Final

from lxml import etree

from feedmill.canonicalise.urls import http_url, resolve, with_forgotten_scheme
from feedmill.config import ParseLimits
from feedmill.model.parsed import Category, RepairCode, Text

XML_BASE: Final = "{http://www.w3.org/XML/1998/namespace}base"
XML_LANG: Final = "{http://www.w3.org/XML/1998/namespace}lang"

_SETS_BASE: Final = etree.XPath("boolean(.//@xml:base)")
_ADDRESSES: Final = frozenset({"href", "src", "poster", "data"})
_HTML_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9-]*")
_PREFIXED: Final = re.compile(r"</?[A-Za-z_][\w.-]*:")
# Read as HTML, <p/> opens a paragraph that nothing closes; void elements are meant that way.
_SELF_CLOSED: Final = re.compile(
    r"<(?!(?:area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr)\b)"
    r"([A-Za-z][\w-]*+)[^<>]*+(?<=/)>"
)
_NUMBER: Final = re.compile(
    r"\s*[+-]?(?:\d{1,40}\.?\d{0,40}|\.\d{1,40})(?:[eE][+-]?\d{1,4})?\s*", re.ASCII
)
_ESCAPED: Final = re.compile(r"&(amp|lt|gt|quot|#38|#x26);", re.IGNORECASE)
_UNESCAPED: Final = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "#38": "&", "#x26": "&"}
_CLOCK: Final = re.compile(r"(?:(\d{1,4}):)?(\d{1,5}):(\d{1,2})(?:\.\d{0,6})?")
_ISO_DURATION: Final = re.compile(
    r"P(?:(\d{1,4})D)?T?(?:(\d{1,4})H)?(?:(\d{1,5})M)?(?:(\d{1,7})(?:\.\d{0,6})?S)?"
)


class ElementScope:
    """What an element inherits from those around it, and the limits of the document."""

    __slots__ = ("base", "inherits", "lang", "limits", "notes", "page")

    def __init__(
        self,
        *,
        base: str | None,
        lang: str | None,
        inherits: bool,
        limits: ParseLimits,
        notes: set[RepairCode],
        page: str | None = None,
    ) -> None:
        self.base = base
        self.page = page
        self.lang = lang
        self.inherits = inherits
        self.limits = limits
        self.notes = notes

    def enter(self, element: etree._Element) -> "ElementScope":
        """The scope inside an element: the same one unless it sets xml:base or xml:lang."""
        if not self.inherits:
            return self
        base, lang = element.get(XML_BASE), element.get(XML_LANG)
        if base is None and lang is None:
            return self
        return ElementScope(
            base=self.base if base is None else http_url(base, self.base) or self.base,
            lang=self.lang if lang is None else (lang.strip() or None),
            inherits=True,
            limits=self.limits,
            notes=self.notes,
            page=self.page if base is None else None,
        )

    @property
    def text_base(self) -> str | None:
        """What addresses in the HTML of RSS are relative to: the channel's page, where no
        xml:base is set. The document is often served by another host, and RSS names no base.
        """
        return self.page or self.base

    def link(self, reference: str | None) -> str | None:
        """An address resolved against the base; None when there is nothing in it."""
        reference = reference.strip() if reference else ""
        if "&" in reference:
            reference = unescape_address(reference)
        return resolve(with_forgotten_scheme(reference), self.base) if reference else None


class Draft(dict[str, Any]):
    """An entry or a feed while it is being read: the fields it has so far.

    `other` holds stand-ins for fields that stay empty, `parts` the facts of values inside it. It
    is a dict itself because it is written to in the innermost loop of the parser.
    """

    __slots__ = ("fuller", "other", "parts")

    def __init__(self) -> None:
        self.other: dict[str, Any] = {}
        self.parts: dict[str, dict[str, Any]] = {}
        self.fuller: Text | None = None

    def put(self, field: str, value: object) -> None:
        """Set a field that has not been set; nothing never replaces nothing."""
        if value is not None and field not in self:
            self[field] = value

    def offer(self, field: str, value: object) -> None:
        """Set a stand-in, used only if the field itself stays empty.

        Another description than the first may still be the fullest text of the entry.
        """
        if value is None:
            return
        self.other.setdefault(field, value)
        if field == "summary" and isinstance(value, Text):
            best = self.fuller
            self.fuller = value if best is None or len(value.value) > len(best.value) else best

    def add(self, field: str, value: object, scope: ElementScope) -> None:
        """Append to a field of many values, up to the limit."""
        values = self.get(field)
        self[field] = (value,) if values is None else _appended(values, value, scope)

    def add_other(self, field: str, value: object, scope: ElementScope) -> None:
        """Append to a stand-in of many values, up to the limit."""
        self.other[field] = _appended(self.other.get(field, ()), value, scope)

    def part(self, name: str) -> dict[str, Any]:
        """The facts of a value inside this one, such as itunes."""
        facts = self.parts.get(name)
        if facts is None:
            facts = self.parts[name] = {}
        return facts

    def put_in(self, name: str, field: str, value: object) -> None:
        """Set a fact of an inner value that has not been set."""
        facts = self.part(name)
        if value is not None and field not in facts:
            facts[field] = value

    def settled(self) -> dict[str, Any]:
        """The fields with every stand-in that was needed."""
        return {**self.other, **self} if self.other else self


Handler = Callable[[Draft, etree._Element, ElementScope], None]
Reader = Callable[[etree._Element, ElementScope], Any]


def field(name: str, read: Reader) -> Handler:
    """Reads an element into a field; the first value stays."""

    def handle(draft: Draft, element: etree._Element, scope: ElementScope) -> None:
        if name not in draft:
            draft.put(name, read(element, scope))

    return handle


def text_field(name: str) -> Handler:
    """Reads the text of an element into a field; the first value stays."""

    def handle(draft: Draft, element: etree._Element, scope: ElementScope) -> None:  # noqa: ARG001
        if name not in draft:
            draft.put(name, text_of(element))

    return handle


def many_field(name: str, read: Reader) -> Handler:
    """Reads an element into a field of many values."""

    def handle(draft: Draft, element: etree._Element, scope: ElementScope) -> None:
        value = read(element, scope)
        if value is not None:
            draft.add(name, value, scope)

    return handle


def stand_in(name: str, read: Reader) -> Handler:
    """Reads an element into a stand-in, used only if the field itself stays empty."""

    def handle(draft: Draft, element: etree._Element, scope: ElementScope) -> None:
        draft.offer(name, read(element, scope))

    return handle


def inner_field(
    part: str, name: str, convert: Callable[[str | None], Any] = lambda text: text
) -> Handler:
    """Converts the text of an element into a fact of an inner value, such as itunes."""

    def handle(draft: Draft, element: etree._Element, scope: ElementScope) -> None:  # noqa: ARG001
        draft.put_in(part, name, convert(text_of(element)))

    return handle


def read_address(element: etree._Element, scope: ElementScope) -> str | None:
    """The text of an element as an address."""
    return scope.enter(element).link(text_of(element))


def unescape_address(address: str) -> str:
    """An address whose & and < were escaped once more than the document needs."""
    while (plain := _ESCAPED.sub(lambda found: _UNESCAPED[found[1].lower()], address)) != address:
        address = plain
    return address


def add_keywords(draft: Draft, text: str | None, scheme: str | None, scope: ElementScope) -> None:
    """Add each keyword of a comma-separated list to the categories."""
    for word in split_keywords(text, scope):
        draft.add("categories", Category(term=word, scheme=scheme), scope)


def split_keywords(text: str | None, scope: ElementScope) -> tuple[str, ...]:
    """The words of a list that commas or line ends divide, up to the limit."""
    most = scope.limits.max_values
    parts = (text or "").replace("\n", ",").split(",", most)
    if len(parts) > most:
        scope.notes.add("values-capped")
    return tuple([word for part in parts[:most] if (word := part.strip())])


def attributes_of(element: etree._Element) -> dict[str, str]:
    """All attributes by their names in small letters: publishers write `URL=` and `isPermalink=`.

    One look at all of them is cheaper than six at one each.
    """
    written: dict[str, str] = dict(element.items())  # type: ignore[arg-type]  # no bytes
    return {name.lower(): value for name, value in written.items()}


def text_of(element: etree._Element) -> str | None:
    """The element's text, stripped; markup inside it is dropped. None when it is empty.

    Some programs escape the marks of their CDATA sections.
    """
    text = element.text if len(element) == 0 else "".join(map(str, element.itertext()))
    text = text.strip() if text else ""
    if text.startswith("<![CDATA[") and text.endswith("]]>"):
        text = text[9:-3].strip()
    return text or None


def markup_of(element: etree._Element) -> str | None:
    """The element's content as HTML: its text when it has no children, else serialised markup."""
    if len(element) == 0:
        text = element.text
        return (text.strip() or None) if text else None
    return inner_markup(element).strip() or None


def resolve_inner_addresses(element: etree._Element, scope: ElementScope) -> None:
    """Make the addresses in markup absolute where an element of it sets an xml:base of its own."""
    if not scope.inherits or not _SETS_BASE(element):
        return
    waiting = [(child, scope) for child in element.iterchildren("*")]
    while waiting:
        one, around = waiting.pop()
        inside = around.enter(one)
        if inside.base != scope.base:
            for name in _ADDRESSES.intersection(one.keys()):
                one.set(name, resolve(one.get(name) or "", inside.base))
        waiting += [(child, inside) for child in one.iterchildren("*")]


def inner_markup(element: etree._Element) -> str:
    """The children as HTML without namespaces, text escaped."""
    for node in element.iter():
        tag = node.tag
        if tag[0] == "{" or ":" in tag:
            local = tag.rpartition("}")[2].rpartition(":")[2]
            node.tag = local if _HTML_NAME.fullmatch(local) else "span"
    etree.cleanup_namespaces(element)
    pieces = [_escaped(element.text)]
    pieces += [etree.tostring(child, encoding="unicode", method="html") for child in element]
    return "".join(pieces)


def inner_xhtml(element: etree._Element) -> str:
    """The same for XHTML, written out in one go where its names need no change."""
    whole = etree.tostring(element, encoding="unicode", with_tail=False)
    inside = whole[whole.index(">") + 1 : whole.rindex("<")]
    if " xmlns" in inside or _PREFIXED.search(inside):
        return inner_markup(element)
    return _SELF_CLOSED.sub(r"\g<0></\1>", inside) if "/>" in inside else inside


def integer(text: str | None) -> int | None:
    """A non-negative whole number, else None."""
    text = text.strip() if text else ""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None


def decimal(text: str | None) -> float | None:
    """A finite number, else None."""
    if not text or not _NUMBER.fullmatch(text):
        return None
    number = float(text)
    return number if abs(number) < 1e15 else None


def seconds(text: str | None) -> int | None:
    """A duration in seconds: 90, 1:30, 01:02:03, PT1H2M3S."""
    text = text.strip() if text else ""
    if clock := _CLOCK.fullmatch(text):
        hours, minutes, rest = (int(part or 0) for part in clock.groups())
        return hours * 3600 + minutes * 60 + rest
    if len(text) > 2 and (iso := _ISO_DURATION.fullmatch(text.upper())):
        days, hours, minutes, rest = (int(part or 0) for part in iso.groups())
        return days * 86_400 + hours * 3600 + minutes * 60 + rest
    number = decimal(text)
    return int(number) if number is not None and number >= 0 else None


def flag(text: str | None) -> bool | None:
    """yes, true, explicit → True; no, false, clean → False; anything else → None."""
    word = text.strip().lower() if text else ""
    if word in ("yes", "true", "explicit"):
        return True
    return False if word in ("no", "false", "clean") else None


def _escaped(text: str | None) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;") if text else ""


def _appended(values: tuple[object, ...], value: object, scope: ElementScope) -> tuple[object, ...]:
    if len(values) >= scope.limits.max_values:
        scope.notes.add("values-capped")
        return values
    return (*values, value)
