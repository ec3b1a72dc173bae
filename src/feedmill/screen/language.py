"""Detects script and language of a short text: by its letters, and by its function words.

A method that cannot read a language does not vote on it. So an answer is given only where it is clear; a
title without function words has no language, and is judged by its script.
"""

import re
from collections import Counter
from functools import lru_cache
from heapq import nlargest
from operator import itemgetter
from typing import Final

from feedmill.screen.stop_words import STOP_WORDS

UNKNOWN: Final = ""
OTHER: Final = "und"  # letters of a script that is not in the list
_SCRIPTS: Final = {  # a script that one language, or one that stands for all, is written in
    "ja": re.compile(r"[\u3040-\u30ff]"),
    "ko": re.compile(r"[\uac00-\ud7af\u1100-\u11ff]"),
    "th": re.compile(r"[\u0e00-\u0e7f]"),
    "zh": re.compile(r"[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"),
    "he": re.compile(r"[\u0590-\u05ff]"),
    "el": re.compile(r"[\u0370-\u03ff]"),
    "hi": re.compile(r"[\u0900-\u097f]"),
    "ar": re.compile(r"[\u0600-\u06ff]"),
    "ru": re.compile(r"[\u0400-\u04ff]"),
}
_SCRIPT_SHARE: Final = 0.3
_KANA_SHARE: Final = 0.05  # of a Japanese text; the rest of it may be Han
_LETTER: Final = re.compile(r"[^\W\d_]")
_LATIN_LETTER: Final = re.compile(r"[a-zA-Z\u00aa-\u02af\u1e00-\u1eff]")
_WORD: Final = re.compile(r"[^\W\d_]+")
_SAMPLE_WORDS: Final = 200
_ALPHABETS: Final = {"ru": ("ru", "uk", "bg"), "ar": ("ar", "fa"), "el": ("el",), "he": ("he",), "hi": ("hi",)}  # fmt: skip
_LATIN: Final = tuple(
    code for code in STOP_WORDS if code not in {"ru", "uk", "bg", "ar", "fa", "el", "he", "hi"}
)
# Letters that no other language of the list has.
_LETTERS: Final = {
    "de": "ß", "es": "ñ¿¡", "pt": "ãõ", "pl": "łżźćńśąę", "cs": "řěů", "hu": "őű", "ro": "țșă", "tr": "ğış",
    "uk": "іїєґ", "bg": "", "fa": "پچژگ", "vi": "ơưạảấầẩẫậắằẳẵặẹẻẽếềểễệ", "fr": "œçêèù", "sv": "", "da": "", "nb": "",
}  # fmt: skip
_OWNERS: Final = {letter: code for code, letters in _LETTERS.items() for letter in letters}
_SPEAKERS: Final = {
    word: tuple(code for code, words in STOP_WORDS.items() if word in words)
    for words in STOP_WORDS.values()
    for word in words
}
_FEWEST_SIGNS: Final = 2
_LEAD: Final = 1.25  # over the second language


@lru_cache(maxsize=1_024)  # scorers, tokeniser and signs ask about the same text in turn
def language_of(text: str) -> str:
    """The ISO 639-1 code of the language; empty where too little tells it."""
    script = main_script(text)
    if script in ("ja", "ko", "th", "zh", OTHER):
        return script
    return _by_words(text, _ALPHABETS.get(script, _LATIN) if script else _LATIN, script)


def main_script(text: str) -> str:
    """The language that stands for the script of most letters; empty for Latin and for no letters."""
    if text.isascii() or not (letters := len(_LETTER.findall(text))):
        return UNKNOWN
    kana, han = (len(_SCRIPTS[code].findall(text)) / letters for code in ("ja", "zh"))
    if kana + han >= _SCRIPT_SHARE:
        return "ja" if kana >= _KANA_SHARE else "zh"
    is_latin = len(_LATIN_LETTER.findall(text)) / letters >= _SCRIPT_SHARE
    return next(
        (code for code in _SCRIPTS if _share(code, text, letters) >= _SCRIPT_SHARE),
        UNKNOWN if is_latin else OTHER,
    )


def _share(code: str, text: str, letters: int) -> float:
    return len(_SCRIPTS[code].findall(text)) / letters if _SCRIPTS[code].search(text) else 0.0


def _by_words(text: str, candidates: tuple[str, ...], script: str) -> str:
    words = _WORD.findall(text.casefold())[:_SAMPLE_WORDS]
    weights: dict[str, float] = {}
    signs: Counter[str] = Counter()  # different words and letters that speak for a language
    for word in dict.fromkeys(filter(_SPEAKERS.__contains__, words)):
        speakers = [code for code in _SPEAKERS[word] if code in candidates]
        for code in speakers:  # a word of many languages tells little about each of them
            weights[code] = weights.get(code, 0.0) + 1 / len(speakers)
            signs[code] += 1
    for letter in () if text.isascii() else _OWNERS.keys() & set(text.casefold()):
        code = _OWNERS[letter]
        if code in candidates:
            weights[code] = weights.get(code, 0.0) + 1
            signs[code] += 1
    ranked = nlargest(2, weights.items(), key=itemgetter(1))
    if not ranked or signs[ranked[0][0]] < _FEWEST_SIGNS:
        return script if script in ("he", "el", "hi") else UNKNOWN
    is_close = len(ranked) > 1 and ranked[0][1] < _LEAD * ranked[1][1]
    return UNKNOWN if is_close else ranked[0][0]
