"""`feedmill screen` on a window with an encoder by URL and hash, an embeddings endpoint, and a language model."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from msgspec.structs import replace
from tests.integration.interfaces.cli.commands.two_phase.test_screen_and_models import write_window
from tests.support.command_line import Mill
from tests.support.installed_model import model_folder
from tests.support.llm_endpoint import items_of, rated

from feedmill.adapters.screeners.model_files import USE_M, model_path
from feedmill.engine.two_phase.candidates import with_checksum, write_candidates

_DIMENSIONS = 512


class Models(ThreadingHTTPServer):
    """A file server and an OpenAI-compatible endpoint on loopback."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.asked: list[tuple[str, dict[str, Any]]] = []


class Handler(BaseHTTPRequestHandler):
    server: Models

    def do_GET(self) -> None:
        self._send(model_path(model_folder()).read_bytes())

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((self.path, body))
        if self.path == "/v1/embeddings":
            rows = [{"index": at, "embedding": words(one)} for at, one in enumerate(body["input"])]
            self._send(json.dumps({"data": rows}).encode())
        else:
            results = [rated(one, topic="green-electricity") for one in items_of(body)]
            message = {"role": "assistant", "content": json.dumps({"results": results})}
            self._send(json.dumps({"choices": [{"message": message}]}).encode())

    def _send(self, content: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Quiet."""


def words(text: str) -> list[float]:
    """A vector of the words of a text: a poor encoder, and a real one."""
    vector = [0.01] * _DIMENSIONS
    for word in text.casefold().split():
        vector[crc32(word.encode()) % _DIMENSIONS] += 1
    return vector


@pytest.fixture
def models() -> Iterator[Models]:
    server = Models()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def window(mill: Mill) -> Path:
    mill.setenv(FEEDMILL_SCREEN_LLM_ALLOW_CIDRS="127.0.0.0/8")
    path = mill.folder / "candidates.json"
    write_window(path)
    return path


def test_an_encoder_by_url_screens_a_window_as_the_installed_one_does(
    mill: Mill, window: Path, models: Models
) -> None:
    mill.setenv(FEEDMILL_SCREEN_ENCODER=f"{models.url}/encoder.onnx")
    mill.setenv(FEEDMILL_SCREEN_ENCODER_SHA256=USE_M.sha256)

    said = mill.json("screen", str(window))

    assert [one["suggestion"] for one in said["screenings"]][:3] == ["keep", "drop", "keep"]
    assert said["screenings"][0]["methods"] == ["lexical", "embedding"]
    assert not said["warnings"]


def test_an_encoder_by_url_with_another_hash_leaves_words_alone_and_says_so(
    mill: Mill, window: Path, models: Models
) -> None:
    mill.setenv(FEEDMILL_SCREEN_ENCODER=f"{models.url}/encoder.onnx")
    mill.setenv(FEEDMILL_SCREEN_ENCODER_SHA256="0" * 64)

    said = mill.json("screen", str(window))

    assert said["screenings"][0]["methods"] == ["lexical"]
    assert said["screenings"][0]["is_degraded"]
    assert any("model-unreachable" in one or "hash" in one for one in said["warnings"])


def test_an_embeddings_endpoint_screens_a_window(mill: Mill, window: Path, models: Models) -> None:
    mill.setenv(FEEDMILL_SCREEN_EMBEDDINGS_URL=f"{models.url}/v1")
    mill.setenv(FEEDMILL_SCREEN_EMBEDDINGS_MODEL="words")

    said = mill.json("screen", str(window))["screenings"]
    asked = len(models.asked)
    mill.json("screen", str(window))

    assert said[0]["methods"] == ["lexical", "embedding"]
    assert said[0]["score"] > said[1]["score"]
    assert {body["model"] for _, body in models.asked} == {"words"}
    assert len(models.asked) == asked  # the second run asks for nothing


def test_a_language_model_reads_the_prompt_of_the_window_and_lifts_nothing_that_is_suspicious(
    mill: Mill, window: Path, models: Models
) -> None:
    mill.setenv(FEEDMILL_SCREEN_LLM_URL=f"{models.url}/v1", FEEDMILL_SCREEN_LLM_MODEL="judge")
    mill.setenv(FEEDMILL_SCREEN_AUDIT_RATIO="1")
    file = write_window(window)
    write_candidates(window, with_checksum(replace(file, prompt="contracts for wind power")))

    said = mill.json("screen", str(window), "--method", "llm")["screenings"]

    assert all("contracts for wind power" in json.dumps(body) for _, body in models.asked)
    assert models.asked
    assert said[3]["suggestion"] != "keep"
