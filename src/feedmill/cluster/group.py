"""Groups entries into clusters by the evidence between them, names the clusters and chooses representatives.

Evidence is used in the order of its strength. Two groups that hold entries of one feed are never joined: a feed does not
tell a story twice, so one of them is about something else. Without evidence a cluster falls apart again.
"""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

_FULLER: Final = 2  # times as many words as the first entry: then the fullest one stands for all


class Member(NamedTuple):
    """An entry that has evidence, with the cluster that it is in so far."""

    entry_id: int
    feed_no: int
    first_seen: int
    length: int  # of its text
    cluster_no: int | None = None


class Edge(NamedTuple):
    """Evidence between two entries."""

    entry_id: int
    other_id: int
    score: float


class Group(NamedTuple):
    """A cluster: its name, its entries in order, and the entry that stands for it."""

    cluster_no: int
    entry_ids: tuple[int, ...]
    representative_id: int


def group(members: Iterable[Member], edges: Iterable[Edge], most: int) -> tuple[Group, ...]:
    """The clusters of at least two and at most `most` entries, by name."""
    known = {one.entry_id: one for one in members}
    sets = {entry_id: {entry_id} for entry_id in known}
    feeds = {entry_id: {one.feed_no} for entry_id, one in known.items()}
    usable = [one for one in edges if one.entry_id in known and one.other_id in known]
    for edge in sorted(usable, key=lambda one: (-one.score, one.entry_id, one.other_id)):
        ours, theirs = sets[edge.entry_id], sets[edge.other_id]
        if ours is theirs or len(ours) + len(theirs) > most:
            continue
        place, other = min(ours), min(theirs)
        if not feeds[place].isdisjoint(feeds[other]):
            continue
        joined, carried = ours | theirs, feeds[place] | feeds[other]
        feeds[min(joined)] = carried
        for entry_id in joined:
            sets[entry_id] = joined
    found = {min(one): [known[entry_id] for entry_id in sorted(one)] for one in sets.values()}
    return tuple(sorted(_named(one) for one in found.values() if len(one) > 1))


def representative(members: Sequence[Member]) -> int:
    """The entry that was seen first, unless the fullest has twice its text: then that one."""
    first = min(members, key=lambda one: (one.first_seen, one.entry_id))
    fullest = max(members, key=lambda one: (one.length, -one.entry_id))
    return (fullest if fullest.length > _FULLER * first.length else first).entry_id


def _named(members: Sequence[Member]) -> Group:
    """The cluster; it keeps its name while the entry that it was named after is in it.

    Otherwise it is named after its first entry. An entry is in one cluster, so no two have one name.
    """
    ids = [one.entry_id for one in members]
    kept = {one.cluster_no or 0 for one in members}.intersection(ids)
    return Group(min(kept, default=ids[0]), tuple(ids), representative(members))
