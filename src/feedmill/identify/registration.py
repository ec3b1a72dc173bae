"""Which keys and public ids the items of a document get: none that somebody else holds.

A key belongs to one row for ever (entry_identities is unique), so a key that is taken is left
where it is, and the item registers what is free. Who goes first does not depend on the order of
the document.
"""

from collections.abc import Iterable, Mapping, Sequence

from feedmill.identify.keys import item_key, scoped_url_key
from feedmill.identify.match import Matching, standing_order
from feedmill.model.identity import FeedIdentity, Identified, IdentityKey, KnownEntry


def new_keys(
    seen: Sequence[Identified], matching: Matching, feed: FeedIdentity
) -> dict[int, tuple[IdentityKey, ...]]:
    """The keys to register for each item that is kept; an item without a row gets at least one."""
    taken = set(matching.owners)
    found: dict[int, tuple[IdentityKey, ...]] = {}
    for position in (*_in_order(seen, matching.matches), *_unmatched(seen, matching)):
        item = seen[position]
        wanted = dict.fromkeys(_wanted(item, matching.owners, feed))
        free = tuple(key for key in wanted if key not in taken)
        if not free and position not in matching.matches:
            free = (item_key(item.item_hash),)
        taken.update(free)
        found[position] = free
    return found


def new_uids(seen: Sequence[Identified], matching: Matching) -> dict[int, str]:
    """The public id of each item without a row: its own, or its item hash where that is taken."""
    taken = {row.entry_uid for row in matching.rows}
    found: dict[int, str] = {}
    for position in _unmatched(seen, matching):
        uid = seen[position].entry_uid
        if uid in taken:
            uid = f"hash:{seen[position].item_hash}"
        taken.add(uid)
        found[position] = uid
    return found


def same_elsewhere(
    item: Identified, owners: Mapping[IdentityKey, KnownEntry], feed: FeedIdentity
) -> KnownEntry | None:
    """Another feed's entry with the same address, by its link or by guid and link together."""
    for key in item.keys:
        row = owners.get(key)
        if row is not None and _is_foreign(row, feed) and row.canonical_link == item.link:
            return row
    return None


def _wanted(
    item: Identified, owners: Mapping[IdentityKey, KnownEntry], feed: FeedIdentity
) -> list[IdentityKey]:
    wanted = list(item.keys)
    for key in item.keys:
        owner = owners.get(key)
        if key.type == "canonical_url" and owner is not None and _is_foreign(owner, feed):
            wanted.append(scoped_url_key(item.link or key.value, feed.feed_key))
    if item.match_confidence == "low":
        wanted.extend(key for key in item.spare_keys if key.value.startswith(("item:", "uid:")))
    return wanted


def _is_foreign(row: KnownEntry, feed: FeedIdentity) -> bool:
    return row.feed_id is not None and row.feed_id != feed.feed_id


def _unmatched(seen: Sequence[Identified], matching: Matching) -> list[int]:
    done = {*matching.matches, *matching.repeats, *matching.repeats_known}
    return _in_order(seen, (at for at in range(len(seen)) if at not in done))


def _in_order(seen: Sequence[Identified], positions: Iterable[int]) -> list[int]:
    return sorted(positions, key=lambda at: standing_order(seen[at]))
