"""Reduces texts to search tokens: words in any script, folded in case, accents, width and kana.

Where no space parts words (Chinese, Japanese, Korean, Thai) tokens are overlapping pairs of characters and the last
character of each run: every word of two characters or more is a sequence of pairs, and a single character begins a token. Databases index the
tokens and nothing else, so each of them finds the same: a token has letters and digits only, and one space on
both sides. A change of these rules needs a migration that empties `entry_search`.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from html import unescape
from operator import add
from typing import Final

from feedmill.model.derived.search import TO_SIMPLIFIED

# of an entry's text, and as many of its full text: PostgreSQL indexes 1 MB
MAX_CHARS: Final = 60_000
SECTION: Final = "|"  # between title, text and full text: no phrase goes across

_MAX_HTML: Final = 10 * MAX_CHARS
_MAX_TITLE: Final = 2_000
_UNSPACED: Final = (
    r"\u0e01-\u0e4e\u0e80-\u0ede\u1000-\u1049\u1780-\u17d3\u3005\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff"
    r"\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff"
)
_FIRST_UNSPACED: Final = "\u0e01"
PIECES: Final = re.compile(rf"[{_UNSPACED}]+|[^\W_{_UNSPACED}]{{1,64}}")
_WORDS: Final = re.compile(r"[^\W_]{1,64}")
_IS_UNSPACED: Final = re.compile(rf"[{_UNSPACED}]")
# Formatting inside a word does not part it; every other tag does.
_INLINE: Final = re.compile(
    r"</?(?:a|abbr|b|bdi|cite|code|del|em|font|i|ins|mark|rb|rt|ruby|s|small|span|strong|sub|sup|u|wbr)\b[^<>]*>"
)
_TAG: Final = re.compile(r"<[^<>]*>")
_UNSEEN: Final = re.compile("[\u00ad\u200b-\u200d\u2060\ufeff]+")
_ACCENTS: Final = re.compile("[\u0300-\u036f]+")
_LETTERS: Final = str.maketrans(
    {"æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ħ": "h", "ı": "i"}
)
# Katakana as hiragana, traditional as simplified characters; each stays one character.
_FOLDED: Final = {**TO_SIMPLIFIED, **{code: code - 0x60 for code in range(0x30A1, 0x30F7)}}


def search_terms(title: str | None, summary: str | None, content: str | None) -> str:
    """The tokens of an entry, those of its title first, as databases index them."""
    text = plain_text(content or "")
    short = plain_text(summary or "")
    found = [*tokenise(visible(title or "")[:_MAX_TITLE]), SECTION]
    if short and short not in text:
        found += [*tokenise(short), SECTION]
    found += tokenise(text[: MAX_CHARS - min(len(short), MAX_CHARS)])
    return f" {' '.join(found)} "


def full_text_terms(html: str) -> str:
    """The tokens of a full text, to stand behind those of its entry."""
    return f"{' '.join([SECTION, *tokenise(plain_text(html))])} "


def tokenise(text: str) -> list[str]:
    """Every token of a visible text, in its order."""
    if _IS_UNSPACED.search(text) is None:
        return list(map(token_of, _WORDS.findall(text)))
    found: list[str] = []
    for piece in PIECES.findall(text):
        if is_unspaced(piece):
            folded = fold_characters(piece)
            found += [*pairs(folded), folded[-1]]
        else:
            found.append(token_of(piece))
    return found


def tokens_with_places(text: str) -> Iterator[tuple[str, int, int]]:
    """Every token of a visible text, with where it begins and ends."""
    for found in PIECES.finditer(text):
        piece, start = found.group(), found.start()
        if is_unspaced(piece):
            folded = fold_characters(piece)
            yield from ((pair, start + at, start + at + 2) for at, pair in enumerate(pairs(folded)))
            yield folded[-1], found.end() - 1, found.end()
        else:
            yield token_of(piece), start, found.end()


def plain_text(html: str) -> str:
    """The visible text of HTML that was sanitised; as much of it as is indexed."""
    text = html[:_MAX_HTML]
    if "<" in text:
        text = _TAG.sub(" ", _INLINE.sub("", text))
    return visible(unescape(text) if "&" in text else text)[:MAX_CHARS]


def visible(text: str) -> str:
    """The text in one form of each character (NFKC), without what cannot be seen."""
    return text if text.isascii() else _UNSEEN.sub("", unicodedata.normalize("NFKC", text))


def is_unspaced(piece: str) -> bool:
    """True for a piece in a script that does not part its words."""
    return piece[0] >= _FIRST_UNSPACED and _IS_UNSPACED.match(piece) is not None


@lru_cache(maxsize=65_536)
def token_of(word: str) -> str:
    """A word folded, without its ending."""
    return stem(fold_word(word))


def fold_word(word: str) -> str:
    """A word in lower case, without accents."""
    if word.isascii():
        return word.lower()
    bare = _ACCENTS.sub("", unicodedata.normalize("NFD", word.casefold()))
    return unicodedata.normalize("NFC", bare).translate(_LETTERS)


def fold_characters(run: str) -> str:
    """A run of characters in one kana and in simplified characters, as long as before."""
    return run.translate(_FOLDED)


def pairs(run: str) -> list[str]:
    """Overlapping pairs of characters."""
    return list(map(add, run, run[1:]))


# Light stemming, the same for every word in Latin letters: the language of a query is not known, and often not that of an
# entry. So one set of rules serves both, and it cuts only where at least four letters stay: `Häuser` and `Haus`, `releases`
# and `released` meet; `news` and `new` do not.
_LEAST: Final = 4  # letters that stay
_ENDINGS: Final = ("ungen", "ern", "ers", "ing", "ens", "en", "em", "er", "es", "ed", "e")
_INSTEAD: Final = {"ungen": "ung"}
_Y_ENDINGS: Final = ("ies", "ied")
_KEEPS_S: Final = frozenset("suia'")  # glass, status, analysis, Texas
_DOUBLED: Final = frozenset("bdfgkmnprt")  # running; not: polling, missing


def stem(word: str) -> str:
    """The word without its ending; a word that is short or not in Latin letters stays as it is."""
    if len(word) < _LEAST or not word.isascii() or not word.isalpha():
        return word
    if word.endswith(_Y_ENDINGS) and len(word) > _LEAST:
        return word[:-3] + "y"
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _LEAST:
            return _undoubled(word[: -len(ending)] + _INSTEAD.get(ending, ""), ending)
    if word.endswith("eln") and len(word) > _LEAST:
        return word[:-1]
    if word.endswith("s") and word[-2] not in _KEEPS_S and word != "news":
        return word[:-1]
    return word


def _undoubled(short: str, ending: str) -> str:
    """`runn` of `running` as `run`."""
    if ending in ("ing", "ed") and short[-1] == short[-2] and short[-1] in _DOUBLED:
        return short[:-1]
    return short
