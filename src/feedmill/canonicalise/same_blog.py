"""Formats of one blog: whether RSS, Atom and JSON documents are one feed, and which of them to take.

One feed in several formats has one title, one home page, and the same newest entries without a gap: a
category has entries of the whole too, but not all of a time, and a feed of comments has others.
"""

import re
from collections.abc import Sequence
from typing import Final

from feedmill.model.canonical import FeedFacts

# Words by which a title only names its format.
FORMAT_WORDS: Final = re.compile(
    r"\b(?:rss|atom|rdf|json|xml|feed|0\.9\d?|1\.[01]|2\.0|0\.3)\b|[^\w]+", re.IGNORECASE
)
MAX_ITEMS: Final = 20  # entries of each that are compared
_MOST_BEHIND: Final = 3  # entries that a cached copy may lack
_FULL_SHARE: Final = 0.7  # of the longest texts: what has that much has full texts
_RANKS: Final = ("atom10", "rss20", "json11", "json10", "rss10", "rss11", "atom03")
_FORMAT_NAMES: Final = {"atom": "Atom", "json": "JSON Feed", "rss": "RSS"}


def same_blog(one: FeedFacts, other: FeedFacts) -> bool:
    """Whether two documents are one feed in two formats, or in two states of its cache."""
    if title_words(one.title) != title_words(other.title):
        return False
    if one.site and other.site and one.site != other.site:
        return False
    ours, theirs = dict(reversed(one.items)), dict(reversed(other.items))
    common = ours.keys() & theirs.keys()
    if not common or not _stand_together(one, common) or not _stand_together(other, common):
        return False
    if not (_reaches_end(one, common) or _reaches_end(other, common)):
        return False
    equal = sum(_has_same_title(ours[key], theirs[key]) for key in common)
    return equal * 2 >= len(common)


def best_format(formats: Sequence[FeedFacts]) -> tuple[int, str]:
    """Which of several formats of one feed to take, and why: the first rule that tells them apart."""
    if len(formats) == 1:
        return 0, ""
    longest = max(_text_per_entry(one) for one in formats)
    rated = [_merits(one, longest) for one in formats]
    best = max(range(len(formats)), key=lambda number: (rated[number], -number))
    others = [merits for number, merits in enumerate(rated) if number != best]
    rules = ("full texts", "dates", "ids", "a hub that reports new entries", "the richer format")
    for position, words in enumerate(rules):
        if any(merits[position] < rated[best][position] for merits in others):
            return best, words
    return best, "the first one that the page names"


def format_name(format_: str) -> str:
    """What people call a format."""
    return next((name for start, name in _FORMAT_NAMES.items() if format_.startswith(start)), "RSS")


def title_words(title: str) -> str:
    """A title without the words for formats."""
    return " ".join(FORMAT_WORDS.sub(" ", title).lower().split())


def _merits(one: FeedFacts, longest: float) -> tuple[bool, bool, bool, bool, int]:
    rank = _RANKS.index(one.format) if one.format in _RANKS else len(_RANKS)
    return (
        _text_per_entry(one) >= longest * _FULL_SHARE,
        one.dated == one.entries,
        one.named == one.entries,
        one.has_hub,
        -rank,
    )


def _text_per_entry(one: FeedFacts) -> float:
    return one.text_chars / max(one.entries, 1)


def _stand_together(one: FeedFacts, common: set[str]) -> bool:
    """Whether the common entries are among the newest, with none between them that only one has."""
    places = [place for place, (key, _) in enumerate(one.items) if key in common]
    return places[0] <= _MOST_BEHIND and places[-1] - places[0] < len(places)


def _reaches_end(one: FeedFacts, common: set[str]) -> bool:
    return one.items[-1][0] in common


def _has_same_title(one: str, other: str) -> bool:
    return not one or not other or one == other
