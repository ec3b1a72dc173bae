"""sy:, fh: and at: — polling hints, paging and archives (RFC 5005), deleted entries (RFC 6721)."""
# Tested in tests/unit/parse/namespaces/test_namespaces.py

from collections.abc import Iterable
from typing import Any, Final

from lxml import etree
from msgspec.structs import replace

from feedmill.model.parsed import PublisherHints, Tombstone
from feedmill.parse.formats.atom import read_person
from feedmill.parse.xml.elements import Draft, ElementScope, Handler, field, integer, text_of
from feedmill.parse.xml.names import name_of

_DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_PERIODS: Final = frozenset({"hourly", "daily", "weekly", "monthly", "yearly"})


def put_hint(draft: Draft, **hint: Any) -> None:
    """Add to the hints gathered so far; the first value of a kind stays."""
    known: PublisherHints = draft.get("hints") or PublisherHints()
    fresh = {name: value for name, value in hint.items() if not getattr(known, name)}
    draft["hints"] = replace(known, **fresh)


def hours_of(texts: Iterable[str | None]) -> tuple[int, ...]:
    """GMT hours 0 to 23, sorted; RSS 0.91 wrote midnight as 24."""
    hours = (integer(text) for text in texts)
    return tuple(sorted({hour % 24 for hour in hours if hour is not None and hour <= 24}))


def days_of(texts: Iterable[str | None]) -> tuple[str, ...]:
    """Mon to Sun in the order of the week, from names in any case and length."""
    starts = {text.strip().lower()[:3] for text in texts if text}
    return tuple(day.capitalize() for day in _DAYS if day in starts)


def _period(draft: Draft, element: etree._Element, scope: ElementScope) -> None:  # noqa: ARG001
    period = (text_of(element) or "").lower()
    if period in _PERIODS:
        put_hint(draft, update_period=period)


def _frequency(draft: Draft, element: etree._Element, scope: ElementScope) -> None:  # noqa: ARG001
    frequency = integer(text_of(element))
    if frequency:
        put_hint(draft, update_frequency=frequency)


def _update_base(draft: Draft, element: etree._Element, scope: ElementScope) -> None:  # noqa: ARG001
    put_hint(draft, update_base=text_of(element))


def _deleted(draft: Draft, element: etree._Element, scope: ElementScope) -> None:
    ref = (element.get("ref") or "").strip()
    if not ref:
        return
    by, comment = None, None
    for child in element:
        name = name_of(child)
        if name == "at:by":
            by = read_person(child, scope)
        elif name == "at:comment":
            comment = text_of(child)
    tombstone = Tombstone(ref=ref, when=element.get("when"), by=by, comment=comment)
    draft.add("tombstones", tombstone, scope)


FEED: Final[dict[str, Handler]] = {
    "sy:updateperiod": _period,
    "sy:updatefrequency": _frequency,
    "sy:updatebase": _update_base,
    "fh:complete": field("complete", lambda *_: True),
    "fh:archive": field("archive", lambda *_: True),
    "at:deleted-entry": _deleted,
}
