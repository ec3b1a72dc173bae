"""Watches the sockets of libcurl for the event loop: with an epoll of its own, or with the loop's readers and writers.

uvloop makes seven system calls to watch a socket for one answer: it makes the socket non-blocking, tries whether it can
be watched at all, and begins and ends the watch. An epoll that the loop watches as one descriptor needs two, and
wakes the loop once for all sockets that are ready. Where there is no epoll, the loop watches each socket.
"""

import asyncio
import select
import sys
from collections.abc import Callable
from typing import Protocol

import pycurl

Act = Callable[[int, int], None]  # a descriptor that is ready, and libcurl's bits that say for what

_MOST_AT_ONCE = 256  # descriptors; the others are ready in the next turn of the loop


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
