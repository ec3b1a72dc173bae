"""Composition root: opens store, raw store, fetcher, sinks and bus with their concrete adapters."""
# Tested in tests/integration/interfaces/cli/

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final, assert_never

from msgspec.structs import replace

from feedmill.adapters import files as private_files
from feedmill.adapters import sinks
from feedmill.adapters.blobs.disk.store import DiskBlobs
from feedmill.adapters.blobs.media_files import DiskMedia
from feedmill.adapters.bus.address import BusAddress, check_bus_files, parse_bus_address
from feedmill.adapters.clock import SystemClock
from feedmill.adapters.store import log_position
from feedmill.adapters.store import open as opening
from feedmill.adapters.store.secret_keys import SecretKeys, use_keys_of_environment
from feedmill.adapters.systemd import SystemdNotifier
from feedmill.config import Config
from feedmill.engine.deliver.read_log import ENTRIES_AT_ONCE, entry_lines, tell_if_rewound
from feedmill.engine.maintain.raw_store import check_raw_owner, describe_owner
from feedmill.engine.ports.entries import Bus, Extractor, Sink
from feedmill.engine.ports.io import Blobs, Clock, Fetcher, RawIndex
from feedmill.engine.ports.media import MediaFiles
from feedmill.engine.ports.store import Store
from feedmill.engine.run.memory_budget import MemoryBudget
from feedmill.engine.run.services import ScreenFunction, Services
from feedmill.errors import BlobError, MissingExtraError, StoreError, needs_extra
from feedmill.model.event import Event
from feedmill.model.running.webhook import TopicContent
from feedmill.model.screening import LiveScreenMethod, Screening, ScreenText, TopicSet
from feedmill.observe import log
from feedmill.observe.traces import Trace, Traces
from feedmill.publish.ndjson import cloudevent_line, event_line

if TYPE_CHECKING:
    from feedmill.adapters.blobs.bucket.store import BucketBlobs
    from feedmill.adapters.http.fetcher import CurlFetcher
    from feedmill.adapters.otlp import OtlpExporter
from feedmill.app.settings import load_rules, owner_name

Schema = opening.Schema
DATABASE_NAME: Final = "feedmill.db"
RAW_FOLDER: Final = "raw"
OUT_FOLDER: Final = "out"
MEDIA_FOLDER: Final = "media"
_CANNOT_OPEN: Final = "cannot-open"


@asynccontextmanager
async def open_services(
    config: Config,
    *,
    memory: bool = False,
    clock: Clock | None = None,
    schema: Schema = "check",
    takes_raw: bool = False,
) -> AsyncIterator[Services]:
    """Open store, raw store and fetcher as configured; all are closed at the end of the block.

    With `memory` nothing is kept: the degraded mode of seed 000. `schema` is the policy for a
    PostgreSQL of another version; SQLite is always migrated. With `takes_raw` nothing is said about raw documents
    of another store: the command makes them those of this one.
    """
    home = Path(config.store.home)
    async with AsyncExitStack() as stack:
        if memory:
            home = Path(stack.enter_context(TemporaryDirectory(prefix="feedmill-")))
            config = replace(config, store=replace(config.store, url=None))
        make_home(home)
        now, keys = (clock or SystemClock()).now(), use_keys_of_environment()
        store = await opening.open_store(config, home / DATABASE_NAME, now, schema=schema)
        stack.push_async_callback(store.close)
        await check_secret_key(store, keys)
        await _tell_if_rewound(store, home, now)
        if clock is None:
            clock = await stack.enter_async_context(opening.clock_of(store, SystemClock()))
        blobs = await open_blobs(config, clock, home=home if memory else None)
        stack.push_async_callback(blobs.close)
        if not memory and not takes_raw:
            await report_raw_owner(store, blobs)
        fetcher: Any = Deferred(partial(_fetcher, config, clock))
        stack.push_async_callback(fetcher.close)
        extractor: Any = Deferred(partial(_extractor, config))
        stack.push_async_callback(extractor.close)
        yield Services(
            clock=clock,
            fetcher=fetcher,
            blobs=blobs,
            store=store,
            config=config,
            screen=_screen_function(config, stack),
            render_topic=_render_topic,
            traces=_traces(config, stack),
            extractor=extractor,
            media=open_media(config, home, keep_here=memory),
            downloader=fetcher,
            memory=MemoryBudget(config.run.memory_mb * 1024 * 1024 // 4),
            rules=load_rules(config.discovery),
        )


class Deferred:
    """An adapter that is imported and made when one of its methods is first asked for.

    A command that only reads the store starts without libcurl, the parsers and the screeners; what it does not use, it
    does not wait for. `close` does nothing when nothing was made.
    """

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._made: Any = None

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  # of any port
        if self._made is None:
            self._made = self._make()
        found = getattr(self._made, name)
        if callable(found):
            setattr(self, name, found)  # asked for once
        return found

    async def close(self) -> None:
        if self._made is not None:
            closing = self._made.close()
            if closing is not None:
                await closing


def _fetcher(config: Config, clock: Clock) -> "CurlFetcher":
    from feedmill.adapters.http.fetcher import CurlFetcher  # noqa: PLC0415  # see Deferred

    return CurlFetcher(config.fetch, clock)


def _extractor(config: Config) -> Extractor:
    from feedmill.adapters.extractor import ExtractorPool  # noqa: PLC0415  # see Deferred

    return ExtractorPool(config.fulltext)


def _traces(config: Config, stack: AsyncExitStack) -> Traces | None:
    """Traces that go to the configured collector until the stack closes; None: they are off."""
    if config.observe.otlp_endpoint is None:
        return None
    if find_spec("opentelemetry") is None or find_spec("opentelemetry.sdk") is None:
        extra, part = "otel", "sending traces to [observe] otlp_endpoint"
        raise MissingExtraError(extra, part)
    exporter: Any = Deferred(partial(_exporter, config))
    stack.push_async_callback(exporter.close)

    def export(trace: Trace) -> None:
        exporter.export(trace)  # loaded now: most commands poll nothing

    return Traces(export, ratio=config.observe.trace_ratio)


def _exporter(config: Config) -> "OtlpExporter":
    from feedmill.adapters.otlp import OtlpExporter  # noqa: PLC0415  # an extra; see Deferred

    return OtlpExporter(config.observe, instance=owner_name())


def _screen_function(config: Config, stack: AsyncExitStack) -> ScreenFunction:
    opened: list[ScreenFunction] = []

    async def screen(
        texts: Sequence[ScreenText], topics: TopicSet, method: LiveScreenMethod
    ) -> Sequence[Screening]:
        if not opened:
            from feedmill.app.screeners import LiveScreener  # noqa: PLC0415  # see Deferred

            opened.append(LiveScreener(config, stack))
        return await opened[0](texts, topics, method)

    return screen


async def _render_topic(url: str, services: Services) -> TopicContent | None:
    from feedmill.engine.service.metafeeds import render_topic  # noqa: PLC0415  # see Deferred

    return await render_topic(url, services)


async def check_secret_key(store: Store, keys: SecretKeys) -> None:
    """SecretKeyError when the store needs a key that was not given; a first key is noted."""
    needed = await store.secret_key()
    if needed is not None:
        keys.check(needed)
    elif keys.current is not None:
        await store.store_id()  # the row that notes it
        await store.save_secret_key(keys.current)


async def _tell_if_rewound(store: Store, home: Path, now: datetime) -> None:
    """Compare the log with what this home folder has told before anything is written or read (D37)."""
    out = home / OUT_FOLDER
    kind = "entries" if await asyncio.to_thread(sinks.has_former_files, out) else "events"
    files = sinks.NdjsonSink(out, kind=kind)
    for delivered in (opening.delivered_position(home), await files.newest()):
        if await tell_if_rewound(store, delivered, now):
            log.logger("log").warning(
                "the event log went back: a restored backup, or another database; readers get an event log.rewound",
                delivered_seq=delivered.seq if delivered else 0,
            )


async def report_raw_owner(store: RawIndex, blobs: Blobs) -> None:
    """Claim a new raw store; log an error when its segments belong to another store (D36).

    A bucket is asked once: the store remembers which one carries its id.
    """
    try:
        if (await store.store_identity()).raw_place == blobs.place:
            return
        found = await check_raw_owner(store, blobs)
        if not found.is_ours:
            log.logger("raw").error(describe_owner(found))
        elif not isinstance(blobs, DiskBlobs):
            await store.confirm_raw_place(blobs.place)
    except BlobError as problem:  # the first use of the raw store raises it again
        log.logger("raw").debug("the raw store was not checked", problem=str(problem))


async def open_blobs(
    config: Config, clock: Clock, *, url: str | None = None, home: Path | None = None
) -> Blobs:
    """Open the raw store: at `url`, in `home`, or as configured; the caller closes it."""
    url = url or (None if home else config.blobs.url)
    if url is None:
        folder = home or Path(config.store.home)
        return await DiskBlobs.open(folder / RAW_FOLDER, clock, config.store)
    return open_bucket_blobs(config, clock, url)


def open_media(config: Config, home: Path, *, keep_here: bool = False) -> MediaFiles:
    """The files of entries: beside the raw documents, on local disk or in their bucket."""
    folder = home / MEDIA_FOLDER
    url = None if keep_here else config.blobs.url
    if url is None:
        return DiskMedia(folder)
    with needs_extra("objects", "files of entries on object storage"):
        from feedmill.adapters.blobs.bucket.address import (  # noqa: PLC0415  # an extra
            open_object_store,
        )
        from feedmill.adapters.blobs.bucket.media import BucketMedia  # noqa: PLC0415  # an extra
    return BucketMedia(open_object_store(url, config.blobs), folder, url)


@asynccontextmanager
async def open_fetcher(config: Config) -> AsyncIterator[tuple[Fetcher, Clock]]:
    """Open the fetcher alone, for commands without a store."""
    clock = SystemClock()
    fetcher = _fetcher(config, clock)
    try:
        yield fetcher, clock
    finally:
        await fetcher.close()


def systemd_notifier() -> SystemdNotifier:
    """The systemd notifier; it does nothing without systemd."""
    return SystemdNotifier(os.environ, os.getpid())


def announce_settings(config: Config) -> None:
    """Log a warning about private networks (D27) and about a limit that the parser does not allow.

    ConfigError when no certificates are found to check servers by.
    """
    from feedmill.adapters.http.connection import trust_store  # noqa: PLC0415  # with it libcurl

    trust_store(config.fetch.ca_file)
    if config.fetch.allow_cidrs:
        log.logger("egress").warning(
            "feeds may be fetched from private networks",
            allow_cidrs=",".join(config.fetch.allow_cidrs),
        )
    from feedmill.parse.xml.tree import MAX_DEPTH  # noqa: PLC0415  # with it lxml

    if config.parse.max_xml_depth > MAX_DEPTH:
        log.logger("parse").warning(
            "max_xml_depth is above the limit of the XML parser, which applies",
            limit=MAX_DEPTH,
            max_xml_depth=config.parse.max_xml_depth,
        )


async def file_sinks(services: Services) -> tuple[Sink, ...]:
    """The file sinks of 002 §9.3: events, whole entries, and raw documents when configured."""
    folder = Path(services.config.store.home) / OUT_FOLDER
    if await asyncio.to_thread(sinks.has_former_files, folder):
        # Entries begin where events stand, so that an update delivers nothing again. In this order, so that a crash
        # in between does the same once more.
        reached = await services.store.cursor(sinks.EVENT_FILES)
        await services.store.set_cursor(sinks.ENTRY_FILES, reached)
        await asyncio.to_thread(sinks.move_former_files, folder)
    events = sinks.NdjsonSink(folder, _line_of(services.config))
    entries = sinks.NdjsonSink(
        folder,
        name=sinks.ENTRY_FILES,
        kind="entries",
        load=partial(entry_lines, store=services.store),
        batch_events=ENTRIES_AT_ONCE,
    )
    if not services.config.store.raw_copies:
        return (events, entries)

    from feedmill.engine.documents.raw_documents import load_document  # noqa: PLC0415  # rarely needed

    async def read(fetch_id: str) -> bytes | None:
        fetch = await services.store.fetch(fetch_id)
        found = fetch and await load_document(fetch, services.store, services.blobs)
        return found.body if found else None

    return (events, entries, sinks.RawCopySink(folder, read))


def stdout_sink(config: Config | None = None) -> Sink:
    """The sink that writes events to standard output in the configured format."""
    return sinks.StdoutSink(line=_line_of(config or Config()))


def make_bus(config: Config) -> Bus:
    """The configured bus, not yet connected; the caller closes it."""
    address = parse_bus_address(config.bus.url)
    check_bus_files(config.bus)
    with needs_extra(address.kind, f"relaying to {address.kind}"):
        return _bus(address, config)


def _bus(address: BusAddress, config: Config) -> Bus:
    source = config.store.event_source
    match address.kind:
        case "nats":
            from feedmill.adapters.bus.nats import NatsBus  # noqa: PLC0415  # an extra

            return NatsBus(address, config.bus, source)
        case "redis":
            from feedmill.adapters.bus.redis import RedisBus  # noqa: PLC0415  # an extra

            return RedisBus(address, config.bus, source)
        case "kafka":
            from feedmill.adapters.bus.kafka import KafkaBus  # noqa: PLC0415  # an extra

            return KafkaBus(address, config.bus, source)
        case _:
            assert_never(address.kind)


def open_bucket_blobs(config: Config, clock: Clock, url: str) -> "BucketBlobs":
    with needs_extra("objects", "the raw store on object storage"):
        from feedmill.adapters.blobs.bucket.store import BucketBlobs  # noqa: PLC0415  # an extra
    return BucketBlobs.at(url, clock, config.store, config.blobs)


def _line_of(config: Config) -> Callable[[Event], bytes]:
    if config.store.tap_format == "plain":
        return event_line
    return partial(cloudevent_line, source=config.store.event_source)


def make_home(home: Path) -> None:
    """Create the home folder for its owner alone; one that was open to others is closed, with its store."""
    try:
        if private_files.make_private_folder(home):
            log.logger("home").warning(
                "the home folder was open to other users of this machine; it is not any more",
                home=str(home),
            )
        stores = [home / f"{DATABASE_NAME}{suffix}" for suffix in ("", "-wal", "-shm")]
        private_files.close_all([*stores, home / "feedmill.toml", home / log_position.FILE_NAME])
        for folder in (RAW_FOLDER, OUT_FOLDER, f"{OUT_FOLDER}/events", f"{OUT_FOLDER}/entries"):
            private_files.close_folder(home / folder)
    except OSError as problem:
        message = f"{home} cannot be created ({problem.strerror}); choose another with --home"
        raise StoreError(message, reason=_CANNOT_OPEN) from problem
