"""Whom to ask: the cell of a host, of a feed, every cell, or whichever knows."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Final, TypeVar

from feedmill.adapters.store.cell import Cell, Question
from feedmill.adapters.store.cell_map import CellMap, Span
from feedmill.model.feed import Feed, Lane

T = TypeVar("T")

_REMEMBERED: Final = 100_000  # feeds whose cell is known without asking


class Routes:
    """The cells in the order of their list; the first is the home."""

    def __init__(self, cells: Sequence[Cell], spans: Sequence[Span]) -> None:
        self.cells = tuple(cells)
        self.home = self.cells[0]
        self._map = CellMap(spans)
        self._feeds: OrderedDict[str, Cell] = OrderedDict()
        self._turn = 0

    def of_url(self, url: str) -> Cell:
        """The cell of the address's host."""
        return self.cells[self._map.of_url(url)]

    def of_lane(self, lane: Lane) -> Cell:
        """The cell that the lane is in."""
        return self.cells[self._map.of_lane(lane.key)]

    async def of_feed(self, feed_id: str) -> Cell:
        """The cell that the feed lives in, which never changes; the home when nobody knows it."""
        known = self._feeds.get(feed_id)
        if known is not None:
            return known
        feed = await self.anywhere(lambda store: store.feed(feed_id))
        if feed is None:
            return self.home
        self.remember((feed,))
        return self.of_url(feed.url)

    def remember(self, feeds: Iterable[Feed]) -> None:
        """Know where these feeds live."""
        for feed in feeds:
            self._feeds[feed.id] = self.of_url(feed.url)
        while len(self._feeds) > _REMEMBERED:
            self._feeds.popitem(last=False)

    def in_turn(self) -> tuple[Cell, ...]:
        """All cells, each time beginning with the next."""
        self._turn = (self._turn + 1) % len(self.cells)
        return self.cells[self._turn :] + self.cells[: self._turn]

    async def all(self, question: Question[T]) -> list[T]:
        """What every cell says; StoreError when one does not answer: a part is not the whole."""
        answers = await self._each(question)
        return [_sound(answer) for answer in answers]

    async def anywhere(self, question: Question[T | None]) -> T | None:
        """What the cell says that knows; a cell that is away may have known, so then StoreError."""
        answers = await self._each(question)
        for answer in answers:
            if answer is not None and not isinstance(answer, BaseException):
                return answer
        for answer in answers:
            _sound(answer)
        return None

    async def those_there(self, question: Question[T], otherwise: T) -> list[T]:
        """What the cells say that are there, for work that goes on without the others."""
        asked = (cell.ask_if_there(question, otherwise) for cell in self.cells)
        answers = await asyncio.gather(*asked, return_exceptions=True)
        return [_sound(answer) for answer in answers]

    async def lists(
        self, places: Sequence[str], ask: Callable[[Cell, str], Awaitable[list[T]]]
    ) -> list[list[T]]:
        """Each cell's part of a list, from its place on; StoreError when one does not answer."""
        asked = (ask(cell, place) for cell, place in zip(self.cells, places, strict=True))
        answers = await asyncio.gather(*asked, return_exceptions=True)
        return [_sound(answer) for answer in answers]

    async def _each(self, question: Question[T]) -> list[T | BaseException]:
        asked = (cell.ask(question) for cell in self.cells)
        return await asyncio.gather(*asked, return_exceptions=True)


def _sound(answer: T | BaseException) -> T:
    if isinstance(answer, BaseException):
        raise answer
    return answer
