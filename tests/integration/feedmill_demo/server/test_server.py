"""The publisher sends what the script says, octet for octet."""

import asyncio
import gzip
import zlib
from collections.abc import Callable, Coroutine

import brotli
import pytest
import zstandard

from feedmill_demo.server.script import (
    Answer,
    ContentCoding,
    Request,
    document,
    raw_answer,
    redirect,
)
from feedmill_demo.server.server import Publisher

Ask = Callable[..., Coroutine[None, None, bytes]]

BODY = b"<rss><channel><title>N\xc3\xa4chrichten</title></channel></rss>" * 20


async def test_headers_go_out_as_written_in_order_and_with_duplicates(ask: Ask) -> None:
    headers = (("X-b", "1"), ("x-A", "caf\xe9"), ("X-b", "2"), ("Set-Cookie", "a=b"))
    async with Publisher() as publisher:
        publisher.script("/feed", Answer(status=299, reason="Odd", headers=headers, body=b"hi"))

        octets = await ask(publisher)

    assert octets == (
        b"HTTP/1.1 299 Odd\r\nX-b: 1\r\nx-A: caf\xe9\r\nX-b: 2\r\nSet-Cookie: a=b\r\n"
        b"Content-Length: 2\r\n\r\nhi"
    )


async def test_a_status_without_a_name_has_an_empty_reason(ask: Ask) -> None:
    async with Publisher() as publisher:
        publisher.script("/feed", Answer(status=799))

        assert (await ask(publisher)).startswith(b"HTTP/1.1 799 \r\n")


@pytest.mark.parametrize(
    ("codings", "named", "decode"),
    [
        (("gzip",), b"gzip", gzip.decompress),
        (("x-gzip",), b"x-gzip", gzip.decompress),
        (("deflate",), b"deflate", zlib.decompress),
        (("raw-deflate",), b"deflate", lambda octets: zlib.decompress(octets, -15)),
        (("br",), b"br", brotli.decompress),
        (("zstd",), b"zstd", lambda octets: zstandard.ZstdDecompressor().decompress(octets)),
        (("gzip", "br"), b"gzip, br", lambda octets: gzip.decompress(brotli.decompress(octets))),
    ],
    ids=["gzip", "x-gzip", "zlib", "raw", "br", "zstd", "stacked"],
)
async def test_a_coded_body_decodes_to_the_script_s_body(
    ask: Ask, codings: tuple[ContentCoding, ...], named: bytes, decode: Callable[[bytes], bytes]
) -> None:
    async with Publisher() as publisher:
        publisher.script("/feed", document(BODY, codings=codings))

        head, _, body = (await ask(publisher)).partition(b"\r\n\r\n")

    assert b"Content-Encoding: " + named in head.split(b"\r\n")
    assert b"Content-Length: %d" % len(body) in head.split(b"\r\n")
    assert decode(body) == BODY


async def test_chunks_are_of_the_wanted_size_and_end_properly(ask: Ask) -> None:
    async with Publisher() as publisher:
        publisher.script("/feed", Answer(body=b"abcdefg", framing="chunked", piece_bytes=3))

        head, _, body = (await ask(publisher)).partition(b"\r\n\r\n")

    assert head == b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked"
    assert body == b"3\r\nabc\r\n3\r\ndef\r\n1\r\ng\r\n0\r\n\r\n"


async def test_a_body_can_end_with_the_connection(ask: Ask) -> None:
    async with Publisher() as publisher:
        publisher.script("/feed", Answer(body=b"abc", framing="close"))

        assert await ask(publisher) == b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nabc"


@pytest.mark.parametrize("lie", [2, 900])
async def test_a_content_length_can_lie_either_way(ask: Ask, lie: int) -> None:
    async with Publisher() as publisher:
        publisher.script("/feed", Answer(body=b"abcdef", content_length=lie))

        octets = await ask(publisher)

    assert octets == b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\nabcdef" % lie


async def test_a_header_that_the_script_sets_itself_is_not_added_again(ask: Ask) -> None:
    answer = Answer(headers=(("content-length", "+3"), ("Connection", "close")), body=b"abc")
    async with Publisher() as publisher:
        publisher.script("/feed", answer)

        octets = await ask(publisher)

    assert octets == b"HTTP/1.1 200 OK\r\ncontent-length: +3\r\nConnection: close\r\n\r\nabc"


async def test_raw_octets_are_sent_as_they_are(ask: Ask) -> None:
    octets = b"ICY 200\nX-Fold: a\n b\n\n\x00\xff"
    async with Publisher() as publisher:
        publisher.script("/feed", raw_answer(octets))

        assert await ask(publisher) == octets


async def test_a_redirect_names_its_location(ask: Ask) -> None:
    async with Publisher() as publisher:
        publisher.script("/feed", redirect("/elsewhere", 308))

        octets = await ask(publisher)

    assert octets.startswith(b"HTTP/1.1 308 Permanent Redirect\r\nLocation: /elsewhere\r\n")


def test_answers_come_in_order_and_then_the_last_one_stays(ask: Ask) -> None:
    async def story() -> list[bytes]:
        async with Publisher() as publisher:
            script = publisher.script("/a", Answer(body=b"1"), Answer(body=b"2"))
            publisher.script("/b", Answer(body=b"1"), then=Answer(status=503))
            first = [(await ask(publisher, "/a"))[-1:] for _ in range(3)]
            assert script.asked == 3
            return first + [(await ask(publisher, "/b"))[9:12] for _ in range(3)]

    assert asyncio.run(story()) == [b"1", b"2", b"2", b"200", b"503", b"503"]


async def test_an_answer_can_be_computed_from_the_request(ask: Ask) -> None:
    def echo(request: Request) -> Answer:
        return Answer(body=f"{request.target} {request.header('x-name')}".encode())

    async with Publisher() as publisher:
        publisher.script("/feed", echo)

        octets = await ask(publisher, "/feed?page=2", "X-Name: Ada")

    assert octets.endswith(b"/feed?page=2 Ada")


def test_a_script_that_raises_is_answered_with_500_and_raised_on_leaving(ask: Ask) -> None:
    def stumble(request: Request) -> Answer:
        raise LookupError(request.target)

    async def story() -> None:
        async with Publisher() as publisher:
            publisher.script("/feed", stumble)
            assert (await ask(publisher)).startswith(b"HTTP/1.1 500 ")

    with pytest.raises(ExceptionGroup) as caught:
        asyncio.run(story())

    assert isinstance(caught.value.exceptions[0], LookupError)


async def test_a_path_that_nobody_wrote_is_not_found(ask: Ask) -> None:
    async with Publisher() as publisher:
        assert (await ask(publisher)).startswith(b"HTTP/1.1 404 Not Found\r\n")
