"""Marks what a search found in plain text, and cuts an excerpt around it.

The result has pieces of text and no markup: who shows it decides how a match looks, and nothing of a publisher is HTML.
"""

from collections.abc import Sequence
from typing import Final

from feedmill.model.derived.search import Fragment, Highlight, SearchQuery, Term
from feedmill.search.tokens import plain_text, tokens_with_places, visible

_MAX_TEXT: Final = 20_000  # characters that are looked at
_EXCERPT: Final = 240
_BEFORE: Final = 60
_GAP: Final = "…"

Span = tuple[int, int]


def highlight(query: SearchQuery, title: str | None, texts: Sequence[str | None]) -> Highlight:
    """Title and excerpt of the first text that has a match, or of the first text."""
    heading = " ".join(visible(title or "").split())
    best, spans = "", list[Span]()
    for html in texts:
        text = " ".join(plain_text((html or "")[: 2 * _MAX_TEXT])[:_MAX_TEXT].split())
        found = _matches(query, text)
        best, spans = (text, found) if found else (best or text, spans)
        if found:
            break
    return Highlight(
        title=_fragments(heading, _matches(query, heading), 0, len(heading)),
        excerpt=_excerpt(best, spans),
    )


def _matches(query: SearchQuery, text: str) -> list[Span]:
    """Where terms of the search stand, in order and without overlaps."""
    tokens = list(tokens_with_places(text))
    terms = [term for clause in query.required for term in clause.terms]
    begins = tuple(one.tokens[0] for one in terms if one.prefix and len(one.tokens) == 1)
    exact: dict[str, list[Term]] = {}
    for one in terms:
        exact.setdefault(one.tokens[0], []).append(one)
    spans = [(start, end) for token, start, end in tokens if token.startswith(begins)]
    spans += [
        (start, tokens[at + len(term.tokens) - 1][2])
        for at, (token, start, _) in enumerate(tokens)
        for term in exact.get(token, ())
        if _stands(term, tokens, at)
    ]
    joined: list[Span] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def _stands(term: Term, tokens: Sequence[tuple[str, int, int]], at: int) -> bool:
    *before, last = term.tokens
    *found, end = (token for token, _, _ in tokens[at : at + len(term.tokens)])
    return found == before and (end.startswith(last) if term.prefix else end == last)


def _excerpt(text: str, spans: Sequence[Span]) -> tuple[Fragment, ...]:
    """The part of the text with the most matches, from word to word."""
    start = max(spans[_fullest(spans)][0] - _BEFORE, 0) if spans else 0
    if start:
        space = text.find(" ", start, start + _BEFORE)
        start = space + 1 if space >= 0 else start
    end = min(start + _EXCERPT, len(text))
    if end < len(text):
        space = text.rfind(" ", end - _BEFORE, end)
        end = space if space > start else end
    shown = _fragments(text, spans, start, end)
    before = (Fragment(text=_GAP),) if start else ()
    return (*before, *shown, *((Fragment(text=_GAP),) if end < len(text) else ()))


def _fullest(spans: Sequence[Span]) -> int:
    """The match that begins the stretch with the most matches."""
    best, most, last = 0, 0, 0
    for first, (start, _) in enumerate(spans):
        while last < len(spans) and spans[last][1] <= start + _EXCERPT - _BEFORE:
            last += 1
        if last - first > most:
            best, most = first, last - first
    return best


def _fragments(text: str, spans: Sequence[Span], start: int, end: int) -> tuple[Fragment, ...]:
    found: list[Fragment] = []
    at = start
    for first, last in spans:
        if first < start or last > end:
            continue
        if first > at:
            found.append(Fragment(text=text[at:first]))
        found.append(Fragment(text=text[first:last], match=True))
        at = last
    if at < end:
        found.append(Fragment(text=text[at:end]))
    return tuple(found)
