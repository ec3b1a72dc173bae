"""What a whole document says: which keys identify its entries, and which entries are gone.

A guid that half of the items share is no guid; a link that two items share is no identity.
Both are judged over the whole document, so the rows whose slices were only touched count too.

Entries that their publisher removed: marked, never erased (RFC 6721, RFC 5005 2).
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Sequence
from datetime import datetime

from feedmill.config import IdentifyConfig
from feedmill.identify.hashes import as_utc, guid_of, item_hash, link_of, title_hash
from feedmill.model.base import Value
from feedmill.model.entry import Entry
from feedmill.model.identity import (
    Changes,
    FeedIdentity,
    Identified,
    KnownEntry,
    Removed,
    Revised,
    UnchangedEntry,
)
from feedmill.model.parsed import Tombstone

# One distinct item: its guid, its link, and what else tells it apart.
_Item = tuple[str | None, str | None, Hashable]


class DocumentProfile(Value):
    """The guids and links that identify no single entry; the ignored ones are remembered with the feed."""

    ignored_guids: frozenset[str]
    ignored_links: frozenset[str]
    shared_links: frozenset[str]


def profile_document(
    entries: Sequence[Entry],
    feed: FeedIdentity,
    config: IdentifyConfig,
    touched: Sequence[UnchangedEntry] = (),
) -> DocumentProfile:
    """The guids and links of a document that cannot tell its items apart."""
    if not _all_differ(entries, touched, feed, config):
        return profile_by_counting(entries, feed, config, touched)
    return DocumentProfile(
        ignored_guids=frozenset(feed.ignored_guids),
        ignored_links=frozenset(feed.ignored_links),
        shared_links=frozenset(),
    )


def profile_by_counting(
    entries: Sequence[Entry],
    feed: FeedIdentity,
    config: IdentifyConfig,
    touched: Sequence[UnchangedEntry] = (),
) -> DocumentProfile:
    """The same for items of which some may share a guid or a link, or have none."""
    before = frozenset(feed.ignored_guids)
    items = _distinct(entries, touched, feed, before, by_title=True)
    ignored_guids = before | _constant((guid for guid, _, _ in items), len(items), config)
    if ignored_guids == before:  # then only the titles have to go
        distinct = {(g, link, None if g is not None else rest) for g, link, rest in items}
    else:
        distinct = _distinct(entries, touched, feed, ignored_guids, by_title=False)
    links = Counter(link for _, link, _ in distinct if link is not None)
    bare = (link for guid, link, _ in distinct if guid is None)
    return DocumentProfile(
        ignored_guids=ignored_guids,
        ignored_links=_constant(bare, len(distinct), config).union(feed.ignored_links),
        shared_links=frozenset(link for link, count in links.items() if count > 1),
    )


def find_repeats(
    seen: Sequence[Identified], known: Collection[tuple[str | None, str | None]] = ()
) -> dict[int, int]:
    """For each item that repeats another of its document, the position of the one that is kept.

    One guid with one link is one entry, and so is one guid whose items all carry different
    `updated` dates (RFC 4287 4.1.1): the newest is kept. One guid with several links and no such
    dates is several entries. Items without a guid repeat only when everything is the same.
    The choice does not depend on the order of the document. `known` are the guids and links of
    the rows there are: what was distinct before stays distinct.
    """
    groups: defaultdict[Hashable, list[int]] = defaultdict(list)
    for position, item in enumerate(seen):
        groups[(item.guid,) if item.guid is not None else item.item_hash].append(position)
    found: dict[int, int] = {}
    for group in groups.values():
        if len(group) > 1:
            found.update(_repeats_within(group, seen, known))
    return found


def find_newer_versions(
    seen: Sequence[Identified], touched: Sequence[UnchangedEntry]
) -> dict[int, tuple[KnownEntry, bool]]:
    """For each item that is another version of a touched row: that row, and if the item is to win.

    The slice of the row stands in the same document, so the rules of `repeats` hold between them.
    """
    rows = [t.known for t in touched]
    items = {row.item_hash: row for row in rows if row.guid is None}
    pairs = {(row.guid, row.canonical_link): row for row in rows}
    guids: defaultdict[str | None, list[KnownEntry]] = defaultdict(list)
    for row in rows:
        guids[row.guid].append(row)
    found: dict[int, tuple[KnownEntry, bool]] = {}
    for position, item in enumerate(seen):
        same = pairs.get((item.guid, item.link)) if item.guid else items.get(item.item_hash)
        if same is not None:
            found[position] = (same, _is_newer(item, same))
        elif item.guid in guids and _is_version(item, guids[item.guid]):
            row = guids[item.guid][0]
            found[position] = (row, len(guids[item.guid]) == 1 and _is_newer(item, row))
    return found


def _all_differ(
    entries: Sequence[Entry],
    touched: Sequence[UnchangedEntry],
    feed: FeedIdentity,
    config: IdentifyConfig,
) -> bool:
    """Whether each item has a guid and a link of its own, as in most documents: nothing is to be counted."""
    rows = [one.known for one in touched]
    guids = {*map(guid_of, entries), *[row.guid for row in rows]}
    links = {*map(link_of, entries), *[row.canonical_link for row in rows]}
    count = len(entries) + len(rows)
    return (
        len(guids) == len(links) == count
        and None not in guids
        and None not in links
        and guids.isdisjoint(feed.ignored_guids)
        and config.constant_guid_min_items > 1
    )


def _distinct(
    entries: Sequence[Entry],
    touched: Sequence[UnchangedEntry],
    feed: FeedIdentity,
    ignored: frozenset[str],
    *,
    by_title: bool,
) -> set[_Item]:
    """The items of a document without its repeats.

    By title when guids are on trial: a guid with one link and many titles is on many items.
    """
    found: set[_Item] = set()
    for entry in entries:
        guid, link = guid_of(entry), link_of(entry)
        if guid is None or guid in ignored:
            found.add((None, link, item_hash(entry, None, feed.feed_key)))
        else:
            found.add((guid, link, title_hash(entry) if by_title else None))
    for row in (t.known for t in touched):
        if row.guid is None or row.guid in ignored:
            found.add((None, row.canonical_link, row.item_hash))
        else:
            found.add((row.guid, row.canonical_link, row.title_hash if by_title else None))
    return found


def _constant(values: Iterable[str | None], items: int, config: IdentifyConfig) -> frozenset[str]:
    least = max(config.constant_guid_min_items, config.constant_guid_ratio * items)
    counts = Counter(value for value in values if value is not None)
    return frozenset(value for value, count in counts.items() if count >= least)


def _repeats_within(
    group: list[int],
    seen: Sequence[Identified],
    known: Collection[tuple[str | None, str | None]],
) -> dict[int, int]:
    by_link: defaultdict[str | None, list[int]] = defaultdict(list)
    for position in group:
        by_link[seen[position].link].append(position)
    kept = {link: _newest(positions, seen) for link, positions in by_link.items()}
    stamps = [seen[position].entry.updated for position in kept.values()]
    apart = sum((seen[group[0]].guid, link) in known for link in by_link) > 1
    are_versions = not apart and None not in stamps and len(set(stamps)) == len(stamps)
    linked = [position for link, position in kept.items() if link is not None] or list(
        kept.values()
    )
    winner = _newest(list(kept.values()) if are_versions else linked, seen)
    found: dict[int, int] = {}
    for link, positions in by_link.items():
        keep = winner if are_versions or link is None else kept[link]
        found.update({position: keep for position in positions if position != keep})
    return found


def _is_version(item: Identified, rows: list[KnownEntry]) -> bool:
    # Several rows under one guid are entries of their own; only an item without a link, which
    # could not be distinguished from them, counts as a repeat of one.
    if item.guid is None or item.link is None or len(rows) > 1:
        return item.guid is not None and item.link is None
    return rows[0].canonical_link is None or _differ(item.entry.updated, rows[0].updated)


def _is_newer(item: Identified, known: KnownEntry) -> bool:
    """Whether an item is the younger of two versions of one entry, or the one that has a link."""
    ours, theirs = item.entry.updated, known.updated
    if item.link == known.canonical_link:
        ours, theirs = ours or item.entry.published, theirs or known.published
    elif not _differ(ours, theirs):
        return known.canonical_link is None
    return ours is not None and theirs is not None and as_utc(ours) > as_utc(theirs)


def _differ(one: datetime | None, other: datetime | None) -> bool:
    return one is not None and other is not None and as_utc(one) != as_utc(other)


def _newest(positions: list[int], seen: Sequence[Identified]) -> int:
    def age(position: int) -> tuple[str, str, str]:
        entry = seen[position].entry
        moment = entry.updated or entry.published
        dated = "" if moment is None else as_utc(moment).isoformat()
        return (dated, seen[position].content_hash, seen[position].link or "")

    return max(positions, key=age)


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
