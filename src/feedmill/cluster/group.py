"""Compares sketches for evidence of the same story, groups entries by it, names the clusters and chooses representatives.

What is never enough: a title alone. Sections and series use one title again and again ("Weekly roundup"), and two
reporters may choose the same words; texts that say different things outweigh a title.

Evidence is used in the order of its strength. Two groups that hold entries of one feed are never joined: a feed does not
tell a story twice, so one of them is about something else. Without evidence a cluster falls apart again.
"""

from collections.abc import Iterable, Sequence
from operator import eq
from typing import Final, NamedTuple

from feedmill.cluster.sketch import POINTS, exact_second
from feedmill.model.derived.cluster import Evidence, Sketch

_SAME_TEXT: Final = 0.7  # similarity that needs no title
_PART: Final = 0.3  # share of the shorter text that stands in the longer one, beside the same title
_MIN_SHINGLES: Final = 6  # for a share to mean anything
_DIFFERENT: Final = 0.1  # a smaller share of common passages says that the texts differ
_SHORT: Final = 5  # words; a shorter text contradicts nothing
_TITLE_WORDS: Final = 4  # that a title needs to count without a text
_TITLE_COMMON: Final = 2  # words that titles of the same second share at least
_TITLE_PART: Final = 0.5  # and the share of the shorter title
_SAME_TIME_SEC: Final = 120
_SAME_DAYS_SEC: Final = 4 * 86_400  # a story is told again within days


def compare(one: Sketch, other: Sketch) -> Evidence | None:
    """Evidence that two entries of different feeds tell the same story; None when there is too little."""
    if not set(one.links).isdisjoint(other.links):
        return Evidence(kind="link", score=1.0)
    apart = _apart_sec(one, other)
    if apart is not None and apart > _SAME_DAYS_SEC:
        return None
    alike = similarity(one, other)
    if one.bands and other.bands and alike >= _SAME_TEXT:
        return Evidence(kind="text", score=alike)
    part = shared_part(one, other, alike)
    if set(one.titles).isdisjoint(other.titles):
        return _same_second(one, other, part)
    words = min(one.title_words, other.title_words)
    least = _PART if words >= _TITLE_WORDS else 2 * _PART
    if min(one.shingles, other.shingles) >= _MIN_SHINGLES and words > 1 and part >= least:
        return Evidence(kind="title-and-text", score=0.9)
    differ = min(one.words, other.words) >= _SHORT and part < _DIFFERENT
    if apart is not None and _is_same_time(
        one, apart, is_long_title=words >= _TITLE_WORDS, differ=differ
    ):
        return Evidence(kind="title-and-time", score=0.8)
    return None


def similarity(one: Sketch, other: Sketch) -> float:
    """The estimated Jaccard similarity of two texts."""
    if not one.minhash or not other.minhash:
        return 0.0
    ours, theirs = memoryview(one.minhash).cast("H"), memoryview(other.minhash).cast("H")
    same: int = sum(map(eq, ours, theirs))
    return same / POINTS


def shared_part(one: Sketch, other: Sketch, alike: float) -> float:
    """The estimated share of the shorter text that stands in the longer one."""
    shorter = min(one.shingles, other.shingles)
    if not shorter:
        return 0.0
    common = alike / (1 + alike) * (one.shingles + other.shingles)
    return min(1.0, common / shorter)


def _same_second(one: Sketch, other: Sketch, part: float) -> Evidence | None:
    """Evidence of entries with different titles that were published in the same second."""
    if one.published != other.published or exact_second(one) is None:
        return None
    if min(one.shingles, other.shingles) >= _MIN_SHINGLES and part >= _PART:
        return Evidence(kind="text-and-time", score=0.7)
    ours, theirs = (set(memoryview(made.title_hashes).cast("H")) for made in (one, other))
    common = len(ours & theirs)
    if common >= _TITLE_COMMON and common >= _TITLE_PART * min(len(ours), len(theirs)):
        return Evidence(kind="title-and-time", score=0.7)
    return None


def _is_same_time(one: Sketch, apart_sec: int, *, is_long_title: bool, differ: bool) -> bool:
    """Whether the times prove the same title: to the second, or nearly so with texts that do not differ."""
    if apart_sec == 0 and exact_second(one) is not None:
        return is_long_title or not differ
    return is_long_title and not differ and apart_sec <= _SAME_TIME_SEC


def _apart_sec(one: Sketch, other: Sketch) -> int | None:
    if one.published is None or other.published is None:
        return None
    return abs(one.published - other.published)


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
