"""libcurl on the event loop: one multi handle, woken by its sockets and its one timer.

libcurl says which sockets it wants watched and when it wants to be called at the latest; the
loop calls back; finished transfers are handed to the tasks that wait for them. Several transfers that
begin in one turn of the loop are started together.

The sockets are watched with an epoll of its own, or with the loop's readers and writers: uvloop makes seven system calls to watch a socket for one answer: it makes the socket non-blocking, tries whether it can
be watched at all, and begins and ends the watch. An epoll that the loop watches as one descriptor needs two, and
wakes the loop once for all sockets that are ready. Where there is no epoll, the loop watches each socket.
"""

import asyncio
import select
import sys
from collections.abc import Callable
from typing import Any, Protocol

import pycurl

from feedmill.model.base import Value

Act = Callable[[int, int], None]  # a descriptor that is ready, and libcurl's bits that say for what

_MOST_AT_ONCE = 256  # descriptors; the others are ready in the next turn of the loop


class TransferEnd(Value):
    """How a transfer ended: libcurl's code, 0 for well, and its words."""

    code: int = 0
    message: str = ""


class CurlLoop:
    """All transfers of one fetcher."""

    def __init__(self, *, max_idle_connections: int) -> None:
        self._multi = pycurl.CurlMulti()
        self._multi.setopt(pycurl.M_MAXCONNECTS, max_idle_connections)
        self._multi.setopt(pycurl.M_PIPELINING, 0)
        self._multi.setopt(pycurl.M_TIMERFUNCTION, self._on_timer)
        self._waiting: dict[Any, asyncio.Future[TransferEnd]] = {}
        self._running = 0
        self._sockets: WatchedSockets | None = None
        self._due_at: float | None = None
        self._alarm: asyncio.TimerHandle | None = None
        self._called = False
        self._closed = False
        self._loop: asyncio.AbstractEventLoop | None = None

    async def perform(self, curl: pycurl.Curl) -> TransferEnd:
        """Run one prepared easy handle to its end; cancelling drops its connection."""
        loop = self._loop or self._begin()
        ended: asyncio.Future[TransferEnd] = loop.create_future()
        self._waiting[curl] = ended
        self._running += 1
        self._multi.add_handle(curl)
        try:
            return await ended
        finally:
            if self._waiting.pop(curl, None) is not None:
                self._running -= 1
            if not self._closed:
                self._multi.remove_handle(curl)

    def _begin(self) -> asyncio.AbstractEventLoop:
        loop = self._loop = asyncio.get_running_loop()
        self._sockets = watched_sockets(loop, self._act)
        self._multi.setopt(pycurl.M_SOCKETFUNCTION, self._sockets.watch)
        return loop

    def end(self, curl: pycurl.Curl) -> None:
        """End a transfer from our side; its waiter resumes and takes it out."""
        self._settle(curl, TransferEnd(code=pycurl.E_ABORTED_BY_CALLBACK, message="ended by us"))

    def close(self) -> None:
        """Drop every connection and every transfer that is still under way."""
        self._closed = True
        self._cancel_alarm()
        for curl, ended in list(self._waiting.items()):
            self._multi.remove_handle(curl)
            ended.cancel()
        self._waiting.clear()
        self._multi.close()
        if self._sockets is not None:  # last: libcurl still watches sockets while it ends TLS
            self._sockets.close()

    def _on_timer(self, wait_ms: int) -> None:
        loop = self._loop
        assert loop is not None
        if wait_ms < 0:
            self._due_at = None
            return
        # A millisecond late rather than early: called early, libcurl finds nothing to do and
        # does not ask again.
        self._due_at = due_at = loop.time() + (wait_ms + 1) / 1000 if wait_ms else 0.0
        if not wait_ms:
            if not self._called:
                self._called = True
                loop.call_soon(self._on_time)
        elif self._alarm is None or self._alarm.when() > due_at:
            # An alarm that rings too soon is set anew when it rings: cheaper than each time.
            self._cancel_alarm()
            self._alarm = loop.call_at(due_at, self._on_alarm)

    def _on_alarm(self) -> None:
        self._alarm = None
        self._on_time()

    def _on_time(self) -> None:
        self._called = False
        if self._due_at is None or self._closed:
            return
        assert self._loop is not None
        if self._due_at > self._loop.time():
            self._cancel_alarm()
            self._alarm = self._loop.call_at(self._due_at, self._on_alarm)
            return
        self._due_at = None
        self._act(pycurl.SOCKET_TIMEOUT, 0)

    def _cancel_alarm(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None

    def _act(self, fd: int, events: int) -> None:
        _, running = self._multi.socket_action(fd, events)
        if running < self._running:
            self._collect()

    def _collect(self) -> None:
        _, well, badly = self._multi.info_read()
        for curl in well:
            self._settle(curl, _WELL)
        for curl, code, message in badly:
            self._settle(curl, TransferEnd(code=code, message=message))

    def _settle(self, curl: pycurl.Curl, how: TransferEnd) -> None:
        ended = self._waiting.pop(curl, None)
        if ended is None:  # ended from both sides at once
            return
        self._running -= 1
        if not ended.done():  # its waiter may have been cancelled in the same turn
            ended.set_result(how)


_WELL = TransferEnd()


class WatchedSockets(Protocol):
    """The sockets of one multi handle."""

    def watch(self, what: int, fd: int, *_: object) -> None: ...
    def close(self) -> None: ...


def watched_sockets(loop: asyncio.AbstractEventLoop, act: Act) -> WatchedSockets:
    """No socket yet; `act` is called on the loop for each one that is ready."""
    return EpollSockets(loop, act) if sys.platform == "linux" else LoopSockets(loop, act)


class LoopSockets:
    """Sockets that are watched by the event loop, one by one."""

    def __init__(self, loop: asyncio.AbstractEventLoop, act: Act) -> None:
        self._loop, self._act = loop, act
        self._watched: dict[int, int] = {}

    def watch(self, what: int, fd: int, *_: object) -> None:
        """Libcurl's socket callback: what to watch the socket for."""
        loop = self._loop
        wanted = 0 if what == pycurl.POLL_REMOVE else what
        before = self._watched.get(fd, 0)
        if wanted & pycurl.POLL_IN and not before & pycurl.POLL_IN:
            loop.add_reader(fd, self._act, fd, pycurl.CSELECT_IN)
        elif before & pycurl.POLL_IN and not wanted & pycurl.POLL_IN:
            loop.remove_reader(fd)
        if wanted & pycurl.POLL_OUT and not before & pycurl.POLL_OUT:
            loop.add_writer(fd, self._act, fd, pycurl.CSELECT_OUT)
        elif before & pycurl.POLL_OUT and not wanted & pycurl.POLL_OUT:
            loop.remove_writer(fd)
        if wanted:
            self._watched[fd] = wanted
        else:
            self._watched.pop(fd, None)

    def close(self) -> None:
        """Watch nothing any more."""
        for fd in list(self._watched):
            self.watch(pycurl.POLL_REMOVE, fd)


if sys.platform == "linux":
    # By what libcurl wants to know, and by what epoll tells: an error is for libcurl to find out.
    _WANTED = {
        pycurl.POLL_IN: select.EPOLLIN,
        pycurl.POLL_OUT: select.EPOLLOUT,
        pycurl.POLL_INOUT: select.EPOLLIN | select.EPOLLOUT,
    }
    _READABLE = select.EPOLLIN | select.EPOLLHUP | select.EPOLLERR
    _WRITABLE = select.EPOLLOUT | select.EPOLLHUP | select.EPOLLERR

    class EpollSockets:
        """Sockets that are watched by an epoll, which the event loop watches."""

        def __init__(self, loop: asyncio.AbstractEventLoop, act: Act) -> None:
            self._loop, self._act = loop, act
            self._epoll = select.epoll()
            self._watched: set[int] = set()
            loop.add_reader(self._epoll.fileno(), self._on_ready)

        def watch(self, what: int, fd: int, *_: object) -> None:
            """Libcurl's socket callback: what to watch the socket for."""
            wanted = _WANTED.get(what)  # None for POLL_REMOVE, and for POLL_NONE: nothing for now
            if wanted is not None:
                change = self._epoll.modify if fd in self._watched else self._epoll.register
                try:
                    change(fd, wanted)
                except FileNotFoundError:  # the number of a socket that was closed is another's
                    self._epoll.register(fd, wanted)
                self._watched.add(fd)
            elif fd in self._watched:
                self._watched.discard(fd)
                try:  # noqa: SIM105  # for each request: a context manager takes longer than the call
                    self._epoll.unregister(fd)
                except OSError:  # it is closed, and the system has forgotten it
                    pass

        def close(self) -> None:
            """Watch nothing any more."""
            self._watched.clear()
            self._loop.remove_reader(self._epoll.fileno())
            self._epoll.close()

        def _on_ready(self) -> None:
            for fd, events in self._epoll.poll(0, _MOST_AT_ONCE):
                if fd in self._watched:  # what was ready before it may have ended its transfer
                    readable = pycurl.CSELECT_IN if events & _READABLE else 0
                    self._act(fd, readable | (pycurl.CSELECT_OUT if events & _WRITABLE else 0))
