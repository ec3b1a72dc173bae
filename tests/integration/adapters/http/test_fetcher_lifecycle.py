"""A fetch that is given up leaves nothing behind, and neither does the fetcher."""

import asyncio
import gc
from pathlib import Path

import pytest
from tests.support.loopback_fetcher import LOOPBACK, fetching, get
from tests.support.raw_http_server import Line, always, answer, serving
from tests.support.waiting import wait_until

from feedmill.adapters.clock import SystemClock
from feedmill.adapters.http import connection
from feedmill.adapters.http.connection import trust_store
from feedmill.adapters.http.curl_handle import CurlHandle, CurlRequest
from feedmill.adapters.http.curl_loop import CurlLoop
from feedmill.adapters.http.fetcher import CurlFetcher
from feedmill.adapters.http.response_buffer import ResponseBuffer
from feedmill.errors import UsageError
from feedmill.fetch.plan import plan_fetch
from feedmill.model.fetch import Headers, RawResponse

BODY = answer(body=b"x")


async def _silence(line: Line) -> None:
    await line.hear()
    await line.hold()


def _descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


async def test_a_cancelled_fetch_drops_its_connection_and_spares_the_others() -> None:
    gone = []

    async def script(line: Line) -> None:
        heard = await line.hear()
        if heard.target == "/quick":
            await line.say(BODY)
        await line.hold()
        gone.append(heard.target)

    async with serving(script) as server, fetching() as fetcher:
        slow = asyncio.create_task(get(fetcher, server.url("/slow")))
        await wait_until(lambda: bool(server.heard), "the request")
        slow.cancel()
        with pytest.raises(asyncio.CancelledError):
            await slow
        await wait_until(lambda: bool(gone), "the end of the connection")
        response = await get(fetcher, server.url("/quick"))

    assert gone[0] == "/slow"
    assert response.status == 200


async def test_an_outer_deadline_ends_a_fetch_cleanly() -> None:
    async with serving(_silence) as server, fetching() as fetcher:
        for _ in range(3):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05):
                    await get(fetcher, server.url())


async def test_closing_ends_what_is_under_way_and_frees_every_descriptor() -> None:
    async with serving(_silence) as silent, serving(always(BODY)) as server:
        before = _descriptors()
        fetcher = CurlFetcher(LOOPBACK, SystemClock())
        for _ in range(3):
            await get(fetcher, server.url())
        hanging = [asyncio.create_task(get(fetcher, silent.url())) for _ in range(5)]
        await wait_until(lambda: len(silent.heard) == 5, "five requests")
        await fetcher.close()
        ends = await asyncio.gather(*hanging, return_exceptions=True)
        await wait_until(lambda: _descriptors() <= before, "every descriptor closed")

    assert all(isinstance(end, asyncio.CancelledError) for end in ends)


async def test_an_idle_fetcher_holds_no_body() -> None:
    async with serving(always(answer(body=b"y" * 1_000_000))) as server, fetching() as fetcher:
        await get(fetcher, server.url())

        assert not [o for o in gc.get_objects() if isinstance(o, ResponseBuffer)]


async def test_the_address_that_is_dialled_is_checked_whatever_was_pinned() -> None:
    plan = plan_fetch("http://feeds.example/", None, LOOPBACK)

    async with serving(always(BODY), host="0.0.0.0") as server:
        handle = CurlHandle(
            ca_file=trust_store(None), allow_cidrs=LOOPBACK.allow_cidrs, clock=SystemClock()
        )
        pump = CurlLoop(max_idle_connections=4)
        request = CurlRequest(
            url=server.url(host="feeds.example"),
            headers=plan.headers,
            addresses=("127.0.0.1",),
            timeout_ms=2_000,
            connect_timeout_ms=2_000,
        )
        handle.prepare(request, ResponseBuffer(plan.limits), None)
        handle.curl.setopt(handle.curl.CONNECT_TO, ["::127.0.0.2:"])  # as if tricked
        ended = await pump.perform(handle.curl)
        pump.close()
        handle.close()

    assert (ended.code != 0, handle.refused) == (True, "127.0.0.2")
    assert server.connections == 0


async def test_a_dial_that_the_guard_vetoes_is_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CurlHandle, "_may_dial", lambda *_: False)

    async with serving(always(BODY)) as server, fetching() as fetcher:
        response = await get(fetcher, server.url())

    assert (response.error, response.detail) == ("private-address", "127.0.0.1")
    assert server.connections == 0


async def test_no_more_handles_are_kept_than_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "_MAX_IDLE_HANDLES", 1)

    async with serving(always(BODY)) as server, fetching() as fetcher:
        await asyncio.gather(*(get(fetcher, server.url()) for _ in range(5)))

        assert len(fetcher._wires._idle) == 1


async def test_a_resolver_that_hangs_is_held_to_the_deadline() -> None:
    class Hanging:
        async def resolve(self, host: str) -> tuple[str, ...]:
            await asyncio.Event().wait()
            return (host,)

        async def close(self) -> None:
            """Nothing to close."""

    fetcher = CurlFetcher(LOOPBACK, SystemClock(), resolver=Hanging())
    response = await get(fetcher, "http://feeds.example/", timeout_ms=50)
    await fetcher.close()

    assert response.error == "dns-failure"


async def test_a_header_with_a_line_end_is_a_mistake_of_the_caller() -> None:
    plan = plan_fetch("http://127.0.0.1:9/", None, LOOPBACK)
    evil = type(plan)(
        url=plan.url, headers=(("X", "a\r\nY: b"),), conditional=False, limits=plan.limits
    )

    async with fetching() as fetcher:
        with pytest.raises(UsageError, match="header"):
            await fetcher.fetch(evil)


class _Discarding:
    """A sink that takes everything and keeps nothing."""

    def begin(self, _status: int, _headers: Headers) -> int | None:
        return 1_000_000

    def write(self, _chunk: bytes) -> bool:
        return True


async def test_downloads_share_their_budget_equally_and_get_it_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told: list[int] = []
    limit_speed = CurlHandle.limit_speed

    def spy(handle: CurlHandle, bytes_per_sec: int) -> None:
        told.append(bytes_per_sec)
        limit_speed(handle, bytes_per_sec)

    monkeypatch.setattr(CurlHandle, "limit_speed", spy)

    async with serving(_silence) as server, fetching() as fetcher:

        def download() -> asyncio.Task[RawResponse]:
            plan = plan_fetch(server.url(), None, LOOPBACK)
            return asyncio.create_task(fetcher.download(plan, _Discarding(), bytes_per_sec=9_000))

        first = download()
        await wait_until(lambda: len(server.heard) == 1, "the first request")
        second = download()
        await wait_until(lambda: len(server.heard) == 2, "the second request")
        first.cancel()
        await asyncio.wait({first})
        second.cancel()
        await asyncio.wait({second})

    assert told == [9_000, 9_000, 9_000, 4_500, 4_500, 9_000]  # set, then shared out
