"""A search: read as people type it, scored, and marked in the text that it found.

Reads a search as people type it: words, "phrases", -excluded words, and prefixes with a star.

Scores an entry for a search, from its tokens alone: the same entry has the same score in every store and on every page.

The terms of BM25 with a title that counts more; without the rarity of words, which would change with every new entry and so would
move entries between two pages. Words that stand side by side, as they were asked, and a title of little else count more.

Marks what a search found in plain text, and cuts an excerpt around it.

The result has pieces of text and no markup: who shows it decides how a match looks, and nothing of a publisher is HTML.
"""

import re
import unicodedata
from collections.abc import Sequence
from typing import Final

from feedmill.errors import UsageError
from feedmill.model.derived.search import Clause, Fragment, Highlight, SearchQuery, Term
from feedmill.search.tokens import (
    PIECES,
    SECTION,
    fold_characters,
    fold_word,
    is_unspaced,
    pairs,
    plain_text,
    stem,
    token_of,
    tokens_with_places,
    visible,
)

MAX_QUERY_CHARS: Final = 300
_MAX_CLAUSES: Final = 32
_PART: Final = re.compile(r'(-?)(?:"([^"]*)"?|(\S+))')
# Words that say nothing by themselves: left out where others are asked for too.
_EMPTY: Final = frozenset(
    """
    a an and are as at be by do does for from how in is it of on or that the this to was
    what when where which who why with am auf aus bei das dem den der des die ein eine einem
    einen einer für im ist mit oder und vom von wer wie wo zu zum zur
    """.split()  # noqa: SIM905  # one word in quotes each would be a page
)
_UMLAUTS: Final = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue"})
_WRITTEN_OUT: Final = re.compile("(?<![aeoq])([aou])e")
_MARKED: Final = re.compile("[äöü]")
# Japanese: particles between two words, and the inflected ending of a word.
_WORD_SIGN: Final = r"[\u3005\u30a1-\u30ff\u3400-\u9fff]"
_PARTICLE: Final = re.compile(rf"(?<={_WORD_SIGN})[のをはがにでとへも](?={_WORD_SIGN})")
_ENDING: Final = re.compile(rf"({_WORD_SIGN}{{2}}|{_WORD_SIGN}[ぁ-ん])[ぁ-ん]+$")
_SHORT_VERB: Final = re.compile(r"[\u3400-\u9fff][ぁ-ん]")
_LONG_END: Final = re.compile("(?<=[ァ-ー]{3})ー$")  # コンピューター and コンピュータ
_K: Final = 1.2
_B: Final = 0.5
_USUAL_TOKENS: Final = 200.0  # of an entry; a fixed number, so that scores do not move
_TITLE: Final = 5.0
_SIDE_BY_SIDE: Final = 0.5
_TITLE_SHARE: Final = 1.0
_DIGITS: Final = 10_000
_MAX_TEXT: Final = 20_000  # characters that are looked at
_EXCERPT: Final = 240
_BEFORE: Final = 60
_GAP: Final = "…"

Span = tuple[int, int]


def parse_query(text: str, *, full_texts: bool = False) -> SearchQuery:
    """The search; UsageError when it is too long or asks for nothing."""
    if len(text) > MAX_QUERY_CHARS:
        message = f"the search is too long: at most {MAX_QUERY_CHARS} characters"
        raise UsageError(message)
    required: list[Clause] = []
    optional: list[Clause] = []
    excluded: list[Term] = []
    for minus, phrase, word in _PART.findall(visible(text)):
        if minus:
            excluded += [one for clause in _exact(phrase or word) for one in clause.terms]
        elif phrase:
            required += _exact(phrase)
        elif word.lower() in _EMPTY:
            optional += _words(word)
        else:
            required += _words(word)
    required = required or optional
    if not required:
        message = "nothing to search for: give at least one word that is not excluded"
        raise UsageError(message)
    if len(required) + len(excluded) > _MAX_CLAUSES:
        message = f"the search has too many words: at most {_MAX_CLAUSES}"
        raise UsageError(message)
    return SearchQuery(
        text=text, required=tuple(required), excluded=tuple(excluded), full_texts=full_texts
    )


def _exact(text: str) -> list[Clause]:
    """A phrase: its words in this order, each in any form."""
    pieces = PIECES.findall(text)
    if not pieces:
        return []
    if len(pieces) == 1 and not is_unspaced(pieces[0]):
        return [_word(pieces[0], is_prefix=text.endswith("*"))]
    tokens: list[str] = []
    for piece in pieces[:-1]:
        tokens += (
            [*pairs(fold_characters(piece)), fold_characters(piece[-1])]
            if is_unspaced(piece)
            else [token_of(piece)]
        )
    return [Clause(terms=(_ended(tokens, pieces[-1], is_prefix=text.endswith("*")),))]


def _ended(tokens: list[str], last: str, *, is_prefix: bool) -> Term:
    """A term whose last piece may be continued where no space parts words."""
    if not is_unspaced(last):
        token = fold_word(last) if is_prefix else token_of(last)
        return Term(tokens=(*tokens, token), prefix=is_prefix)
    folded = fold_characters(last)
    return Term(tokens=(*tokens, *(pairs(folded) or [folded])), prefix=len(folded) == 1)


def _words(text: str) -> list[Clause]:
    """What stands between two spaces: one word, a word with marks inside, or several words without a space."""
    if not any(map(is_unspaced, PIECES.findall(text))):
        return _exact(text)
    found: list[Clause] = []
    for part in _PARTICLE.split(text):
        for piece in PIECES.findall(_LONG_END.sub("", _ENDING.sub(r"\1", part))):
            found += [_any_form(piece)] if _SHORT_VERB.fullmatch(piece) else _exact(piece)
    return found


def _any_form(verb: str) -> Clause:
    """A verb of one character and its ending: in this form, or with any other ending."""
    pair = fold_characters(verb)
    return Clause(terms=(Term(tokens=(pair,)), Term(tokens=(pair[0],), prefix=True)))


def _word(word: str, *, is_prefix: bool) -> Clause:
    """One word in its spellings: ä may be written ae, and a prefix finds the word itself, too."""
    lower = unicodedata.normalize("NFC", word.casefold())
    spellings = [lower]
    if _MARKED.search(lower):
        spellings.append(lower.translate(_UMLAUTS))
    elif _WRITTEN_OUT.search(lower):
        spellings.append(_WRITTEN_OUT.sub(r"\1", lower))
    folded = [fold_word(one) for one in spellings]
    terms = [Term(tokens=(stem(one),)) for one in folded]
    if is_prefix:
        terms += [Term(tokens=(one,), prefix=True) for one in folded]
    return Clause(terms=tuple(dict.fromkeys(terms)))


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
