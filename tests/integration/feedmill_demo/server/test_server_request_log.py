"""The publisher remembers every request, and tells hosts and connections apart."""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Callable, Coroutine

import pytest
import trustme

from feedmill.errors import UsageError
from feedmill_demo.server.script import Answer
from feedmill_demo.server.server import Publisher, listening_sockets

Ask = Callable[..., Coroutine[None, None, bytes]]


async def exchange(port: int, octets: bytes, address: str = "127.0.0.1") -> bytes:
    """Send these octets and return all that comes back until the end."""
    reader, writer = await asyncio.open_connection(address, port)
    writer.write(octets)
    received = await reader.read()
    writer.close()
    return received


async def test_a_request_is_remembered_with_its_headers_in_order() -> None:
    async with Publisher() as publisher:
        await exchange(
            publisher.port,
            b"POST /hub?a=b HTTP/1.1\r\nhost: x\r\nAccept: a\r\nX-N: caf\xe9\r\naccept: b\r\n"
            b"Content-Length: 5\r\nConnection: close\r\n\r\nhello",
        )
        (request,) = publisher.requests

    assert request.method == "POST"
    assert (request.target, request.path) == ("/hub?a=b", "/hub")
    assert request.headers[:4] == (("host", "x"), ("Accept", "a"), ("X-N", "café"), ("accept", "b"))
    assert request.values("ACCEPT") == ("a", "b")
    assert request.header("missing") is None
    assert request.body == b"hello"
    assert request.address == "127.0.0.1"


async def test_requests_are_found_by_path_and_by_target_and_can_be_forgotten(ask: Ask) -> None:
    async with Publisher() as publisher:
        publisher.steady(Answer(body=b"hot"), "/hot")
        for target in ("/a?x=1", "/a?x=2", "/b"):
            await ask(publisher, target)

        assert len(publisher.requests_to("/a")) == 2
        assert len(publisher.requests_to("/a?x=2")) == 1
        offsets = [request.offset_sec for request in publisher.requests]
        assert offsets == sorted(offsets)
        publisher.clear()
        assert publisher.requests == ()


@pytest.mark.parametrize("hot", [False, True], ids=["general", "prebuilt"])
async def test_a_kept_connection_has_one_number(hot: bool) -> None:
    async with Publisher() as publisher:
        if hot:
            publisher.steady(Answer(body=b"x"), "/feed")
        else:
            publisher.script("/feed", Answer(body=b"x"))
        for _ in range(2):
            reader, writer = await asyncio.open_connection("127.0.0.1", publisher.port)
            for _ in range(2):
                writer.write(b"GET /feed HTTP/1.1\r\nHost: a\r\n\r\n")
                await reader.readuntil(b"\r\n\r\nx")
            writer.close()

        assert [request.connection for request in publisher.requests] == [1, 1, 2, 2]
        assert publisher.requests_to("/feed")[-1].header("host") == "a"
        assert publisher.accepted == 2


async def test_a_load_publisher_remembers_nothing(ask: Ask) -> None:
    async with Publisher(record=0) as publisher:
        publisher.steady(Answer(body=b"x"), "/feed")
        reader, writer = await asyncio.open_connection("127.0.0.1", publisher.port)
        writer.write(b"GET /feed HTTP/1.1\r\n\r\n")
        await reader.readuntil(b"\r\n\r\nx")
        writer.close()
        await ask(publisher, "/else")

        assert publisher.requests == ()


def test_waiting_for_a_request_that_never_comes_has_a_limit() -> None:
    async def story() -> None:
        async with Publisher() as publisher:
            await publisher.seen("/feed", within_sec=0.01)

    with pytest.raises(TimeoutError):
        asyncio.run(story())


def test_hosts_are_told_apart_by_their_name_with_and_without_a_port() -> None:
    async def story() -> list[bytes]:
        async with Publisher() as publisher:
            publisher.script("/feed", Answer(body=b"a"), host="a.test")
            publisher.script("/feed", Answer(body=b"b"), host="b.test:81")
            publisher.script("/feed", Answer(body=b"-"))
            request = b"GET /feed HTTP/1.1\r\nHost: %b\r\nConnection: close\r\n\r\n"
            hosts = (b"A.test", b"a.test:80", b"b.test:81", b"b.test", b"c.test")
            return [(await exchange(publisher.port, request % host))[-1:] for host in hosts]

    assert asyncio.run(story()) == [b"a", b"a", b"b", b"-", b"-"]


def test_many_loopback_addresses_share_one_port() -> None:
    async def story() -> list[str]:
        async with Publisher(addresses=20) as publisher:
            assert publisher.url("/x", host="127.0.1.20") == f"http://127.0.1.20:{publisher.port}/x"
            for address in publisher.addresses:
                await exchange(publisher.port, b"GET /x HTTP/1.0\r\n\r\n", address)
            return [request.address for request in publisher.requests]

    assert asyncio.run(story()) == ["127.0.0.1", *(f"127.0.1.{n}" for n in range(1, 21))]


def test_it_listens_nowhere_but_on_loopback() -> None:
    with pytest.raises(UsageError, match="loopback only"):
        listening_sockets(("0.0.0.0",), 0)


def test_more_addresses_than_sockets_are_served_by_the_loopback_device_alone() -> None:
    sockets, port = listening_sockets(("127.0.0.0/8",), 0)

    with contextlib.closing(sockets[0]) as served:
        served.listen()
        with socket.create_connection(("127.9.8.7", port)):
            accepted, _ = served.accept()
            accepted.close()
        device = served.getsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, 16)

    assert device.rstrip(b"\0") == b"lo"


def test_a_port_that_is_taken_is_an_error_that_says_what_to_do() -> None:
    async def story() -> None:
        async with Publisher() as first, Publisher(port=first.port):
            pass

    with pytest.raises(UsageError, match="choose another one"):
        asyncio.run(story())


def test_it_speaks_tls_with_the_certificate_it_is_given() -> None:
    authority = trustme.CA()
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("village.test").configure_cert(server)
    client = ssl.create_default_context()
    authority.configure_trust(client)

    async def story() -> bytes:
        async with Publisher(tls=server) as publisher:
            assert publisher.url("/").startswith("https://")
            publisher.script("/feed", Answer(body=b"secret", piece_bytes=2))
            reader, writer = await asyncio.open_connection(
                "127.0.0.1", publisher.port, ssl=client, server_hostname="village.test"
            )
            writer.write(b"GET /feed HTTP/1.1\r\n\r\n")
            octets = await reader.readuntil(b"secret")
            writer.close()
            await publisher.idle()
            return octets

    assert asyncio.run(story()).endswith(b"secret")


@pytest.mark.parametrize(
    ("octets", "status"),
    [
        (b"nonsense\r\n\r\n", b"400"),
        (b"GET / HTTP/2.0\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nno colon\r\n\r\n", b"400"),
        (b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", b"400"),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nX: " + b"x" * 70_000, b"431"),
        (b"GET / HTTP/1.0\r\n\r\n", b"404"),
        (b"GET /hot HTTP/1.0\r\n\r\n", b"200"),
    ],
    ids=["no request", "version", "header", "length", "chunks", "huge head", "HTTP/1.0", "hot 1.0"],
)
def test_bad_and_old_requests_are_answered_and_the_connection_ends(
    octets: bytes, status: bytes
) -> None:
    async def story() -> bytes:
        async with Publisher() as publisher:
            publisher.steady(Answer(), "/hot")
            return await exchange(publisher.port, octets)

    assert asyncio.run(story())[9:12] == status


def test_a_head_request_gets_the_head_alone() -> None:
    async def story() -> list[bytes]:
        async with Publisher() as publisher:
            publisher.script("/a", Answer(body=b"abc"))
            publisher.script("/b", Answer(body=b"abc", delay_sec=0.01))
            request = b"HEAD %b HTTP/1.1\r\nConnection: close\r\n\r\n"
            return [await exchange(publisher.port, request % path) for path in (b"/a", b"/b")]

    assert set(asyncio.run(story())) == {b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n"}


def test_a_request_may_arrive_in_pieces() -> None:
    async def story() -> bytes:
        async with Publisher() as publisher:
            publisher.script("/hub", lambda request: Answer(body=request.body))
            reader, writer = await asyncio.open_connection("127.0.0.1", publisher.port)
            for piece in (b"POST /hub HT", b"TP/1.1\r\nContent-Length: 6\r\n\r\nabc", b"def"):
                writer.write(piece)
                await writer.drain()
                await asyncio.sleep(0)
            octets = await reader.readuntil(b"abcdef")
            writer.close()
            return octets

    assert asyncio.run(story()).endswith(b"\r\n\r\nabcdef")


async def test_a_client_that_floods_is_cut_off() -> None:
    async with Publisher() as publisher:
        publisher.script("/feed", Answer(fault="stall"))
        _, writer = await asyncio.open_connection("127.0.0.1", publisher.port)
        writer.write(b"GET /feed HTTP/1.1\r\n\r\n")
        await publisher.seen("/feed")
        writer.write(b"x" * 20_000_000)
        await publisher.idle()
        writer.transport.abort()
