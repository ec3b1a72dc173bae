"""The processes of `fleet.py`: real `feedmill worker` and `feedmill run`, started and ended here."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from benchmarks.footprint import process_cpu_sec

from feedmill.engine.ports.store import Store

_ROLES: Final = {"worker": ("worker",), "run": ("run", "--quiet", "--no-taps", "--no-webhooks")}
_COMMAND: Final = Path(sys.executable).with_name("feedmill")
_PATIENCE_SEC: Final = 60.0
_LONGEST_SEC: Final = "900"


def settings(home: str, dsn: str | None) -> dict[str, str]:
    """The environment of a mill that may ask loopback, as often as it can."""
    found = {
        "FEEDMILL_HOME": home,
        "FEEDMILL_EGRESS_ALLOW_CIDRS": "127.0.0.0/8",
        "FEEDMILL_HOST_MIN_GAP_MS": "0",
        "HOST_RPS": "0",
        "FEEDMILL_RUN_IDLE_SEC": "0.2",  # all of them notice soon that there is work
        "FEEDMILL_MOVES_HTTPS_PROBE_DAYS": "0",  # the publishers speak http only
    }
    return found if dsn is None else found | {"FEEDMILL_STORE_URL": dsn}


class Fleet:
    """So many processes of one role, at work from entering to leaving `async with`."""

    def __init__(self, role: str, count: int, address: dict[str, str], store: Store) -> None:
        self._role, self._count, self._address, self._store = role, count, address, store
        self._processes: list[subprocess.Popen[bytes]] = []

    async def __aenter__(self) -> Self:
        kept = {key: value for key, value in os.environ.items() if not key.startswith("FEEDMILL_")}
        command = [str(_COMMAND), *_ROLES[self._role], "--for", _LONGEST_SEC]
        self._processes = [
            subprocess.Popen(  # noqa: ASYNC220  # it takes a moment, and nobody else waits
                command,
                env=kept | self._address,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            for _ in range(self._count)
        ]
        try:
            async with asyncio.timeout(_PATIENCE_SEC):
                while await self._present() < self._count:
                    self._check()
                    await asyncio.sleep(0.1)
        except BaseException:
            self._end()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await asyncio.to_thread(self._end)

    def _end(self) -> None:
        for process in self._processes:
            process.send_signal(signal.SIGTERM)
        for process in self._processes:
            process.wait(_PATIENCE_SEC)

    def _check(self) -> None:
        """A process that has ended is not waited for."""
        for process in self._processes:
            if (code := process.poll()) is not None:
                message = f"feedmill {self._role} ended with code {code} before it had begun"
                raise RuntimeError(message)

    def cpu_sec(self) -> float:
        """What they have used so far."""
        return sum(process_cpu_sec(process.pid) for process in self._processes)

    async def _present(self) -> int:
        """How many have said that they are here."""
        pids = {str(process.pid) for process in self._processes}
        views = await self._store.workers()
        return sum(any(pid in view.name for pid in pids) for view in views if view.worker)
