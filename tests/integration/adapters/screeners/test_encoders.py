"""Encoders: an embeddings endpoint that behaves and does not, and files that are not what they claim."""

import asyncio
import contextlib
import hashlib
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.support.llm_endpoint import Answer, playing
from tests.support.waiting import hang_guard

from feedmill.adapters.clock import SystemClock
from feedmill.adapters.http.fetcher import CurlFetcher
from feedmill.adapters.screeners.cache import ScreeningCache
from feedmill.adapters.screeners.embedding import EmbeddingScreener
from feedmill.adapters.screeners.encoders import EndpointEncoder, OnnxEncoder
from feedmill.adapters.screeners.model_files import USE_M, encoder_file, model_path
from feedmill.adapters.screeners.without_model import reference_texts
from feedmill.app.screeners import open_screeners
from feedmill.config import Config, FetchConfig, ScreenConfig, StoreConfig
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
        (200, {}, b'{"data": [{"embedding": [NaN, 1.0]}, {"embedding": [1.0, NaN]}]}'),
        (200, {}, b'{"data": [{"embedding": [1e999]}]}'),
        (200, {}, b'{"data": [{"embedding": [null]}]}'),
        (200, {}, b'{"data": [{"embedding": "AACAPw=="}]}'),
        (200, {}, b'{"data": {"embedding": [1.0]}}'),
        (401, {}, b'{"error": {"message": "no key"}}'),
    ],
)
def test_an_endpoint_without_vectors_is_an_error_with_a_reason(
    tmp_path: Path, answer: Answer
) -> None:
    with pytest.raises(ScreenerError) as caught:
        scores_of(tmp_path, lambda _body, _number: answer)

    assert caught.value.reason == "embeddings-unavailable"


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (lambda _: [], "no sentence vectors"),
        (lambda at: [1.0] * (at % 2 + 1), "inhomogeneous"),
        (lambda _: [1e39, 1.0], "not finite"),  # beyond a float of four octets
    ],
)
def test_vectors_that_cannot_be_compared_are_an_error_that_names_the_problem(
    tmp_path: Path, row: Callable[[int], list[float]], words: str
) -> None:
    def play(body: dict[str, Any], _: int) -> Answer:
        rows = [{"index": at, "embedding": row(at)} for at in range(len(body["input"]))]
        return 200, {}, json.dumps({"data": rows}).encode()

    with pytest.raises(ScreenerError, match=words) as caught:
        scores_of(tmp_path, play)

    assert caught.value.reason == "embeddings-unavailable"


def test_an_endpoint_that_changes_the_length_of_its_vectors_is_an_error(tmp_path: Path) -> None:
    """Between two answers, and between two runs of which the first is remembered."""

    def play(body: dict[str, Any], number: int) -> Answer:
        rows = [{"index": at, "embedding": [1.0] * number} for at in range(len(body["input"]))]
        return 200, {}, json.dumps({"data": rows}).encode()

    def longer(body: dict[str, Any], _: int) -> Answer:
        return play(body, 7)

    with pytest.raises(ScreenerError, match="of one length"):
        scores_of(tmp_path / "within", play)

    async def twice() -> None:
        memory = ScreeningCache(tmp_path / "cache.db")
        for one in (vectors, longer):
            async with playing(one) as endpoint:
                screen = ScreenConfig(embeddings_url=endpoint.url, embeddings_model="m")
                async with hang_guard():
                    fetcher = CurlFetcher(FetchConfig(allow_cidrs=("127.0.0.0/8",)), SystemClock())
                    encoder = EndpointEncoder(screen, fetcher, key=None)
                    encoder.id = "the same name"
                    screener = EmbeddingScreener(encoder, memory, reference_texts(), ())
                    try:
                        await screener.score(
                            [ScreenText(ref=1, title=f"bees {one.__name__}")], TOPICS
                        )
                    finally:
                        await fetcher.close()

    with pytest.raises(ScreenerError, match="of one length"):
        asyncio.run(twice())


def test_an_endpoint_that_says_nothing_is_given_up_after_its_time(tmp_path: Path) -> None:
    with pytest.raises(ScreenerError, match="timeout") as caught:
        scores_of(tmp_path, lambda _body, _number: None, llm_timeout_ms=300)

    assert caught.value.reason == "embeddings-unavailable"


# A model of one node (Shape): it reads text and answers with how many there are.
NO_SENTENCE_ENCODER = bytes.fromhex(
    "08093a3f0a120a047465787412036f7574220553686170651201735a130a0474657874120b0a09080812050a0312016e"
    "62110a036f7574120a0a08080712040a02080142040a001011"
)


def test_a_model_that_gives_no_sentence_vectors_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "shape.onnx"
    path.write_bytes(NO_SENTENCE_ENCODER)

    with pytest.raises(ScreenerError, match="no sentence vectors") as caught:
        asyncio.run(OnnxEncoder("x", path, frozenset(), 1).encode(["a", "b"]))

    assert caught.value.reason == "model-damaged"


# A model of one node (Gather): it reads tokens and answers with one of eight vectors for each.
TOKEN_ENCODER = bytes.fromhex(
    "080912003aa9010a1b0a01650a09696e7075745f69647312036f757422064761746865721201742a4b0808080210014201654a40"
    "0000000000000000000000000000803f000000000000000000000000000000000000803f000000000000003f000000000000003f"
    "00000000000000000000803f5a1d0a09696e7075745f69647312100a0e0807120a0a031201620a0312016e621b0a036f75741214"
    "0a120801120e0a031201620a0312016e0a02080242040a001011"
)
WORD_PIECE = {
    "added_tokens": [{"id": 0, "content": "[PAD]"}],
    "normalizer": {"type": "BertNormalizer", "lowercase": True, "strip_accents": None},
    "post_processor": {"type": "BertProcessing", "cls": ["[CLS]", 2], "sep": ["[SEP]", 3]},
    "model": {
        "type": "WordPiece",
        "vocab": {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "bees": 4, "hon": 5, "##ey": 6, "蜂": 7},
    },
}  # fmt: skip
UNIGRAM = {
    "version": "1.0",
    "added_tokens": [
        {"id": at, "content": name, "single_word": False, "lstrip": False, "rstrip": False,
         "normalized": False, "special": True}
        for at, name in enumerate(("<s>", "<pad>", "</s>", "<unk>"))
    ],
    "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "add_prefix_space": True},
    "post_processor": {
        "type": "TemplateProcessing",
        "single": [
            {"SpecialToken": {"id": "<s>", "type_id": 0}},
            {"Sequence": {"id": "A", "type_id": 0}},
            {"SpecialToken": {"id": "</s>", "type_id": 0}},
        ],
        "special_tokens": {"<s>": {"ids": [0]}, "</s>": {"ids": [2]}},
    },
    "model": {
        "type": "Unigram",
        "unk_id": 3,
        "vocab": [["<s>", 0.0], ["<pad>", 0.0], ["</s>", 0.0], ["<unk>", 0.0],
                  ["▁bees", -2.0], ["▁hon", -3.0], ["ey", -3.0], ["▁", -5.0]],
    },
}  # fmt: skip
UNIGRAM_CONFIG = {
    "tokenizer_class": "XLMRobertaTokenizer",
    **{f"{name}_token": f"<{name}>" for name in ("unk", "pad")},
    "bos_token": "<s>",
    "eos_token": "</s>",
    "cls_token": "<s>",
    "sep_token": "</s>",
}


def token_model(folder: Path, tokenizer: object, config: object = None) -> Path:
    path = folder / "model.onnx"
    path.write_bytes(TOKEN_ENCODER)
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer), "utf-8")
    (folder / "tokenizer_config.json").write_text(json.dumps(config), "utf-8")
    return path


def test_a_model_that_reads_tokens_gives_the_mean_of_its_tokens_whatever_stands_beside_it(
    tmp_path: Path,
) -> None:
    path = token_model(tmp_path, WORD_PIECE)
    texts = ["Béés!", "honey", "蜂蜂", "bees unheard", "x" * 101, ""]

    found = asyncio.run(OnnxEncoder("x", path, frozenset(), 1).encode(texts))

    third, quarter = 1 / 3, 1 / 4  # [CLS] and [SEP] are counted
    wanted = [(quarter, quarter), (quarter, 0), (0, 0.5), (quarter, quarter), (0, third), (0, 0)]
    assert found.tolist() == [pytest.approx(row) for row in wanted]


def test_a_tokenizer_of_another_kind_is_read_as_well(tmp_path: Path) -> None:
    path = token_model(tmp_path, UNIGRAM, UNIGRAM_CONFIG)

    found = asyncio.run(OnnxEncoder("x", path, frozenset(), 1).encode(["bees", "bees honey"]))

    # <s> has the vector 0, bees 1, hon and ey a half each; </s> has 0.
    assert found[:, 0].tolist() == pytest.approx([1 / 3, 2 / 5])


def test_a_tokenizer_of_another_model_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    path = token_model(tmp_path, {"model": {"type": "WordPiece", "vocab": {"[UNK]": 99}}})

    with pytest.raises(ScreenerError, match=r"model\.onnx") as caught:
        asyncio.run(OnnxEncoder("x", path, frozenset(), 1).encode(["bees"]))

    assert caught.value.reason == "model-damaged"


@pytest.mark.parametrize(
    ("tokenizer", "reason"),
    [
        (None, "model-missing"),
        ([], "model-damaged"),
        ({"model": {"type": "WordPiece", "vocab": {}}}, "model-damaged"),
        ({"model": {"type": "Unheard"}}, "model-damaged"),
    ],
)
def test_a_model_that_reads_tokens_without_its_tokenizer_says_so(
    tmp_path: Path, tokenizer: object, reason: str
) -> None:
    path = token_model(tmp_path, tokenizer)
    if tokenizer is None:
        (tmp_path / "tokenizer.json").unlink()

    with pytest.raises(ScreenerError, match=r"tokenizer\.json") as caught:
        asyncio.run(OnnxEncoder("x", path, frozenset(), 1).encode(["a"]))

    assert caught.value.reason == reason


@pytest.fixture
def file_server(models: Path) -> Iterator[str]:
    """The real model by HTTP on loopback: whole, cut off, and not there."""

    class Files(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            content = model_path(models).read_bytes()
            self.send_response(404 if self.path == "/missing" else 200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            with contextlib.suppress(OSError):
                self.wfile.write(content[:1000] if self.path == "/cut" else content)

        def log_message(self, *_: object) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Files)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


def by_url(home: Path, url: str, sha256: str) -> tuple[Score, ...]:
    screen = ScreenConfig(
        encoder=url, encoder_sha256=sha256, llm_allow_cidrs=("127.0.0.0/8",), threads=1
    )

    async def story() -> tuple[Score, ...]:
        config = Config(store=StoreConfig(home=str(home)), screen=screen)
        async with open_screeners(config, "embedding") as opened:
            return await opened.screeners[0].score([ScreenText(ref=1, title="Bees")], TOPICS)

    return asyncio.run(story())


def test_an_encoder_by_url_is_downloaded_once_and_then_needs_no_network(
    tmp_path: Path, file_server: str
) -> None:
    (first,) = by_url(tmp_path, f"{file_server}/model.onnx", USE_M.sha256)
    (again,) = by_url(tmp_path, "http://127.0.0.1:1/model.onnx", USE_M.sha256)

    assert first.model_id == USE_M.sha256
    assert again.z == pytest.approx(first.z)


@pytest.mark.parametrize(
    ("path", "sha256"),
    [("/model.onnx", "0" * 64), ("/cut", USE_M.sha256), ("/missing", USE_M.sha256)],
)
def test_a_download_that_is_another_file_is_an_error_and_leaves_nothing(
    tmp_path: Path, file_server: str, path: str, sha256: str
) -> None:
    with pytest.raises(ScreenerError) as caught:
        by_url(tmp_path, file_server + path, sha256)

    assert caught.value.reason == "model-unreachable"
    assert not [one for one in tmp_path.rglob("*") if one.suffix in (".onnx", ".part")]


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
