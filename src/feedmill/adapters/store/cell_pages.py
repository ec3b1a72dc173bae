"""One list out of several, page by page: each cell keeps its order, and a cursor has a place in each.

What a cell's list is ordered by is compared at its head only, so that nothing is lost or shown twice
even where two cells' clocks or numbers do not agree.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import merge
from typing import Final, Generic, NamedTuple, TypeVar

from feedmill.engine.ports import Page
from feedmill.errors import UsageError

T = TypeVar("T")
U = TypeVar("U")

_BETWEEN: Final = "_"


class Placed(NamedTuple, Generic[T]):
    """A value of one cell's list: what it is found after, and what it is ordered by."""

    place: str
    order: tuple[int, ...]
    value: T


def places_of(cursor: str | None, cells: int) -> list[str]:
    """The place in each cell that a page follows; empty at the beginning. One place is for all."""
    places = [""] if cursor is None else cursor.split(_BETWEEN)
    if len(places) == 1:
        return places * cells
    if len(places) != cells:
        raise _no_cursor(cursor or "")
    return places


def page_after(
    asked: Sequence[str],
    lists: Sequence[Sequence[Placed[T]]],
    limit: int,
    value_of: Callable[[T], U],
    *,
    is_descending: bool = True,
) -> Page[U]:
    """The page that follows these places; each list has one value more than the page may take."""
    taken = _taken(lists, limit, is_descending=is_descending)
    more = len(taken) < sum(map(len, lists))
    return Page(
        items=tuple(value_of(one.value) for _, one in taken),
        next=_cursor(_ends(asked, taken)) if more and taken else None,
    )


def page_between(
    asked: Sequence[str],
    lists: Sequence[Sequence[Placed[T]]],
    limit: int,
    value_of: Callable[[T], U],
    *,
    is_backwards: bool,
) -> Page[U]:
    """The same for a list that can be read towards the present; then the lists are in that order.

    Nothing comes in behind a cursor: the first one has a place in every cell, also in those of
    which nothing was shown.
    """
    if any(asked) and not all(asked):
        raise _no_cursor(_cursor(asked))
    if is_backwards:
        page = page_after(asked, lists, limit, value_of, is_descending=False)
        front = _cursor(_fronts(asked, lists, step=1)) if page.items else None
        return Page(items=page.items[::-1], next=front, previous=page.next)
    begun = asked if any(asked) else _beginnings(lists)
    page = page_after(begun, lists, limit, value_of)
    front = _cursor(_fronts(asked, lists, step=-1)) if any(asked) and page.items else None
    return Page(items=page.items, next=page.next, previous=front)


def _taken(
    lists: Sequence[Sequence[Placed[T]]], limit: int, *, is_descending: bool
) -> list[tuple[int, Placed[T]]]:
    """The first values of all lists together, with the number of the cell of each."""
    sign = -1 if is_descending else 1

    def key(pair: tuple[int, Placed[T]]) -> tuple[int, ...]:
        cell, one = pair
        # Backwards it is exactly the other way round: so are the cells.
        return (*(sign * part for part in one.order), -sign * cell)

    streams: list[Iterable[tuple[int, Placed[T]]]] = [
        [(cell, one) for one in values] for cell, values in enumerate(lists)
    ]
    found: Iterator[tuple[int, Placed[T]]] = merge(*streams, key=key)
    return [pair for pair, _ in zip(found, range(limit), strict=False)]


def _ends(asked: Sequence[str], taken: Sequence[tuple[int, Placed[T]]]) -> list[str]:
    """How far each cell was read."""
    ends = list(asked)
    for cell, one in taken:
        ends[cell] = one.place
    return ends


def _beginnings(lists: Sequence[Sequence[Placed[T]]]) -> list[str]:
    """For each cell a place that its first value follows at once; the lowest where it has none."""
    parts = max((values[0].place.count(".") + 1 for values in lists if values), default=1)
    return [_beside(values[0].place, 1) if values else ".".join("0" * parts) for values in lists]


def _fronts(asked: Sequence[str], lists: Sequence[Sequence[Placed[T]]], *, step: int) -> list[str]:
    """For each cell the place that the page lies behind, seen the other way.

    That is its first value, whether it was shown or not. A cell that had none is read on from where
    it was asked, that value included: hence the step.
    """
    return [
        values[0].place if values else _beside(place, step)
        for place, values in zip(asked, lists, strict=True)
    ]


def _beside(place: str, step: int) -> str:
    head, dot, number = place.rpartition(".")
    return f"{head}{dot}{int(number) + step}"


def _cursor(places: Sequence[str]) -> str:
    return _BETWEEN.join(places)


def _no_cursor(cursor: str) -> UsageError:
    return UsageError(f"{cursor!r} is no cursor of this list; take the one that the last page gave")
