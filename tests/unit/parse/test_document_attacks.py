"""The attack vectors: what a hostile document may and may not bring about.

The contract is in tests/vectors/xml_attacks/INDEX.json. A worker process reads the documents. Two
canaries watch for what it must not touch: a FIFO, whose opening by anybody (a C library included)
wakes the thread that waits at its other end, and a server on the loopback that counts. How long
it takes and how much memory is measured by `make bench-hostile`, not here.
"""

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from feedmill.model.fetch import RawDocument
from feedmill.model.parsed import ParsedFeed
from feedmill.parse.document import parse_document

VECTORS = Path(__file__).parents[2] / "vectors" / "xml_attacks"
CASES = [case["name"] for case in json.loads((VECTORS / "INDEX.json").read_text("utf-8"))["cases"]]
CANARY_TEXT = "canary-4f1e7c"


class FileCanary:
    """A FIFO that sings when somebody opens it, and then gives the canary's text."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.opened = False
        self._over = False
        os.mkfifo(path)
        self._thread = threading.Thread(target=self._wait, daemon=True)
        self._thread.start()

    def _wait(self) -> None:
        descriptor = os.open(self.path, os.O_WRONLY)  # waits for a reader
        if not self._over:
            self.opened = True
            os.write(descriptor, CANARY_TEXT.encode())
        os.close(descriptor)

    def close(self) -> None:
        self._over = True
        reader = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK)
        self._thread.join()
        os.close(reader)


class NetworkCanary:
    """A server on the loopback that counts who asks, and answers with the canary's text."""

    def __init__(self) -> None:
        canary = self
        self.requests = 0

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                canary.requests += 1
                self.send_response(200)
                self.end_headers()
                self.wfile.write(CANARY_TEXT.encode())

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class Worker:
    """The process that reads the documents, one request at a time."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [
                sys.executable,
                str(Path(__file__).parents[3] / "tests/support/children/parse_attacks.py"),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )

    def read(self, name: str, canary_file: Path, canary_url: str) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        request = {
            "case": str(VECTORS / f"{name}.json"),
            "canary_file": str(canary_file),
            "canary_url": canary_url,
        }
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer

    def close(self) -> None:
        self._process.communicate()


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    worker = Worker()
    yield worker
    worker.close()


@pytest.fixture
def file_canary(tmp_path: Path) -> Iterator[FileCanary]:
    canary = FileCanary(tmp_path / "canary")
    yield canary
    canary.close()


@pytest.fixture
def network_canary() -> Iterator[NetworkCanary]:
    canary = NetworkCanary()
    yield canary
    canary.close()


@pytest.mark.parametrize("name", CASES)
def test_a_hostile_document_is_read_or_refused_and_touches_nothing(
    name: str, worker: Worker, file_canary: FileCanary, network_canary: NetworkCanary
) -> None:
    case = json.loads((VECTORS / f"{name}.json").read_text("utf-8"))
    expect = case["expect"]

    answer = worker.read(name, file_canary.path, network_canary.url)

    assert "crashed" not in answer
    assert answer["size"] == case["size_bytes"] or case["category"] == "external"
    _assert_outcome(answer, expect)
    assert answer["longest"] <= expect.get("max_text_chars", sys.maxsize)
    forbidden = expect.get("forbidden_text", "{CANARY_TEXT}").replace("{CANARY_TEXT}", CANARY_TEXT)
    assert forbidden not in answer["stored"]
    assert "\0" not in answer["stored"]
    assert answer["opened"] == []
    assert not file_canary.opened
    assert network_canary.requests == 0
    assert answer["next"] == ["next"]


def test_the_file_canary_sings_when_a_file_is_opened(file_canary: FileCanary) -> None:
    text = file_canary.path.read_text("utf-8")

    assert text == CANARY_TEXT
    assert file_canary.opened


def test_the_network_canary_counts_a_request(network_canary: NetworkCanary) -> None:
    address = network_canary.url.removeprefix("http://").split(":")

    with socket.create_connection((address[0], int(address[1]))) as connection:
        connection.sendall(b"GET / HTTP/1.0\r\n\r\n")
        while connection.recv(4096):
            pass

    assert network_canary.requests == 1


def test_a_hub_in_a_namespace_that_only_looks_like_atom_is_not_believed() -> None:
    case = json.loads((VECTORS / "namespace_spoof.json").read_text("utf-8"))
    names: dict[str, Any] = {}
    exec(case["generator"]["code"], names)

    feed = parse_document(RawDocument(body=names["gen"]("", "")))

    assert isinstance(feed, ParsedFeed)
    assert feed.hubs == ()


def _assert_outcome(answer: dict[str, Any], expect: dict[str, Any]) -> None:
    accepted = answer.get("entries", 0) > 0
    if expect["outcome"] == "reject":
        assert answer.get("unreadable"), "a feed without entries is not a refusal"
    if expect["outcome"] == "accept":
        assert answer.get("entries", 0) >= expect.get("min_entries", 1)
    if "expect_title" in expect:
        assert answer["titles"][0] == expect["expect_title"]
    if accepted and "if_accepted_title" in expect:
        assert answer["titles"][0] == expect["if_accepted_title"]
