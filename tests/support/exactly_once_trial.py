"""One log, several writers, every kind of reader, and somebody who kills them all.

async with trial(home) as one:
    await one.start()
    for round in range(3):
        await one.progress()
        await one.kill("server")
    await one.settle()
    one.check()
"""

import asyncio
import json
import os
import sqlite3
import sys
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from heapq import merge
from pathlib import Path
from typing import Final

from tests.support.children.consume_events import KINDS
from tests.support.consumer_journal import cursor_of, done_by
from tests.support.living_feeds_publisher import Press
from tests.support.run_process import SETTINGS, SHORT_LEASE
from tests.support.servers.free_port import free_port
from tests.support.store_ledger import Ledger
from tests.support.waiting import HANG_GUARD_SEC, wait_until
from tests.support.warm_process import Process, start_script

from feedmill.adapters.settings import load_config
from feedmill.app.services import DATABASE_NAME, OUT_FOLDER, open_services
from feedmill.engine.service.auth import issue_token
from feedmill.engine.service.webhooks import add_webhook
from feedmill.engine.subscribe.add_feed import subscribe_unchecked

TAP: Final = "tap"
READERS: Final = (*KINDS, TAP)
_HERE: Final = Path(__file__).parent
_COMMAND: Final = Path(sys.executable).with_name("feedmill")
_HASTY: Final = {
    "FEEDMILL_ACCESS_REQUESTS_PER_SEC": "0",
    "FEEDMILL_SERVE_HEARTBEAT_SEC": "1",
    "FEEDMILL_SERVE_LOOK_MS": "20",
    "FEEDMILL_WEBHOOK_LOOK_SEC": "0.05",
    "FEEDMILL_WEBHOOK_LEASE_SEC": "0.5",
    "FEEDMILL_WEBHOOK_BACKOFF_BASE_SEC": "0.05",
    "FEEDMILL_WEBHOOK_BACKOFF_CAP_SEC": "0.2",
    "FEEDMILL_WEBHOOK_MAX_ATTEMPTS": "100000",
    "FEEDMILL_LOG": "error",
}


class Trial:
    """The processes on one home folder; each has a name, and whoever is killed is started again."""

    def __init__(
        self, folder: Path, *, writers: int, mills: int, writer_pause_sec: float = 0.0
    ) -> None:
        self._home, self._journals = folder / "home", folder / "journals"
        self._journals.mkdir(parents=True)
        self._ports = [free_port() for _ in range(3)]  # REST, gRPC, webhook
        self._writers = [f"writer{number}" for number in range(writers)]
        self._mills = [f"mill{number}" for number in range(mills)]
        self._writer_pause_sec = writer_pause_sec
        self._own: dict[str, str] = {
            **SETTINGS,
            **SHORT_LEASE,
            **_HASTY,
            "FEEDMILL_HOME": str(self._home),
        }
        self._alive: dict[str, Process] = {}
        self.kills: Counter[str] = Counter()

    async def start(self, feeds: Sequence[str] = ()) -> None:
        """A token, a webhook and subscriptions; then everybody at once."""
        async with open_services(load_config(None, self._own)) as services:
            token = await issue_token("the readers", ["read"], services.store, services.clock)
            hook = await add_webhook(f"http://127.0.0.1:{self._ports[2]}/", services, from_seq=1)
            for address in feeds:
                await subscribe_unchecked(address, services)
        self._own |= {"MILL_TOKEN": token.secret, "HOOK_SECRET": hook.secrets[0].value}
        for name in ("server", *self._mills, *self._writers, *KINDS):
            await self._spawn(name)

    async def progress(self, events: int = 50) -> None:
        """Wait until the log and every reader have gone on by so many events."""
        aims = {name: self.reached(name) + events for name in READERS}
        for name, aim in aims.items():
            await self._come_to(name, aim)

    async def kill(self, *names: str) -> None:
        """kill -9, in the middle of whatever they are doing, and start them again."""
        for name in names:
            await self._kill(name)
        for name in names:
            await self._spawn(name)

    async def kill_writers(self) -> None:
        """All who write, the mills included; their commits under way are lost or whole."""
        await self.kill(*self._writers, *self._mills)

    async def settle(self, press: Press | None = None) -> int:
        """Nobody writes any more, and every reader comes to the end; how long the log is.

        The mill behind the server polls on; it has reached the end when it has every item.
        """
        for name in (*self._writers, *self._mills):
            await self._kill(name)
            self.kills[_kind(name)] -= 1  # nobody is meant to survive this one
        if press is not None:
            ledger = Ledger(self._home)
            await wait_until(lambda: ledger.has(press), "every item")
        last = -1
        while last != (now := self._last_seq()):
            last = now
            for name in READERS:
                await self._come_to(name, last)
        return last

    def check(self) -> dict[str, int]:
        """Every reader saw each event once and in order; how often each saw one again."""
        log = self._rows("SELECT seq, id FROM outbox ORDER BY seq")
        assert [seq for seq, _ in log] == list(range(1, len(log) + 1)), "the log has gaps"
        repeated = {}
        for name in READERS:
            done, once = self.done(name), dict[str, int]()
            for seq, key in done:
                once.setdefault(key, seq)
            assert [(seq, key) for key, seq in once.items()] == log, _difference(name, once, log)
            repeated[name] = len(done) - len(log)
        return repeated

    def done(self, name: str) -> list[tuple[int, str]]:
        """What a reader saw, in order, with repetitions."""
        if name != TAP:
            return done_by(self._journals, name)
        # A file for each day; merging keeps the order of a file, be it right or wrong.
        return list(merge(*map(_lines_of, (self._home / OUT_FOLDER / "events").glob("*.ndjson"))))

    def reached(self, name: str) -> int:
        """The number that a reader has come to."""
        if name == TAP:
            rows = self._rows("SELECT seq FROM consumer_cursors WHERE consumer = 'ndjson'")
            return int(rows[0][0]) if rows else 0
        return cursor_of(self._journals, name)

    async def _spawn(self, name: str) -> None:
        inherited = {
            key: os.environ[key] for key in ("PATH", "HOME", "PYTHONPATH") if key in os.environ
        }
        ports = [str(port) for port in self._ports]
        commands: dict[str, list[str]] = {
            "server": [
                *(str(_COMMAND), "serve", "--with-mill"),
                *("--port", ports[0], "--grpc", ports[1]),
            ],
            "mill": [str(_COMMAND), "run", "--quiet"],
            "writer": [
                str(_HERE / "children" / "commit_entries_sqlite.py"),
                str(self._home),
                str(self._writer_pause_sec),
            ],
        }
        reader = [
            str(_HERE / "children" / "consume_events.py"),
            name,
            str(self._journals),
        ]
        self._alive[name] = await start_script(
            *commands.get(_kind(name), [*reader, *ports]),
            env={**inherited, **self._own},
            stdout=asyncio.subprocess.DEVNULL,
        )

    async def _kill(self, name: str) -> None:
        process = self._alive.pop(name)
        # Whoever ended by itself met something that no kill explains.
        assert process.returncode is None, f"{name} ended by itself with {process.returncode}"
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        self.kills[_kind(name)] += 1

    async def _come_to(self, name: str, aim: int) -> None:
        """Wait until a reader is there."""
        await wait_until(lambda: self.reached(name) >= aim, f"{name} at event {aim}")

    def _last_seq(self) -> int:
        return int(self._rows("SELECT coalesce(max(seq), 0) FROM outbox")[0][0])

    def _rows(self, statement: str) -> list[tuple[int, str]]:
        connection = sqlite3.connect(self._home / DATABASE_NAME, timeout=HANG_GUARD_SEC)
        try:
            return connection.execute(statement).fetchall()
        finally:
            connection.close()


@asynccontextmanager
async def trial(
    folder: Path, *, writers: int = 2, mills: int = 0, writer_pause_sec: float = 0.0
) -> AsyncIterator[Trial]:
    """A trial that leaves no process behind."""
    one = Trial(folder, writers=writers, mills=mills, writer_pause_sec=writer_pause_sec)
    try:
        yield one
    finally:
        for process in one._alive.values():
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()


def _lines_of(path: Path) -> list[tuple[int, str]]:
    told = [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]]
    return [(event["seq"], event["id"]) for event in told]


def _kind(name: str) -> str:
    return name.rstrip("0123456789")


def _difference(name: str, found: dict[str, int], log: list[tuple[int, str]]) -> str:
    known = {key for _, key in log}
    missing = [seq for seq, key in log if key not in found]
    strangers = [key for key in found if key not in known]
    return f"{name}: missing {missing[:5]}, strangers {strangers[:5]}, else another order"
