"""Scores an entry for a search, from its tokens alone: the same entry has the same score in every store and on every page.

The terms of BM25 with a title that counts more; without the rarity of words, which would change with every new entry and so would
move entries between two pages. Words that stand side by side, as they were asked, and a title of little else count more.
"""

from typing import Final

from feedmill.model.derived.search import Clause, SearchQuery
from feedmill.search.tokens import SECTION

_K: Final = 1.2
_B: Final = 0.5
_USUAL_TOKENS: Final = 200.0  # of an entry; a fixed number, so that scores do not move
_TITLE: Final = 5.0
_SIDE_BY_SIDE: Final = 0.5
_TITLE_SHARE: Final = 1.0
_DIGITS: Final = 10_000


def score(query: SearchQuery, terms: str) -> int:
    """How well the tokens of an entry fit a search that they match; more is better."""
    edge = terms.find(SECTION)
    title, text = terms[:edge], terms[edge:]
    damping = _K * (1 - _B + _B * terms.count(" ") / _USUAL_TOKENS)
    total, in_title = 0.0, 0
    for clause in query.required:
        times = _count(clause, title)
        in_title += bool(times)
        weight = _TITLE * times + _count(clause, text)
        total += weight * (_K + 1) / (weight + damping)
    for first, second in zip(query.required, query.required[1:], strict=False):
        phrase = f"{first.terms[0].needle.rstrip()}{second.terms[0].needle}"
        total += _SIDE_BY_SIDE * ((phrase in title) * 2 + (phrase in text))
    total += _TITLE_SHARE * in_title / max(title.count(" "), 1)
    return int(total * _DIGITS)


def _count(clause: Clause, text: str) -> int:
    return sum(text.count(term.needle) for term in clause.terms)
