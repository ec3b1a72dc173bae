"""The only file that names concrete adapters: it puts the world together and takes it apart."""

import os
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

from msgspec import json, to_builtins

from feedmill.adapters import settings, surroundings
from feedmill.adapters.blobs.segments import SegmentBlobs
from feedmill.adapters.clock import SystemClock
from feedmill.adapters.http.curl import CurlFetcher
from feedmill.adapters.store.sqlite import SqliteStore
from feedmill.adapters.taps.ndjson import NdjsonTap
from feedmill.adapters.taps.rawcopies import RawCopies
from feedmill.adapters.taps.stdout import StdoutTap
from feedmill.config import Config
from feedmill.demo.publisher import Publisher
from feedmill.demo.village import Village, about
from feedmill.engine.ports import Clock, Fetcher, Sink
from feedmill.engine.rawbytes import raw_document
from feedmill.engine.world import World
from feedmill.errors import StoreError
from feedmill.model.event import Event
from feedmill.observe import log
from feedmill.publish.lines import cloudevent_line, event_line
from feedmill.schedule.pace import gap_ms

DATABASE: Final = "feedmill.db"
RAW: Final = "raw"
OUT: Final = "out"
_CANNOT_OPEN: Final = "cannot-open"
_LEVELS: Final = {-1: "error", 0: "warning", 1: "info", 2: "debug"}


def load_config(path: Path | None = None, home: str | None = None) -> Config:
    """The settings in force; `home` from the command line wins over file and environment."""
    own = {} if home is None else {"FEEDMILL_HOME": home}
    return settings.load_config(path, os.environ | own)


def set_up_logging(verbose: int, *, as_json: bool) -> None:
    """Warnings by default, one line per refresh with -v, everything with -vv, errors with -1."""
    named = os.environ.get("FEEDMILL_LOG", "")
    level = named if named in log.LEVELS else _LEVELS[min(verbose, 2)]
    log.set_up(level, as_json=as_json or os.environ.get("FEEDMILL_LOG_JSON") == "1")


@asynccontextmanager
async def open_world(
    config: Config, *, memory: bool = False, clock: Clock | None = None
) -> AsyncIterator[World]:
    """Store, raw bytes and fetcher under the home folder, closed again whatever happens.

    With `memory` nothing outlives the world: the degraded mode of seed 000.
    """
    home = Path(config.store.home)
    clock = clock or SystemClock()
    async with AsyncExitStack() as stack:
        if memory:
            home = Path(stack.enter_context(TemporaryDirectory(prefix="feedmill-")))
        _make_home(home)
        store = await SqliteStore.open(
            home / DATABASE,
            gap_ms=gap_ms(config.host),
            synchronous=config.store.synchronous,
            readers=config.store.readers,
            patience_sec=config.store.patience_sec,
        )
        stack.push_async_callback(store.close)
        blobs = await SegmentBlobs.open(home / RAW, clock, config.store)
        stack.push_async_callback(blobs.close)
        fetcher = CurlFetcher(config.fetch, clock)
        stack.push_async_callback(fetcher.close)
        yield World(clock=clock, fetcher=fetcher, blobs=blobs, store=store, config=config)


@asynccontextmanager
async def open_fetcher(config: Config) -> AsyncIterator[tuple[Fetcher, Clock]]:
    """The network alone, for what needs no store."""
    clock = SystemClock()
    fetcher = CurlFetcher(config.fetch, clock)
    try:
        yield fetcher, clock
    finally:
        await fetcher.close()


class VillageOnLoopback(NamedTuple):
    """The demonstration's feeds: their addresses, and what each of them shows."""

    addresses: Callable[[], dict[str, str]]
    about: Callable[[], dict[str, str]]


@asynccontextmanager
async def open_village() -> AsyncIterator[VillageOnLoopback]:
    """The demonstration publisher with its living feeds, on loopback."""
    village = Village(start=SystemClock().now(), pace=1.0, hosts=40)
    async with Publisher(village, addresses=40):
        yield VillageOnLoopback(addresses=village.addresses, about=about)


async def examine(config: Config) -> list[dict[str, Any]]:
    """What `feedmill doctor` found; a bad configuration has been refused before."""
    checks = await surroundings.examine(Path(config.store.home), now=SystemClock().now())
    first = {"name": "configuration", "ok": True, "detail": "every setting can be used"}
    return [first, *(to_builtins(check) for check in checks)]


def config_reference() -> list[dict[str, str]]:
    """Every setting with its variable and default, for people and for the reference."""
    return [
        {
            "part": part,
            "field": field.name,
            "variable": settings.environment_name(part, field.name),
            "default": json.encode(field.default).decode(),
        }
        for part in settings.parts()
        for field in settings.fields_of(part)
    ]


def owner_name() -> str:
    """Who holds a lane: this process on this machine."""
    return f"{socket.gethostname()}:{os.getpid()}"


def announce_egress(config: Config) -> None:
    """Private addresses are open only by configuration, and whoever fetches says it loudly (D27)."""
    if config.fetch.allow_cidrs:
        log.logger("egress").warning(
            "private networks are open to feeds", allow_cidrs=",".join(config.fetch.allow_cidrs)
        )


def taps_of(world: World) -> tuple[Sink, ...]:
    """The file taps of 002 §9.3: events, and the raw documents they speak of when that is wanted."""
    folder = Path(world.config.store.home) / OUT
    events = NdjsonTap(folder, line=_line_of(world.config))
    if not world.config.store.raw_copies:
        return (events,)

    async def read(fetch_id: str) -> bytes | None:
        return await raw_document(fetch_id, world)

    return (events, RawCopies(folder, read))


def stdout_tap(config: Config | None = None) -> Sink:
    """Events on standard output, in the form that the settings choose."""
    return StdoutTap(line=_line_of(config or Config()))


def _line_of(config: Config) -> Callable[[Event], bytes]:
    if config.store.tap_format == "plain":
        return event_line
    return partial(cloudevent_line, source=config.store.event_source)


def _make_home(home: Path) -> None:
    try:
        home.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        message = f"{home} cannot be created ({problem.strerror}); choose another with --home"
        raise StoreError(message, reason=_CANNOT_OPEN) from problem
