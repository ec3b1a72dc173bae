"""The log as it grows: long polls, server-sent events, and lists without end in little memory."""

import asyncio
import socket
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.integration.interfaces.rest.conftest import OpenMill
from tests.support.children.serve_many_entries import fill_store
from tests.support.engine_harness import Stage
from tests.support.feed_documents import paper
from tests.support.rest_client import RestMill, lines_of
from tests.support.sample_refreshes import NOON, new_feed
from tests.support.waiting import HANG_GUARD_SEC, block_until

from feedmill.app.services import DATABASE_NAME
from feedmill.config import ServeConfig
from feedmill.engine.subscribe.add_feed import subscribe_unchecked
from feedmill.errors import StoreError
from feedmill.model.event import NewEvent

ROOT = Path(__file__).parents[5]


async def add_one(stage: Stage) -> int:
    """One more event; its number."""
    number = await stage.services.store.last_seq() + 1
    await subscribe_unchecked(f"https://paper.example/{number}", stage.services)
    return number


async def add_ten(stage: Stage) -> None:
    for _ in range(10):
        await add_one(stage)


class TestLongPoll:
    def test_events_come_page_by_page_and_next_goes_on(self, mill: RestMill) -> None:
        mill.tell(add_ten)

        first = mill.ask("/events?limit=4").json
        rest = mill.ask(f"/events?after={first['next']}").json

        assert [one["seq"] for one in first["items"]] == [1, 2, 3, 4]
        assert [one["seq"] for one in rest["items"]] == [5, 6, 7, 8, 9, 10]
        assert (first["last_seq"], rest["next"]) == (10, 10)

    def test_a_filter_is_passed_over_by_next(self, mill: RestMill) -> None:
        mill.tell(add_ten)

        page = mill.ask("/events?types=feed.removed,feed.state").json

        assert (page["items"], page["next"]) == ([], 10)

    def test_events_of_one_feed_are_found_among_others(self, mill: RestMill) -> None:
        mill.tell(add_ten)
        feed_id = mill.ask("/feeds").json["items"][3]["id"]

        page = mill.ask(f"/events?feed={feed_id}&types=feed.added").json

        assert [one["seq"] for one in page["items"]] == [4]

    def test_a_question_that_waits_is_answered_as_soon_as_something_happens(
        self, mill: RestMill
    ) -> None:
        mill.tell(add_ten)
        answers: list[object] = []
        asking = threading.Thread(
            target=lambda: answers.append(mill.ask("/events?after=10&wait=60").json)
        )
        asking.start()

        mill.tell(add_one)
        asking.join(HANG_GUARD_SEC)

        (page,) = answers
        assert [one["seq"] for one in page["items"]] == [11]  # type: ignore[index]  # a page

    def test_a_question_that_waits_in_vain_is_answered_with_nothing(self, mill: RestMill) -> None:
        page = mill.ask("/events?wait=0.05").json

        assert page == {"items": [], "next": 0, "last_seq": 0}

    def test_who_waits_is_answered_when_the_server_ends(self, open_mill: OpenMill) -> None:
        mill = open_mill()
        connection = mill.connect()
        connection.request("GET", "/events?wait=60")

        mill._loop.call_soon_threadsafe(mill.watch.stop)
        answer = connection.getresponse()
        body = answer.read()
        connection.close()

        assert (answer.status, msgspec.json.decode(body)["items"]) == (200, [])


class TestStream:
    def test_a_stream_tells_what_was_and_then_what_comes(self, mill: RestMill) -> None:
        mill.tell(add_ten)

        with lines_of(mill, "/events/stream?after=7") as lines:
            before = [told["seq"] for told in _events(lines, 3)]
            mill.tell(add_one)
            after = [told["seq"] for told in _events(lines, 1)]

        assert (before, after) == ([8, 9, 10], [11])

    def test_a_browser_that_comes_back_goes_on_where_it_was(self, mill: RestMill) -> None:
        mill.tell(add_ten)
        with lines_of(mill, "/events/stream") as lines:
            seen = [told["seq"] for told in _events(lines, 6)]

        with lines_of(mill, "/events/stream?after=1", **{"Last-Event-ID": str(seen[-1])}) as lines:
            seen += [told["seq"] for told in _events(lines, 4)]

        assert seen == list(range(1, 11))

    @pytest.mark.parametrize("number", ["-1", "x", "1.5", "9" * 30, "1 2"])
    def test_a_number_that_is_none_is_a_problem(self, mill: RestMill, number: str) -> None:
        answer = mill.ask("/events/stream", headers={"Last-Event-ID": number})

        assert (answer.status, answer.problem) == (400, "bad-parameter")

    @pytest.mark.parametrize(
        "path", ["/events?after=11", "/events?after=11&wait=60", "/events/stream?after=11"]
    )
    def test_position_beyond_the_end_of_the_log_is_a_conflict(
        self, mill: RestMill, path: str
    ) -> None:
        mill.tell(add_ten)

        answer = mill.ask(path)

        assert (answer.status, answer.problem) == (409, "log-rewound")
        assert "ends at 10" in answer.json["detail"]

    @pytest.mark.parametrize("kept", [4, 1], ids=["some are left", "one is left"])
    def test_position_before_events_that_were_deleted_is_gone(
        self, mill: RestMill, tmp_path: Path, kept: int
    ) -> None:
        """A filter would hide that numbers are missing."""
        mill.tell(add_ten)
        with closing(sqlite3.connect(tmp_path / DATABASE_NAME)) as connection, connection:
            connection.execute("DELETE FROM outbox WHERE seq <= ?", (10 - kept,))

        for path in ("/events?after=3&types=new_entry", "/events/stream?after=3"):
            gone = mill.ask(path)
            assert (gone.status, gone.problem) == (410, "not-kept")
        left = mill.ask("/events?after=0").json["items"]
        edge = mill.ask(f"/events?after={10 - kept}").json["items"]

        assert [one["seq"] for one in left] == [one["seq"] for one in edge]
        assert len(left) == kept

    def test_position_with_the_id_of_another_event_is_a_conflict(self, mill: RestMill) -> None:
        mill.tell(add_ten)
        third = mill.ask("/events?after=2&limit=1").json["items"][0]

        same = mill.ask(f"/events?after=3&after_id={third['id']}")
        other = mill.ask("/events?after=3&after_id=another")
        stream = mill.ask("/events/stream", headers={"Last-Event-ID": "3/another"})

        assert [one["seq"] for one in same.json["items"]] == list(range(4, 11))
        assert (other.status, other.problem) == (409, "log-rewound")
        assert (stream.status, stream.problem) == (409, "log-rewound")

    def test_only_what_was_asked_for_is_told(self, mill: RestMill) -> None:
        feed = mill.tell(lambda stage: stage.add("/feed", paper(1, 2)))
        mill.tell(lambda stage: stage.poll(feed))

        with lines_of(mill, "/events/stream?types=new_entry") as lines:
            told = list(_events(lines, 2))

        assert {one["type"] for one in told} == {"new_entry"}

    def test_a_quiet_stream_gives_signs_of_life(self, open_mill: OpenMill) -> None:
        mill = open_mill(serve=ServeConfig(heartbeat_sec=0.05))

        with lines_of(mill, "/events/stream") as lines:
            said = [next(lines) for _ in range(6)]

        assert said == [b"retry: 2000\n", b"\n", *[b": still here\n", b"\n"] * 2]

    def test_a_stream_ends_with_its_server(self, open_mill: OpenMill) -> None:
        mill = open_mill()

        with lines_of(mill, "/events/stream") as lines:
            next(lines)
            mill._loop.call_soon_threadsafe(mill.watch.stop)
            rest = list(lines)

        assert rest == [b"\n"]

    def test_there_are_only_so_many_streams_and_an_ended_one_makes_room(
        self, open_mill: OpenMill
    ) -> None:
        mill = open_mill(serve=ServeConfig(max_streams=1, heartbeat_sec=0.02))

        with lines_of(mill, "/events/stream") as lines:
            next(lines)
            full = mill.ask("/events/stream")

        assert (full.status, full.problem) == (503, "too-many-streams")
        assert full.headers["retry-after"] == "10"
        _wait_for_room(mill)

    def test_a_reader_that_takes_nothing_is_cut_off_and_holds_nobody_up(
        self, open_mill: OpenMill
    ) -> None:
        mill = open_mill(serve=ServeConfig(send_timeout_sec=0.3, max_streams=1))
        mill.tell(_much)
        wire = socket.socket()
        wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        wire.settimeout(HANG_GUARD_SEC)
        wire.connect(("127.0.0.1", mill.port))
        wire.sendall(b"GET /events/stream HTTP/1.1\r\nHost: localhost\r\n\r\n")

        with lines_of(mill, "/entries", Accept="application/x-ndjson") as lines:
            assert list(lines) == []
        _wait_for_room(mill)

        with wire:
            taken = _everything(wire)
        assert taken.startswith(b"HTTP/1.1 200 OK")
        assert not taken.endswith(b"\r\n0\r\n\r\n")  # cut, and the reader can see that
        assert b"id: 20000\n" not in taken

    def test_an_outside_client_gets_each_event_as_it_comes(self, mill: RestMill) -> None:
        mill.tell(add_ten)

        curl = subprocess.Popen(
            ["curl", "-sN", f"{mill.base}/events/stream?after=8"], stdout=subprocess.PIPE
        )
        assert curl.stdout is not None
        with curl:
            seen = [told["seq"] for told in _events(iter(curl.stdout.readline, b""), 2)]
            curl.terminate()

        assert seen == [9, 10]


def test_memory_for_entries_as_lines_does_not_grow_with_their_number(tmp_path: Path) -> None:
    """The peak does not follow the length of the list: measured in fresh processes of their own."""
    few_lines, few_kb = _served(tmp_path / "few", 1_000)
    many_lines, many_kb = _served(tmp_path / "many", 5_000)

    assert (few_lines, many_lines) == (1_000, 5_000)
    # A server that gathers the list first takes 70 MB more for the longer one; ours takes none.
    assert many_kb - few_kb < 35_000


def test_lines_that_cannot_go_on_are_cut_and_not_ended(
    mill: RestMill, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever reads a list has to notice that it is not whole."""
    mill.tell(add_ten)
    feeds, pages = mill.stage.services.store.feeds, iter(range(100))

    async def failing(**asked: Any) -> Any:
        if next(pages) == 2:
            message = "the disk is on fire"
            raise StoreError(message, reason="io-error")
        return await feeds(**asked)

    monkeypatch.setattr(mill.stage.services.store, "feeds", failing)
    request = (
        b"GET /feeds?limit=3 HTTP/1.1\r\nHost: localhost\r\nAccept: application/x-ndjson\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", mill.port), timeout=HANG_GUARD_SEC) as wire:
        wire.sendall(request)
        taken = _everything(wire)

    assert taken.count(b"https://paper.example/") == 6
    assert not taken.endswith(b"\r\n0\r\n\r\n")
    assert len(mill.ask("/feeds").json["items"]) == 10


def _served(home: Path, count: int) -> tuple[int, int]:
    """How many lines a mill with so many entries served, and the kilobytes that it took at most."""
    asyncio.run(fill_store(home, count))
    child = subprocess.run(
        [sys.executable, "-m", "tests.support.children.serve_many_entries", str(home)],
        capture_output=True,
        cwd=ROOT,
        timeout=HANG_GUARD_SEC,
    )
    assert child.returncode == 0, child.stderr.decode()
    lines, peak_kb = map(int, child.stdout.split())
    return lines, peak_kb


def _everything(wire: socket.socket) -> bytes:
    """All that comes before the other side ends the connection, kindly or not."""
    taken = bytearray()
    with suppress(ConnectionResetError):
        while piece := wire.recv(65_536):
            taken += piece
    return bytes(taken)


def _wait_for_room(mill: RestMill) -> None:
    """Until another stream is let in: the server has noticed that one has ended."""
    block_until(lambda: mill.ask("/events/stream", method="HEAD").status == 200, "a free stream")


def _events(lines: Iterator[bytes], count: int) -> Iterator[dict[str, object]]:
    """The data of the next events; each has an id that is its number."""
    number = b""
    while count:
        line = next(lines)
        if line.startswith(b"id: "):
            number = line[4:].strip()
        if line.startswith(b"data: "):
            told = msgspec.json.decode(line[6:])
            assert int(number) == told["seq"]
            count -= 1
            yield told


async def _much(stage: Stage) -> None:
    """A log of some megabytes: more than any buffer between here and there takes."""
    words = {"words": "x" * 500}
    for part in range(20):
        new = new_feed(part)
        event = NewEvent(type="feed.added", feed_id=new.id, occurred_at=NOON, data=words)
        await stage.services.store.add_feed(new, [event] * 1_000)
