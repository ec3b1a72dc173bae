"""Sockets are watched for what libcurl asked for last, and no longer than it asked."""

import asyncio
import os
import socket
from collections.abc import Callable, Coroutine
from typing import Any

import pycurl
import pytest
import uvloop
from tests.support.waiting import HANG_GUARD_SEC

from feedmill.adapters.http.curl_loop import Act, LoopSockets, WatchedSockets, watched_sockets

Make = Callable[[asyncio.AbstractEventLoop, Act], WatchedSockets]

BOTH = pytest.mark.parametrize(
    "make",
    [
        pytest.param(watched_sockets, id="of this system"),
        pytest.param(LoopSockets, id="by the loop"),
    ],
)


class _Story:
    """Two connected sockets, what was told about the first, and a way to wait for the next."""

    def __init__(self, make: Make) -> None:
        self.near, self.far = socket.socketpair()
        self.told: list[tuple[int, int]] = []
        self._came = asyncio.Event()
        self.sockets = make(asyncio.get_running_loop(), self._act)

    async def next(self) -> tuple[int, int]:
        self._came.clear()
        await self._came.wait()
        return self.told[-1]

    def _act(self, fd: int, bits: int) -> None:
        self.told.append((fd, bits))
        self._came.set()

    def close(self) -> None:
        self.sockets.close()
        self.near.close()
        self.far.close()


def run(make: Make, tell: Callable[[_Story], Coroutine[Any, Any, None]]) -> None:
    async def story() -> None:
        one = _Story(make)
        try:
            await asyncio.wait_for(tell(one), HANG_GUARD_SEC)
        finally:
            one.close()

    for factory in (asyncio.new_event_loop, uvloop.new_event_loop):
        with asyncio.Runner(loop_factory=factory) as runner:
            runner.run(story())


@BOTH
def test_a_socket_that_can_be_read_is_told_until_it_is_read(make: Make) -> None:
    async def tell(story: _Story) -> None:
        fd = story.near.fileno()
        story.sockets.watch(pycurl.POLL_IN, fd)
        story.far.send(b"x")

        first, second = await story.next(), await story.next()

        assert first == second == (fd, pycurl.CSELECT_IN)

    run(make, tell)


@BOTH
def test_a_socket_is_watched_for_what_was_asked_last(make: Make) -> None:
    async def tell(story: _Story) -> None:
        fd = story.near.fileno()
        story.far.send(b"x")
        story.sockets.watch(pycurl.POLL_IN, fd)
        story.sockets.watch(pycurl.POLL_OUT, fd)

        assert await story.next() == (fd, pycurl.CSELECT_OUT)

        story.sockets.watch(pycurl.POLL_INOUT, fd)
        story.told.clear()
        await story.next()
        await story.next()
        bits = 0
        for _, more in story.told:
            bits |= more
        assert bits == pycurl.CSELECT_IN | pycurl.CSELECT_OUT

    run(make, tell)


@BOTH
def test_a_connection_that_the_other_side_closed_can_be_read(make: Make) -> None:
    async def tell(story: _Story) -> None:
        fd = story.near.fileno()
        story.sockets.watch(pycurl.POLL_IN, fd)
        story.far.close()

        _, bits = await story.next()

        assert bits & pycurl.CSELECT_IN

    run(make, tell)


@BOTH
@pytest.mark.parametrize(
    "ending",
    [pytest.param(pycurl.POLL_REMOVE, id="remove"), pytest.param(pycurl.POLL_NONE, id="none")],
)
def test_a_socket_that_was_taken_out_is_told_no_more(make: Make, ending: int) -> None:
    async def tell(story: _Story) -> None:
        other, far = socket.socketpair()
        story.sockets.watch(pycurl.POLL_IN, other.fileno())
        far.send(b"x")
        story.sockets.watch(ending, other.fileno())
        story.sockets.watch(ending, other.fileno())
        story.sockets.watch(pycurl.POLL_OUT, story.near.fileno())

        await story.next()
        await story.next()

        assert {fd for fd, _ in story.told} == {story.near.fileno()}
        other.close()
        far.close()

    run(make, tell)


@BOTH
def test_of_more_ready_sockets_than_one_turn_takes_every_one_is_told(make: Make) -> None:
    async def tell(story: _Story) -> None:
        pairs = [socket.socketpair() for _ in range(300)]
        fds = {near.fileno() for near, _ in pairs}
        for fd in fds:
            story.sockets.watch(pycurl.POLL_OUT, fd)

        while {fd for fd, _ in story.told} != fds:
            await story.next()

        for fd in fds:
            story.sockets.watch(pycurl.POLL_REMOVE, fd)
        for pair in pairs:
            for one in pair:
                one.close()

    run(make, tell)


@BOTH
def test_a_transfer_that_another_one_ended_in_the_same_turn_is_not_told(make: Make) -> None:
    async def tell(story: _Story) -> None:
        other, far = socket.socketpair()
        fds = {story.near.fileno(), other.fileno()}
        told: list[int] = []
        both = asyncio.Event()

        def act(fd: int, _bits: int) -> None:
            told.append(fd)
            for each in fds - {fd}:
                sockets.watch(pycurl.POLL_REMOVE, each)
            if len(told) == 2:
                both.set()

        sockets = make(asyncio.get_running_loop(), act)
        for fd in fds:
            sockets.watch(pycurl.POLL_OUT, fd)
        await both.wait()

        assert told[0] == told[1]
        sockets.close()
        other.close()
        far.close()

    run(make, tell)


@pytest.mark.parametrize(
    "is_told", [pytest.param(True, id="told"), pytest.param(False, id="silently")]
)
def test_number_of_a_closed_socket_is_watched_for_the_one_that_has_it_now(is_told: bool) -> None:
    async def tell(story: _Story) -> None:
        (other, far), (again, further) = socket.socketpair(), socket.socketpair()
        fd = other.fileno()
        story.sockets.watch(pycurl.POLL_IN, fd)
        os.dup2(again.fileno(), fd)  # closes the first one and gives its number away
        if is_told:
            story.sockets.watch(pycurl.POLL_REMOVE, fd)

        story.sockets.watch(pycurl.POLL_OUT, fd)

        assert await story.next() == (fd, pycurl.CSELECT_OUT)
        story.sockets.watch(pycurl.POLL_REMOVE, fd)
        for one in (other, far, again, further):
            one.close()

    run(watched_sockets, tell)


@BOTH
def test_nothing_is_watched_after_the_end(make: Make) -> None:
    async def tell(story: _Story) -> None:
        fd = story.near.fileno()
        story.sockets.watch(pycurl.POLL_OUT, fd)
        await story.next()
        story.sockets.close()
        story.told.clear()
        story.sockets.watch(pycurl.POLL_REMOVE, fd)
        for _ in range(3):
            await asyncio.sleep(0)

        assert story.told == []

    async def twice(story: _Story) -> None:
        await tell(story)
        story.sockets = make(asyncio.get_running_loop(), story._act)

    run(make, twice)
