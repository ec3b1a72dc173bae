"""`feedmill run` as a child process: started, killed, started again on the same home folder."""

import asyncio
import os
import signal
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, Self

import msgspec
from tests.support.waiting import HANG_GUARD_SEC
from tests.support.warm_process import Process, start_script

from feedmill.adapters.settings import load_config
from feedmill.app.services import open_services
from feedmill.engine.subscribe.add_feed import subscribe_unchecked

CHILD: Final = Path(__file__).parent / "children" / "command_line_with_faulty_disk.py"
FLOOR_SEC: Final = 1.0  # no feed may be asked more often, whoever dies
SETTINGS: Final = {
    "FEEDMILL_EGRESS_ALLOW_CIDRS": "127.0.0.0/8",
    "FEEDMILL_SCHEDULE_INITIAL_INTERVAL_SEC": "1",
    "SCHED_MIN_INTERVAL_SEC": "1",
    "SCHED_MAX_INTERVAL_SEC": "2",
    "FEEDMILL_SCHEDULE_BACKOFF_CAP_SEC": "2",
    "FEEDMILL_HOST_MIN_GAP_MS": "0",
    "HOST_RPS": "0",
    # Far beyond what any machine needs: no fetch, lease or drain ends because of a busy one.
    "FETCH_TIMEOUT_MS": "250000",
    "FEEDMILL_RUN_LEASE_SEC": "300",
    "FEEDMILL_RUN_DRAIN_SEC": "250",
    "FEEDMILL_RUN_IDLE_SEC": "0.2",  # several idle processes must not keep a database busy
    "FEEDMILL_RUN_CONCURRENCY": "4",
    "FEEDMILL_STORE_SEGMENT_BYTES": "40000",
    "FEEDMILL_LOG": "warning",
    "FEEDMILL_LOG_JSON": "1",
}
# For processes that are killed again and again: what they held is free again soon. It has to
# outlast a fetch by five seconds; a fetch that a busy machine does not finish is tried again.
SHORT_LEASE: Final = {"FETCH_TIMEOUT_MS": "1000", "FEEDMILL_RUN_LEASE_SEC": "6.5"}


class Mill:
    """One home folder and the processes that work on it, one or several at a time."""

    def __init__(self, home: Path, store_url: str | None = None, **settings: str) -> None:
        self.home = home
        self.settings = {**SETTINGS, **settings, "FEEDMILL_HOME": str(home)}
        if store_url is not None:
            self.settings["FEEDMILL_STORE_URL"] = store_url
        self.log = b""  # what all processes have said, through pipes: no disk is needed for them
        self._readers: set[asyncio.Task[None]] = set()

    async def subscribe(self, addresses: Sequence[str]) -> None:
        """Add the feeds, as `feedmill add` would."""
        async with open_services(load_config(None, self.settings)) as services:
            for address in addresses:
                await subscribe_unchecked(address, services)

    async def start(
        self, failpoint: str | None = None, *, role: tuple[str, ...] = ("run", "--quiet")
    ) -> "Running":
        """A new process; with a failpoint it will die there."""
        extra = {"FEEDMILL_FAILPOINT": failpoint} if failpoint else {}
        return Running(await self._spawn(list(role), extra))

    async def command(self, *words: str) -> tuple[int, bytes]:
        """Another command on the same home folder; its exit code and what it printed."""
        process = await self._spawn(list(words), {}, stdout=asyncio.subprocess.PIPE)
        assert process.stdout is not None
        printed = await asyncio.wait_for(process.stdout.read(), HANG_GUARD_SEC)
        return await process.wait(), printed

    def lines(self) -> list[dict[str, object]]:
        """What all processes have logged so far."""
        whole = self.log[: self.log.rfind(b"\n") + 1]
        lines = [line for line in whole.splitlines() if line.startswith(b"{")]
        return [msgspec.json.decode(line) for line in lines]

    def said(self, event: str) -> list[dict[str, object]]:
        """The log lines of one kind."""
        return [line for line in self.lines() if line.get("event") == event]

    async def _spawn(
        self, words: list[str], extra: dict[str, str], stdout: int = asyncio.subprocess.DEVNULL
    ) -> Process:
        inherited = {
            name: os.environ[name] for name in ("PATH", "HOME", "PYTHONPATH") if name in os.environ
        }
        process = await start_script(
            str(CHILD),
            *words,
            env={**inherited, **self.settings, **extra},
            stdout=stdout,
            stderr=asyncio.subprocess.PIPE,
        )
        assert process.stderr is not None
        reader = asyncio.create_task(self._listen(process.stderr))
        self._readers.add(reader)
        reader.add_done_callback(self._readers.discard)
        return process

    async def _listen(self, stream: asyncio.StreamReader) -> None:
        while said := await stream.readline():
            self.log += said


class Running:
    """One process at work; killed when its block is left, whatever happens."""

    def __init__(self, process: Process) -> None:
        self.process = process

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.kill()

    @property
    def is_alive(self) -> bool:
        return self.process.returncode is None

    def signal(self, number: signal.Signals) -> None:
        """Send a signal; one that has ended needs none."""
        with suppress(ProcessLookupError):
            self.process.send_signal(number)

    async def kill(self) -> None:
        """kill -9."""
        self.signal(signal.SIGKILL)
        await self.ended()

    async def stop(self) -> int:
        """SIGTERM, and the exit code it leaves with."""
        self.signal(signal.SIGTERM)
        return await self.ended()

    async def ended(self) -> int:
        """The exit code, once there is one."""
        return await asyncio.wait_for(self.process.wait(), HANG_GUARD_SEC)
