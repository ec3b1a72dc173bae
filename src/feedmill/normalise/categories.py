"""Tags of an entry or a feed: clean, each once, in a stable order (003 §3)."""

from collections.abc import Iterable
from functools import lru_cache

from feedmill.model.parsed import Category
from feedmill.normalise.text import clean_text

MAX_CATEGORY_CHARS = 256
_SHORT_CHARS = 64  # what is longer is not worth remembering


def clean_categories(categories: Iterable[Category], max_tags: int) -> tuple[str, ...]:
    """The tags, sorted; of spellings that differ only in case the first one stays.

    The cap counts in document order, because publishers put what matters first.
    """
    spellings: dict[str, str] = {}
    for category in categories:
        if len(spellings) >= max_tags:
            break
        if tag := _name_of(category):
            spellings.setdefault(tag.casefold(), tag)
    return tuple([spellings[key] for key in sorted(spellings)])


def _name_of(category: Category) -> str:
    """The term, which is the tag's identity (RFC 4287 §4.2.2.1); a label only if it is missing."""
    return _cleaned(category.term) or (_cleaned(category.label) if category.label else "")


def _cleaned(name: str) -> str:
    return _remembered(name) if len(name) <= _SHORT_CHARS else clean_text(name, MAX_CATEGORY_CHARS)


@lru_cache(maxsize=1024)
def _remembered(name: str) -> str:
    """Remembered, because the entries of a feed share their tags."""
    return clean_text(name, MAX_CATEGORY_CHARS)
