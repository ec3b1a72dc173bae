"""Compares two sketches: evidence that both entries tell the same story, or none.

What is never enough: a title alone. Sections and series use one title again and again ("Weekly roundup"), and two
reporters may choose the same words; texts that say different things outweigh a title.
"""

from operator import eq
from typing import Final

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
