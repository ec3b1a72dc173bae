"""Assigns keys and public ids to the items of a document: none that another row holds.

A key belongs to one row for ever (entry_identities is unique), so a key that is taken is left
where it is, and the item registers what is free. Who goes first does not depend on the order of
the document.
"""
# Tested in tests/unit/identify/

from collections.abc import Iterable, Mapping, Sequence

from feedmill.identify.hashes import text_hash
from feedmill.identify.keys import item_key, scoped_url_key
from feedmill.identify.match import Matching, stable_order
from feedmill.model.identity import FeedIdentity, Identified, IdentityKey, KnownEntry


def new_keys(
    seen: Sequence[Identified], matching: Matching, feed: FeedIdentity
) -> dict[int, tuple[IdentityKey, ...]]:
    """The keys to register for each item that is kept.

    An item without a row and without a single free key, not even that of the item itself, is
    left out: it is, word for word, what a known entry used to be.
    """
    # The key of a row of an older version is registered when the row is seen again.
    taken = {key for key, row in matching.owners.items() if not row.legacy}
    found: dict[int, tuple[IdentityKey, ...]] = {}
    for position in _in_order(seen, matching.matches):
        found[position] = _free(_wanted(seen[position], matching.owners, feed), taken)
    for position in _unmatched(seen, matching):
        item = seen[position]
        free = _free(_wanted(item, matching.owners, feed), taken)
        free = free or _free([item_key(item.item_hash)], taken)
        if free:
            found[position] = free
    return found


def new_uid(item: Identified, keys: tuple[IdentityKey, ...]) -> str:
    """The public id of a new entry: the regular one if it also holds the key that stands for it.

    Otherwise one from a key that it does hold: keys are unique for ever, and so is the id.
    """
    if any(key.type == "guid" or key.value.startswith("uid:") for key in keys):
        return item.entry_uid
    return f"hash:{text_hash(f'{keys[0].type}:{keys[0].value}')}"


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
    if item.guid is None:
        wanted.extend(key for key in item.spare_keys if key.value.startswith("uid:"))
    if item.match_confidence == "low":
        wanted.append(item_key(item.item_hash))
    return wanted


def _free(wanted: Iterable[IdentityKey], taken: set[IdentityKey]) -> tuple[IdentityKey, ...]:
    """The wanted keys that no row holds; they count as held from now on."""
    free = tuple(key for key in dict.fromkeys(wanted) if key not in taken)
    taken.update(free)
    return free


def _is_foreign(row: KnownEntry, feed: FeedIdentity) -> bool:
    return row.feed_id is not None and row.feed_id != feed.feed_id


def _unmatched(seen: Sequence[Identified], matching: Matching) -> list[int]:
    done = {*matching.matches, *matching.repeats, *matching.repeats_known}
    return _in_order(seen, (at for at in range(len(seen)) if at not in done))


def _in_order(seen: Sequence[Identified], positions: Iterable[int]) -> list[int]:
    return sorted(positions, key=lambda at: stable_order(seen[at]))
