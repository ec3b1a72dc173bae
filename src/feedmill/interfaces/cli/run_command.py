"""Runs a command against the engine: settings, services, and errors as exit codes."""

import asyncio
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import click

from feedmill.app.services import Schema, open_services
from feedmill.app.settings import load_config, set_up_logging
from feedmill.config import Config
from feedmill.engine.run.services import Services
from feedmill.errors import ConfigError, FeedmillError, NotFoundError, UsageError
from feedmill.interfaces.cli.early_signals import early_signal
from feedmill.interfaces.cli.exit import exit_interrupted, exit_with_error
from feedmill.model.feed import Feed

T = TypeVar("T")


def config_of(ctx: click.Context, *, as_json: bool) -> Config:
    """The settings in force; every mistake in them is reported at once."""
    options: dict[str, Any] = ctx.find_root().obj or {}
    set_up_logging(options.get("verbose", 0), as_json=options.get("log_json", False))
    try:
        return load_config(options.get("config"), options.get("home"))
    except ConfigError as problem:
        if as_json:
            hint = "`feedmill config show --reference` lists every setting"
            exit_with_error(problem.reason, str(problem), hint, as_json=True, status=2)
        words = "\n  ".join(("invalid settings", *problem.mistakes))
        exit_with_error(problem.reason, words, as_json=False, status=2)


def with_services(
    ctx: click.Context,
    action: Callable[[Services], Awaitable[T]],
    *,
    as_json: bool,
    config: Config | None = None,
    schema: Schema = "check",
) -> T:
    """Open the services, run the action with them, close them; errors become exit codes."""
    settings = config or config_of(ctx, as_json=as_json)

    async def run() -> T:
        async with open_services(settings, schema=schema) as services:
            return await action(services)

    return run_async(run, as_json=as_json)


def run_async(action: Callable[[], Awaitable[T]], *, as_json: bool) -> T:
    """Run a coroutine on uvloop where available; errors become exit codes."""
    try:
        return _loop(action)
    except (KeyboardInterrupt, asyncio.CancelledError):
        if early_signal() == signal.SIGTERM:
            sys.exit(0)  # told to stop before it began: nothing is left undone
        exit_interrupted(as_json=as_json)
    except Exception as problem:
        cause = _cause(problem)
        if isinstance(cause, FeedmillError):
            _give_up(cause, as_json=as_json)
        if cause is not problem:
            raise cause from problem
        raise


async def resolve_feed(name: str, services: Services) -> Feed:
    """The feed with this id, start of an id, address, alias or title."""
    feed = await services.store.feed(name) or await services.store.find_feed((name,))
    if feed is None and name.strip():  # an empty name is how every id begins
        feed = await _by_beginning(name, services)
    if feed is None:
        message = f"there is no feed {name!r}"
        raise NotFoundError(message, "`feedmill list` lists them")
    return feed


async def resolve_feeds(names: tuple[str, ...], services: Services) -> list[Feed]:
    """The feeds of these names, each once; NotFoundError when one is unknown."""
    found = [await resolve_feed(name, services) for name in names]
    return list({feed.id: feed for feed in found}.values())


async def all_feeds(services: Services, tag: str | None = None) -> list[Feed]:
    """Every subscription, page by page."""
    found: list[Feed] = []
    after: str | None = None
    while True:
        page = await services.store.feeds(tag=tag, after=after, limit=1000)
        found += page.items
        if page.next is None:
            return found
        after = page.next


def write_file(path: Path, data: bytes) -> None:
    """Write a file atomically."""
    partial = path.with_name(path.name + ".part")
    partial.write_bytes(data)
    partial.replace(path)


def _loop(action: Callable[[], Awaitable[T]]) -> T:
    async def main() -> T:
        return await action()

    try:
        import uvloop  # noqa: PLC0415  # not on every platform
    except ImportError:
        return asyncio.run(main())
    result: T = uvloop.run(main())
    return result


def _cause(problem: BaseException) -> BaseException:
    """The first exception of an exception group."""
    while isinstance(problem, BaseExceptionGroup):
        problem = problem.exceptions[0]
    return problem


def _give_up(problem: FeedmillError, *, as_json: bool) -> NoReturn:
    status = 2 if isinstance(problem, UsageError | ConfigError) else 1
    exit_with_error(problem.reason, str(problem), problem.hint, as_json=as_json, status=status)


async def _by_beginning(name: str, services: Services) -> Feed | None:
    wanted = name.casefold()
    found = [
        feed
        for feed in await all_feeds(services)
        if feed.id.startswith(wanted) or (feed.title or "").casefold() == wanted
    ]
    if len(found) > 1:
        message = f"{name!r} matches {len(found)} feeds; use more of the id"
        raise UsageError(message)
    return found[0] if found else None
