"""Running the command line: in this process where that is equal, as a process where it is not."""

import asyncio
import io
import json
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from subprocess import PIPE, Popen
from types import TracebackType
from typing import Any, NamedTuple, Self

import pytest
from tests.support.waiting import HANG_GUARD_SEC
from tests.support.warm_process import WarmPopen

from feedmill.interfaces.cli.main import main
from feedmill_demo.server.server import Publisher
from feedmill_demo.sites import DemoWeb

COMMAND = Path(sys.executable).with_name("feedmill")
ITEM = "<item><guid>{0}</guid><link>https://paper.example/{0}</link><title>{1}</title></item>"


class Said(NamedTuple):
    """What a command printed and how it left."""

    status: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        """Standard output as text."""
        return self.out.decode()

    @property
    def json(self) -> Any:
        """Standard output as the one JSON document that it has to be."""
        return json.loads(self.out)

    @property
    def error(self) -> Any:
        """The error that --json put on the last line of standard error."""
        return json.loads(self.err.splitlines()[-1])["error"]


class Mill:
    """`mill("add", url)` runs `feedmill add url` on a home folder of the test's own."""

    def __init__(
        self,
        folder: Path,
        monkeypatch: pytest.MonkeyPatch,
        capture: pytest.CaptureFixture[bytes],
    ) -> None:
        self.folder = folder
        self.home = folder / "home"
        self._monkeypatch = monkeypatch
        self._capture = capture

    @staticmethod
    def environment(home: Path) -> dict[str, str]:
        """What the tests change: where everything lies, loopback, and no waiting between polls."""
        return {
            "FEEDMILL_HOME": str(home),
            "FEEDMILL_EGRESS_ALLOW_CIDRS": "127.0.0.0/8",
            "FEEDMILL_HOST_MIN_GAP_MS": "0",
            "HOST_RPS": "0",
            "FEEDMILL_LOG": "error",
        }

    def __call__(self, *words: str, stdin: bytes | None = None) -> Said:
        """Run a command to its end."""
        source = io.TextIOWrapper(io.BytesIO(stdin or b""))
        self._monkeypatch.setattr(sys, "argv", ["feedmill", *words])
        self._monkeypatch.setattr(sys, "stdin", source)
        # Ctrl-C is for the tests: a command in this process does not take it over.
        self._monkeypatch.setattr("feedmill.interfaces.cli.main.remember_signals", lambda: None)
        self._capture.readouterr()
        with pytest.raises(SystemExit) as leaving:
            main()
        out, err = self._capture.readouterr()
        return Said(int(leaving.value.code or 0), out, err.decode())

    def ok(self, *words: str, stdin: bytes | None = None) -> Said:
        """Run a command that has to succeed."""
        said = self(*words, stdin=stdin)
        assert said.status == 0, said
        return said

    def json(self, *words: str) -> Any:
        """What a command says to programs."""
        return self.ok(*words, "--json").json

    def start(self, *words: str, **environment: str) -> Popen[bytes]:
        """The same as a process; the test ends it."""
        return WarmPopen(
            [COMMAND, *words],
            stdout=PIPE,
            stderr=PIPE,
            stdin=PIPE,
            env=os.environ | environment,
            cwd=self.folder,
        )

    def until(self, is_enough: Callable[[bytes], bool], *words: str) -> Said:
        """Run a command that polls for ever until it printed enough; then SIGTERM ends it."""
        process = self.start(*words)
        assert process.stdout is not None
        out = b""
        while not is_enough(out) and (line := process.stdout.readline()):
            out += line
        process.terminate()
        out += process.stdout.read()  # lines that were read ahead are no longer in the pipe
        said = finish(process)
        return said._replace(out=out + said.out)

    def setenv(self, **values: str) -> None:
        """Change the environment of the commands that follow."""
        for name, value in values.items():
            self._monkeypatch.setenv(name, value)


class PublisherBeside:
    """The publisher with its village, on an event loop in a thread."""

    def __enter__(self) -> Self:
        self.village = DemoWeb(hosts=40)
        self.publisher = Publisher(self.village, addresses=40)
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()))
        self._thread.start()
        assert self._ready.wait(HANG_GUARD_SEC)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join(HANG_GUARD_SEC)

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._over = asyncio.Event()
        async with self.publisher:
            self._ready.set()
            await self._over.wait()


def finish(process: Popen[bytes]) -> Said:
    """Wait for a process to end by itself."""
    out, err = process.communicate(timeout=HANG_GUARD_SEC)
    return Said(process.returncode, out, err.decode())


def paper(*titles: str, title: str = "The Paper") -> bytes:
    """A small RSS document; the first title is item 1."""
    items = "".join(ITEM.format(number, text) for number, text in enumerate(titles, 1))
    return f"<rss version='2.0'><channel><title>{title}</title>{items}</channel></rss>".encode()
