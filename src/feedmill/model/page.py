"""One page of a list, with the cursors of the next and the previous one."""

from typing import Generic, TypeVar

from feedmill.model.base import Value

T = TypeVar("T")


class Page(Value, Generic[T]):
    items: tuple[T, ...]
    next: str | None = None
    previous: str | None = None  # only where a list can be read backwards
