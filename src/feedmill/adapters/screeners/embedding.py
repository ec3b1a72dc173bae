"""Embedding screener: nearness in meaning to the sentences of topics, by any sentence encoder.

Vectors are kept as float16 by model and text, so that a window that is screened again costs nothing.
Needs numpy, which the extra `semantic` brings.
"""

import asyncio
from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Any, Final, NamedTuple

import numpy as np
from msgspec.structs import replace

from feedmill.adapters.screeners.cache import ScreeningCache
from feedmill.adapters.screeners.encoders import Encoder, Matrix, checked_vectors
from feedmill.model.base import Value
from feedmill.model.screening import Method, Score, ScreenText, Topic, TopicSet
from feedmill.screen.calibration import EMBEDDING, Scale, probability, scales_of, z_score
from feedmill.screen.fusion import (
    BACKGROUND_NEAREST,
    BACKGROUND_SHARE,
    THIN,
    description_sentences,
    example_sentences,
    thin_margin,
    thin_scale,
)
from feedmill.screen.language import TextScript, joined_text, language_of, script_of
from feedmill.screen.topics import known_share

_MAX_CHARS: Final = 1_000
_POWER_ROUNDS: Final = 100

Span = tuple[int, int]


class _Place(NamedTuple):
    """Where the sentences of one topic are in the matrix, and how much of its own scale counts."""

    described: Span
    own: Span
    examples: Span
    against: Span
    known: float


class _Prepared(Value):
    """A topic set as vectors: one matrix of all sentences, and where each topic's are."""

    sentences: Matrix
    common: Matrix  # see `_centred`
    places: dict[str, _Place]
    background: Span
    general: Span  # background, subjects and ordinary entries
    scales: dict[tuple[TextScript, str], Scale]
    thin: Scale


class _Raw(NamedTuple):
    rich: float
    thin: float


class EmbeddingScreener:
    """The `Screener` by sentence vectors; made for one event loop, closed by its creator."""

    name: Method = "embedding"
    failure = ""

    def __init__(
        self,
        encoder: Encoder,
        memory: ScreeningCache,
        reference: Sequence[ScreenText],
        subjects: Sequence[str],
    ) -> None:
        self._encoder = encoder
        self._memory = memory
        self._reference = tuple(reference)
        self._subjects = tuple(subjects)
        self._prepared: dict[str, _Prepared] = {}

    async def score(self, texts: Sequence[ScreenText], topics: TopicSet) -> tuple[Score, ...]:
        """How much nearer each text is to a topic than to anything else.

        A text in a language that the encoder does not read has no score.
        """
        readable = [text for text in texts if self._can_read(text)]
        if not readable:
            return ()
        prepared = self._prepared.get(topics.version) or await self._prepare(topics)
        vectors = await self._vectors([joined_text(text) for text in readable])
        self._checked([vectors, prepared.common])
        vectors = _centred(vectors, prepared.common)
        return await asyncio.to_thread(self._scores, readable, vectors, prepared)

    async def close(self) -> None:
        """Give the encoder's memory back."""
        await self._encoder.close()

    def _can_read(self, text: ScreenText) -> bool:
        language = language_of(joined_text(text)) if self._encoder.languages else ""
        return not language or language in self._encoder.languages

    async def _prepare(self, topics: TopicSet) -> _Prepared:
        passages: list[str] = []

        def put(sentences: Sequence[str]) -> Span:
            passages.extend(sentences)
            return (len(passages) - len(sentences), len(passages))

        def place(topic: Topic) -> _Place:
            return _Place(
                described=put(description_sentences(topic)),
                own=put(example_sentences(topic)),
                examples=put(topic.examples),
                against=put(topic.not_examples),
                known=known_share(topic),
            )

        places = {topic.id: place(topic) for topic in (*topics.topics, *topics.rivals)}
        against = put([s for one in (*topics.topics, *topics.rivals) for s in one.not_examples])
        ordinary = put(topics.background)
        subjects = put(self._subjects)
        population = [joined_text(text) for text in self._reference]
        entries = put(population)
        vectors = await self._vectors(passages)
        common = _common_part(vectors[ordinary[0] : entries[1]])
        sentences = _centred(vectors, common)
        bare = _Prepared(
            sentences=sentences,
            common=common,
            places=places,
            background=(against[0], ordinary[1]),
            general=(ordinary[0], entries[1]),
            scales={},
            thin=THIN,
        )
        rows = _raws(sentences[slice(*entries)], bare)
        raws = [{name: raw.rich for name, raw in row.items()} for row in rows]
        cosines = sentences[slice(*entries)] @ sentences[slice(*subjects)].T
        prepared = replace(
            bare,
            scales=scales_of(list(zip(map(script_of, population), raws, strict=True))),
            thin=thin_scale(cosines.ravel().tolist()),
        )
        self._prepared[topics.version] = prepared
        return prepared

    async def _vectors(self, passages: Sequence[str]) -> Matrix:
        """One row of length one for each passage, remembered ones first."""
        cut = [passage[:_MAX_CHARS] for passage in passages]
        keys = [sha256(passage.encode()).hexdigest() for passage in cut]
        known = await self._memory.get_many(self._encoder.id, keys)
        todo = {key: passage for key, passage in zip(keys, cut, strict=True) if key not in known}
        if todo:
            packed = _unit(await self._encoder.encode(list(todo.values()))).astype(np.float16)
            fresh = {key: row.tobytes() for key, row in zip(todo, packed, strict=True)}
            await self._memory.put_many(self._encoder.id, fresh)
            known |= fresh
        return self._checked([np.frombuffer(known[key], np.float16)[None] for key in keys])

    def _checked(self, parts: Sequence[np.ndarray[Any, Any]]) -> Matrix:
        """One matrix. An endpoint may change its model behind the same name: then remembered vectors do not fit."""
        count = sum(map(len, parts))
        return checked_vectors(parts, count, self._encoder.id, "embeddings-unavailable")

    def _scores(
        self, texts: Sequence[ScreenText], vectors: Matrix, prepared: _Prepared
    ) -> tuple[Score, ...]:
        found: list[Score] = []
        for text, raws in zip(texts, _raws(vectors, prepared), strict=True):
            script = script_of(joined_text(text))
            for topic, raw in raws.items():
                known = prepared.places[topic].known
                z = known * z_score(raw.rich, prepared.scales[script, topic])
                z += (1 - known) * z_score(raw.thin, prepared.thin)
                found.append(
                    Score(
                        ref=text.ref,
                        topic=topic,
                        method="embedding",
                        score=probability({"embedding": z}, EMBEDDING),
                        raw=raw.rich if known >= 1 else raw.thin,
                        z=z,
                        reason="nearness in meaning to the topic",
                        model_id=self._encoder.id,
                    )
                )
        return tuple(found)


def _common_part(vectors: Matrix) -> Matrix:
    """What texts about anything have in common: their mean, and the direction in which they differ most.

    That direction is the language: without it, a text is not near to a topic for being written in its language.
    """
    mean = vectors.mean(axis=0, keepdims=True)
    moved = vectors - mean
    widest = moved[:1]
    for _ in range(_POWER_ROUNDS):  # power iteration: a hundredth of the cost of all directions
        widest = _unit(widest @ moved.T @ moved)
    return np.concatenate([mean, widest])


def _centred(vectors: Matrix, common: Matrix) -> Matrix:
    """Vectors of length one without the common part."""
    mean, widest = common
    moved = vectors - mean
    return _unit(moved - np.outer(moved @ widest, widest))


def _unit(vectors: Matrix) -> Matrix:
    found: Matrix = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    return found


def _raws(vectors: Matrix, prepared: _Prepared) -> Iterator[dict[str, _Raw]]:
    cosines: Matrix = vectors @ prepared.sentences.T
    ordinary = {
        topic: _nearest_other(cosines, place.described, prepared)
        for topic, place in prepared.places.items()
        if place.known < 1
    }
    background = _mean_of_best(cosines[:, slice(*prepared.background)], BACKGROUND_NEAREST)
    rich = {
        topic: (
            _mean_of_best(cosines[:, slice(*own)], (own[1] - own[0] + 1) // 2)
            - BACKGROUND_SHARE * background
        ).tolist()
        for topic, (_, own, _, _, _) in prepared.places.items()
    }
    rows = cosines.tolist() if ordinary else [()] * len(cosines)
    for at, row in enumerate(rows):
        yield {
            topic: _Raw(
                rich=rich[topic][at],
                thin=_thin(row, place, ordinary[topic][at]) if topic in ordinary else 0.0,
            )
            for topic, place in prepared.places.items()
        }


def _mean_of_best(cosines: Matrix, count: int) -> Matrix:
    """The mean over the nearest sentences of each text; 0 where there are no sentences."""
    count = min(count, cosines.shape[1])
    if not count:
        return np.zeros(len(cosines), np.float32)
    found: Matrix = np.partition(cosines, -count, axis=1)[:, -count:].mean(axis=1)
    return found


def _nearest_other(cosines: Matrix, described: Span, prepared: _Prepared) -> list[float]:
    """How near each text is to the nearest general sentence, in what that does not share with the topic.

    "Photography and cameras" says nothing against a topic about photographs of animals.
    """
    general = prepared.sentences[slice(*prepared.general)]
    shared = np.maximum(0, (prepared.sentences[slice(*described)] @ general.T).mean(axis=0))
    near = cosines[:, slice(*described)].mean(axis=1)
    rest = cosines[:, slice(*prepared.general)] - np.outer(near, shared)
    found: list[float] = rest.max(axis=1).tolist()
    return found


def _thin(row: Sequence[float], place: _Place, ordinary: float) -> float:
    return thin_margin(
        row[slice(*place.described)],
        row[slice(*place.examples)],
        row[slice(*place.against)],
        ordinary,
    )
