"""Tags of an entry or a feed: clean, each once, in a stable order (003 §3)."""

from collections.abc import Iterable

from feedmill.model.parsed import Category
from feedmill.normalise.text import clean_text

MAX_TAG_CHARS = 256


def clean_tags(categories: Iterable[Category], max_tags: int) -> tuple[str, ...]:
    """The tags, sorted; of spellings that differ only in case the first one stays.

    The cap counts in document order, because publishers put what matters first.
    """
    spellings: dict[str, str] = {}
    for category in categories:
        if len(spellings) >= max_tags:
            break
        if tag := _name_of(category):
            spellings.setdefault(tag.casefold(), tag)
    return tuple(tag for _, tag in sorted(spellings.items()))


def _name_of(category: Category) -> str:
    """The term, which is the tag's identity (RFC 4287 §4.2.2.1); a label only if it is missing."""
    return clean_text(category.term, MAX_TAG_CHARS) or clean_text(
        category.label or "", MAX_TAG_CHARS
    )
