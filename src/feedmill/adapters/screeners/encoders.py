"""Sentence encoders: ONNX models on this machine's CPU, and an OpenAI-compatible embeddings endpoint.

`use-m` (USE-multilingual-v3, int8) is installed by `feedmill models install`. Any other ONNX sentence encoder is
given by path or URL with its hash: one that reads text itself (tensor of strings), or one that reads
tokens, with its `tokenizer.json` beside it. WordPiece (BERT and its children) is read here; the other kinds by onnxruntime-extensions, which needs
`tokenizer_config.json` too.
"""
# Tested in tests/integration/adapters/screeners/test_encoders.py

import asyncio
import os
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import Any, Final, Protocol

import msgspec
import numpy as np

from feedmill.config import ScreenConfig
from feedmill.engine.ports.io import Fetcher
from feedmill.errors import ScreenerError, needs_extra
from feedmill.model.base import Value
from feedmill.model.fetch import FetchLimits, Post

Matrix = np.ndarray[Any, np.dtype[np.float32]]

_BATCH: Final = 16
_ENDPOINT_BATCH: Final = 64
_ANSWER_BYTES: Final = 32 * 1024 * 1024

Ids = np.ndarray[Any, np.dtype[np.int64]]

_MAX_TOKENS: Final = 256
_LONGEST_WORD: Final = 100
_CJK: Final = r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002fa1f"
_MARKS: Final = r"!-/:-@\[-`{-~\u00a1\u00a7\u00ab\u00b6\u00b7\u00bb\u00bf\u2010-\u2027\u2030-\u205e\u3001-\u3003\u3008-\u3011\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65"
_PIECE: Final = re.compile(rf"[{_CJK}{_MARKS}]|[^\s{_CJK}{_MARKS}]+")


class Encoder(Protocol):
    """Makes vectors of texts; `id` names the exact model, `languages` what it reads (empty: all)."""

    id: str
    languages: frozenset[str]

    async def encode(self, passages: Sequence[str]) -> Matrix: ...
    async def close(self) -> None: ...


class OnnxEncoder:
    """An ONNX model; loaded on first use. The file's hash was checked before."""

    def __init__(self, model_id: str, path: Path, languages: frozenset[str], threads: int) -> None:
        self._runtime, self._operators = _runtime()
        self.id, self.languages = model_id, languages
        self._path, self._threads = path, threads or os.cpu_count() or 1
        self._session: Any = None

    async def encode(self, passages: Sequence[str]) -> Matrix:
        """One row for each passage."""
        if self._session is None:
            self._session = await asyncio.to_thread(self._load)
        return await asyncio.to_thread(self._encode, passages)

    async def close(self) -> None:
        """Give the model's memory back."""
        self._session = None

    def _encode(self, passages: Sequence[str]) -> Matrix:
        # Texts of one length together: a batch costs as much as its longest text.
        order = sorted(range(len(passages)), key=lambda at: len(passages[at]))
        batches = [order[start : start + _BATCH] for start in range(0, len(order), _BATCH)]
        # Batches side by side: the runtime's own threads burn twice the CPU for the same work.
        with ThreadPoolExecutor(self._threads) as pool:
            try:
                runs = pool.map(lambda some: self._run([passages[at] for at in some]), batches)
                found = list(runs)
            except Exception as problem:  # onnxruntime raises types of its own for every fault
                message = f"{self._path} cannot be run: {problem}"
                raise ScreenerError(message, reason="model-damaged") from problem
        rows = checked_vectors(found, len(passages), str(self._path), "model-damaged")
        matrix = np.empty_like(rows)
        matrix[order] = rows
        return matrix

    def _run(self, batch: Sequence[str]) -> Matrix:
        inputs = self._session.get_inputs()
        if inputs[0].type == "tensor(string)":
            out: Matrix = self._session.run(None, {inputs[0].name: list(batch)})[0]
            return out
        ids, mask = self._tokens.encode(batch)
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(mask)}
        names = {one.name for one in inputs}
        out = self._session.run(None, {name: given[name] for name in given if name in names})[0]
        if out.ndim == 2:
            return out
        weights = mask[:, :, None].astype(np.float32)  # tokens instead of a sentence: their mean
        pooled: Matrix = (out * weights).sum(axis=1) / np.maximum(weights.sum(axis=1), 1)
        return pooled

    def _load(self) -> Any:  # noqa: ANN401  # onnxruntime has no types
        options = self._runtime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        options.register_custom_ops_library(self._operators.get_library_path())
        try:
            session = self._runtime.InferenceSession(
                str(self._path), options, providers=["CPUExecutionProvider"]
            )
        except Exception as problem:  # onnxruntime raises types of its own for every fault
            message = f"{self._path} cannot be loaded: {problem}"
            raise ScreenerError(message, reason="model-damaged") from problem
        if session.get_inputs()[0].type != "tensor(string)":
            self._tokens = TokenReader(self._path.with_name("tokenizer.json"))
        return session


class EndpointEncoder:
    """Vectors from an OpenAI-compatible endpoint; its requests pass the same guard as every other (D27)."""

    def __init__(self, config: ScreenConfig, fetcher: Fetcher, *, key: str | None) -> None:
        self.id = f"{config.embeddings_url} {config.embeddings_model}"
        self.languages = frozenset(config.encoder_languages)
        self._config, self._fetcher, self._key = config, fetcher, key

    async def encode(self, passages: Sequence[str]) -> Matrix:
        """One row for each passage; ScreenerError when the endpoint does not answer with vectors."""
        parts = [
            await self._ask(passages[start : start + _ENDPOINT_BATCH])
            for start in range(0, len(passages), _ENDPOINT_BATCH)
        ]
        return checked_vectors(parts, len(passages), self.id, "embeddings-unavailable")

    async def close(self) -> None:
        """Nothing is held; the fetcher belongs to the caller."""

    async def _ask(self, passages: Sequence[str]) -> Matrix:
        headers = [("Content-Type", "application/json")]
        if self._key:
            headers.append(("Authorization", f"Bearer {self._key}"))
        body = {"model": self._config.embeddings_model, "input": list(passages)}
        response = await self._fetcher.post(
            Post(
                url=f"{(self._config.embeddings_url or '').rstrip('/')}/embeddings",
                headers=tuple(headers),
                body=msgspec.json.encode(body),
                limits=FetchLimits(
                    timeout_ms=self._config.llm_timeout_ms,
                    max_body_bytes=_ANSWER_BYTES,
                    max_wire_bytes=_ANSWER_BYTES,
                ),
            )
        )
        try:
            answer = msgspec.json.decode(response.body, type=_Answer)
            rows = [one.embedding for one in sorted(answer.data, key=lambda one: one.index)]
            matrix = np.array(rows, dtype=np.float64)
        except (msgspec.DecodeError, ValueError) as problem:
            raise _no_vectors(response.status, response.error or str(problem)) from None
        return checked_vectors([matrix], len(passages), self.id, "embeddings-unavailable")


def checked_vectors(
    parts: Sequence[np.ndarray[Any, Any]], count: int, source: str, reason: str
) -> Matrix:
    """The parts as one matrix of `count` finite rows; ScreenerError where they are anything else."""
    shapes = sorted({part.shape[1:] for part in parts})
    if len(shapes) != 1 or len(shapes[0]) != 1 or not shapes[0][0]:
        message = f"{source} gives no sentence vectors of one length: {shapes}"
        raise ScreenerError(message, reason=reason)
    with np.errstate(over="ignore"):  # what is too large becomes infinite, and is refused below
        matrix: Matrix = np.concatenate(parts).astype(np.float32)
    if len(matrix) != count:
        message = f"{source} gave {len(matrix)} vectors for {count} texts"
        raise ScreenerError(message, reason=reason)
    if not np.isfinite(matrix).all():
        message = f"{source} gave vectors with numbers that are not finite"
        raise ScreenerError(message, reason=reason)
    return matrix


class _Row(Value):
    embedding: list[float]
    index: int = 0


class _Answer(Value):
    data: list[_Row]


def _runtime() -> tuple[Any, Any]:
    with needs_extra("semantic", "embedding-based screening"):
        return import_module("onnxruntime"), import_module("onnxruntime_extensions")


def _no_vectors(status: int | None, detail: str) -> ScreenerError:
    message = f"the embeddings endpoint gave no vectors (status {status}: {detail[:200]})"
    return ScreenerError(message, reason="embeddings-unavailable")


class TokenReader:
    """Makes token ids of texts; ScreenerError for a file that is missing or cannot be read."""

    def __init__(self, path: Path) -> None:
        if not path.is_file():
            message = f"this model reads tokens: {path} is missing"
            raise ScreenerError(message, reason="model-missing")
        try:
            self._read(msgspec.json.decode(path.read_bytes()), path)
        except (msgspec.DecodeError, KeyError, TypeError, RuntimeError) as problem:
            message = f"{path} cannot be read as a tokenizer: {problem}"
            raise ScreenerError(message, reason="model-damaged") from problem

    def encode(self, texts: Sequence[str]) -> tuple[Ids, Ids]:
        """Ids and their mask, one row for each text, filled up to the longest."""
        rows = [self._row(text) for text in texts]
        width = max(map(len, rows))
        ids = np.full((len(rows), width), self._pad, np.int64)
        mask = np.zeros_like(ids)
        for at, row in enumerate(rows):
            ids[at, : len(row)] = row
            mask[at, : len(row)] = 1
        return ids, mask

    def _read(self, file: Mapping[str, Any], path: Path) -> None:
        model = file["model"]
        self._before, self._after = _special_ids(file.get("post_processor") or {})
        added = {one["content"]: one["id"] for one in file.get("added_tokens") or ()}
        self._pad = next((added[name] for name in ("[PAD]", "<pad>") if name in added), 0)
        self._other: Any = None
        if model.get("type") == "WordPiece":
            self._vocabulary: dict[str, int] = model["vocab"]
            self._unknown: int = self._vocabulary[model.get("unk_token", "[UNK]")]
            normalizer = file.get("normalizer") or {}
            self._lower = bool(normalizer.get("lowercase", True))
            accents = normalizer.get("strip_accents")
            self._strip = self._lower if accents is None else bool(accents)
        else:
            self._other = import_module("onnxruntime_extensions.pp_api").Tokenizer(str(path.parent))

    def _row(self, text: str) -> list[int]:
        room = _MAX_TOKENS - len(self._before) - len(self._after)
        if self._other is None:
            found = [one for word in self._words(text) for one in self._pieces(word)]
        else:
            found = list(self._other.tokenize([text])[0])
        return [*self._before, *found[:room], *self._after]

    def _words(self, text: str) -> list[str]:
        text = text.lower() if self._lower else text
        if self._strip:
            parts = unicodedata.normalize("NFD", text)
            text = "".join(char for char in parts if unicodedata.category(char) != "Mn")
        return _PIECE.findall(text)

    def _pieces(self, word: str) -> Iterator[int]:
        """The longest known beginning, again and again; a word that does not come out even is unknown."""
        found: list[int] = []
        start = 0
        while start < len(word) <= _LONGEST_WORD:
            prefix = "##" if start else ""
            for end in range(len(word), start, -1):
                known = self._vocabulary.get(prefix + word[start:end])
                if known is not None:
                    found.append(known)
                    start = end
                    break
            else:
                break
        return iter(found if start == len(word) else (self._unknown,))


def _special_ids(processor: Mapping[str, Any]) -> tuple[list[int], list[int]]:
    """What stands before and after every text, such as [CLS] and [SEP]."""
    if "cls" in processor:  # BertProcessing, RobertaProcessing
        return [processor["cls"][1]], [processor["sep"][1]]
    sides: tuple[list[int], list[int]] = ([], [])
    at = 0
    for step in processor.get("single", ()):
        if "Sequence" in step:
            at = 1
        else:
            sides[at].extend(processor["special_tokens"][step["SpecialToken"]["id"]]["ids"])
    return sides
