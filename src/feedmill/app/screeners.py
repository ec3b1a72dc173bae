"""Screeners with their adapters, their installed models, and the bundled topics and evaluation sets."""
# Tested in tests/integration/interfaces/cli/

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from msgspec.structs import replace

from feedmill.adapters.clock import SystemClock
from feedmill.adapters.http.fetcher import CurlFetcher
from feedmill.adapters.screeners import model_files, without_model
from feedmill.adapters.screeners.cache import ScreeningCache
from feedmill.adapters.screeners.llm import LlmScreener
from feedmill.adapters.screeners.without_model import LexicalScreener
from feedmill.config import Config
from feedmill.engine.ports.feeds import Screener
from feedmill.engine.two_phase.screen import screen_texts
from feedmill.errors import ConfigError, MissingExtraError, ScreenerError, TopicError, needs_extra
from feedmill.model import screening
from feedmill.observe import log
from feedmill.screen.topics import choose_topics, merge_topics, read_topics, with_digest

if TYPE_CHECKING:
    from feedmill.adapters.screeners.encoders import Encoder

default_topics = without_model.default_topics
evaluation_set = without_model.evaluation_set

MODELS_FOLDER: Final = "models"
SCREENING_CACHE_NAME: Final = "screening.db"
ScreenMethod = Literal["lexical", "embedding", "hybrid", "llm"]
SCREEN_METHODS: Final[dict[ScreenMethod, tuple[screening.Method, ...]]] = {
    "lexical": ("lexical",),
    "embedding": ("embedding",),
    "hybrid": ("lexical", "embedding"),
    "llm": ("lexical", "embedding", "llm"),
}


class LiveScreener:
    """The screeners of live screens: opened on first use, closed with the services."""

    def __init__(self, config: Config, stack: AsyncExitStack) -> None:
        self._config, self._stack = config, stack
        self._opened: dict[screening.LiveScreenMethod, OpenScreeners] = {}
        self._making = asyncio.Lock()

    async def __call__(
        self,
        texts: Sequence[screening.ScreenText],
        topics: screening.TopicSet,
        method: screening.LiveScreenMethod,
    ) -> tuple[screening.Screening, ...]:
        """Screen these texts; a missing part makes the result degraded."""
        async with self._making:
            if method not in self._opened:
                opening = open_screeners(self._config, method)
                self._opened[method] = await self._stack.enter_async_context(opening)
                for warning in self._opened[method].warnings:
                    log.logger("standing").warning("new entries are held", reason=warning)
        opened = self._opened[method]
        return await screen_texts(
            texts, topics, opened.screeners, self._config.screen, asked=opened.asked
        )


class OpenScreeners(NamedTuple):
    """The available screeners, the requested methods, and warnings about missing ones."""

    screeners: tuple[Screener, ...]
    asked: tuple[screening.Method, ...]
    warnings: tuple[str, ...]


@asynccontextmanager
async def open_screeners(
    config: Config, method: ScreenMethod = "hybrid"
) -> AsyncIterator[OpenScreeners]:
    """Open the screeners of a method; without the embedding model hybrid and llm are degraded."""
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
            screeners.append(LexicalScreener(without_model.reference_texts()))
        if "embedding" in asked:
            try:
                screeners.append(await _embedding(config, memory, stack))
            except (MissingExtraError, ScreenerError) as problem:
                if method == "embedding":
                    raise
                warnings.append(f"screening without embeddings: {problem}; {problem.hint}")
        if "llm" in asked:
            screeners.append(_llm(config, memory, stack))
        for screener in screeners:
            stack.push_async_callback(screener.close)
        yield OpenScreeners(tuple(screeners), asked, tuple(warnings))


def load_topics(path: Path | None, names: Sequence[str]) -> screening.TopicSet:
    """The topics with these names: the bundled ones, extended by those of a file."""
    topics = default_topics()
    if path is not None:
        topics = merge_topics(topics, read_topic_file(path))
    return choose_topics(topics, names)


def read_topic_file(path: Path) -> screening.TopicSet:
    """The topics of a file; TopicError when it is no text, or has mistakes."""
    try:
        return read_topics(path.read_text("utf-8-sig"))
    except UnicodeDecodeError as problem:
        raise TopicError([f"{path} is not UTF-8 text"]) from problem


def with_background(own: screening.TopicSet) -> screening.TopicSet:
    """Topics of a file alone, with the background texts of the bundled ones."""
    known = without_model.bundled_background()
    return with_digest(replace(own, background=(*known, *own.background)))


def installed_models(config: Config) -> tuple[model_files.InstalledModel, ...]:
    """Every known model, installed or not."""
    return model_files.list_models(model_folder(config))


async def install_model(config: Config, name: str, source: Path | None = None) -> Path:
    """Download, verify and store a model; ScreenerError when that fails."""
    return await model_files.install_model(
        model_folder(config), model_files.model_named(name), source
    )


def verify_model(config: Config, name: str) -> None:
    """ScreenerError when a model is missing or damaged."""
    card = model_files.model_named(name)
    model_files.check_model(model_files.model_path(model_folder(config), card), card)


def remove_model(config: Config, name: str) -> bool:
    """Delete a model; False when it was not installed."""
    return model_files.remove_model(model_folder(config), model_files.model_named(name))


def model_folder(config: Config) -> Path:
    return Path(config.screen.model_dir or Path(config.store.home) / MODELS_FOLDER)


async def _embedding(config: Config, memory: ScreeningCache, stack: AsyncExitStack) -> Screener:
    with needs_extra("semantic", "embedding-based screening"):
        from feedmill.adapters.screeners.embedding import EmbeddingScreener  # noqa: PLC0415  # an extra
    encoder = await _encoder(config, stack)
    return EmbeddingScreener(
        encoder, memory, without_model.reference_texts(), without_model.general_subjects()
    )


async def _encoder(config: Config, stack: AsyncExitStack) -> "Encoder":
    """The encoder of the settings: the bundled card, an ONNX file by path or URL, or an endpoint."""
    from feedmill.adapters.screeners import encoders  # noqa: PLC0415  # an extra

    screen = config.screen
    if screen.embeddings_url:
        return encoders.EndpointEncoder(screen, _model_fetcher(config, stack), key=_llm_key())
    if screen.encoder == model_files.USE_M.id:
        path = model_files.model_path(model_folder(config))
        await asyncio.to_thread(model_files.check_model, path, model_files.USE_M)
        known = frozenset(model_files.USE_M.languages)
        return encoders.OnnxEncoder(model_files.USE_M.id, path, known, screen.threads)
    if not screen.encoder_sha256:
        mistake = "[screen] encoder_sha256: the hash of the encoder's file is needed"
        raise ConfigError([mistake])
    path = await model_files.encoder_file(
        model_folder(config), screen.encoder, screen.encoder_sha256, _model_fetcher(config, stack)
    )
    read = frozenset(screen.encoder_languages)
    return encoders.OnnxEncoder(screen.encoder_sha256, path, read, screen.threads)


def _llm(config: Config, memory: ScreeningCache, stack: AsyncExitStack) -> Screener:
    if not config.screen.llm_url:
        mistake = (
            "no language model is configured; set llm_url under [screen], or "
            "FEEDMILL_SCREEN_LLM_URL, to an endpoint like http://127.0.0.1:8080/v1"
        )
        raise ConfigError([mistake])
    fetcher = _model_fetcher(config, stack)
    return LlmScreener(config.screen, fetcher, SystemClock(), memory, key=_llm_key())


def _model_fetcher(config: Config, stack: AsyncExitStack) -> CurlFetcher:
    """A fetcher for the endpoints of models, which may lie in private networks of the settings."""
    own = replace(
        config.fetch,
        allow_cidrs=config.screen.llm_allow_cidrs,
        read_timeout_ms=config.screen.llm_timeout_ms,
    )
    fetcher = CurlFetcher(own, SystemClock())
    stack.push_async_callback(fetcher.close)
    return fetcher


def _llm_key() -> str | None:
    """The API key from the environment or the file it names; never from the settings file."""
    named = os.environ.get("FEEDMILL_LLM_KEY_FILE")
    key = Path(named).read_text("utf-8") if named else os.environ.get("FEEDMILL_LLM_KEY", "")
    return key.strip() or None
