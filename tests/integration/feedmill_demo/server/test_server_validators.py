"""304 when, and only when, a validator comes back byte for byte."""

import asyncio
from collections.abc import Callable, Coroutine

import pytest

from feedmill_demo.server.script import Answer, document
from feedmill_demo.server.server import Publisher

Ask = Callable[..., Coroutine[None, None, bytes]]

MODIFIED = "tue, 1 oct 2025 1:2:3 GMT"  # wild, and compared as a string
BOTH = document(b"<rss/>", etag='"a"', last_modified=MODIFIED)


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        ((), b"200"),
        (('If-None-Match: "a"',), b"304"),
        (('if-none-match:"a"',), b"304"),
        (('If-None-Match: W/"a"',), b"200"),
        (("If-None-Match: a",), b"200"),
        (('If-None-Match: "b"', 'If-None-Match: "c"'), b"200"),
        ((f"If-Modified-Since: {MODIFIED}",), b"304"),
        (("If-Modified-Since: Tue, 01 Oct 2025 01:02:03 GMT",), b"200"),
        (('If-None-Match: "b"', f"If-Modified-Since: {MODIFIED}"), b"200"),
        (('If-None-Match: "a"', "If-Modified-Since: never"), b"304"),
    ],
    ids=[
        "unconditional", "same tag", "no blank", "weak is another tag", "unquoted is another tag",
        "two wrong tags", "same date", "same instant, other string", "a wrong tag beats a right date",
        "a right tag beats a wrong date",
    ],
)  # fmt: skip
@pytest.mark.parametrize("hot", [False, True], ids=["general", "prebuilt"])
def test_only_the_same_octets_are_not_modified(
    lines: tuple[str, ...], status: bytes, hot: bool
) -> None:
    async def story() -> bytes:
        async with Publisher() as publisher:
            if hot:
                publisher.steady(BOTH, "/feed")
            else:
                publisher.script("/feed", BOTH)
            reader, writer = await asyncio.open_connection("127.0.0.1", publisher.port)
            request = "\r\n".join(("GET /feed HTTP/1.1", "Host: a", *lines, "", ""))
            writer.write(request.encode())
            head = await reader.readuntil(b"\r\n\r\n")
            writer.close()
            return head

    assert asyncio.run(story())[9:12] == status


@pytest.mark.parametrize(
    "tag", ['""', "abc", r'"a\"b"', '"caf\xe9"', 'W/"a,b"', '"' + "x" * 8000 + '"']
)
def test_every_tag_is_compared_as_octets(ask: Ask, tag: str) -> None:
    async def story() -> bytes:
        async with Publisher() as publisher:
            publisher.script("/feed", document(b"<rss/>", etag=tag))
            return await ask(publisher, "/feed", f"If-None-Match: {tag}")

    octets = asyncio.run(story())

    assert octets == b"HTTP/1.1 304 Not Modified\r\nETag: %b\r\n\r\n" % tag.encode("latin-1")


def test_a_304_carries_what_rfc_9110_names_and_nothing_about_a_body(ask: Ask) -> None:
    answer = Answer(
        headers=(
            ("Content-Type", "text/xml"), ("Cache-Control", "max-age=60"), ("ETag", '"1"'),
            ("Content-Language", "en"), ("Vary", "Accept-Encoding"),
        ),
        body=b"<rss/>",
        codings=("gzip",),
    )  # fmt: skip

    async def story() -> bytes:
        async with Publisher() as publisher:
            publisher.script("/feed", answer)
            return await ask(publisher, "/feed", 'If-None-Match: "1"')

    assert asyncio.run(story()) == (
        b"HTTP/1.1 304 Not Modified\r\nCache-Control: max-age=60\r\n"
        b'ETag: "1"\r\nVary: Accept-Encoding\r\n\r\n'
    )


def test_a_304_can_carry_headers_of_its_own(ask: Ask) -> None:
    answer = Answer(headers=(("ETag", '"1"'),), not_modified=(("ETag", '"2"'),))

    async def story() -> bytes:
        async with Publisher() as publisher:
            publisher.script("/feed", answer)
            return await ask(publisher, "/feed", 'If-None-Match: "1"')

    assert asyncio.run(story()) == b'HTTP/1.1 304 Not Modified\r\nETag: "2"\r\n\r\n'


@pytest.mark.parametrize("hot", [False, True], ids=["general", "prebuilt"])
def test_a_server_can_ignore_validators(hot: bool) -> None:
    answer = Answer(headers=(("ETag", '"1"'), ("Last-Modified", "x")), conditional=False)

    async def story() -> bytes:
        async with Publisher() as publisher:
            if hot:
                publisher.steady(answer, "/feed")
            else:
                publisher.script("/feed", answer)
            reader, writer = await asyncio.open_connection("127.0.0.1", publisher.port)
            writer.write(b'GET /feed HTTP/1.1\r\nIf-None-Match: "1"\r\n\r\n')
            head = await reader.readuntil(b"\r\n\r\n")
            writer.close()
            return head

    assert asyncio.run(story()).startswith(b"HTTP/1.1 200 OK\r\n")


def test_prebuilt_octets_are_those_of_the_general_way() -> None:
    requests = (b"", b'If-None-Match: "a"\r\n', b'If-None-Match: "b"\r\n')

    async def answers(publisher: Publisher) -> list[bytes]:
        received: list[bytes] = []
        for line in requests:
            reader, writer = await asyncio.open_connection("127.0.0.1", publisher.port)
            writer.write(b"GET /feed HTTP/1.1\r\n%b\r\n" % line)
            head = await reader.readuntil(b"\r\n\r\n")
            body = b"" if b" 304 " in head else await reader.readexactly(len(BOTH.body))
            received.append(head + body)
            writer.close()
        return received

    async def story() -> tuple[list[bytes], list[bytes]]:
        async with Publisher() as publisher:
            publisher.steady(BOTH, "/feed")
            hot = await answers(publisher)
            publisher.script("/feed", BOTH)
            return hot, await answers(publisher)

    hot, general = asyncio.run(story())

    assert hot == general
