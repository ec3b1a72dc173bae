"""Encoders: an embeddings endpoint that behaves and does not, and files that are not what they claim."""

import asyncio
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.support.llm_endpoint import Answer, playing

from feedmill.adapters.screeners.encoders import OnnxEncoder
from feedmill.adapters.screeners.model_files import encoder_file
from feedmill.app.screeners import open_screeners
from feedmill.config import Config, ScreenConfig, StoreConfig
from feedmill.errors import ConfigError, ScreenerError
from feedmill.model.screening import Score, ScreenText, Topic, TopicSet
from feedmill.screen.topics import with_digest

TOPICS = with_digest(
    TopicSet(name="t", topics=(Topic(id="bees", name="bees", description="bees and honey"),))
)


def vectors(body: dict[str, Any], _: int) -> Answer:
    """Texts with bees point one way, all others another; answered in the wrong order."""
    rows = [
        {"index": at, "embedding": [1.0, 0.1] if "bees" in text else [0.1, 1.0]}
        for at, text in enumerate(body["input"])
    ]
    return 200, {}, json.dumps({"data": rows[::-1]}).encode()


def scores_of(home: Path, play: Any, **more: Any) -> tuple[Score, ...]:
    async def story() -> tuple[Score, ...]:
        async with playing(play) as endpoint:
            screen = ScreenConfig(
                embeddings_url=endpoint.url, embeddings_model="m", llm_allow_cidrs=("127.0.0.0/8",)
            )
            config = Config(store=StoreConfig(home=str(home)), screen=replace(screen, **more))
            async with open_screeners(config, "embedding") as opened:
                texts = [
                    ScreenText(ref=1, title="bees"),
                    ScreenText(ref=2, title="Rates and the bank"),
                ]
                return await opened.screeners[0].score(texts, TOPICS)

    return asyncio.run(story())


def test_an_endpoint_gives_vectors_in_the_order_of_the_texts(tmp_path: Path) -> None:
    bees, bank = scores_of(tmp_path, vectors)

    assert bees.z > bank.z
    assert bees.model_id.endswith("/v1 m")


def test_a_language_that_the_encoder_does_not_read_is_not_voted_on(tmp_path: Path) -> None:
    found = scores_of(tmp_path, vectors, encoder_languages=("de",))

    assert [one.ref for one in found] == [1]  # the other is English


@pytest.mark.parametrize(
    "answer",
    [
        (500, {}, b"{}"),
        (200, {}, b"no json"),
        (200, {}, b'{"data": []}'),
        (200, {}, b'{"data": [{"embedding": [1.0]}]}'),
    ],
)
def test_an_endpoint_without_vectors_is_an_error_with_a_reason(
    tmp_path: Path, answer: Answer
) -> None:
    with pytest.raises(ScreenerError) as caught:
        scores_of(tmp_path, lambda _body, _number: answer)

    assert caught.value.reason == "embeddings-unavailable"


def test_an_encoder_by_path_needs_its_hash(tmp_path: Path) -> None:
    screen = ScreenConfig(encoder=str(tmp_path / "x.onnx"))

    async def story() -> None:
        config = Config(store=StoreConfig(home=str(tmp_path)), screen=screen)
        async with open_screeners(config, "embedding"):
            pass

    with pytest.raises(ConfigError, match="encoder_sha256"):
        asyncio.run(story())


class NoFetcher:
    """Nothing is fetched for a path."""


@pytest.mark.parametrize(
    ("content", "reason"), [(None, "model-missing"), (b"other", "model-damaged")]
)
def test_a_file_that_is_missing_or_another_is_not_loaded(
    tmp_path: Path, content: bytes | None, reason: str
) -> None:
    path = tmp_path / "x.onnx"
    if content is not None:
        path.write_bytes(content)

    with pytest.raises(ScreenerError) as caught:
        asyncio.run(encoder_file(tmp_path, str(path), "0" * 64, NoFetcher()))  # type: ignore[arg-type]  # never called

    assert caught.value.reason == reason


def test_a_file_with_the_right_hash_that_is_no_model_says_so(tmp_path: Path) -> None:
    path = tmp_path / "x.onnx"
    path.write_bytes(b"no model")
    digest = hashlib.sha256(b"no model").hexdigest()

    found = asyncio.run(encoder_file(tmp_path, str(path), digest.upper(), NoFetcher()))  # type: ignore[arg-type]  # never called
    with pytest.raises(ScreenerError) as caught:
        asyncio.run(OnnxEncoder("x", found, frozenset(), 1).encode(["a"]))

    assert caught.value.reason == "model-damaged"
