"""Reads a search as people type it: words, "phrases", -excluded words, and prefixes with a star."""

import re
import unicodedata
from typing import Final

from feedmill.errors import UsageError
from feedmill.model.derived.search import Clause, SearchQuery, Term
from feedmill.search.tokens import (
    PIECES,
    fold_characters,
    fold_word,
    is_unspaced,
    pairs,
    stem,
    token_of,
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
