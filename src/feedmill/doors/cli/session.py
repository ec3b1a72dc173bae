"""From a command to the engine and back: settings, the world, errors and exit codes.

0 is success, 1 a failure, 2 wrong usage, 130 an interrupt.
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from feedmill.app import load_config, open_world, set_up_logging
from feedmill.config import Config
from feedmill.doors.cli.output import fail
from feedmill.engine.world import World
from feedmill.errors import ConfigError, FeedmillError, UsageError
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
            fail("config", str(problem), "fix the settings", as_json=True, status=2)
        for mistake in problem.mistakes:
            click.echo(f"feedmill: {mistake}", err=True)
        sys.exit(2)


def in_world(
    ctx: click.Context,
    story: Callable[[World], Awaitable[T]],
    *,
    as_json: bool,
    config: Config | None = None,
) -> T:
    """Open the world, run the story in it, close the world; failures become exit codes."""
    settings = config or config_of(ctx, as_json=as_json)

    async def tell() -> T:
        async with open_world(settings) as world:
            return await story(world)

    return run_story(tell, as_json=as_json)


def run_story(story: Callable[[], Awaitable[T]], *, as_json: bool) -> T:
    """Run a coroutine on the fastest event loop there is."""
    try:
        return _loop(story)
    except KeyboardInterrupt:
        click.echo("interrupted", err=True)
        sys.exit(130)
    except UsageError as problem:
        fail("usage", str(problem), as_json=as_json, status=2)
    except FeedmillError as problem:
        fail(problem.reason, str(problem), as_json=as_json, status=1)


def _loop(story: Callable[[], Awaitable[T]]) -> T:
    async def main() -> T:
        return await story()

    try:
        import uvloop  # noqa: PLC0415  # not on every platform
    except ImportError:
        return asyncio.run(main())
    result: T = uvloop.run(main())
    return result


async def feed_named(name: str, world: World) -> Feed:
    """The feed with this id, the start of an id, or any address it was met at."""
    feed = await world.store.feed(name) or await world.store.find_feed((name,))
    if feed is None:
        feed = await _by_prefix(name, world)
    if feed is None:
        message = f"there is no feed {name!r}; `feedmill list` shows all of them"
        raise UsageError(message)
    return feed


async def _by_prefix(name: str, world: World) -> Feed | None:
    after: str | None = None
    found: list[Feed] = []
    while True:
        page = await world.store.feeds(after=after, limit=500)
        found += [
            f
            for f in page.items
            if f.id.startswith(name) or name.lower() == (f.title or "").lower()
        ]
        if page.next is None or len(found) > 1:
            break
        after = page.next
    if len(found) > 1:
        message = f"{name!r} fits several feeds; use more of the id"
        raise UsageError(message)
    return found[0] if found else None


def write_file(path: Path, data: bytes) -> None:
    """Write a file whole or not at all."""
    partial = path.with_name(path.name + ".part")
    partial.write_bytes(data)
    partial.replace(path)
