"""Whatever a server does, the fetch ends in time, with one reason, and harms nobody else."""

import asyncio
import gzip
import socket
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import brotli
import msgspec
import pytest
import zstandard
from tests.support.loopback_fetcher import LOOPBACK, fetching, get
from tests.support.raw_http_server import Line, Script, always, answer, once, serving
from tests.support.waiting import wait_until

from feedmill.fetch.plan import plan_fetch
from feedmill.model.fetch import RawResponse

OK = b"HTTP/1.1 200 OK\r\n"
SHORT: dict[str, Any] = {"timeout_ms": 1_500}


def outcome(response: RawResponse) -> str:
    """The one word for how it ended."""
    if response.error is not None:
        return response.error
    if response.capped:
        return "capped"
    return "truncated" if response.truncated else str(response.status)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        pytest.param(b"", "connection-failed", id="closes without a word"),
        pytest.param(b"HTTP/1.1 200 OK\r\nX: 1", "connection-failed", id="closes inside the header"),
        pytest.param(b"<rss>no header</rss>\r\n\r\n", "protocol-error", id="HTTP/0.9"),
        pytest.param(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 20, "protocol-error", id="TLS"),
        pytest.param(b"SSH-2.0-OpenSSH_9.6\r\n", "protocol-error", id="SSH"),
        pytest.param(b"HTTP/1.1 abc OK\r\n\r\n", "protocol-error", id="a status that is no number"),
        pytest.param(OK + b"no colon here\r\n\r\n", "protocol-error", id="a field without a colon"),
        pytest.param(OK + b"X: a\0b\r\n\r\n", "protocol-error", id="NUL in a field"),
        pytest.param(OK + b"Content-Length: 99\r\n\r\nshort", "truncated", id="fewer than announced"),
        pytest.param(OK + b"Content-Length: 3\r\n\r\nabcdef", "200", id="more than announced"),
        pytest.param(OK + b"Content-Length: -5\r\n\r\nabc", "protocol-error", id="negative length"),
        pytest.param(
            OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nabc", "truncated", id="cut inside a chunk"
        ),
        pytest.param(
            OK + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", "truncated", id="no last chunk"
        ),
        pytest.param(
            OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n", "truncated", id="no chunk at all"
        ),
        pytest.param(
            OK + b"Transfer-Encoding: gzip, chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
            "protocol-error",
            id="a transfer-coding nobody asked for",
        ),
        pytest.param(b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n", "protocol-error", id="switches"),
    ],
)  # fmt: skip
async def test_a_server_that_cannot_speak_http_gets_a_stable_reason(
    said: bytes, expected: str
) -> None:
    async with serving(once(said)) as server, fetching(connection_attempts=1) as fetcher:
        response = await get(fetcher, server.url())

    assert outcome(response) == expected


async def test_what_arrived_before_the_cut_is_kept_and_marked() -> None:
    async def script(line: Line) -> None:
        await line.hear()
        await line.say(OK + b"Content-Length: 1000\r\nX: y\r\n\r\n<rss>half")
        await asyncio.sleep(0.05)
        line.reset()

    async with serving(script) as server, fetching() as fetcher:
        response = await get(fetcher, server.url())

    assert (response.status, response.body, response.truncated) == (200, b"<rss>half", True)
    assert response.headers[-1] == ("X", "y")
    assert server.connections == 1  # a GET that was answered in part is not repeated


async def _drip_header(line: Line) -> None:
    await line.hear()
    await line.drip(OK + b"X-Long: " + b"a" * 100_000, 0.02)


async def _drip_body(line: Line) -> None:
    await line.hear()
    await line.say(OK + b"Content-Length: 100000\r\n\r\n")
    await line.drip(b"b" * 100_000, 0.02)


async def _black_hole(line: Line) -> None:
    await line.hear()
    await line.hold()


async def _fall_silent(line: Line) -> None:
    await line.hear()
    await line.say(OK + b"Content-Length: 100000\r\n\r\n" + b"c" * 50_000)
    await line.hold()


@pytest.mark.parametrize("script", [_drip_header, _drip_body, _black_hole, _fall_silent])
async def test_no_server_holds_a_fetch_beyond_its_deadline(script: Script) -> None:
    async with serving(script) as server, fetching() as fetcher:
        response = await get(fetcher, server.url(), **SHORT)

    assert outcome(response) == "timeout"


@pytest.mark.parametrize(
    ("script", "expected"),
    [(_drip_header, "too-slow"), (_drip_body, "too-slow"), (_fall_silent, "too-slow")],
)
async def test_a_server_that_drips_is_given_up_long_before_the_deadline(
    script: Script, expected: str
) -> None:
    async with serving(script) as server, fetching() as fetcher:
        response = await get(fetcher, server.url(), timeout_ms=250_000, min_throughput_window_sec=1)

    assert outcome(response) == expected


async def test_a_server_that_stays_silent_is_given_up_at_the_read_limit() -> None:
    async with serving(_black_hole) as server, fetching(read_timeout_ms=300) as fetcher:
        response = await get(fetcher, server.url(), timeout_ms=250_000)

    assert (outcome(response), response.status) == ("timeout", None)


async def test_a_server_that_thinks_before_it_answers_is_not_slow() -> None:
    async def script(line: Line) -> None:
        await line.hear()
        await asyncio.sleep(1.3)
        await line.say(answer(body=b"worth it"))

    async with serving(script) as server, fetching() as fetcher:
        response = await get(fetcher, server.url(), min_throughput_window_sec=1)

    assert response.body == b"worth it"


async def test_a_port_nobody_listens_on_is_tried_a_bounded_number_of_times() -> None:
    async with serving(once(b"")) as server:
        pass
    async with fetching(connection_attempts=3) as fetcher:
        response = await get(fetcher, server.url())

    assert (response.error, response.status) == ("connection-failed", None)
    assert response.detail


async def test_a_connection_error_is_retried_and_an_answer_is_not() -> None:
    async def script(line: Line) -> None:
        await line.hear()
        if line.number < 3:
            line.reset()
        else:
            await line.say(answer(500, body=b"x"))

    async with serving(script) as server, fetching(connection_attempts=3) as fetcher:
        response = await get(fetcher, server.url())

    assert (response.status, server.connections) == (500, 3)


async def test_the_next_address_is_tried_when_one_does_not_answer() -> None:
    table = {"feeds.example": [("127.0.0.9", "127.0.0.1")]}

    async with serving(always(answer(body=b"x"))) as server, fetching(table) as fetcher:
        response = await get(fetcher, server.url(host="feeds.example"))

    assert response.status == 200


async def test_an_address_that_swallows_connections_is_passed_over_and_not_asked_again() -> None:
    table = {"feeds.example": [("127.0.0.9", "127.0.0.1")]}
    patient: dict[str, Any] = {
        "connect_timeout_ms": 300_000,
        "timeout_ms": 300_000,
    }  # a hang without the race

    async with serving(always(answer(body=b"x"))) as server, fetching(table, **patient) as fetcher:
        with full_backlog("127.0.0.9", server.port):
            first = await get(fetcher, server.url(host="feeds.example"), **patient)
            second = await get(fetcher, server.url(host="feeds.example"), **patient)

    assert (first.status, first.retries) == (200, 1)
    assert (second.status, second.retries) == (200, 0)
    assert [heard.connection for heard in server.heard] == [1, 1]


async def test_family_that_was_reached_is_asked_first_when_a_name_has_new_addresses() -> None:
    table = {"feeds.example": [("::1", "127.0.0.1"), ("::1", "127.0.0.9")]}
    script = always(answer(body=b"x"))

    async with (
        serving(script) as server,
        serving(script, host="127.0.0.9", port=server.port),
        fetching(table, allow_cidrs=("127.0.0.0/8", "::1/128")) as fetcher,
    ):
        first = await get(fetcher, server.url(host="feeds.example"))
        second = await get(fetcher, server.url(host="feeds.example"))

    assert (first.status, first.retries) == (200, 1)
    assert (second.status, second.retries) == (200, 0)


@contextmanager
def full_backlog(host: str, port: int) -> Iterator[None]:
    """A listener whose queue is full: the system drops every further connection without a word."""
    with ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.bind((host, port))
        listener.listen(0)
        for _ in range(4):
            caller = stack.enter_context(socket.socket())
            caller.settimeout(0)
            caller.connect_ex((host, port))
        yield


class OneRoom:
    """Refuses the first growth beyond a small body, and allows every later one."""

    def __init__(self) -> None:
        self.go_on: Callable[[], None] | None = None

    def may_grow(self, octets: int, go_on: Callable[[], None]) -> bool:
        if octets <= 1_000 or self.go_on is not None:
            return True
        self.go_on = go_on
        return False

    def stop_waiting(self) -> None:
        """The transfer has ended."""


async def test_a_bomb_that_was_paused_ends_at_the_limit_when_it_goes_on() -> None:
    bomb = gzip.compress(b"z" * 3_000_000)
    room = OneRoom()

    said = answer(200, "Content-Encoding: gzip", body=bomb)
    async with serving(once(said)) as server, fetching() as fetcher:
        config = msgspec.structs.replace(LOOPBACK, max_body_bytes=1_000_000)
        plan = plan_fetch(server.url(), None, config)
        fetch = asyncio.create_task(fetcher.fetch(plan, room=room))
        await wait_until(lambda: room.go_on is not None, "the pause")
        assert room.go_on is not None
        room.go_on()
        response = await fetch

    assert (response.capped, len(response.body)) == (True, 1_000_000)


async def test_server_is_not_blamed_for_a_pause_of_ours_that_lasts_longer_than_a_fetch_may() -> (
    None
):
    room, timeout_sec = OneRoom(), 5.0  # until the pause begins, also on a busy machine

    async with serving(once(answer(200, body=b"z" * 300_000))) as server, fetching() as fetcher:
        config = msgspec.structs.replace(LOOPBACK, timeout_ms=int(timeout_sec * 1000))
        plan = plan_fetch(server.url(), None, config)
        fetch = asyncio.create_task(fetcher.fetch(plan, room=room))
        await wait_until(lambda: room.go_on is not None, "the pause")
        await asyncio.sleep(timeout_sec + 0.1)
        assert room.go_on is not None
        room.go_on()
        response = await fetch

    assert (response.error, len(response.body)) == (None, 300_000)


async def test_endless_chunks_end_at_the_wire_limit_to_the_octet() -> None:
    async def script(line: Line) -> None:
        await line.hear()
        await line.say(OK + b"Transfer-Encoding: chunked\r\n\r\n")
        while True:
            await line.say(b"1000\r\n" + b"z" * 4096 + b"\r\n")

    async with serving(script) as server, fetching() as fetcher:
        response = await get(fetcher, server.url(), max_wire_bytes=100_000)

    assert (response.capped, len(response.body), response.wire_length) == (True, 100_000, 100_000)
    assert not response.truncated


async def test_body_that_comes_octet_by_octet_is_one_buffer_and_ends_early() -> None:
    async def script(line: Line) -> None:
        await line.hear()
        await line.say(OK + b"Transfer-Encoding: chunked\r\n\r\n")
        while True:
            await line.say(b"1\r\nz\r\n" * 10_000)

    async with serving(script) as server, fetching() as fetcher:
        response = await get(fetcher, server.url(), max_wire_bytes=1_000_000)

    assert response.capped
    assert response.wire_length == len(response.body)
    assert 3_800 < len(response.body) < 4_000  # every chunk counts 256 octets


@pytest.mark.parametrize("kept", [False, True], ids=["new connection", "kept connection"])
async def test_chunk_extensions_without_end_are_counted_as_the_socket_counts(*, kept: bool) -> None:
    sent = 0

    async def script(line: Line) -> None:
        nonlocal sent
        await line.hear()
        if kept:
            await line.say(OK + b"Content-Length: 2\r\n\r\nok")
            await line.hear()
        await line.say(OK + b"Transfer-Encoding: chunked\r\n\r\n")
        while True:
            await line.say((b"1;" + b"e" * 15_000 + b"\r\nz\r\n") * 10)
            sent += 150_000

    async with serving(script) as server, fetching() as fetcher:
        if kept:
            await get(fetcher, server.url())
        response = await get(fetcher, server.url(), max_wire_bytes=1_000_000_000)

    assert response.capped
    assert len(response.body) < 50_000
    assert sent < 500_000_000


async def test_extension_without_end_is_counted_though_no_callback_is_called() -> None:
    sent = 0

    async def script(line: Line) -> None:
        nonlocal sent
        await line.hear()
        await line.say(OK + b"Transfer-Encoding: chunked\r\n\r\n1;")
        while True:
            await line.say(b"e" * 150_000)
            sent += 150_000

    async with serving(script) as server, fetching() as fetcher:
        response = await get(fetcher, server.url(), max_wire_bytes=1_000_000_000)

    assert (response.capped, response.body) == (True, b"")
    assert sent < 500_000_000


async def test_a_length_beyond_the_limit_is_not_even_begun() -> None:
    said = OK + b"Content-Length: 5000000\r\n\r\n" + b"q" * 10_000

    async with serving(always(said)) as server, fetching() as fetcher:
        response = await get(fetcher, server.url(), max_wire_bytes=100_000)

    assert (response.capped, response.status, response.body) == (True, 200, b"")


@pytest.mark.parametrize(
    "said",
    [
        pytest.param(OK + b"X: y\r\n" * 20_000 + b"\r\n", id="many fields"),
        pytest.param(OK + b"X: " + b"y" * 90_000 + b"\r\n\r\n", id="one long field"),
        pytest.param(OK + b"X: " + b"y" * 2_000_000, id="a field without an end"),
        pytest.param(b"HTTP/1.1 103 Early\r\nX: y\r\n\r\n" * 5_000, id="informational answers"),
        pytest.param(
            OK + b"Transfer-Encoding: chunked\r\n\r\n0\r\n" + b"T: t\r\n" * 20_000, id="trailers"
        ),
    ],
)
async def test_a_flood_of_header_ends_at_its_limit(said: bytes) -> None:
    async with serving(once(said)) as server, fetching() as fetcher:
        response = await get(fetcher, server.url())

    assert outcome(response) == "headers-too-large"


def _gzip_of_gzip(raw: bytes) -> bytes:
    return gzip.compress(gzip.compress(raw))


@pytest.mark.parametrize(
    ("coding", "pack"),
    [
        ("gzip", gzip.compress),
        ("x-gzip", gzip.compress),
        ("deflate", zlib.compress),
        ("br", lambda raw: brotli.compress(raw, quality=5)),
        ("zstd", zstandard.ZstdCompressor().compress),
        ("gzip, gzip", _gzip_of_gzip),
        ("br, gzip", lambda raw: gzip.compress(brotli.compress(raw, quality=5))),
    ],
)
async def test_a_bomb_costs_no_memory(coding: str, pack: object) -> None:
    assert callable(pack)
    bomb = pack(b"\0" * 60_000_000)
    said = answer(200, f"Content-Encoding: {coding}", body=bomb)

    async with serving(once(said)) as server, fetching() as fetcher:
        tracemalloc.start()
        response = await get(fetcher, server.url(), max_body_bytes=1_000_000)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()

    assert (response.capped, len(response.body)) == (True, 1_000_000)
    assert peak < 16_000_000


@pytest.mark.parametrize(
    ("coding", "body", "expected"),
    [
        ("gzip", b"this is not gzip", "decode-failed"),
        ("gzip", gzip.compress(b"<rss/>" * 99, mtime=0)[:-9], "truncated"),
        ("br", b"\xff\xff\xff not brotli", "decode-failed"),
        ("zstd", b"not zstd either", "decode-failed"),
        ("deflate", b"\x07 broken", "decode-failed"),
        ("compress", b"\x1f\x9dwhatever", "200"),  # kept as it came; the judge names the coding
        ("gzip, gzip, gzip", b"whatever", "200"),
    ],
)
async def test_a_broken_coding_is_an_outcome(coding: str, body: bytes, expected: str) -> None:
    said = answer(200, f"Content-Encoding: {coding}", body=body)
    async with serving(once(said)) as server, fetching() as fetcher:
        response = await get(fetcher, server.url())

    assert outcome(response) == expected
    assert response.status == 200


async def test_a_second_answer_smuggled_after_the_first_is_nobodys() -> None:
    first = answer(200, body=b"first")
    smuggled = answer(200, body=b"smuggled")

    async def script(line: Line) -> None:
        await line.hear()
        await line.say(first + smuggled)
        await line.hear()
        await line.say(first)

    async with serving(script) as server, fetching() as fetcher:
        bodies = [(await get(fetcher, server.url())).body for _ in range(3)]

    assert bodies == [b"first", b"first", b"first"]


async def test_good_servers_are_served_while_bad_ones_are_held_off() -> None:
    async with (
        serving(_black_hole) as hole,
        serving(_drip_body) as drip,
        serving(always(answer(body=b"fresh"))) as good,
        fetching() as fetcher,
    ):
        bad = [
            asyncio.create_task(get(fetcher, server.url(), **SHORT))
            for server in (hole, drip)
            for _ in range(20)
        ]
        fresh = [(await get(fetcher, good.url())).body for _ in range(50)]
        ends = {outcome(await task) for task in bad}

    assert fresh == [b"fresh"] * 50
    assert ends == {"timeout"}
