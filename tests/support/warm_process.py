"""Child processes that need not import feedmill again: forked from a Python that has.

An import takes most of a second of CPU, and the tests start `feedmill` hundreds of times. What is forked
is a process like any other, with its own number, environment and streams, and a child of the tests'
process. Tests of the start itself, and of what is imported, start an interpreter of their own.
"""

import asyncio
import atexit
import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeAlias

from tests.support.waiting import HANG_GUARD_SEC

CHILDREN: Final = Path(__file__).parent / "children"
_SET_CHILD_SUBREAPER: Final = 36  # of prctl(2): orphans of our children become our children
_CAN_FORK: Final = sys.platform == "linux"
_PRELOAD: Final = "LD_PRELOAD"  # a library that has to be there when the interpreter starts


class WarmPopen(subprocess.Popen[Any]):
    """`Popen([sys.executable, script, ...])`; its arguments begin with the script."""

    def _execute_child(self, args: list[Any], *settings: Any) -> None:
        _, _, _, _, cwd, env, _, _, _, *pipes = settings
        if not _CAN_FORK or _PRELOAD in (env or ()):
            own = [sys.executable, *args]
            super()._execute_child(own, sys.executable, *settings[1:])  # type: ignore[misc]
            return
        stdin, _, _, stdout, _, stderr = pipes[:6]
        files = [own if own != -1 else number for number, own in enumerate((stdin, stdout, stderr))]
        request = {
            "words": [os.fspath(word) for word in args],
            "environment": dict(os.environ if env is None else env),
            "folder": os.fspath(cwd or Path.cwd()),
        }
        try:
            self.pid = _fork_server().fork(request, files)
            self._child_created = True
        finally:
            self._close_pipe_fds(*pipes[:6])  # type: ignore[attr-defined]


class _Pipe(asyncio.StreamReaderProtocol):
    """The reading end of a pipe; `closed` once everything has come."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        super().__init__(reader)
        self.closed = asyncio.Event()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self.closed.set()


class ForkedProcess:
    """What the tests use of `asyncio.subprocess.Process`."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process, self.pid = process, process.pid
        self.returncode: int | None = None
        self.stdout: asyncio.StreamReader | None = None
        self.stderr: asyncio.StreamReader | None = None
        self._pipes: list[_Pipe] = []
        self._over = asyncio.Event()
        self._file = os.pidfd_open(process.pid)
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._file, self._end)

    async def open_streams(self) -> None:
        """Let the streams be read here."""
        self.stdout = await self._reader_of(self._process.stdout)
        self.stderr = await self._reader_of(self._process.stderr)

    def send_signal(self, number: int) -> None:
        self._process.send_signal(number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    async def wait(self) -> int:
        """The exit code, once the process has ended and all that it said has come."""
        await self._over.wait()
        for pipe in self._pipes:
            await pipe.closed.wait()
        assert self.returncode is not None
        return self.returncode

    async def _reader_of(self, stream: Any) -> asyncio.StreamReader | None:
        if stream is None:
            return None
        reader = asyncio.StreamReader()
        _, pipe = await self._loop.connect_read_pipe(lambda: _Pipe(reader), stream)
        self._pipes.append(pipe)
        return reader

    def _end(self) -> None:
        self._loop.remove_reader(self._file)
        os.close(self._file)
        self.returncode = self._process.wait()
        self._over.set()


Process: TypeAlias = asyncio.subprocess.Process | ForkedProcess


async def start_script(
    *words: str | Path,
    env: Mapping[str, str],
    stdout: int | None = None,
    stderr: int | None = None,
) -> Process:
    """`asyncio.create_subprocess_exec(sys.executable, *words)`, without the imports if it can be."""
    nothing = subprocess.DEVNULL
    if not _CAN_FORK:
        return await asyncio.create_subprocess_exec(
            sys.executable, *words, env=env, stdin=nothing, stdout=stdout, stderr=stderr
        )
    popen = WarmPopen(words, env=env, stdin=nothing, stdout=stdout, stderr=stderr)
    forked = ForkedProcess(popen)
    await forked.open_streams()
    return forked


def start_child(name: str, *words: str, **settings: Any) -> WarmPopen:
    """A program of tests/support/children; what it says is text."""
    script = CHILDREN / f"{name}.py"
    return WarmPopen([script, *words], stdout=subprocess.PIPE, text=True, **settings)


class _ForkServer:
    """The Python that has imported feedmill; it ends with this process."""

    def __init__(self) -> None:
        ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self._lock = threading.Lock()
        self._wire, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._wire.settimeout(HANG_GUARD_SEC)
        inherited = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        paths = os.pathsep.join(sys.path)
        self._process = subprocess.Popen(
            [sys.executable, CHILDREN / "fork_server.py"],
            stdin=theirs.fileno(),
            env={**inherited, "PYTHONPATH": paths},
        )
        theirs.close()
        assert self._wire.recv(32) == b"ready"
        atexit.register(self._close)

    def fork(self, request: dict[str, Any], files: list[int]) -> int:
        """The number of the new process."""
        with self._lock:
            socket.send_fds(self._wire, [json.dumps(request).encode()], files)
            return int(self._wire.recv(32))

    def _close(self) -> None:
        self._wire.close()
        self._process.wait(HANG_GUARD_SEC)


@cache
def _fork_server() -> _ForkServer:
    return _ForkServer()
