"""Commands as coroutines: they get their services, and their answer or list is printed as JSON or in words.

@command()
@click.argument("feed")
async def pause(services: Services, feed: str) -> Answer:
    ...
    return Answer(shape, "paused")

One that has to look at its options first takes `open_services` instead, and awaits it behind its checks.
"""

import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from functools import partial, wraps
from inspect import iscoroutinefunction
from typing import Any, Final, NamedTuple, TypeVar

import click

from feedmill.app.services import Schema
from feedmill.app.services import open_services as opened_services
from feedmill.config import Config
from feedmill.engine.run.services import Services
from feedmill.interfaces.cli.exit import is_json
from feedmill.interfaces.cli.options import json_option, list_request
from feedmill.interfaces.cli.output import show_json, show_json_line, show_list
from feedmill.interfaces.cli.run_command import config_of, run_async, with_services
from feedmill.model.page import ListPage

Printer = Callable[[], None]  # what prints an answer itself, such as `show_list` with its arguments
# Opens the services, by other settings than those in force if some are given; they are closed when the command ends.
OpenServices = Callable[..., Awaitable[Services]]


class Answer(NamedTuple):
    """A value for --json, the same in words or a function that prints them, and the exit code."""

    value: object
    words: str | Callable[[], object]
    status: int = 0


def command(
    name: str | None = None,
    of: click.Group | None = None,
    *,
    schema: Schema = "check",
    takes_raw: bool = False,
    **more: Any,  # noqa: ANN401  # of click.command
) -> Callable[[Callable[..., Any]], click.Command]:
    """A command with --json. A coroutine gets `services`, `open_services` and `config` by parameters of these names."""

    def make(function: Callable[..., Any]) -> click.Command:
        _add_json_option(function)
        adding: Callable[..., Any] = click.command if of is None else of.command
        run = (
            _running(function, schema, takes_raw=takes_raw)
            if iscoroutinefunction(function)
            else function
        )
        made: click.Command = adding(name, **more)(run)
        return made

    return make


def answer_with(
    action: Callable[[Services], Awaitable[Answer | Printer]],
) -> None:
    """Run an action with its services, print what it answers, and exit with its code."""
    print_answer(with_services(action))


def answer_with_secret(shape: dict[str, Any], words: str, secret: str) -> Answer:
    """An answer with a secret, which stands alone on standard output: it is often piped to a file."""

    def show() -> None:
        click.echo(words, err=True)
        click.echo(secret)

    return Answer({**shape, "secret": secret}, show)


def print_answer(answer: Answer | Printer) -> None:
    """Print an answer, and exit when its code is not 0."""
    if not isinstance(answer, Answer):
        answer()
        return
    if is_json():
        show_json(answer.value)
    elif callable(answer.words):
        answer.words()
    elif answer.words:
        click.echo(answer.words)
    if answer.status:
        sys.exit(answer.status)


def _running(
    function: Callable[..., Awaitable[Any]], schema: Schema, *, takes_raw: bool
) -> Callable[..., None]:
    code = function.__code__
    wanted = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]

    @wraps(function)
    def run(**given: Any) -> None:  # noqa: ANN401  # as click parsed them
        config = config_of() if {"config", "services"} & {*wanted} else None
        if "config" in wanted:
            given["config"] = config

        async def answer() -> Answer | Printer:
            async with AsyncExitStack() as stack:

                async def open_services(own: Config | None = config) -> Services:
                    opening = opened_services(
                        own or config_of(), schema=schema, takes_raw=takes_raw
                    )
                    return await stack.enter_async_context(opening)

                if "services" in wanted:
                    given["services"] = await open_services()
                if "open_services" in wanted:
                    given["open_services"] = open_services
                found: Answer | Printer = await function(**given)
                return found

        print_answer(run_async(answer))

    return run


def _add_json_option(function: Callable[..., Any]) -> None:
    """Add --json, unless a list has it already; help lists it last."""
    others = function.__dict__.pop("__click_params__", [])
    if not any(one.name == "json" for one in others):
        json_option(function)
    function.__dict__.setdefault("__click_params__", []).extend(others)


T = TypeVar("T")
_PIECE: Final = 500  # items that the store is asked for at once


# Services, the cursor to continue after, and how many at most.
FindPage = Callable[[Services, str | None, int], Awaitable[ListPage[T]]]


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
