"""Fields that a publisher changes with every request: counters, stamps, ids of the request (17.5).

They are learnt per feed. A field of one and the same entry that differs in document after document is
*masked*: numbers and ids in it no longer count as a change, dates count not at all, and a guid is no
longer an identity. When it still differs in most entries, as random blocks of text do, it is *ignored*.
What changes is stored as before; only nothing is announced. After a while it is learnt anew.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Final

from feedmill.model.feed import VolatileField
from feedmill.model.identity import Changes, Revised, UnchangedEntry

GUID: Final = "guid"
MASKED: Final = 1
IGNORED: Final = 2
DATES: Final = frozenset({"published", "updated"})

_OF_MOST: Final = 3  # documents in a row, when at least half of the known entries differ
_OF_SOME: Final = 6  # when it is always the same few
_LEAST: Final = 3  # known entries in a document, before a field is ignored altogether
_REMEMBERED: Final = 16  # entries of which the change is followed
_FORGOTTEN_AFTER: Final = timedelta(days=90)  # publishers repair their feeds

_WORD: Final = re.compile(r"[\w-]++")
_NUMBERS: Final = re.compile(r"#(?:[.,:'\u2019\s]#)++")


def learn_volatile(
    known: tuple[VolatileField, ...], changes: Changes, now: datetime
) -> tuple[VolatileField, ...]:
    """What is known of volatile fields after a document; a document without known entries says nothing."""
    again = 0
    changed: defaultdict[str, list[int]] = defaultdict(list)
    for one in changes.changes:
        if isinstance(one, UnchangedEntry):
            again += 1
            names = _changed(one) if one.new_keys else ()
        elif isinstance(one, Revised):
            again += 1
            names = _changed(one)
        else:
            continue
        for name in names:
            changed[name].append(one.known.entry_id)
    if not again or not (changed or known):
        return known
    before = {one.name: one for one in known}
    found = (
        _follow(before.get(name), name, changed.get(name, []), again, now)
        for name in sorted({*before, *changed})
    )
    return tuple(one for one in found if one is not None)


def volatile_levels(fields: Iterable[VolatileField]) -> dict[str, int]:
    """The fields that do not count as they are, each with how little it counts."""
    return {one.name: one.level for one in fields if one.level}


def mask_numbers(text: str) -> str:
    """The text with every word that has a digit in it, and every number of several groups, as one sign."""
    return _NUMBERS.sub("#", _WORD.sub(_masked, text))


def volatile_in_words(fields: Iterable[VolatileField]) -> tuple[str, ...]:
    """What was learnt, one sentence for each field."""
    return tuple(_words(one) for one in fields if one.level)


def recipe_suffix(levels: Mapping[str, int]) -> str:
    """What the name of a content hash carries, so that only alike hashes are compared."""
    return (
        "~" + ",".join(f"{name}:{level}" for name, level in sorted(levels.items()))
        if levels
        else ""
    )


def recipe_of(version: str | None) -> tuple[str, dict[str, str]]:
    """The name of a content hash without its volatile fields, and these with their levels."""
    plain, _, rest = (version or "").partition("~")
    return plain, dict(one.split(":") for one in rest.split(",")) if rest else {}


def _changed(one: Revised | UnchangedEntry) -> Iterable[str]:
    if any(key.type == GUID for key in one.new_keys):
        yield GUID
    if isinstance(one, Revised) and not one.restored:
        yield from (name for name in one.changed if name != "unknown")


def _follow(
    before: VolatileField | None, name: str, changed: list[int], again: int, now: datetime
) -> VolatileField | None:
    level, since = (0, None) if before is None else (before.level, before.since)
    if since is not None and now - since >= _FORGOTTEN_AFTER:
        level, since = 0, None
    followed = changed if before is None or not before.entries else _both(before.entries, changed)
    row = 1 if before is None or not followed or not before.entries else before.row + 1
    followed = followed or changed
    is_most = 2 * len(changed) >= again
    if level < IGNORED and row >= (_OF_MOST if is_most else _OF_SOME):
        if level == 0:
            return VolatileField(name=name, level=MASKED, since=now)
        if is_most and again >= _LEAST:
            return VolatileField(name=name, level=IGNORED, since=since)
    if not followed and not level:
        return None
    entries = tuple(sorted(followed)[:_REMEMBERED])
    return VolatileField(
        name=name, level=level, since=since, row=row if entries else 0, entries=entries
    )


def _both(before: tuple[int, ...], changed: list[int]) -> list[int]:
    return sorted({*before} & {*changed})


def _masked(word: re.Match[str]) -> str:
    text = word[0]
    return "#" if any(map(str.isdigit, text)) else text


def _words(one: VolatileField) -> str:
    field = one.name.replace("_", " ")
    if one.name == GUID:
        effect = "entries are recognised by their links"
    elif one.level == IGNORED or one.name in DATES:
        effect = "a change of it is stored but not announced"
    else:
        effect = "a change of its numbers and ids alone is stored but not announced"
    return f"The publisher changes the {field} of entries with every request: {effect}."
