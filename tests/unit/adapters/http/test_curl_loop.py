"""The one timer and the ends of transfers: what can cross each other does no harm."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pycurl
import pytest
from tests.support.waiting import HANG_GUARD_SEC

from feedmill.adapters.http.curl_loop import CurlLoop


def run(story: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(story(), HANG_GUARD_SEC))


def _waiting_curl() -> pycurl.Curl:
    """A handle that waits for a server that never speaks."""
    curl = pycurl.Curl()
    curl.setopt(pycurl.URL, "http://127.0.0.1:1/")
    curl.setopt(pycurl.PROXY, "")
    return curl


async def test_a_transfer_that_is_ended_twice_ends_once() -> None:
    pump, curl = CurlLoop(max_idle_connections=1), _waiting_curl()
    performing = asyncio.create_task(pump.perform(curl))
    await asyncio.sleep(0)
    pump.end(curl)
    pump.end(curl)

    ended = await performing

    assert ended.code == pycurl.E_ABORTED_BY_CALLBACK
    pump.close()


async def test_a_transfer_that_is_cancelled_and_ended_in_one_turn_is_cancelled() -> None:
    pump, curl = CurlLoop(max_idle_connections=1), _waiting_curl()
    performing = asyncio.create_task(pump.perform(curl))
    await asyncio.sleep(0)
    performing.cancel()
    pump.end(curl)

    with pytest.raises(asyncio.CancelledError):
        await performing
    pump.close()


async def test_an_alarm_that_libcurl_takes_back_rings_for_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pump = CurlLoop(max_idle_connections=1)
    acted: list[int] = []
    rung = asyncio.Event()

    def act(fd: int, _events: int) -> None:
        acted.append(fd)
        rung.set()

    pump._loop = asyncio.get_running_loop()
    monkeypatch.setattr(pump, "_act", act)

    pump._on_timer(0)
    pump._on_timer(-1)
    await asyncio.sleep(0)
    assert acted == []

    pump._on_timer(30)
    pump._on_timer(1)
    pump._on_timer(20)  # later than the alarm that is set: it rings and is set anew
    await rung.wait()
    assert acted == [pycurl.SOCKET_TIMEOUT]
    pump.close()
