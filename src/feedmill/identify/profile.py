"""What a document as a whole says about its ids and links, before any entry is matched (D8).

A guid that half of the items share is no guid; a link that two items share is no identity.
Both are judged over the whole document, so the rows whose slices were only touched count too.
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from datetime import datetime

from feedmill.config import IdentifyConfig
from feedmill.identify.hashes import as_utc, guid_of, item_hash, link_of, title_hash
from feedmill.model.base import Value
from feedmill.model.entry import Entry
from feedmill.model.identity import FeedIdentity, Identified, KnownEntry, Touched

# One distinct item: its guid, its link, and what else tells it apart.
_Item = tuple[str | None, str | None, Hashable]


class DocumentProfile(Value):
    """What identifies nobody in this document; the ignored ones are remembered with the feed."""

    ignored_guids: frozenset[str]
    ignored_links: frozenset[str]
    shared_links: frozenset[str]


def profile_document(
    entries: Sequence[Entry],
    feed: FeedIdentity,
    config: IdentifyConfig,
    touched: Sequence[Touched] = (),
) -> DocumentProfile:
    """The guids and links of a document that cannot tell its items apart."""
    items = {(guid_of(e), link_of(e), title_hash(e)) for e in entries} | {
        (t.known.guid, t.known.canonical_link, t.known.title_hash) for t in touched
    }
    guids = _constant((guid for guid, _, _ in items), len(items), config)
    ignored_guids = guids.union(feed.ignored_guids)
    distinct = _distinct(entries, touched, feed, ignored_guids)
    links = Counter(link for _, link, _ in distinct if link is not None)
    bare = (link for guid, link, _ in distinct if guid is None)
    return DocumentProfile(
        ignored_guids=ignored_guids,
        ignored_links=_constant(bare, len(distinct), config).union(feed.ignored_links),
        shared_links=frozenset(link for link, count in links.items() if count > 1),
    )


def repeats(seen: Sequence[Identified]) -> dict[int, int]:
    """For each item that repeats another of its document, the position of the one that is kept.

    One guid with one link is one entry, and so is one guid whose items all carry different
    `updated` dates (RFC 4287 4.1.1): the newest is kept. One guid with several links and no such
    dates is several entries. Items without a guid repeat only when everything is the same.
    The choice does not depend on the order of the document.
    """
    groups: defaultdict[Hashable, list[int]] = defaultdict(list)
    for position, item in enumerate(seen):
        groups[(item.guid,) if item.guid is not None else item.item_hash].append(position)
    found: dict[int, int] = {}
    for group in groups.values():
        if len(group) > 1:
            found.update(_repeats_within(group, seen))
    return found


def overlaid(seen: Sequence[Identified], touched: Sequence[Touched]) -> dict[int, KnownEntry]:
    """For each item that is another version of a touched row, that row.

    The slice of the row stands in the same document, so the rules of `repeats` hold between them.
    """
    rows = [t.known for t in touched]
    items = {row.item_hash: row for row in rows if row.guid is None}
    pairs = {(row.guid, row.canonical_link): row for row in rows}
    guids: defaultdict[str | None, list[KnownEntry]] = defaultdict(list)
    for row in rows:
        guids[row.guid].append(row)
    found: dict[int, KnownEntry] = {}
    for position, item in enumerate(seen):
        if item.guid is None:
            hit = items.get(item.item_hash)
        else:
            hit = pairs.get((item.guid, item.link)) or _version(item, guids.get(item.guid, []))
        if hit is not None:
            found[position] = hit
    return found


def overtakes(item: Identified, known: KnownEntry) -> bool:
    """Whether an item is the younger of two versions of one entry, or the one that has a link."""
    ours, theirs = item.entry.updated, known.updated
    if item.link == known.canonical_link:
        ours, theirs = ours or item.entry.published, theirs or known.published
    elif not _differ(ours, theirs):
        return known.canonical_link is None
    return ours is not None and theirs is not None and as_utc(ours) > as_utc(theirs)


def _distinct(
    entries: Sequence[Entry],
    touched: Sequence[Touched],
    feed: FeedIdentity,
    ignored_guids: frozenset[str],
) -> set[_Item]:
    distinct: set[_Item] = set()
    for entry in entries:
        guid = guid_of(entry)
        if guid is None or guid in ignored_guids:
            distinct.add((None, link_of(entry), item_hash(entry, None, feed.feed_key)))
        else:
            distinct.add((guid, link_of(entry), None))
    for known in (t.known for t in touched):
        if known.guid is None or known.guid in ignored_guids:
            distinct.add((None, known.canonical_link, known.item_hash))
        else:
            distinct.add((known.guid, known.canonical_link, None))
    return distinct


def _constant(values: Iterable[str | None], items: int, config: IdentifyConfig) -> frozenset[str]:
    least = max(config.constant_guid_min_items, config.constant_guid_ratio * items)
    counts = Counter(value for value in values if value is not None)
    return frozenset(value for value, count in counts.items() if count >= least)


def _repeats_within(group: list[int], seen: Sequence[Identified]) -> dict[int, int]:
    by_link: defaultdict[str | None, list[int]] = defaultdict(list)
    for position in group:
        by_link[seen[position].link].append(position)
    kept = {link: _newest(positions, seen) for link, positions in by_link.items()}
    stamps = [seen[position].entry.updated for position in kept.values()]
    are_versions = None not in stamps and len(set(stamps)) == len(stamps)
    linked = [position for link, position in kept.items() if link is not None] or list(
        kept.values()
    )
    winner = _newest(list(kept.values()) if are_versions else linked, seen)
    found: dict[int, int] = {}
    for link, positions in by_link.items():
        keep = winner if are_versions or link is None else kept[link]
        found.update({position: keep for position in positions if position != keep})
    return found


def _version(item: Identified, rows: list[KnownEntry]) -> KnownEntry | None:
    # Several rows under one guid are entries of their own; only an item without a link, which
    # could not be told from them, counts as a repeat of one.
    if len(rows) != 1:
        return rows[0] if rows and item.link is None else None
    row = rows[0]
    linkless = item.link is None or row.canonical_link is None
    return row if linkless or _differ(item.entry.updated, row.updated) else None


def _differ(one: datetime | None, other: datetime | None) -> bool:
    return one is not None and other is not None and as_utc(one) != as_utc(other)


def _newest(positions: list[int], seen: Sequence[Identified]) -> int:
    def age(position: int) -> tuple[str, str, str]:
        entry = seen[position].entry
        moment = entry.updated or entry.published
        dated = "" if moment is None else as_utc(moment).isoformat()
        return (dated, seen[position].content_hash, seen[position].link or "")

    return max(positions, key=age)
