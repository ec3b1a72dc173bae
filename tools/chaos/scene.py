"""The processes of a trial: roles by their real commands, the publisher, and every kind of reader.

Whoever was started here is ended here, by its number; should this process die first, the watchdog
of the tests' servers does it.
"""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Final, NamedTuple

import asyncpg
from tests.support.children import consume_events as consumer_child
from tests.support.consumer_journal import cursor_of
from tests.support.servers import watchdog
from tests.support.servers.free_port import free_port
from tests.support.waiting import HANG_GUARD_SEC, hang_guard, wait_for_answer
from tests.support.warm_process import Process, start_script
from tools.chaos.books import DIARY, JOURNALS, PRESS, TAP, WAITS, PressLog
from tools.chaos.diary import Diary, Moment
from tools.chaos.plan import Plan

from feedmill.adapters.settings import load_config
from feedmill.app.services import open_services
from feedmill.engine.service.auth import issue_token
from feedmill.engine.service.webhooks import add_webhook
from feedmill.model.feed import NewFeed
from feedmill.model.schedule import ScheduleState

_HERE: Final = Path(__file__).parent
_COMMAND: Final = Path(sys.executable).with_name("feedmill")
_LONGEST: Final = ("--for", "600")
_AT_ONCE: Final = 100
_LOOK_SEC: Final = 0.02
_WAITS_EVERY_SEC: Final = 0.25


class Drain(NamedTuple):
    """How long a process took to leave, and how much of it others had the processors, in seconds."""

    took: float
    waited: float


class Scene:
    """One store and everybody on it; `variables` are settings beside those that the plan makes."""

    def __init__(
        self,
        folder: Path,
        plan: Plan,
        dsn: str,
        variables: Mapping[str, str],
        readers: Sequence[str],
    ) -> None:
        self.folder, self.plan, self.dsn, self.readers = folder, plan, dsn, readers
        self.home = folder / "home"
        (folder / JOURNALS).mkdir()
        self.diary = Diary(folder / DIARY)
        self.press = PressLog(folder)
        self.workers: list[str] = []
        self.ports = [free_port() for _ in range(3)]  # REST, gRPC, webhook
        self.settings = {**_settings(plan), **variables}
        self.settings |= {"DATABASE_URL": dsn, "FEEDMILL_HOME": str(self.home)}
        self._press_port = 0
        self._hired = 0
        self._alive: dict[str, Process] = {}
        self._looking: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Migrated, subscribed and published; nobody works yet."""
        migrating = await self._spawn("migrate", [str(_COMMAND), "migrate"])
        assert await asyncio.wait_for(migrating.wait(), HANG_GUARD_SEC) == 0, (
            "feedmill migrate failed"
        )
        self._forget("migrate")
        await self._publish()
        await self._subscribe()
        for name in self.readers:
            if name in consumer_child.KINDS:
                await self.start("api")
                break
        if "nats" in self.readers or "webhook" in self.readers:
            await self.start("relay")
        for name in self.readers:
            await self.start(name)
        self._looking = asyncio.create_task(self._note_waits())
        for _ in range(self.plan.workers):
            await self.hire()

    async def hire(self) -> str:
        """One more worker; its name."""
        self._hired += 1
        name = f"worker{self._hired}"
        await self.start(name)
        self.workers.append(name)
        return name

    async def start(self, name: str) -> None:
        """Start a role or a reader by its name."""
        ports = [str(port) for port in self.ports]
        kind = name.rstrip("0123456789")
        own: dict[str, str] = {}
        if kind == "worker":
            words = [str(_COMMAND), "worker", *_LONGEST]
            own = {"FEEDMILL_FETCH_USER_AGENT": name, "FEEDMILL_LOG": "info"}
        elif kind == "relay":
            hooks = "--webhooks" if "webhook" in self.readers else "--no-webhooks"
            words = [str(_COMMAND), "relay", hooks, *_LONGEST]
        elif kind == "api":
            words = [str(_COMMAND), "api", "--port", ports[0], "--grpc", ports[1]]
        elif name in consumer_child.KINDS:
            child = str(Path(consumer_child.__file__))
            words = [child, name, str(self.folder / JOURNALS), *ports]
        else:
            words = [str(_HERE / "readers.py"), name, str(self.folder / JOURNALS)]
        await self._spawn(name, words, own)

    async def kill(self, name: str) -> None:
        """SIGKILL, in the middle of whatever it does."""
        if name in self.workers:
            self.workers.remove(name)
        began = Moment.now()
        self._signal(name, signal.SIGKILL)
        await self._forget(name).wait()
        self.diary.note("kill", name, began)

    async def restart(self, *names: str) -> None:
        """Each killed and started again, as a supervisor would."""
        for name in names:
            await self.kill(name)
            await self.start(name)

    async def stop(self, name: str, seconds: float) -> None:
        """SIGSTOP, and SIGCONT after a while."""
        began = Moment.now()
        self._signal(name, signal.SIGSTOP)
        await asyncio.sleep(seconds)
        ended = Moment.now()
        self._signal(name, signal.SIGCONT)
        self.diary.note("stop", name, began, ended)

    async def dismiss(self, name: str) -> Drain:
        """SIGTERM to a worker that is at work, and how it left."""
        self.workers.remove(name)
        process = self._alive[name]
        present = "SELECT count(*) FROM workers WHERE name LIKE $1"
        await wait_for_answer(
            lambda: self._ask(present, f"%:{process.pid}"), bool, f"{name} at work"
        )
        before = waited = _waited(process.pid)
        began = Moment.now()
        self._signal(name, signal.SIGTERM)
        leaving = asyncio.create_task(process.wait())
        async with hang_guard():
            while not leaving.done():
                await asyncio.wait({leaving}, timeout=_LOOK_SEC)
                waited = max(waited, _waited(process.pid))
        took = self.diary.note("term", name, began, waited=waited - before)
        self._forget(name)
        assert process.returncode == 0, f"{name} left with {process.returncode}"
        return Drain(took, waited - before)

    async def control(self, **moods: bool) -> None:
        """Tell the publisher how to be."""
        wanted = "&".join(f"{name}={int(value)}" for name, value in moods.items())
        reader, writer = await asyncio.open_connection("127.0.0.1", self._press_port)
        writer.write(f"GET /control?{wanted} HTTP/1.1\r\nHost: press\r\n\r\n".encode())
        await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), HANG_GUARD_SEC)
        writer.close()

    async def requests(self, count: int) -> None:
        """Wait until the publisher has been asked so many times more."""
        self.press.follow()
        aim = len(self.press.began) + count
        await self.until(lambda: self._asked() >= aim, f"{count} requests more")

    async def busiest(self, least: int) -> str:
        """The worker with the most answers under way, once it has so many."""
        found = ""

        def look() -> bool:
            nonlocal found
            counted = {name: self.press.open_by(name) for name in self.workers}
            found = max(counted, key=lambda name: counted[name])
            return counted[found] >= least

        await self.until(look, f"{least} answers under way in one worker", every_sec=0.005)
        return found

    async def limited(self) -> None:
        """Wait until hosts have asked for a pause of either length."""
        wanted = {str(self.plan.short_pause_sec), str(self.plan.long_pause_sec)}

        def look() -> bool:
            self.press.follow()
            return wanted <= {words[3] for words in self.press.ended.values()}

        await self.until(look, "a 429 of either length")

    async def calm(self) -> None:
        """Wait until nobody is behind with anything."""
        await self._until_none(
            "SELECT count(*) FROM lanes WHERE claim_at < feedmill_now() - 1000000"
        )

    async def settled(self) -> None:
        """Wait until every feed was read after it stopped growing, and nothing is due."""
        await self.control(growing=False, slow=False)
        since = Moment.now().wall_us
        stale = "SELECT count(*) FROM feeds WHERE coalesce(last_success_at, 0) < $1"
        await self._until_none(stale, since)
        await self.calm()

    async def end(self) -> None:
        """All workers leave, every reader comes to the end of the log, and then goes too."""
        self.diary.note("end", "everybody", Moment.now())
        for name in list(self.workers):
            await self.dismiss(name)
        await self._until_none("SELECT count(*) FROM outbox")
        last = await self._ask("SELECT seq FROM log_head")
        for name in self.readers:
            if name == TAP:
                cursor = "SELECT $1 - coalesce(max(seq), 0) FROM consumer_cursors WHERE consumer = 'ndjson'"
                await self._until_none(cursor, last)
            else:
                await self.until(
                    lambda name=name: cursor_of(self.folder / JOURNALS, name) >= last,  # type: ignore[misc]  # a default
                    f"{name} to read {last} events",
                )
        await self.close()

    async def close(self) -> None:
        """End whoever is still there."""
        if self._looking is not None:
            self._looking.cancel()
        for name in list(self._alive):
            self._signal(name, signal.SIGCONT)
            self._signal(name, signal.SIGKILL)
            await self._forget(name).wait()

    async def until(
        self, condition: Callable[[], bool], what: str, *, every_sec: float = 0.05
    ) -> None:
        """Wait for something, looking after everybody meanwhile; AssertionError names what is missing."""
        try:
            async with hang_guard():
                while not condition():
                    self._check_alive()
                    await asyncio.sleep(every_sec)
        except TimeoutError:
            message = f"still waiting for: {what}"
            raise AssertionError(message) from None

    async def _note_waits(self) -> None:
        """Write down again and again how long each worker was ready to run and had no processor."""
        with (self.folder / WAITS).open("a", encoding="ascii", buffering=1) as file:
            while True:
                at = Moment.now().wall_us
                for name in self.workers:
                    if (process := self._alive.get(name)) is not None:
                        file.write(f"{name} {at} {_waited(process.pid)}\n")
                await asyncio.sleep(_WAITS_EVERY_SEC)

    def _asked(self) -> int:
        self.press.follow()
        return len(self.press.began)

    def _check_alive(self) -> None:
        """Whoever ended by itself met something that nothing here explains."""
        for name, process in self._alive.items():
            assert process.returncode is None, f"{name} ended by itself with {process.returncode}"

    async def _publish(self) -> None:
        plan = self.plan
        sizes = (plan.feeds, plan.hosts, plan.slow_sec, plan.short_pause_sec, plan.long_pause_sec)
        words = [str(_HERE / "press.py"), str(self.folder / PRESS), *map(str, sizes)]
        process = await self._spawn("press", words, stdout=asyncio.subprocess.PIPE)
        assert process.stdout is not None
        self._press_port = int(await asyncio.wait_for(process.stdout.readline(), HANG_GUARD_SEC))

    async def _subscribe(self) -> None:
        """Feeds as if they had been subscribed to an interval ago: they come due one after another."""
        plan = self.plan
        async with open_services(load_config(None, self.settings)) as services:
            now = services.clock.now()
            for first in range(0, plan.feeds, _AT_ONCE):
                feeds = range(first, min(first + _AT_ONCE, plan.feeds))
                spread = plan.interval_sec / plan.feeds
                await asyncio.gather(
                    *(
                        services.store.add_feed(
                            NewFeed(
                                id=f"feed-{feed:05d}",
                                url=f"http://{plan.host_of(feed)}:{self._press_port}/feed/{feed}",
                                created_at=now,
                                next_poll_at=now + timedelta(seconds=feed * spread),
                                schedule=ScheduleState(interval_sec=plan.interval_sec),
                            )
                        )
                        for feed in feeds
                    )
                )
            token = await issue_token("the readers", ["read"], services.store, services.clock)
            self.settings["MILL_TOKEN"] = token.secret
            if "webhook" in self.readers:
                hook = await add_webhook(f"http://127.0.0.1:{self.ports[2]}/", services, from_seq=1)
                self.settings["HOOK_SECRET"] = hook.secrets[0].value

    async def _ask(self, question: str, *values: object) -> int:
        connection = await asyncpg.connect(self.dsn, timeout=HANG_GUARD_SEC)
        try:
            return int(await connection.fetchval(question, *values))
        finally:
            await connection.close()

    async def _until_none(self, question: str, *values: object) -> None:
        """Wait until the database counts none of what is asked for."""
        try:
            async with hang_guard():
                while await self._ask(question, *values):
                    self._check_alive()
                    await asyncio.sleep(0.5)  # each look is a connection
        except TimeoutError:
            message = f"still some: {question}"
            raise AssertionError(message) from None

    async def _spawn(
        self,
        name: str,
        words: Sequence[str],
        own: Mapping[str, str] | None = None,
        stdout: int = asyncio.subprocess.DEVNULL,
    ) -> Process:
        inherited = {key: os.environ[key] for key in ("PATH", "HOME") if key in os.environ}
        root = {"PYTHONPATH": str(_HERE.parents[1])}
        with (self.folder / f"{name}.log").open("ab") as log:
            process = await start_script(
                *words,
                env={**inherited, **root, **self.settings, **(own or {})},
                stdout=stdout,
                stderr=log.fileno(),
            )
        watchdog.watch(process.pid, signal.SIGKILL, self.folder)
        self._alive[name] = process
        return process

    def _forget(self, name: str) -> Process:
        process = self._alive.pop(name)
        watchdog.forget(process.pid)
        return process

    def _signal(self, name: str, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            self._alive[name].send_signal(number)


@asynccontextmanager
async def scene(
    folder: Path,
    plan: Plan,
    dsn: str,
    *,
    variables: Mapping[str, str] | None = None,
    readers: Sequence[str],
) -> AsyncIterator[Scene]:
    """Everybody at work, and nobody left behind."""
    one = Scene(folder, plan, dsn, variables or {}, readers)
    try:
        await one.open()
        yield one
    finally:
        await one.close()


def _waited(pid: int) -> float:
    """How long a process was ready to run and could not, so far; 0 where nobody tells."""
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text("ascii").split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        return 0.0


def _settings(plan: Plan) -> dict[str, str]:
    longest = str(plan.interval_sec + plan.interval_sec // 2)
    return {
        "FEEDMILL_EGRESS_ALLOW_CIDRS": "127.0.0.0/8",
        "FEEDMILL_SCHEDULE_INITIAL_INTERVAL_SEC": str(plan.interval_sec),
        "SCHED_MIN_INTERVAL_SEC": str(plan.interval_sec),
        "SCHED_MAX_INTERVAL_SEC": longest,
        "FEEDMILL_SCHEDULE_BACKOFF_CAP_SEC": longest,
        "FEEDMILL_HOST_MIN_GAP_MS": str(plan.gap_ms),
        "FEEDMILL_HOST_INCIDENT_BASE_SEC": "2",
        "FEEDMILL_HOST_INCIDENT_CAP_SEC": "4",
        "HOST_RPS": "0",
        "FETCH_TIMEOUT_MS": str(plan.timeout_ms),
        "FEEDMILL_RUN_LEASE_SEC": str(plan.lease_sec),
        "FEEDMILL_RUN_IDLE_SEC": "0.2",
        "FEEDMILL_RUN_CONCURRENCY": str(plan.lanes_each),
        "FEEDMILL_RUN_FEEDS_PER_CLAIM": "10",
        "FEEDMILL_MOVES_HTTPS_PROBE_DAYS": "0",
        "FEEDMILL_STORE_CONNECTIONS": "6",
        "FEEDMILL_STORE_TIMEOUT_SEC": "20",
        "FEEDMILL_ACCESS_REQUESTS_PER_SEC": "0",
        "FEEDMILL_SERVE_HEARTBEAT_SEC": "1",
        "FEEDMILL_WEBHOOK_LOOK_SEC": "0.2",
        "FEEDMILL_WEBHOOK_LEASE_SEC": "2",
        "FEEDMILL_WEBHOOK_BACKOFF_BASE_SEC": "0.1",
        "FEEDMILL_WEBHOOK_BACKOFF_CAP_SEC": "0.5",
        "FEEDMILL_WEBHOOK_MAX_ATTEMPTS": "100000",
        "FEEDMILL_LOG": "warning",
        "FEEDMILL_LOG_JSON": "1",
    }
