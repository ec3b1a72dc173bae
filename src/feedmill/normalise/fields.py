"""Fields that feeds and entries share: text, language tags and categories (003 §3)."""

import re
from collections.abc import Callable, Iterable
from functools import lru_cache

from feedmill.model.entry import Finding
from feedmill.model.parsed import Category, Text
from feedmill.normalise.suspicious import find_suspicious
from feedmill.normalise.text import (
    clean_plain_text,
    clean_text,
    clean_title,
    remove_surrogates,
)

# Markup is seldom this many times as long as its text; what lies behind is not looked at.
_MARKUP_FACTOR = 16
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_LANGUAGE = re.compile(r"[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8}){0,7}")  # the shape of RFC 5646 tags
MAX_CATEGORY_CHARS = 256
_SHORT_CHARS = 64  # what is longer is not worth remembering


def field_text(text: Text | None, max_chars: int) -> str | None:
    """The clean text of a field; None when nothing is left.

    Text is text only where no markup is meant in it: publishers often call HTML text.
    """
    return _cleaned_by(clean_text, text, max_chars)


def title_text(text: Text | None, max_chars: int) -> str | None:
    """The same for a title, which may talk about an element: `Using <script> tags`."""
    return _cleaned_by(clean_title, text, max_chars)


def _cleaned_by(clean: Callable[[str, int], str], text: Text | None, max_chars: int) -> str | None:
    if text is None:
        return None
    if text.kind == "text":
        clean = clean_plain_text
    return clean(text.value[: max_chars * _MARKUP_FACTOR], max_chars) or None


def published_text(text: Text | None, max_chars: int) -> str | None:
    """The text as it was published, markup and all; only controls and outer white space go."""
    if text is None:
        return None
    value = _CONTROL.sub("", remove_surrogates(text.value[: max_chars * _MARKUP_FACTOR]))
    return value.strip() or None


def field_findings(field_name: str, text: Text | None, max_chars: int) -> tuple[Finding, ...]:
    """What is suspicious in a field, and whether it was too long to be read whole."""
    if text is None:
        return ()
    limit = max_chars * _MARKUP_FACTOR
    findings = find_suspicious(field_name, text.value[:limit])
    if len(text.value) <= limit:
        return findings
    detail = f"{len(text.value)} characters, limit {limit}"
    return (*findings, Finding(code="oversized", field=field_name, detail=detail))


def clean_language(tag: str | None) -> str | None:
    """The language tag with hyphens (`en_US` is a locale's spelling); None if it is none."""
    tag = (tag or "").strip().replace("_", "-")
    return tag if _LANGUAGE.fullmatch(tag) else None


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
