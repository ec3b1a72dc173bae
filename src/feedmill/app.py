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
from typing import Any, Final, Literal, NamedTuple

from msgspec import json, to_builtins
from msgspec.structs import replace

from feedmill.adapters import settings, surroundings
from feedmill.adapters.blobs.segments import SegmentBlobs
from feedmill.adapters.clock import SystemClock
from feedmill.adapters.http.curl import CurlFetcher
from feedmill.adapters.models import bundled, catalogue
from feedmill.adapters.models.agent import AgentScreener
from feedmill.adapters.models.lexical import LexicalScreener
from feedmill.adapters.models.llm import LlmScreener
from feedmill.adapters.models.memory import ScreenMemory
from feedmill.adapters.store.sqlite import SqliteStore
from feedmill.adapters.taps.ndjson import NdjsonTap
from feedmill.adapters.taps.rawcopies import RawCopies
from feedmill.adapters.taps.stdout import StdoutTap
from feedmill.config import Config
from feedmill.demo.publisher import Publisher
from feedmill.demo.village import Village, about
from feedmill.engine.ports import Clock, Fetcher, Screener, Sink
from feedmill.engine.rawbytes import raw_document
from feedmill.engine.screening import screen as screen_texts
from feedmill.engine.world import World
from feedmill.errors import ConfigError, MissingExtraError, ScreenerError, StoreError
from feedmill.model.event import Event
from feedmill.model.screening import (
    EvaluationSet,
    Judgement,
    Method,
    Screening,
    Text,
    TopicSet,
)
from feedmill.model.standing import StandingMethod
from feedmill.observe import log
from feedmill.publish.lines import cloudevent_line, event_line
from feedmill.schedule.pace import gap_ms

DATABASE: Final = "feedmill.db"
RAW: Final = "raw"
OUT: Final = "out"
MODELS: Final = "models"
SCREENING: Final = "screening.db"
ScreenMethod = Literal["lexical", "embedding", "hybrid", "llm", "agent"]
METHODS: Final[dict[ScreenMethod, tuple[Method, ...]]] = {
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
        judge = _StandingJudge(config, stack)
        yield World(
            clock=clock, fetcher=fetcher, blobs=blobs, store=store, config=config, screen=judge
        )


class _StandingJudge:
    """The screeners of standing screens: made when they are first asked, closed with the world."""

    def __init__(self, config: Config, stack: AsyncExitStack) -> None:
        self._config, self._stack = config, stack
        self._opened: dict[StandingMethod, OpenScreeners] = {}
        self._making = asyncio.Lock()

    async def __call__(
        self, texts: Sequence[Text], topics: TopicSet, method: StandingMethod
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
    asked = METHODS[method]
    warnings: list[str] = []
    async with AsyncExitStack() as stack:
        is_lasting = bool({"embedding", "llm"} & set(asked))
        memory = ScreenMemory(Path(config.store.home) / SCREENING if is_lasting else None)
        stack.push_async_callback(memory.close)
        screeners: list[Screener] = []
        if "lexical" in asked:
            screeners.append(LexicalScreener(bundled.reference()))
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


def now() -> datetime:
    """What time it is, for doors that open no world."""
    return SystemClock().now()


def default_topics() -> TopicSet:
    """The bundled topics of seed 001."""
    return bundled.default_topics()


def background() -> tuple[str, ...]:
    """Sentences about anything else, for topic sets that do not extend the bundled one."""
    return bundled.background()


def evaluation_set(name: EvaluationSet = "sustainability") -> str:
    """A bundled evaluation set, as JSON lines."""
    return bundled.evaluation_set(name)


def models(config: Config) -> tuple[catalogue.InstalledModel, ...]:
    """Every model that feedmill knows, here or not."""
    return catalogue.list_models(_model_dir(config))


async def install_model(config: Config, name: str, source: Path | None = None) -> Path:
    """Fetch, check and keep a model; ScreenerError says why it could not be had."""
    return await catalogue.install_model(_model_dir(config), catalogue.model_named(name), source)


def verify_model(config: Config, name: str) -> None:
    """ScreenerError when a model is missing or is not what it should be."""
    card = catalogue.model_named(name)
    catalogue.check_model(catalogue.model_path(_model_dir(config), card), card)


def remove_model(config: Config, name: str) -> bool:
    """Delete a model; False when it was not there."""
    return catalogue.remove_model(_model_dir(config), catalogue.model_named(name))


def _embedding(config: Config, memory: ScreenMemory) -> Screener:
    path = catalogue.model_path(_model_dir(config))
    try:
        from feedmill.adapters.models.embedding import (  # noqa: PLC0415  # an extra
            EmbeddingScreener,
        )
    except ImportError as problem:
        extra, part = "semantic", "screening by meaning"
        raise MissingExtraError(extra, part) from problem
    catalogue.check_model(path, catalogue.USE_M)
    return EmbeddingScreener(path, memory, bundled.reference(), threads=config.screen.threads)


def _llm(config: Config, memory: ScreenMemory, stack: AsyncExitStack) -> Screener:
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
    return Path(config.screen.model_dir or Path(config.store.home) / MODELS)


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
