"""Faults happen on the socket: late, dripping, cut, reset, silent, endless."""

import asyncio
import socket
from collections.abc import Callable, Coroutine

import msgspec
import pytest
import uvloop

from feedmill_demo.server.script import Answer, Fault, hang_up, no_answer
from feedmill_demo.server.server import Publisher

Ask = Callable[..., Coroutine[None, None, bytes]]

GET = b"GET /feed HTTP/1.1\r\nHost: a\r\n\r\n"
TEN = Answer(body=b"0123456789")
HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n"


async def test_a_late_answer_keeps_nobody_else_waiting(ask: Ask) -> None:
    async with Publisher() as publisher:
        publisher.script("/late", Answer(delay_sec=60))
        publisher.script("/feed", TEN)
        late = asyncio.create_task(ask(publisher, "/late"))
        await publisher.seen("/late")

        assert await ask(publisher) == HEAD + TEN.body

        assert not late.done()
        late.cancel()
        await publisher.idle()


async def test_a_delay_passes_and_then_the_answer_comes(ask: Ask) -> None:
    async with Publisher() as publisher:
        publisher.script("/feed", Answer(body=b"x", delay_sec=0.05))

        assert (await ask(publisher)).endswith(b"\r\n\r\nx")


@pytest.mark.parametrize("drip_head", [False, True])
def test_a_dripping_answer_arrives_piece_by_piece(drip_head: bool) -> None:
    async def story() -> list[bytes]:
        async with Publisher() as publisher:
            publisher.script(
                "/feed",
                Answer(body=b"0123456789", piece_bytes=2, pause_sec=0.01, drip_head=drip_head),
            )
            reader, writer = await asyncio.open_connection("127.0.0.1", publisher.port)
            writer.write(GET)
            pieces: list[bytes] = []
            while not b"".join(pieces).endswith(b"6789"):
                pieces.append(await reader.read(65_536))
            writer.close()
            return pieces

    pieces = asyncio.run(story())

    assert b"".join(pieces) == HEAD + b"0123456789"
    assert len(pieces) > 1


@pytest.mark.parametrize("framing", ["length", "close"])
def test_a_cut_body_ends_in_good_order_and_too_early(ask: Ask, framing: str) -> None:
    answer = msgspec.structs.replace(TEN, framing=framing, fault="cut", fault_at=4)

    async def story() -> bytes:
        async with Publisher() as publisher:
            publisher.script("/feed", answer)
            return await ask(publisher)

    assert asyncio.run(story()).endswith(b"\r\n\r\n0123")


def test_a_chunk_can_be_cut_in_its_middle(ask: Ask) -> None:
    answer = Answer(body=b"0123456789", framing="chunked", piece_bytes=5, fault="cut", fault_at=14)

    async def story() -> bytes:
        async with Publisher() as publisher:
            publisher.script("/feed", answer)
            return await ask(publisher)

    assert asyncio.run(story()).endswith(b"\r\n\r\n5\r\n01234\r\n5\r\n5")


def test_a_fault_beyond_the_end_strikes_after_the_body(ask: Ask) -> None:
    async def story() -> bytes:
        async with Publisher() as publisher:
            publisher.script("/feed", msgspec.structs.replace(TEN, fault="cut", fault_at=99))
            return await ask(publisher)

    assert asyncio.run(story()) == HEAD + TEN.body


@pytest.mark.parametrize("fault_at", [None, 0, 4])
@pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_a_reset_is_a_reset_and_not_an_end(
    fault_at: int | None, loop: Callable[[], asyncio.AbstractEventLoop]
) -> None:
    answer = msgspec.structs.replace(TEN, fault="reset", fault_at=fault_at)

    async def story() -> bytes:
        async with Publisher() as publisher:
            publisher.script("/feed", answer)
            return await _until_reset(publisher.port)

    with asyncio.Runner(loop_factory=loop) as runner:
        received = runner.run(story())

    assert received == (b"" if fault_at is None else HEAD + TEN.body[:fault_at])


@pytest.mark.parametrize(("fault", "ending"), [("cut", b""), ("stall", b"")])
async def test_a_connection_can_end_before_the_answer(
    ask: Ask, fault: Fault, ending: bytes
) -> None:
    async with Publisher() as publisher:
        publisher.script("/feed", hang_up(fault))
        asking = asyncio.create_task(ask(publisher))
        await publisher.seen("/feed")
        if fault == "stall":
            asking.cancel()
        else:
            assert await asking == ending
        await publisher.idle()


async def test_silence_lasts_until_the_client_leaves() -> None:
    async with Publisher() as publisher:
        publisher.script("/feed", no_answer())
        _, writer = await asyncio.open_connection("127.0.0.1", publisher.port)
        writer.write(GET)
        await publisher.seen("/feed")
        assert publisher.open_connections == 1

        writer.close()

        await publisher.idle()
        assert publisher.open_connections == 0


def test_an_answer_can_stall_in_its_middle() -> None:
    async def story() -> bytes:
        async with Publisher() as publisher:
            publisher.script("/feed", msgspec.structs.replace(TEN, fault="stall", fault_at=6))
            reader, writer = await asyncio.open_connection("127.0.0.1", publisher.port)
            writer.write(GET)
            received = await reader.readexactly(len(HEAD) + 6)
            assert publisher.open_connections == 1
            writer.close()
            return received

    assert asyncio.run(story()) == HEAD + b"012345"


def test_a_publisher_that_is_left_ends_whatever_it_was_answering(ask: Ask) -> None:
    async def story() -> bytes:
        async with Publisher() as publisher:
            publisher.script("/feed", Answer(body=b"x", delay_sec=60))
            asking = asyncio.create_task(ask(publisher))
            await publisher.seen("/feed")
        return await asking

    assert asyncio.run(story()) == b""


def test_an_endless_body_is_sent_as_fast_as_it_is_read_and_ends_with_the_client() -> None:
    answer = Answer(body=b"x" * 65_536, framing="chunked", repeat=1_000_000)

    async def story() -> int:
        async with Publisher() as publisher:
            publisher.script("/feed", answer)
            reader, writer = await asyncio.open_connection("127.0.0.1", publisher.port)
            writer.write(GET)
            received = len(await reader.readexactly(5_000_000))
            writer.transport.abort()
            await publisher.idle()
            return received

    assert asyncio.run(story()) == 5_000_000


@pytest.mark.parametrize(
    "answer", [Answer(body=b"x" * 65_536, repeat=1_000_000), no_answer()], ids=["endless", "silent"]
)
async def test_patience_has_an_end(answer: Answer) -> None:
    async with Publisher(patience_sec=0.05) as publisher:
        publisher.script("/feed", answer)
        _, writer = await asyncio.open_connection("127.0.0.1", publisher.port)
        writer.write(GET)
        await publisher.seen("/feed")

        await publisher.idle()  # although the client neither reads nor leaves

        writer.transport.abort()


def test_a_body_larger_than_any_buffer_arrives_whole(ask: Ask) -> None:
    body = bytes(range(256)) * 80_000

    async def story() -> bytes:
        async with Publisher() as publisher:
            publisher.script("/feed", Answer(body=body, piece_bytes=8_000_000))
            return await ask(publisher)

    assert asyncio.run(story()).partition(b"\r\n\r\n")[2] == body


def test_a_repeated_body_has_the_length_of_all_its_repetitions(ask: Ask) -> None:
    async def story() -> bytes:
        async with Publisher() as publisher:
            publisher.script("/feed", Answer(body=b"ab", repeat=3))
            return await ask(publisher)

    assert asyncio.run(story()) == b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nababab"


def test_raw_octets_can_drip_too(ask: Ask) -> None:
    async def story() -> bytes:
        async with Publisher() as publisher:
            publisher.script("/feed", Answer(raw=b"HTTP/1.1 200 OK\r\n\r\n", piece_bytes=3))
            return await ask(publisher)

    assert asyncio.run(story()) == b"HTTP/1.1 200 OK\r\n\r\n"


def test_requests_behind_a_slow_answer_wait_their_turn() -> None:
    async def story() -> bytes:
        async with Publisher() as publisher:
            publisher.script("/slow", Answer(body=b"1", delay_sec=0.05))
            publisher.script("/quick", Answer(body=b"2"))
            reader, writer = await asyncio.open_connection("127.0.0.1", publisher.port)
            writer.write(b"GET /slow HTTP/1.1\r\n\r\nGET /quick HTTP/1.1\r\n\r\n")
            await publisher.seen("/slow")
            writer.write(b"GET /quick HTTP/1.1\r\nConnection: close\r\n\r\n")
            octets = await reader.read()
            writer.close()
            return octets

    answers = asyncio.run(story()).split(b"HTTP/1.1 200 OK\r\n")

    assert [answer[-1:] for answer in answers] == [b"", b"1", b"2", b"2"]


async def _until_reset(port: int) -> bytes:
    """Every octet before the reset; a stream of asyncio would drop those it had not delivered."""
    loop = asyncio.get_running_loop()
    received = b""
    with socket.socket() as sock:
        sock.setblocking(False)  # noqa: FBT003
        await loop.sock_connect(sock, ("127.0.0.1", port))
        await loop.sock_sendall(sock, GET)
        while True:
            try:
                octets = await loop.sock_recv(sock, 1024)
            except ConnectionResetError:
                return received
            assert octets, "the connection ended instead of being reset"
            received += octets
