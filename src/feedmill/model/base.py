"""The base class of every value in feedmill."""
# Tested in tests/unit/adapters/store/postgres/test_parameters.py

from typing import Any, TypeVar, dataclass_transform

import msgspec

T = TypeVar("T", bound=msgspec.Struct)


@dataclass_transform(
    frozen_default=True, kw_only_default=True, eq_default=True, field_specifiers=(msgspec.field,)
)
class Value(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A fact that was true once and is never changed; change is a new value.

    What is built once from values that were there before is part of no cycle, so the garbage
    collector need not look at values: a tenth of the cost of a poll.
    """


def filled(made: type[T], source: msgspec.Struct, **more: Any) -> T:  # noqa: ANN401  # fields of any type
    """A value of this type: its fields from `source` by their names, and those that are given."""
    known = set(source.__struct_fields__) - more.keys()
    same = {name: getattr(source, name) for name in made.__struct_fields__ if name in known}
    return made(**same, **more)


def fields_of(source: msgspec.Struct | None, names: str, **more: Any) -> dict[str, Any]:  # noqa: ANN401
    """These fields of a value, None for those of nothing, and others: in their place if they are named, else behind."""
    return {name: getattr(source, name) if source else None for name in names.split()} | more
