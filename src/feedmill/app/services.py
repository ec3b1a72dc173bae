"""The only file that names concrete adapters: it puts the world together and takes it apart."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, assert_never

from msgspec import json, to_builtins
from msgspec.structs import replace

from feedmill.adapters import doctor, settings
from feedmill.adapters.blobs.disk.store import DiskBlobs
from feedmill.adapters.blobs.errors import blob_error
from feedmill.adapters.bus.address import BusAddress, check_bus_files, parse_bus_address
from feedmill.adapters.clock import SystemClock
from feedmill.adapters.http.fetcher import CurlFetcher
from feedmill.adapters.screeners import bundled_data, model_files
from feedmill.adapters.screeners.agent import AgentScreener
from feedmill.adapters.screeners.cache import ScreeningCache
from feedmill.adapters.screeners.lexical import LexicalScreener
from feedmill.adapters.screeners.llm import LlmScreener
from feedmill.adapters.sinks.ndjson import NdjsonSink
from feedmill.adapters.sinks.raw_copies import RawCopySink
from feedmill.adapters.sinks.stdout import StdoutSink
from feedmill.adapters.store import open as opening
from feedmill.adapters.systemd import SystemdNotifier
from feedmill.config import Config
from feedmill.engine.documents.raw_documents import load_document
from feedmill.engine.ports.blobs import Blobs
from feedmill.engine.ports.clock import Clock
from feedmill.engine.ports.events import Bus, Sink
from feedmill.engine.ports.fetcher import Fetcher
from feedmill.engine.ports.screener import Screener
from feedmill.engine.run.heartbeat import wait_for_other_machines
from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.engine.run.readiness import ReadinessCheck, cached_check
from feedmill.engine.run.services import Services
from feedmill.engine.two_phase.screen import screen_texts
from feedmill.errors import (
    ConfigError,
    FeedmillError,
    MissingExtraError,
    ScreenerError,
    StoreError,
)
from feedmill.model.event import Event
from feedmill.model.live_screen import StandingMethod
from feedmill.model.screening import (
    EvaluationSet,
    Judgement,
    Method,
    Screening,
    ScreenText,
    TopicSet,
)
from feedmill.model.store_transfer import Transfer
from feedmill.model.worker import WorkerRole
from feedmill.observe import log
from feedmill.observe.masking import mask_secrets
from feedmill.publish.ndjson import cloudevent_line, event_line
from feedmill_demo.server.server import Publisher
from feedmill_demo.sites import DemoWeb, site_descriptions

if TYPE_CHECKING:
    from feedmill.adapters.blobs.bucket.store import BucketBlobs
    from feedmill.adapters.store.transfer.copy import Move as StoreMove
    from feedmill.adapters.store.transfer.copy import Progress

Schema = opening.Schema
DATABASE_NAME: Final = "feedmill.db"
RAW_FOLDER: Final = "raw"
OUT_FOLDER: Final = "out"
MODELS_FOLDER: Final = "models"
SCREENING_CACHE_NAME: Final = "screening.db"
BATCH_ROWS: Final = 5_000  # of one transaction, when a store moves
ScreenMethod = Literal["lexical", "embedding", "hybrid", "llm", "agent"]
SCREEN_METHODS: Final[dict[ScreenMethod, tuple[Method, ...]]] = {
    "lexical": ("lexical",),
    "embedding": ("embedding",),
    "hybrid": ("lexical", "embedding"),
    "llm": ("lexical", "embedding", "llm"),
    "agent": ("agent",),
}
_CANNOT_OPEN: Final = "cannot-open"
_LEVELS: Final = {-1: "error", 0: "warning", 1: "info", 2: "debug"}


def load_config(path: Path | None = None, home: str | None = None) -> Config:
    """The settings in force; `home` from the command line wins over file and environment."""
    own = {} if home is None else {"FEEDMILL_HOME": home}
    return settings.load_config(path, os.environ | own)


def set_up_logging(verbose: int, *, as_json: bool) -> None:
    """Warnings by default, one line per refresh with -v, everything with -vv, errors with -1."""
    named = os.environ.get("FEEDMILL_LOG", "")
    level = named if named in log.LOG_LEVELS else _LEVELS[min(verbose, 2)]
    log.set_up(level, as_json=as_json or os.environ.get("FEEDMILL_LOG_JSON") == "1")


@asynccontextmanager
async def open_services(
    config: Config,
    *,
    memory: bool = False,
    clock: Clock | None = None,
    schema: Schema = "check",
) -> AsyncIterator[Services]:
    """Store, raw bytes and fetcher where the settings say, closed again whatever happens.

    With `memory` nothing outlives the world: the degraded mode of seed 000. `schema` says what
    becomes of a PostgreSQL that is not at this version; SQLite is always brought to it.
    """
    home = Path(config.store.home)
    async with AsyncExitStack() as stack:
        if memory:
            home = Path(stack.enter_context(TemporaryDirectory(prefix="feedmill-")))
            config = replace(config, store=replace(config.store, url=None))
        _make_home(home)
        now = (clock or SystemClock()).now()
        store = await opening.open_store(config, home / DATABASE_NAME, now, schema=schema)
        stack.push_async_callback(store.close)
        if clock is None:
            clock = await stack.enter_async_context(opening.clock_of(store, SystemClock()))
        blobs = await open_blobs(config, clock, home=home if memory else None)
        stack.push_async_callback(blobs.close)
        fetcher = CurlFetcher(config.fetch, clock)
        stack.push_async_callback(fetcher.close)
        judge = _StandingJudge(config, stack)
        yield Services(
            clock=clock, fetcher=fetcher, blobs=blobs, store=store, config=config, screen=judge
        )


async def open_blobs(
    config: Config, clock: Clock, *, url: str | None = None, home: Path | None = None
) -> Blobs:
    """The raw store: at `url`, in `home`, or where the settings say; the caller closes it."""
    url = url or (None if home else config.blobs.url)
    if url is None:
        folder = home or Path(config.store.home)
        return await DiskBlobs.open(folder / RAW_FOLDER, clock, config.store)
    return _objects(config, clock, url)


class _StandingJudge:
    """The screeners of standing screens: made when they are first asked, closed with the world."""

    def __init__(self, config: Config, stack: AsyncExitStack) -> None:
        self._config, self._stack = config, stack
        self._opened: dict[StandingMethod, OpenScreeners] = {}
        self._making = asyncio.Lock()

    async def __call__(
        self, texts: Sequence[ScreenText], topics: TopicSet, method: StandingMethod
    ) -> tuple[Screening, ...]:
        """What the method says of these texts; a part that is missing makes it degraded."""
        async with self._making:
            if method not in self._opened:
                opening = open_screeners(self._config, method)
                self._opened[method] = await self._stack.enter_async_context(opening)
                for warning in self._opened[method].warnings:
                    log.logger("standing").warning("new entries will wait", reason=warning)
        opened = self._opened[method]
        return await screen_texts(
            texts, topics, opened.screeners, self._config.screen, asked=opened.asked
        )


@asynccontextmanager
async def open_fetcher(config: Config) -> AsyncIterator[tuple[Fetcher, Clock]]:
    """The network alone, for what needs no store."""
    clock = SystemClock()
    fetcher = CurlFetcher(config.fetch, clock)
    try:
        yield fetcher, clock
    finally:
        await fetcher.close()


class DemoOnLoopback(NamedTuple):
    """The demonstration's feeds: their addresses, and what each of them shows."""

    addresses: Callable[[], dict[str, str]]
    about: Callable[[], dict[str, str]]


@asynccontextmanager
async def open_demo() -> AsyncIterator[DemoOnLoopback]:
    """The demonstration publisher with its living feeds, on loopback."""
    village = DemoWeb(start=SystemClock().now(), pace=1.0, hosts=40)
    async with Publisher(village, addresses=40):
        yield DemoOnLoopback(addresses=village.addresses, about=site_descriptions)


async def run_doctor(config: Config) -> list[dict[str, Any]]:
    """What `feedmill doctor` found; a bad configuration has been refused before."""
    checks = await doctor.run_checks(Path(config.store.home), now=SystemClock().now())
    first = {"name": "configuration", "ok": True, "detail": "every setting can be used"}
    raw = [] if config.blobs.url is None else [await _examine_objects(config, config.blobs.url)]
    raw += [] if config.store.url is None else [await _examine_store(config, config.store.url)]
    return [first, *(to_builtins(check) for check in checks), *raw]


def config_reference() -> list[dict[str, str]]:
    """Every setting with its variable and default, for people and for the reference."""
    return [
        {
            "part": part,
            "field": field.name,
            "variable": settings.environment_name(part, field.name),
            "default": json.encode(field.default).decode(),
        }
        for part in settings.section_names()
        for field in settings.fields_of(part)
    ]


def owner_name() -> str:
    """Who holds a lane: this process on this machine, and no other of that number.

    Containers number their processes from 1 and may share the name of their machine.
    """
    return f"{socket.gethostname()}/{SystemClock().new_secret()[:4]}:{os.getpid()}"


def systemd_notifier() -> SystemdNotifier:
    """The line to systemd, silent where it does not listen."""
    return SystemdNotifier(os.environ, os.getpid())


def readiness_checks_for(services: Services, role: WorkerRole) -> dict[str, ReadinessCheck]:
    """What else a role cannot work without, to be asked now and then: whoever polls keeps raw bytes."""
    if role not in ("run", "worker"):
        return {}
    return {"raw": cached_check(_raw_probe(services), services.clock)}


async def warn_if_raw_not_shared(services: Services, watch: Lifecycle) -> None:
    """Say once that machines which share a store do not share raw bytes, when they do not."""
    config = services.config
    if config.store.url is None or config.blobs.url is not None:
        return
    machines = await wait_for_other_machines(services.store, watch)
    if machines:
        log.logger("raw").warning(
            "raw bytes are not shared: each machine keeps its own; set FEEDMILL_BLOBS_URL on all",
            machines=",".join(sorted(machines)),
        )


async def migrate_store(config: Config) -> tuple[str, ...]:
    """Bring the store to this version; the names of what was applied now."""
    home = Path(config.store.home)
    if config.store.url is None:
        _make_home(home)
    return await opening.apply_migrations(config, home / DATABASE_NAME, SystemClock().now())


async def missing_migrations(config: Config) -> tuple[str, ...]:
    """The names of what the store lacks; nothing is changed."""
    return await opening.missing_migrations(config, Path(config.store.home) / DATABASE_NAME)


async def transfer_store(
    config: Config,
    source: str,
    target: str,
    progress: "Progress",
    *,
    dry_run: bool = False,
    restart: bool = False,
    batch_rows: int = BATCH_ROWS,
) -> Transfer:
    """Move a SQLite store into a PostgreSQL one, or say what would move; Conflict when it is refused.

    With `restart` what a move that was cut short has carried is thrown away first.
    """
    own = replace(config, store=replace(config.store, url=target, migrate_wait_sec=0.0))
    async with _move(own, source, target, batch_rows) as move:
        missing = await opening.missing_migrations(own, Path())
        if dry_run:
            return replace(await move.plan(), migrations=missing)
        if missing:
            await opening.apply_migrations(own, Path(), SystemClock().now())
        done = await move.carry(progress, restart=restart)
        return replace(done, migrations=missing)


async def compare_stores(
    config: Config, source: str, target: str, progress: "Progress", *, batch_rows: int = BATCH_ROWS
) -> Transfer:
    """What differs between a SQLite store and a PostgreSQL one; nothing is written."""
    own = replace(config, store=replace(config.store, url=target))
    async with _move(own, source, target, batch_rows) as move:
        return await move.compare(progress)


def announce_egress(config: Config) -> None:
    """Private addresses are open only by configuration, and whoever fetches says it loudly (D27)."""
    if config.fetch.allow_cidrs:
        log.logger("egress").warning(
            "private networks are open to feeds", allow_cidrs=",".join(config.fetch.allow_cidrs)
        )


def file_sinks(services: Services) -> tuple[Sink, ...]:
    """The file taps of 002 §9.3: events, and the raw documents they speak of when that is wanted."""
    folder = Path(services.config.store.home) / OUT_FOLDER
    events = NdjsonSink(folder, line=_line_of(services.config))
    if not services.config.store.raw_copies:
        return (events,)

    async def read(fetch_id: str) -> bytes | None:
        fetch = await services.store.fetch(fetch_id)
        found = fetch and await load_document(fetch, services.store, services.blobs)
        return found.body if found else None

    return (events, RawCopySink(folder, read))


def stdout_sink(config: Config | None = None) -> Sink:
    """Events on standard output, in the form that the settings choose."""
    return StdoutSink(line=_line_of(config or Config()))


def make_bus(config: Config) -> Bus:
    """The bus that the settings name, not yet connected; whoever takes it closes it."""
    address = parse_bus_address(config.bus.url)
    check_bus_files(config.bus)
    try:
        return _bus(address, config)
    except ImportError as problem:
        part = f"relaying to {address.kind}"
        raise MissingExtraError(address.kind, part) from problem


class OpenScreeners(NamedTuple):
    """The methods that are there, those that were asked for, and why one is not there."""

    screeners: tuple[Screener, ...]
    asked: tuple[Method, ...]
    warnings: tuple[str, ...]


@asynccontextmanager
async def open_screeners(
    config: Config, method: ScreenMethod = "hybrid", judgements: Sequence[Judgement] = ()
) -> AsyncIterator[OpenScreeners]:
    """The screeners of a method; without the embedding model, hybrid and llm go on degraded."""
    asked = SCREEN_METHODS[method]
    warnings: list[str] = []
    async with AsyncExitStack() as stack:
        is_lasting = bool({"embedding", "llm"} & set(asked))
        memory = ScreeningCache(
            Path(config.store.home) / SCREENING_CACHE_NAME if is_lasting else None
        )
        stack.push_async_callback(memory.close)
        screeners: list[Screener] = []
        if "lexical" in asked:
            screeners.append(LexicalScreener(bundled_data.reference_texts()))
        if "embedding" in asked:
            try:
                screeners.append(_embedding(config, memory))
            except (MissingExtraError, ScreenerError) as problem:
                if method == "embedding":
                    raise
                warnings.append(f"screening goes on without meaning: {problem}; {problem.hint}")
        if "llm" in asked:
            screeners.append(_llm(config, memory, stack))
        if judgements:
            screeners.append(AgentScreener(judgements))
        for screener in screeners:
            stack.push_async_callback(screener.close)
        yield OpenScreeners(tuple(screeners), asked, tuple(warnings))


def current_time() -> datetime:
    """What time it is, for doors that open no world."""
    return SystemClock().now()


def default_topics() -> TopicSet:
    """The bundled topics of seed 001."""
    return bundled_data.default_topics()


def background() -> tuple[str, ...]:
    """Sentences about anything else, for topic sets that do not extend the bundled one."""
    return bundled_data.bundled_background()


def evaluation_set(name: EvaluationSet = "sustainability") -> str:
    """A bundled evaluation set, as JSON lines."""
    return bundled_data.evaluation_set(name)


def installed_models(config: Config) -> tuple[model_files.InstalledModel, ...]:
    """Every model that feedmill knows, here or not."""
    return model_files.list_models(_model_dir(config))


async def install_model(config: Config, name: str, source: Path | None = None) -> Path:
    """Fetch, check and keep a model; ScreenerError says why it could not be had."""
    return await model_files.install_model(
        _model_dir(config), model_files.model_named(name), source
    )


def verify_model(config: Config, name: str) -> None:
    """ScreenerError when a model is missing or is not what it should be."""
    card = model_files.model_named(name)
    model_files.check_model(model_files.model_path(_model_dir(config), card), card)


def remove_model(config: Config, name: str) -> bool:
    """Delete a model; False when it was not there."""
    return model_files.remove_model(_model_dir(config), model_files.model_named(name))


@asynccontextmanager
async def _move(
    config: Config, source: str, target: str, batch_rows: int
) -> AsyncIterator["StoreMove"]:
    opening.check_postgres()
    from feedmill.adapters.store.transfer import copy, places  # noqa: PLC0415  # an extra

    two = places.read_places(source, target, DATABASE_NAME)
    async with copy.opened(two, config.store, batch_rows=batch_rows) as move:
        yield move


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


def _objects(config: Config, clock: Clock, url: str) -> "BucketBlobs":
    try:
        from feedmill.adapters.blobs.bucket.store import BucketBlobs  # noqa: PLC0415  # an extra
    except ImportError as problem:
        extra, part = "objects", "the raw store on object storage"
        raise MissingExtraError(extra, part) from problem
    return BucketBlobs.at(url, clock, config.store, config.blobs)


async def _examine_store(config: Config, url: str) -> dict[str, Any]:
    try:
        missing = await missing_migrations(config)
    except FeedmillError as problem:
        return {"name": "store", "ok": False, "detail": f"{problem} {problem.hint}".strip()}
    detail = f"{mask_secrets(url)} answers"
    if missing:
        detail += f"; {len(missing)} migrations are missing, run `feedmill migrate`"
    return {"name": "store", "ok": not missing, "detail": detail}


async def _examine_objects(config: Config, url: str) -> dict[str, Any]:
    try:
        blobs = _objects(config, SystemClock(), url)
        try:
            await blobs.check()
        finally:
            await blobs.close()
    except FeedmillError as problem:
        return {"name": "raw store", "ok": False, "detail": f"{problem} {problem.hint}".strip()}
    return {"name": "raw store", "ok": True, "detail": f"{url} answers"}


def _raw_probe(services: Services) -> ReadinessCheck:
    """Whether a body could be kept now: a file in the folder, a look at the bucket."""

    async def ask() -> None:
        check = getattr(services.blobs, "check", None)
        if check is not None:
            await check()
            return
        folder = Path(services.config.store.home) / RAW_FOLDER
        try:
            await asyncio.to_thread(doctor.prove_writable, folder)
        except OSError as problem:
            raise blob_error(problem, str(folder)) from problem

    return ask


def _embedding(config: Config, memory: ScreeningCache) -> Screener:
    path = model_files.model_path(_model_dir(config))
    try:
        from feedmill.adapters.screeners.embedding import (  # noqa: PLC0415  # an extra
            EmbeddingScreener,
        )
    except ImportError as problem:
        extra, part = "semantic", "screening by meaning"
        raise MissingExtraError(extra, part) from problem
    model_files.check_model(path, model_files.USE_M)
    return EmbeddingScreener(
        path, memory, bundled_data.reference_texts(), threads=config.screen.threads
    )


def _llm(config: Config, memory: ScreeningCache, stack: AsyncExitStack) -> Screener:
    if not config.screen.llm_url:
        mistake = (
            "there is no language model to ask; set llm_url under [screen], or "
            "FEEDMILL_SCREEN_LLM_URL, to an endpoint like http://127.0.0.1:8080/v1"
        )
        raise ConfigError([mistake])
    clock = SystemClock()
    own = replace(
        config.fetch,
        allow_cidrs=config.screen.llm_allow_cidrs,
        read_timeout_ms=config.screen.llm_timeout_ms,
    )
    fetcher = CurlFetcher(own, clock)
    stack.push_async_callback(fetcher.close)
    return LlmScreener(config.screen, fetcher, clock, memory, key=_llm_key())


def _llm_key() -> str | None:
    """The key from the environment or from the file that it names; never from settings."""
    named = os.environ.get("FEEDMILL_LLM_KEY_FILE")
    key = Path(named).read_text("utf-8") if named else os.environ.get("FEEDMILL_LLM_KEY", "")
    return key.strip() or None


def _model_dir(config: Config) -> Path:
    return Path(config.screen.model_dir or Path(config.store.home) / MODELS_FOLDER)


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
