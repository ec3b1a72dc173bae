"""Cleans the text of a candidate for its judges: people, scorers and language models.

It is untrusted. Markup, control characters, and everything that is there and cannot be seen
(zero-width, bidirectional and tag characters) go, because that is where instructions hide.
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from html import unescape
from typing import Final, Literal

from feedmill.model.candidate import WindowCandidate
from feedmill.model.screening import ScreenText

TextScript = Literal["han", "other"]

MAX_TITLE: Final = 300
MAX_SUMMARY: Final = 800
MAX_CATEGORIES: Final = 10
MAX_CATEGORY: Final = 60
MAX_FEED: Final = 120

_ROUNDS: Final = 3  # markup that was escaped twice
_RAW_PER_CHAR: Final = 20  # how much raw text is looked at for each character that is kept
_HIDDEN: Final = re.compile(r"<(script|style)\b[^>]*>.*?(?:</\1\s*>|$)", re.IGNORECASE | re.DOTALL)
_COMMENT: Final = re.compile(r"<!--.*?(?:-->|$)", re.DOTALL)
_TAG: Final = re.compile(r"</?[a-zA-Z][^<>]{0,2000}>")
_UNSEEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})
# Tag characters and changes of the writing direction: plain feeds have no use for them.
_SMUGGLED: Final = re.compile(r"[\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]")
_HAN: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_LETTER: Final = re.compile(r"[^\W\d_]")
_HAN_SHARE: Final = 0.3
_LETTERS: Final = re.compile(r"(?:[^\W\d_][\W\d_]*){3}")


def screen_text_of(candidate: WindowCandidate) -> ScreenText:
    """Everything that a candidate is judged by: title, summary, categories and feed together."""
    return ScreenText(
        ref=candidate.candidate_id,
        title=clean_line(candidate.title or "", MAX_TITLE),
        summary=clean_line(candidate.summary or "", MAX_SUMMARY),
        categories=_categories(candidate.categories),
        feed_title=clean_line(candidate.feed_title or "", MAX_FEED),
        hidden_chars=_hidden_chars(candidate),
    )


def clean_line(text: str, max_chars: int) -> str:
    """One line of visible text without markup, NFKC, of at most `max_chars` characters."""
    text = text[: max_chars * _RAW_PER_CHAR]
    for _ in range(_ROUNDS):
        plain = unescape(_TAG.sub(" ", _COMMENT.sub(" ", _HIDDEN.sub(" ", text))))
        if plain == text:
            break
        text = plain
    seen = unicodedata.normalize("NFKC", text)
    if not seen.isprintable():
        seen = "".join(map(_visible, seen))
    return " ".join(seen.split())[:max_chars].rstrip()


def joined_text(text: ScreenText) -> str:
    """All fields as one passage, as an encoder reads it."""
    parts = (text.title, text.summary, ", ".join(text.categories), text.feed_title)
    return ". ".join(part for part in parts if part)


def has_words(text: ScreenText) -> bool:
    """Whether there is anything of its own to judge: emoji or a feed's title alone are nothing."""
    return bool(_LETTERS.search(" ".join((text.title, text.summary, *text.categories))))


@lru_cache(maxsize=1_024)  # every method asks about the same text
def script_of(text: str) -> TextScript:
    """Which population a text is compared with: scores differ between scripts, not only topics."""
    if text.isascii():
        return "other"
    letters = len(_LETTER.findall(text))
    han = len(_HAN.findall(text))
    return "han" if letters and han / letters >= _HAN_SHARE else "other"


def _categories(categories: Sequence[str]) -> tuple[str, ...]:
    cleaned = (clean_line(category, MAX_CATEGORY) for category in categories[: MAX_CATEGORIES * 4])
    return tuple(category for category in cleaned if category)[:MAX_CATEGORIES]


def _hidden_chars(candidate: WindowCandidate) -> int:
    fields = (candidate.title or "", candidate.summary or "", *candidate.categories)
    return sum(len(_SMUGGLED.findall(field[: MAX_SUMMARY * _RAW_PER_CHAR])) for field in fields)


def _visible(char: str) -> str:
    if char in "\t\n\r":
        return " "
    return "" if unicodedata.category(char) in _UNSEEN else char
