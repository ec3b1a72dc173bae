"""Sketches of entries, and the evidence between two of them that both tell the same story.

Reduces an entry to a sketch: keys that equal stories share, and a MinHash of its text.

The MinHash is a one-permutation hash with rotation (Shrivastava and Li, 2014): runs of three words are hashed to 32 bits, and
each of 64 equally spaced points takes the first hash at or after it. So the share of points at which two sketches
agree estimates the Jaccard similarity of their texts. Bounded: long texts are compared by their beginning.

Compares two sketches: evidence that both entries tell the same story, or none.

What is never enough: a title alone. Sections and series use one title again and again ("Weekly roundup"), and two
reporters may choose the same words; texts that say different things outweigh a title.
"""

import re
from bisect import bisect_left
from hashlib import blake2b
from html import unescape
from operator import eq
from struct import pack
from typing import Final
from unicodedata import normalize
from zlib import crc32

from feedmill.model.derived.cluster import Evidence, Sketch, StoryText

MIN_WORDS: Final = 30  # a shorter text proves nothing by itself
POINTS: Final = 64
_BANDS: Final = 8  # of three points: texts of similarity 0.5 share one with p = 0.66, of 0.7 with 0.97, of 0.2 with 0.06
_MAX_HTML: Final = 8_000  # characters
_MAX_TEXT: Final = 1_000
_MAX_TITLE: Final = 300
_MIN_STEM_WORDS: Final = 4
_MOST_TITLE_WORDS: Final = 24
_MIN_WORD: Final = 3  # octets
_MIX: Final = 0x9E3779B97F4A7C15
_TAG: Final = re.compile(r"<[^<>]{0,2000}>")
_SPACES: Final = bytes(byte if byte >= 0x80 or chr(byte).isalnum() else 0x20 for byte in range(256))
_PUNCTUATION: Final = re.compile(
    r"[\xa0-\xbf\u2000-\u206f\u2190-\u2bff\u3000-\u303f\ufe30-\ufe6f\uff00-\uff0f]+"
)
# Scripts without spaces between words: each character counts as a word.
_UNSPACED: Final = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
# What sites add to a title: " - Example Times", " | Example", " [Category]", " (via Blog)", "Example: ".
_PREFIX: Final = re.compile(r"^[^:\[\]()]{1,30}:\s+|^\[[^\[\]]{1,30}\]\s*")
_ADDED: Final = re.compile(r"(?:\s+[-|–—·:»]\s+[^-|–—·»]{1,60}|\s*[\[(][^\[\]()]{1,60}[\])])\s*$")
# Link of a comment: it leads to the story, and is not the story.
_COMMENT: Final = re.compile(r"#(?:comment|c)-?\w{0,40}$", re.IGNORECASE)
_HOME: Final = re.compile(r"https?://[^/?#]+/?(?:index\.\w{1,5})?$", re.IGNORECASE)
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


def sketch(story: StoryText) -> Sketch:
    """The sketch of an entry."""
    words = words_of(plain_text(story.html)[:_MAX_TEXT])
    shingles = _shingles(words)
    points = _points(shingles)
    title = (story.title or "")[:_MAX_TITLE]
    bare = _PREFIX.sub("", _ADDED.sub("", title))
    whole = words_of(title)
    stem = whole if bare == title else words_of(bare)
    titles = [one for one in (whole, stem) if one is whole or len(one) >= _MIN_STEM_WORDS]
    return Sketch(
        links=tuple(
            sorted({_key(b"link", one.encode()) for one in story.links if is_specific(one)})
        ),
        titles=tuple(sorted({_key(b"title", b" ".join(one)) for one in titles if one})),
        title_words=len(titles[-1]),
        words=len(words),
        shingles=len(shingles),
        minhash=pack(f"<{len(points)}H", *[point & 0xFFFF for point in points]),
        bands=_bands(points) if len(words) >= MIN_WORDS else (),
        published=None if story.published is None else int(story.published.timestamp()),
        title_hashes=_word_hashes(whole),
    )


def keys_of(made: Sketch) -> tuple[int, ...]:
    """The 64-bit keys by which candidates are found: two entries that may be one story share one."""
    second = exact_second(made)
    times = () if second is None else (second * _MIX % 2**63,)
    return tuple(dict.fromkeys((*made.links, *made.titles, *made.bands, *times)))


def exact_second(made: Sketch) -> int | None:
    """When it was published; None for a whole minute, which people and templates choose."""
    return made.published if made.published and made.published % 60 else None


def is_specific(link: str) -> bool:
    """False for a home page and for a comment: many entries may have that link."""
    return _HOME.match(link) is None and _COMMENT.search(link) is None


def plain_text(html: str) -> str:
    """The text of a piece of HTML, as far as it is compared."""
    text = html[:_MAX_HTML]
    return unescape(_TAG.sub(" ", text)) if "<" in text or "&" in text else text


def words_of(text: str) -> list[bytes]:
    """The words in lower case and in one form of each character, without punctuation."""
    if not text.isascii():
        text = _UNSPACED.sub(r" \g<0> ", _PUNCTUATION.sub(" ", normalize("NFKC", text)))
    return text.casefold().encode("utf-8", "replace").translate(_SPACES).split()


def _word_hashes(words: list[bytes]) -> bytes:
    """Two bytes of each word that is long enough to mean something."""
    hashes = {crc32(word) & 0xFFFF for word in words[:_MOST_TITLE_WORDS] if len(word) >= _MIN_WORD}
    return pack(f"<{len(hashes)}H", *sorted(hashes))


def _shingles(words: list[bytes]) -> list[int]:
    """The hashes of all runs of three words, in order and each once."""
    pairs = map(crc32, words[1:], map(crc32, words))  # crc32(b, crc32(a)) is that of a + b
    return sorted(set(map(crc32, words[2:], pairs)))


def _points(hashes: list[int]) -> list[int]:
    """For each point the first hash at or after it, around the circle."""
    if not hashes:
        return []
    around = [*hashes, hashes[0]]
    step = 2**32 // POINTS
    return [around[bisect_left(hashes, point * step)] for point in range(POINTS)]


def _bands(points: list[int]) -> tuple[int, ...]:
    """Keys of three points each, which stand apart: neighbours in a short text are the same hash."""
    return tuple(
        (
            points[band]
            + _MIX * (points[band + 20] + 0xC2B2AE3D27D4EB4F * (points[band + 41] + band))
        )
        % 2**63
        for band in range(0, 2 * _BANDS, 2)
    )


def _key(kind: bytes, value: bytes) -> int:
    return int.from_bytes(blake2b(value, digest_size=8, person=kind).digest(), "big", signed=True)


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
