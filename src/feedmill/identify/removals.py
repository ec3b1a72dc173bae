"""Entries that their publisher removed: marked, never erased (RFC 6721, RFC 5005 2)."""

from collections.abc import Collection, Iterable
from datetime import datetime

from feedmill.identify.hashes import as_utc, guid_of
from feedmill.model.entry import Entry
from feedmill.model.identity import (
    Changes,
    FeedIdentity,
    KnownEntry,
    Removed,
    Revised,
    UnchangedEntry,
)
from feedmill.model.parsed import Tombstone


def without_withdrawn(
    entries: Iterable[Entry], tombstones: Iterable[Tombstone]
) -> tuple[Entry, ...]:
    """The entries that no tombstone of their own document withdraws."""
    tombstone_by_id = _newest_tombstones(tombstones)
    return tuple(entry for entry in entries if not _is_withdrawn(entry, tombstone_by_id))


def apply_tombstones(
    known: Iterable[KnownEntry],
    tombstones: Collection[Tombstone],
    feed: FeedIdentity,
    entries: Iterable[Entry] = (),
) -> tuple[Removed, ...]:
    """The rows of this feed that tombstones withdraw; `entries` are those alive in the document.

    A tombstone counts when it is not older than the entry (RFC 6721 3), and only in its own feed.
    """
    if not tombstones:
        return ()
    tombstone_by_id = _newest_tombstones(tombstones)
    alive = {guid_of(entry) for entry in without_withdrawn(entries, tombstones)}
    removed = []
    for row in known:
        found = tombstone_by_id.get(row.guid or "")
        if found is None or row.removed or row.feed_id != feed.feed_id or row.guid in alive:
            continue
        when, tombstone = found
        if _is_before_or_at(row.updated or row.published, when):
            removed.append(
                Removed(known=row, reason="tombstone", when=when, comment=tombstone.comment)
            )
    return tuple(removed)


def remove_absent(
    known: Iterable[KnownEntry], changes: Changes, feed: FeedIdentity
) -> tuple[Removed, ...]:
    """The rows that a complete document (RFC 5005 2) no longer lists.

    `known` must be every row of the feed. A document without a single entry removes nothing:
    that is how a server says "restarting", and believing it would empty the feed.
    """
    if not changes.changes:
        return ()
    present = {c.known.entry_id for c in changes.changes if isinstance(c, Revised | UnchangedEntry)}
    return tuple(
        Removed(known=row, reason="absent")
        for row in known
        if row.feed_id == feed.feed_id and not row.removed and row.entry_id not in present
    )


def _newest_tombstones(tombstones: Iterable[Tombstone]) -> dict[str, tuple[datetime, Tombstone]]:
    """The youngest readable tombstone of each id; `when` is required (RFC 6721 3)."""
    tombstone_by_id: dict[str, tuple[datetime, Tombstone]] = {}
    for tombstone in tombstones:
        ref, when = tombstone.ref.strip(), _rfc3339(tombstone.when)
        if not ref or when is None:
            continue
        if ref not in tombstone_by_id or tombstone_by_id[ref][0] < when:
            tombstone_by_id[ref] = (when, tombstone)
    return tombstone_by_id


def _is_withdrawn(entry: Entry, tombstone_by_id: dict[str, tuple[datetime, Tombstone]]) -> bool:
    found = tombstone_by_id.get(guid_of(entry) or "")
    return found is not None and _is_before_or_at(entry.updated or entry.published, found[0])


def _is_before_or_at(moment: datetime | None, when: datetime) -> bool:
    return moment is None or as_utc(moment) <= when


def _rfc3339(text: str | None) -> datetime | None:
    try:
        moment = datetime.fromisoformat((text or "").strip().upper())
    except ValueError:
        return None
    return None if moment.tzinfo is None else as_utc(moment)
