"""Compares two documents of a feed: what the publisher added, removed, changed and reordered.

Entries are paired by their identity keys, the strongest first, each at most once. Fields are
compared as the publisher wrote them, so that a date in another form counts as a change; where an entry stands in
the bytes does not.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from feedmill.identify.keys import identity_keys
from feedmill.model.base import Value
from feedmill.model.derived.document_diff import DocumentDiff, EntryChange, FieldChange
from feedmill.model.entry import Entry, NormalisedFeed
from feedmill.model.identity import IdentityKey, KeyType
from feedmill.model.parsed import ParsedEntry, ParsedFeed

_STRONGEST_FIRST: Final[tuple[KeyType, ...]] = (
    "guid",
    "alias",
    "canonical_url",
    "legacy_guid",
    "fallback_hash",
)
_NOT_COMPARED: Final = frozenset({"slice", "entries", "touched", "encoding_source"})


class ReadDocument(NamedTuple):
    """A document as its publisher wrote it, and as it was understood."""

    parsed: ParsedFeed
    clean: NormalisedFeed


def compare_documents(before: ReadDocument, after: ReadDocument, feed_key: str) -> DocumentDiff:
    """What changed; `feed_key` scopes the guids, as it does for stored entries."""
    pairs = _pairs(before.clean.entries, after.clean.entries, feed_key)
    stayed = _in_order([pairs[at] for at in sorted(pairs)])
    changes = [
        change
        for at, entry in enumerate(after.parsed.entries)
        if (change := _change(before.parsed.entries, pairs.get(at), entry, at, stayed)) is not None
    ]
    kept = set(pairs.values())
    removed = [
        _entry_change("removed", entry, before=at + 1)
        for at, entry in enumerate(before.parsed.entries)
        if at not in kept
    ]
    return DocumentDiff(
        feed=tuple(_fields(before.parsed, after.parsed)),
        entries=(*changes, *removed),
        unchanged=len(after.parsed.entries) - len(changes),
    )


def _pairs(before: Sequence[Entry], after: Sequence[Entry], feed_key: str) -> dict[int, int]:
    """The place of each later entry that was there before, and its place then.

    A key that stands on several entries of a document identifies none of them (D8); such entries are paired
    last, where the title is the same too, in the order of the document.
    """
    old = [identity_keys(entry, feed_key) for entry in before]
    new = [identity_keys(entry, feed_key) for entry in after]
    found: dict[int, int] = {}
    taken: set[int] = set()
    for titled in (False, True):
        for kind in _STRONGEST_FIRST:
            then = _places(old, kind, before if titled else None)
            now = _places(new, kind, after if titled else None)
            for key in now.keys() & then.keys():
                if titled or len(now[key]) == len(then[key]) == 1:
                    free = (place for place in then[key] if place not in taken)
                    for at, place in zip(
                        [one for one in now[key] if one not in found], free, strict=False
                    ):
                        found[at] = place
                        taken.add(place)
    return found


def _places(
    keys: Sequence[tuple[IdentityKey, ...]], kind: KeyType, titles: Sequence[Entry] | None
) -> dict[tuple[str, str | None], list[int]]:
    """Where each key of a kind stands, with the title if that counts too."""
    found: dict[tuple[str, str | None], list[int]] = {}
    for at, own in enumerate(keys):
        title = None if titles is None else titles[at].title
        for key in own:
            if key.type == kind:
                found.setdefault((key.value, title), []).append(at)
    return found


def _in_order(places: Sequence[int]) -> frozenset[int]:
    """The longest increasing run of places: entries that stayed in order, however the rest moved."""
    tails: list[int] = []  # the smallest last place of a run of each length
    before: dict[int, int | None] = {}
    for place in places:
        at = bisect_left(tails, place)
        before[place] = tails[at - 1] if at else None
        tails[at : at + 1] = [place]
    run: list[int] = []
    last = tails[-1] if tails else None
    while last is not None:
        run.append(last)
        last = before[last]
    return frozenset(run)


def _change(
    old: Sequence[ParsedEntry],
    place: int | None,
    entry: ParsedEntry,
    at: int,
    stayed: frozenset[int],
) -> EntryChange | None:
    if place is None:
        return _entry_change("added", entry, after=at + 1)
    fields, moved = tuple(_fields(old[place], entry)), place not in stayed
    if not fields and not moved:
        return None
    return _entry_change(
        "changed" if fields else "moved",
        entry,
        before=place + 1,
        after=at + 1,
        moved=moved,
        fields=fields,
    )


def _entry_change(change: str, entry: ParsedEntry, **more: Any) -> EntryChange:  # noqa: ANN401  # fields of EntryChange
    return EntryChange(
        change=change,  # type: ignore[arg-type]  # the callers' words are those of the type
        id=entry.id,
        link=entry.link,
        title=None if entry.title is None else entry.title.value,
        **more,
    )


def _fields(before: Value, after: Value) -> Iterator[FieldChange]:
    for name in before.__struct_fields__:
        old, new = getattr(before, name), getattr(after, name)
        if old != new and name not in _NOT_COMPARED:
            yield FieldChange(field=name, before=_shown(old), after=_shown(new))


def _shown(value: object) -> Any:  # noqa: ANN401  # JSON
    """The value as JSON; what is empty is not there."""
    plain = msgspec.to_builtins(value)
    return None if plain in ("", [], {}) else plain
