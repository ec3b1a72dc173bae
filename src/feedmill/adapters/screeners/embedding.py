"""Embedding screener: a multilingual sentence encoder on this machine's CPU.

USE-multilingual-v3, int8, as ONNX; installed by `feedmill models install` (see catalogue.py).
Needs the extra `semantic`. Vectors are kept as float16 by model and text, so that a window that
is screened again costs nothing.
"""

import asyncio
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import numpy as np
import onnxruntime
import onnxruntime_extensions

from feedmill.adapters.screeners.cache import ScreeningCache
from feedmill.adapters.screeners.model_files import USE_M, check_model
from feedmill.errors import ScreenerError
from feedmill.model.base import Value
from feedmill.model.screening import Method, Score, ScreenText, TopicSet
from feedmill.screen.calibration import EMBEDDING, PLACES, Scale, probability, scales_of, z_score
from feedmill.screen.embedding_scores import (
    background_sentences,
    background_similarity,
    example_sentences,
    margin,
)
from feedmill.screen.texts import TextScript, joined_text, script_of

_BATCH: Final = 16
_MAX_CHARS: Final = 1_000

Matrix = np.ndarray[Any, np.dtype[np.float32]]


class _Prepared(Value):
    """A topic set as vectors: one matrix of all sentences, and where each topic's are."""

    sentences: Matrix
    places: dict[str, tuple[int, int]]
    background: tuple[int, int]
    scales: dict[tuple[TextScript, str], Scale]


class EmbeddingScreener:
    """The `Screener` by sentence vectors; made for one event loop, closed by its creator."""

    name: Method = "embedding"
    failure = ""

    def __init__(
        self,
        model: Path,
        memory: ScreeningCache,
        reference: Sequence[ScreenText],
        *,
        threads: int = 0,
    ) -> None:
        self._model = model
        self._memory = memory
        self._reference = tuple(reference)
        self._threads = threads
        self._session: Any = None
        self._prepared: dict[str, _Prepared] = {}

    async def score(self, texts: Sequence[ScreenText], topics: TopicSet) -> tuple[Score, ...]:
        """How much nearer each text is to a topic's examples than to anything else."""
        if not texts:
            return ()
        if self._session is None:
            self._session = await asyncio.to_thread(self._load)
        prepared = self._prepared.get(topics.version) or await self._prepare(topics)
        vectors = await self._vectors([joined_text(text) for text in texts])
        return await asyncio.to_thread(_scores, texts, vectors, prepared)

    async def close(self) -> None:
        """Give the model's memory back."""
        self._session = None

    async def _prepare(self, topics: TopicSet) -> _Prepared:
        passages: list[str] = []
        places: dict[str, tuple[int, int]] = {}
        for topic in topics.topics:
            sentences = example_sentences(topic)
            places[topic.id] = (len(passages), len(passages) + len(sentences))
            passages += sentences
        background = (len(passages), len(passages) + len(background_sentences(topics)))
        passages += background_sentences(topics)
        bare = _Prepared(
            sentences=await self._vectors(passages),
            places=places,
            background=background,
            scales={},
        )
        population = [joined_text(text) for text in self._reference]
        raws = _raws(await self._vectors(population), bare)
        scripts = map(script_of, population)
        scales = scales_of(list(zip(scripts, raws, strict=True)))
        prepared = _Prepared(
            sentences=bare.sentences, places=places, background=background, scales=scales
        )
        self._prepared[topics.version] = prepared
        return prepared

    async def _vectors(self, passages: Sequence[str]) -> Matrix:
        """One row of length one for each passage, remembered ones first."""
        cut = [passage[:_MAX_CHARS] for passage in passages]
        keys = [sha256(passage.encode()).hexdigest() for passage in cut]
        known = await self._memory.get_many(USE_M.id, keys)
        todo = {key: passage for key, passage in zip(keys, cut, strict=True) if key not in known}
        fresh = await asyncio.to_thread(self._encode, todo)
        if fresh:
            await self._memory.put_many(USE_M.id, fresh)
        rows = [np.frombuffer((known | fresh)[key], dtype=np.float16) for key in keys]
        matrix: Matrix = np.stack(rows).astype(np.float32)
        return matrix

    def _encode(self, passages: dict[str, str]) -> dict[str, bytes]:
        # Texts of one length together: a batch costs as much as its longest text.
        ordered = sorted(passages.items(), key=lambda item: len(item[1]))
        batches = [ordered[start : start + _BATCH] for start in range(0, len(ordered), _BATCH)]
        # Batches side by side: the runtime's own threads burn twice the CPU for the same work.
        with ThreadPoolExecutor(self._threads or os.cpu_count() or 1) as pool:
            return {key: row for rows in pool.map(self._run, batches) for key, row in rows}

    def _run(self, batch: Sequence[tuple[str, str]]) -> list[tuple[str, bytes]]:
        out = self._session.run(None, {"inputs": [passage for _, passage in batch]})[0]
        norms = np.maximum(np.linalg.norm(out, axis=1, keepdims=True), 1e-9)
        rows = (out / norms).astype(np.float16)
        return [(key, row.tobytes()) for (key, _), row in zip(batch, rows, strict=True)]

    def _load(self) -> Any:  # noqa: ANN401  # onnxruntime has no types
        check_model(self._model, USE_M)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        options.register_custom_ops_library(onnxruntime_extensions.get_library_path())
        try:
            return onnxruntime.InferenceSession(
                str(self._model), options, providers=["CPUExecutionProvider"]
            )
        except Exception as problem:  # onnxruntime raises types of its own for every fault
            message = f"{self._model} cannot be loaded: {problem}"
            raise ScreenerError(message, reason="model-damaged") from problem


def _scores(texts: Sequence[ScreenText], vectors: Matrix, prepared: _Prepared) -> tuple[Score, ...]:
    found: list[Score] = []
    for text, raws in zip(texts, _raws(vectors, prepared), strict=True):
        script = script_of(joined_text(text))
        for topic, raw in raws.items():
            z = round(z_score(raw, prepared.scales[script, topic]), PLACES)
            found.append(
                Score(
                    ref=text.ref,
                    topic=topic,
                    method="embedding",
                    score=round(probability({"embedding": z}, EMBEDDING), PLACES),
                    raw=round(raw, PLACES),
                    z=z,
                    reason="nearness in meaning to the examples",
                    model_id=USE_M.id,
                )
            )
    return tuple(found)


def _raws(vectors: Matrix, prepared: _Prepared) -> list[dict[str, float]]:
    cosines: list[list[float]] = (vectors @ prepared.sentences.T).tolist()
    first, last = prepared.background
    found: list[dict[str, float]] = []
    for row in cosines:
        ordinary = background_similarity(row[first:last])
        found.append(
            {
                topic: margin(row[start:end], ordinary)
                for topic, (start, end) in prepared.places.items()
            }
        )
    return found
