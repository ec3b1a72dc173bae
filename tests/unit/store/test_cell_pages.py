"""One list out of several: nothing is lost, shown twice or out of order, whichever way it is read."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.adapters.store.cell_pages import Placed, page_after, page_between, places_of
from feedmill.engine.ports import Page
from feedmill.errors import UsageError

Cell = Sequence[tuple[int, int]]  # (first_seen, number), as a cell keeps its entries

entries = st.lists(st.integers(1, 6), max_size=12).map(
    lambda instants: [(at, number) for number, at in enumerate(sorted(instants), start=1)]
)
cells = st.lists(entries, min_size=1, max_size=4)


def ask(cell: Cell, place: str, limit: int, *, is_backwards: bool) -> list[Placed[str]]:
    """What a cell would answer."""
    at = tuple(int(part) for part in place.split(".")) if place else None
    if is_backwards:
        found = [one for one in sorted(cell) if at is None or one > at]
    else:
        found = [one for one in sorted(cell, reverse=True) if at is None or one < at]
    name = id(cell)
    return [Placed(f"{s}.{n}", (s,), f"{name}/{s}.{n}") for s, n in found[: limit + 1]]


def page(
    every: Sequence[Cell], limit: int, *, after: str | None = None, before: str | None = None
) -> Page[str]:
    places = places_of(after if before is None else before, len(every))
    is_backwards = before is not None
    lists = [
        ask(cell, place, limit, is_backwards=is_backwards)
        for cell, place in zip(every, places, strict=True)
    ]
    return page_between(places, lists, limit, str, is_backwards=is_backwards)


def instants(items: Sequence[str]) -> list[int]:
    return [int(item.partition("/")[2].partition(".")[0]) for item in items]


@given(every=cells, limit=st.integers(1, 5))
def test_page_after_page_is_everything_once_in_order(every: list[Cell], limit: int) -> None:
    shown: list[str] = []
    found = page(every, limit)
    while True:
        shown += found.items
        if found.next is None:
            break
        found = page(every, limit, after=found.next)

    assert len(set(shown)) == len(shown) == sum(map(len, every))
    assert instants(shown) == sorted(instants(shown), reverse=True)


@given(every=cells, limit=st.integers(1, 5))
def test_the_way_back_shows_the_same_pages(every: list[Cell], limit: int) -> None:
    pages = [page(every, limit)]
    while (cursor := pages[-1].next) is not None:
        pages.append(page(every, limit, after=cursor))

    for there, wanted in zip(pages[:0:-1], pages[-2::-1], strict=True):
        back = page(every, limit, before=there.previous)
        assert back.items == wanted.items
        assert page(every, limit, after=back.next).items == there.items


@given(every=cells, late=st.integers(0, 3), limit=st.integers(1, 5))
def test_what_comes_in_later_lies_in_front_of_every_page(
    every: list[list[tuple[int, int]]], late: int, limit: int
) -> None:
    first = page(every, limit)
    second = page(every, limit, after=first.next) if first.next else None
    every[late % len(every)].append((9, 99))

    if second is not None:
        again = page(every, limit, after=first.next)
        front = page(every, 100, before=second.previous)
        assert again.items == second.items
        assert instants(front.items[:1]) == [9]
        assert front.items[1:] == first.items


def test_a_list_whose_cells_disagree_about_the_order_is_still_complete() -> None:
    """A cell's own numbers rule in it, even where its clock went back."""
    one = [Placed("1", (5,), "a"), Placed("2", (1,), "b")]
    two = [Placed("1", (3,), "c")]

    found = page_after(["", ""], [one, two], 2, str, is_descending=False)

    assert found.items == ("c", "a")
    rest = page_after(places_of(found.next, 2), [one[1:], []], 2, str, is_descending=False)
    assert (rest.items, rest.next) == (("b",), None)


@pytest.mark.parametrize("cursor", ["1_2_3", "1.2_3.4_"])
def test_a_cursor_of_another_map_is_refused(cursor: str) -> None:
    with pytest.raises(UsageError, match="no cursor of this list"):
        places_of(cursor, 2)


def test_a_cursor_without_a_place_in_every_cell_is_none_of_a_list_that_is_read_both_ways() -> None:
    with pytest.raises(UsageError, match="no cursor of this list"):
        page_between(["1.1", ""], [[], []], 1, str, is_backwards=False)
