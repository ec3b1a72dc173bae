"""Lists of commands: what the options of a list ask for, read page by page and printed as they say."""
# Tested in tests/integration/interfaces/cli/test_lists.py

import sys
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, Final, Protocol, TypeVar

from feedmill.config import Config
from feedmill.engine.run.services import Services
from feedmill.interfaces.cli.options import list_request
from feedmill.interfaces.cli.output import show_json_line, show_list
from feedmill.interfaces.cli.run_command import with_services

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
_PIECE: Final = 500  # items that the store is asked for at once


class PageLike(Protocol[T_co]):
    """Items and the cursor of the next page."""

    @property
    def items(self) -> Sequence[T_co]: ...
    @property
    def next(self) -> str | None: ...


# Services, the cursor to continue after, and how many at most.
FindPage = Callable[[Services, str | None, int], Awaitable[PageLike[T]]]


def show_pages(
    find: FindPage[T],
    head: Sequence[str],
    row: Callable[[T], Sequence[str]],
    *,
    item: Callable[[T], Any] = lambda one: one,
    empty: str = "",
    show: Callable[[Sequence[T]], None] | None = None,
    config: Config | None = None,
) -> None:
    """Print a list: as many items as asked for, over as many pages as that takes.

    `item` is an item as JSON; `show` prints the items on a terminal instead of a table. Lines of JSON are
    printed as the pages come, so that a list of any length needs the memory of one page.
    """
    asked = list_request()
    own_form = show if sys.stdout.isatty() else None

    async def action(services: Services) -> tuple[list[T], str | None]:
        found: list[T] = []
        after, left = asked.after, asked.limit
        while True:
            page = await find(services, after, _PIECE if left is None else min(left, _PIECE))
            if asked.as_lines:
                for one in page.items:
                    show_json_line(item(one))
            else:
                found += page.items
            after, left = page.next, None if left is None else left - len(page.items)
            if after is None or left == 0:
                return found, after

    found, following = with_services(action, config=config)
    if asked.as_lines:
        return
    rows = [] if own_form is not None else [row(one) for one in found]
    show_list(
        [item(one) for one in found],
        head,
        rows,
        empty="" if found else empty,
        following=following,
        show=None if own_form is None else partial(own_form, found),
    )
