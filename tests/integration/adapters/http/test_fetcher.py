"""What a well-meaning server says arrives exactly: octets, fields, their order."""

import asyncio

import msgspec
from tests.support.loopback_fetcher import LOOPBACK, fetching, get
from tests.support.raw_http_server import Line, always, answer, by_path, once, serving

from feedmill.fetch.plan import plan_fetch
from feedmill.model.fetch import Validators


async def test_an_answer_arrives_with_its_fields_in_order_and_with_duplicates() -> None:
    fields = ("X-Two: b", "Link: <a>; rel=hub", "x-two:a ", "Link: <b>; rel=self", "Empty:")

    said = answer(200, *fields, body=b"<rss/>")
    async with serving(always(said)) as server, fetching() as fetcher:
        response = await get(fetcher, server.url())

    assert response.status == 200
    assert response.body == b"<rss/>"
    assert response.wire_length == 6
    assert response.url == response.final_url == server.url()
    assert response.headers == (
        ("X-Two", "b"),
        ("Link", "<a>; rel=hub"),
        ("x-two", "a"),
        ("Link", "<b>; rel=self"),
        ("Empty", ""),
        ("Content-Length", "6"),
    )


async def test_field_values_are_octets_both_ways() -> None:
    etag = 'W/"caf\u00e9 \u00ff"'

    said = answer(304, f"ETag: {etag}")
    async with serving(always(said)) as server, fetching() as fetcher:
        plan = plan_fetch(server.url(), Validators(etag=etag), LOOPBACK)
        response = await fetcher.fetch(plan)

    assert response.status == 304
    assert response.headers == (("ETag", etag),)
    assert server.heard[0].value("If-None-Match") == etag


async def test_what_was_sent_is_what_is_recorded() -> None:
    own = (("X-Key", "secret"), ("X-Empty", ""), ("X-Key", "again"))

    async with serving(always(answer(body=b"x"))) as server, fetching() as fetcher:
        response = await get(fetcher, server.url(), headers=own)

    host, *rest = server.heard[0].headers
    assert host == ("Host", f"127.0.0.1:{server.port}")
    assert tuple(rest) == response.request_headers
    assert response.request_headers[-3:] == own


async def test_no_field_is_added_or_left_over_from_another_request() -> None:
    async with serving(always(answer(body=b"x"))) as server, fetching() as fetcher:
        await get(fetcher, server.url(), headers=(("Authorization", "Basic eDp5"),))
        plan = plan_fetch(server.url(), None, LOOPBACK)
        await fetcher.fetch(msgspec.structs.replace(plan, headers=()))

    assert [name for name, _ in server.heard[1].headers] == ["Host"]


async def test_nothing_is_asked_but_a_plain_get_of_the_exact_target() -> None:
    target = "/a//b/%2e%2E/?q=1&&x=%e9|[]"

    async with serving(always(answer(body=b"x"))) as server, fetching() as fetcher:
        response = await get(fetcher, server.url(target))

    assert response.final_url.endswith(server.heard[0].target)
    assert server.heard[0].method == "GET"
    for unwanted in ("Cookie", "Range", "Referer", "Expect", "TE", "Upgrade"):
        assert server.heard[0].value(unwanted) is None


async def test_the_header_counts_after_informational_answers_and_before_trailers() -> None:
    early = b"HTTP/1.1 103 Early Hints\r\nLink: </s.css>\r\n\r\n"
    late = (
        b"HTTP/1.1 200 OK\r\nX-Real: yes\r\nTransfer-Encoding: chunked\r\nTrailer: X-Late\r\n\r\n"
        b"3\r\nabc\r\n0\r\nX-Late: no\r\n\r\n"
    )

    async with serving(always(early + early + late)) as server, fetching() as fetcher:
        response = await get(fetcher, server.url())

    assert response.body == b"abc"
    assert [name for name, _ in response.headers] == ["X-Real", "Transfer-Encoding", "Trailer"]


async def test_a_folded_field_is_one_field() -> None:
    said = b"HTTP/1.1 200 OK\r\nX-Fold: one\r\n   two\r\nContent-Length: 1\r\n\r\nx"

    async with serving(always(said)) as server, fetching() as fetcher:
        response = await get(fetcher, server.url())

    assert response.headers[0] == ("X-Fold", "one two")


async def test_a_body_without_a_length_ends_with_the_connection() -> None:
    async with serving(once(b"HTTP/1.0 200 OK\r\n\r\n<rss/>")) as server, fetching() as fetcher:
        response = await get(fetcher, server.url())

    assert (response.body, response.truncated, response.error) == (b"<rss/>", False, None)


async def test_the_length_in_a_304_is_not_taken_for_a_body() -> None:
    said = answer(304, "Content-Length: 99999999999", 'ETag: "a"')

    async with serving(always(said)) as server, fetching() as fetcher:
        await get(fetcher, server.url(), max_wire_bytes=1_000)
        response = await get(fetcher, server.url(), max_wire_bytes=1_000)

    assert (response.status, response.capped, response.truncated) == (304, False, False)
    assert server.connections == 1


async def test_connections_are_kept_per_origin() -> None:
    async with serving(always(answer(body=b"x"))) as server, fetching() as fetcher:
        for _ in range(5):
            await get(fetcher, server.url(host="feeds.example"))
        await get(fetcher, server.url(host="other.example"))

    assert [heard.connection for heard in server.heard] == [1, 1, 1, 1, 1, 2]


async def test_a_kept_connection_is_not_used_for_another_address_of_the_same_name() -> None:
    table = {"feeds.example": [("127.0.0.1",), ("127.0.0.2",), ("127.0.0.1",)]}

    said = always(answer(body=b"x"))
    async with serving(said, host="0.0.0.0") as server, fetching(table) as fetcher:
        for _ in range(3):
            await get(fetcher, server.url(host="feeds.example"))

    assert [heard.connection for heard in server.heard] == [1, 2, 1]


async def test_idle_connections_are_capped() -> None:
    hosts = [f"h{n}.example" for n in range(6)]

    async with (
        serving(always(answer(body=b"x"))) as server,
        fetching({host: [("127.0.0.1",)] for host in hosts}, max_idle_connections=2) as fetcher,
    ):
        for host in (*hosts, hosts[-1], hosts[0]):
            await get(fetcher, server.url(host=host))

    assert server.heard[6].connection == server.heard[5].connection
    assert server.heard[7].connection == 7  # the first one had been given up


async def test_a_connection_that_died_idle_is_replaced_unnoticed() -> None:
    async with serving(once(answer(body=b"x"))) as server, fetching() as fetcher:
        responses = [await get(fetcher, server.url()) for _ in range(3)]

    assert [response.status for response in responses] == [200, 200, 200]
    assert server.connections == 3


async def test_many_requests_run_at_once() -> None:
    waiting = asyncio.Barrier(40)

    async def script(line: Line) -> None:
        await line.hear()
        await waiting.wait()  # nobody is answered before everybody has asked
        await line.say(answer(body=str(line.number).encode()))

    async with serving(script) as server, fetching() as fetcher:
        responses = await asyncio.gather(*(get(fetcher, server.url()) for _ in range(40)))

    assert len({response.body for response in responses}) == 40


async def test_cookies_are_never_sent_back() -> None:
    said = answer(200, "Set-Cookie: id=1; Path=/", body=b"x")
    moved = answer(302, "Set-Cookie: id=2; Path=/", "Location: /b")

    async with serving(by_path({"/a": moved, "/b": said})) as server, fetching() as fetcher:
        await get(fetcher, server.url("/a"))
        await get(fetcher, server.url("/b"))

    assert [heard.value("Cookie") for heard in server.heard] == [None, None, None]


async def test_an_empty_answer_is_an_answer() -> None:
    async with serving(always(answer(204))) as server, fetching() as fetcher:
        response = await get(fetcher, server.url())

    assert (response.status, response.body, response.error) == (204, b"", None)
