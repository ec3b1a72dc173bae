"""Two subscriptions turned out to be one feed: which of their entries are the same, and what the
others are recognised by from now on.

The rules are those of matching a document (D8), between rows on both sides: one guid with one link,
then a guid that is unique on both sides, then a link that is unique on both sides and whose guids
do not both stand elsewhere, then everything word for word.
"""

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Sequence

from feedmill.identify.keys import identity_keys, rescoped_key, spare_keys
from feedmill.model.entry import Entry
from feedmill.model.identity import IdentityKey, KnownEntry

_Trait = Callable[[KnownEntry], Hashable | None]


def pair_twins(
    kept: Sequence[KnownEntry],
    given: Sequence[KnownEntry],
    *,
    ignored_guids: Collection[str] = (),
    ignored_links: Collection[str] = (),
) -> dict[int, int]:
    """For each given row that a kept row is the same entry as, the number of that row."""
    guids_kept, guids_given = {row.guid for row in kept}, {row.guid for row in given}

    def guid_of(row: KnownEntry) -> str | None:
        return None if row.guid in ignored_guids else row.guid

    def guid_and_link(row: KnownEntry) -> Hashable | None:
        return None if guid_of(row) is None else (row.guid, row.canonical_link)

    def link_of(row: KnownEntry) -> str | None:
        return None if row.canonical_link in ignored_links else row.canonical_link

    def words(row: KnownEntry) -> Hashable | None:
        nameless = guid_of(row) is None and row.content_hash is not None
        return (row.canonical_link, row.content_hash) if nameless else None

    def are_compatible(ours: KnownEntry, theirs: KnownEntry) -> bool:
        """Not two entries that the publisher tells apart under one link (link blogs)."""
        one, other = guid_of(ours), guid_of(theirs)
        if one is None or other is None or one == other:
            return True
        return one not in guids_given and other not in guids_kept

    pairs: dict[int, int] = {}
    taken: set[int] = set()
    for trait, guard in (
        (guid_and_link, None),
        (guid_of, None),
        (link_of, are_compatible),
        (words, None),
    ):
        for theirs, ours in _unique_pairs(kept, given, trait):
            free = theirs.entry_id not in pairs and ours.entry_id not in taken
            if free and (guard is None or guard(ours, theirs)):
                pairs[theirs.entry_id] = ours.entry_id
                taken.add(ours.entry_id)
    return pairs


def adopted_keys(
    row: KnownEntry, entry: Entry | None, *, old_key: str, feed_key: str, feed_id: str
) -> tuple[IdentityKey, ...]:
    """The keys by which the next document of its new feed finds a row that came from another.

    `entry` is what is stored of it, None for an expired one. Links and unscoped guids are not among
    them: those keys never named a feed.
    """
    found = [rescoped_key(key, old_key, feed_key) for key in row.keys]
    if row.guid is not None:
        found += identity_keys(Entry(guid=row.guid), feed_key)[:1]
    if entry is not None:
        item, uid = spare_keys(entry, feed_key, feed_id)[:2]
        found.append(item)
        if row.guid is None:
            found += [uid, *identity_keys(entry, feed_key, use_link=row.canonical_link is not None)]
    unscoped = ("canonical_url", "legacy_guid")
    wanted = (key for key in found if key is not None and key.type not in unscoped)
    return tuple(dict.fromkeys(wanted))


def _unique_pairs(
    kept: Sequence[KnownEntry], given: Sequence[KnownEntry], trait: _Trait
) -> list[tuple[KnownEntry, KnownEntry]]:
    """Pairs of given and kept that share a trait which is unique on both sides."""
    counts_kept = Counter(trait(row) for row in kept)
    counts_given = Counter(trait(row) for row in given)
    owners = {trait(row): row for row in kept if counts_kept[trait(row)] == 1}
    owners.pop(None, None)
    return [
        (row, owners[trait(row)])
        for row in given
        if trait(row) in owners and counts_given[trait(row)] == 1
    ]
