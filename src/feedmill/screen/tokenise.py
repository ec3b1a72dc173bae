"""Tokenises text in any script: words, and pairs of characters where no space parts words.

Pairs of characters find Chinese terms as well as a segmenter does and need no dictionary. Every
script gives terms: a tokeniser that knows only Latin makes all other texts equal. Lexical scoring
compares characters, so 綠色設計 and 绿色设计 must be the same word: traditional characters become
simplified ones. One that stands for several simplified ones is left to the most frequent one.
"""

import re
import unicodedata
from functools import lru_cache
from typing import Final

from feedmill.model.derived.simplified_chinese import to_simplified_chinese
from feedmill.screen.language import STOP_WORDS, language_of

# Han, kana, Hangul and Thai are written without spaces, or with few.
_CLOSE: Final = (
    r"\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
_PIECE: Final = re.compile(rf"[{_CLOSE}]+|[^\W_{_CLOSE}]+")
_FIRST_CLOSE: Final = re.compile(rf"[{_CLOSE}]")
_SHORTEST_PLURAL: Final = 4
_MARKS: Final = re.compile(r"[\u0300-\u036f\u064b-\u0652]")  # Latin, Greek, Cyrillic; Arabic vowels

_EMPTY: Final = frozenset(
    """
    a about after all also an and any are as at be been between both but by can could do does for
    from had has have how if in into is it its may more most new no not of on one only or other our
    out over per said same say says she so some such than that the their them then there these they
    this those through to two under up use used using was we were what when where which while who
    why will with would year years you your
    的 了 和 与 在 是 为 对 从 到 等 及 或 被 将 也 都 其 该 这 那 一 不 有 中 上 下 以 于 并
    研究 分析 基于 方法 影响 如何 进行 通过 可以 我国 中国 一个 成为 以及 公司 企业 发布 提出
    """.split()  # noqa: SIM905  # one word in quotes each would be four pages
)


def tokenise(text: str) -> list[str]:
    """Every term of a text in its order, repeated as often as it stands there."""
    return [term for term, _, _ in tokenise_with_positions(text)[1]]


@lru_cache(maxsize=1_024)  # scores and signs read the same text in turn
def tokenise_with_positions(text: str) -> tuple[str, tuple[tuple[str, int, int], ...]]:
    """The text with its case and characters folded, and where in it each term stands."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    if not folded.isascii():
        folded = to_simplified_chinese(folded)
    own = STOP_WORDS.get(language_of(text), _EMPTY)
    found: list[tuple[str, int, int]] = []
    for piece in _PIECE.finditer(folded):
        word, start = piece.group(), piece.start()
        if not word.isascii() and _FIRST_CLOSE.match(word):
            found += _pairs(word, start)
        elif word not in _EMPTY and word not in own and len(word) > 1:
            found.append((_stem(word), start, piece.end()))
    return folded, tuple(found)


def fold_diacritics(word: str) -> str:
    """A word without accents and vowel marks: Äpfel and Apfel, café and cafe are one term."""
    if word.isascii():
        return word
    return unicodedata.normalize("NFC", _MARKS.sub("", unicodedata.normalize("NFKD", word)))


def _pairs(piece: str, start: int) -> list[tuple[str, int, int]]:
    width = min(len(piece), 2)
    places = range(len(piece) - width + 1)
    pairs = ((piece[at : at + width], start + at, start + at + width) for at in places)
    return [pair for pair in pairs if pair[0] not in _EMPTY]


@lru_cache(maxsize=65_536)
def _stem(word: str) -> str:
    """A word without accents and the endings that English adds most: enough to join emission and emissions."""
    word = fold_diacritics(word)
    if word.endswith("ies") and len(word) > _SHORTEST_PLURAL:
        return word[:-3] + "y"
    for ending, instead in (("ing", ""), ("ed", ""), ("es", "e"), ("s", "")):
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_PLURAL:
            return _bare(word[: -len(ending)] + instead)
    return _bare(word)


def _bare(word: str) -> str:
    return word[:-1] if word.endswith("e") and len(word) > _SHORTEST_PLURAL else word
