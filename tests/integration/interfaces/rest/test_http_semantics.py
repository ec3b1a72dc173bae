"""What other programs rely on in HTTP itself, asked octet by octet."""

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.integration.interfaces.rest.conftest import HASTY, fill
from tests.support.rest_client import RestMill
from tests.support.waiting import HANG_GUARD_SEC


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestMill]:
    with RestMill(tmp_path_factory.mktemp("plain"), access=HASTY) as mill:
        mill.tell(fill)
        yield mill


def test_who_asks_whether_to_go_on_is_told_before_the_body(filled: RestMill) -> None:
    body = b'{"paused": true'
    head = (
        b"PATCH /feeds/nobody HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Content-Length: %d\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n" % len(body)
    )
    with socket.create_connection(("127.0.0.1", filled.port), timeout=HANG_GUARD_SEC) as wire:
        wire.sendall(head)
        first = wire.recv(1_000)
        wire.sendall(body)
        second = b"".join(iter(lambda: wire.recv(65_536), b""))

    assert first.startswith(b"HTTP/1.1 100 ")
    assert second.startswith(b"HTTP/1.1 400 ")
    assert b"the body is not JSON" in second


def test_many_questions_on_one_connection_are_answered_in_order(filled: RestMill) -> None:
    paths = ["/healthz", "/entries?limit=1", "/nowhere", "/entries", "/events?limit=2"]
    connection = filled.connect()
    statuses, lengths = [], []
    for path in paths * 3:
        connection.request("GET", path)
        answer = connection.getresponse()
        statuses.append(answer.status)
        lengths.append(len(answer.read()) == int(answer.headers["content-length"]))
    connection.close()

    assert statuses == [200, 200, 404, 200, 200] * 3
    assert all(lengths)


def test_questions_that_are_sent_at_once_are_answered_one_after_the_other(
    filled: RestMill,
) -> None:
    ask = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    last = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"

    said = filled.say(ask * 4 + last)

    assert said.count(b"HTTP/1.1 200 OK") == said.count(b"ok\n") == 5


def test_bytes_come_whole_with_a_length_and_in_chunks(tmp_path: Path) -> None:
    with RestMill(tmp_path, access=HASTY) as mill:
        mill.tell(fill)
        page = mill.ask("/entries").json
        fetch_id = page["items"][0]["raw_refs"][0]["fetch_id"]
        whole = mill.ask(f"/raw/{fetch_id}")
        lines = mill.ask("/entries", headers={"Accept": "application/x-ndjson"})

    assert len(whole.body) == int(whole.headers["content-length"])
    assert [json.loads(line) for line in lines.body.splitlines()] == page["items"]


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        pytest.param("application/x-ndjson", "application/x-ndjson", id="lines"),
        pytest.param("Application/X-NDJSON; charset=utf-8", "application/x-ndjson", id="lines, spelt otherwise"),
        pytest.param("application/json;q=0.5, application/x-ndjson", "application/x-ndjson", id="rather lines"),
        pytest.param("application/x-ndjson, */*;q=0.1", "application/x-ndjson", id="lines, else anything"),
        pytest.param("application/json, application/x-ndjson;q=0.5", "application/json", id="rather a page"),
        pytest.param("application/x-ndjson;q=0, application/json", "application/json", id="no lines"),
        pytest.param("text/html, */*;q=0.8", "application/json", id="a browser"),
    ],
)  # fmt: skip
def test_a_list_comes_in_the_form_that_the_client_prefers(
    library: RestMill, accept: str, kind: str
) -> None:
    assert library.ask("/entries", headers={"Accept": accept}).headers["content-type"] == kind
