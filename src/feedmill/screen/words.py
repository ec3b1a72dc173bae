"""The terms of a text in any script: words, and pairs of characters where no space parts words.

Pairs of characters find Chinese terms as well as a segmenter does and need no dictionary. Every
script gives terms: a tokeniser that knows only Latin makes all other texts equal.
"""

import re
import unicodedata
from typing import Final

from feedmill.screen.folding import simplified

# Han, kana, Hangul and Thai are written without spaces, or with few.
_CLOSE: Final = (
    r"\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
_PIECE: Final = re.compile(rf"[{_CLOSE}]+|[^\W_{_CLOSE}]+")
_FIRST_CLOSE: Final = re.compile(rf"[{_CLOSE}]")
_SHORTEST_PLURAL: Final = 4

_EMPTY: Final = frozenset(
    """
    a about after all also an and any are as at be been between both but by can could do does for
    from had has have how if in into is it its may more most new no not of on one only or other our
    out over per said same say says she so some such than that the their them then there these they
    this those through to two under up use used using was we were what when where which while who
    why will with would year years you your
    的 了 和 与 在 是 为 对 从 到 等 及 或 被 将 也 都 其 该 这 那 一 不 有 中 上 下 以 于 并
    研究 分析 基于 方法 影响 如何 进行 通过 可以 我国 中国 一个 成为 以及 公司 企业 发布 提出
    """.split()
)


def terms(text: str) -> list[str]:
    """Every term of a text in its order, repeated as often as it stands there."""
    found: list[str] = []
    for piece in _PIECE.findall(simplified(unicodedata.normalize("NFKC", text).casefold())):
        if _FIRST_CLOSE.match(piece):
            found += _pairs(piece)
        elif piece not in _EMPTY and len(piece) > 1:
            found.append(_stem(piece))
    return found


def _pairs(piece: str) -> list[str]:
    if len(piece) == 1:
        return [] if piece in _EMPTY else [piece]
    pairs = (piece[at : at + 2] for at in range(len(piece) - 1))
    return [pair for pair in pairs if pair not in _EMPTY]


def _stem(word: str) -> str:
    """A word without the endings that English adds most: enough to join emission and emissions."""
    for ending, instead in (("ies", "y"), ("ing", ""), ("ed", ""), ("es", "e"), ("s", "")):
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_PLURAL:
            return _bare(word[: -len(ending)] + instead)
    return _bare(word)


def _bare(word: str) -> str:
    return word[:-1] if word.endswith("e") and len(word) > _SHORTEST_PLURAL else word
