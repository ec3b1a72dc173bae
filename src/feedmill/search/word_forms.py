"""Light stemming: cuts the endings that English and German add most, the same for every word in Latin letters.

The language of a query is not known, and often not that of an entry. So one set of rules serves both, and it cuts only
where at least four letters stay: `Häuser` and `Haus`, `releases` and `released` meet; `news` and `new` do not.
"""

from typing import Final

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
