"""What is wrong with a value that another program sent, with the choices that it has."""

import re
from collections.abc import Sequence
from typing import Any, Final, Literal, get_args, get_origin, get_type_hints

import msgspec

_PATTERN: Final = re.compile(r"Expected `str` matching regex .*(?= - at `)")
_FIELD: Final = re.compile(r"\.(\w+)")


def mistake_in_words(problem: msgspec.ValidationError, kind: type) -> str:
    """The words of the validation; of a value that is no choice also the choices of its field."""
    words = _PATTERN.sub("a character is not allowed here", str(problem))
    if not words.startswith("Invalid enum value"):
        return words
    choices = choices_of(kind, _FIELD.findall(words.rpartition("`$")[2]))
    return f"{words}; use one of: {', '.join(choices)}" if choices else words


def choices_of(kind: Any, path: Sequence[str] = ()) -> tuple[str, ...]:  # noqa: ANN401  # a type or a form of typing
    """The choices of a type, or of the field that a path of names leads to; empty when it has none."""
    if get_origin(kind) is Literal:
        return get_args(kind)
    if path and isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return choices_of(get_type_hints(kind).get(path[0]), path[1:])
    return next((found for inner in get_args(kind) if (found := choices_of(inner, path))), ())
