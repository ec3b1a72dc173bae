"""A publisher with an archive, `feedmill run` that is killed while it walks there, and what both books say afterwards."""

import asyncio
import sqlite3
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

import asyncpg
from tests.support.feed_documents import ATOM, atom, atom_entry, atom_link
from tests.support.run_process import SHORT_LEASE, Mill
from tests.support.waiting import HANG_GUARD_SEC, wait_for_answer, wait_until

from feedmill.adapters.settings import load_config
from feedmill.app.services import open_services
from feedmill.engine.poll.scheduler import run_once
from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.engine.service.jobs import start_backfill
from feedmill.model.page import EntryFilter
from feedmill.model.running.job import JobState
from feedmill_demo.server.script import Request, document
from feedmill_demo.server.server import Publisher

SLOWLY: Final = {  # the feed itself is not due while its archive is read
    "FEEDMILL_SCHEDULE_INITIAL_INTERVAL_SEC": "3600",
    "SCHED_MIN_INTERVAL_SEC": "3600",
    "SCHED_MAX_INTERVAL_SEC": "7200",
    "FEEDMILL_RUN_IDLE_SEC": "0.05",
}
_TOLERANCE_SEC: Final = 0.004  # timers count in milliseconds
_RUNNING: Final = "UPDATE jobs SET lease_until = 0 WHERE state = 'running'"
_HELD: Final = "UPDATE lanes SET claim_at = 0, owner = NULL WHERE owner IS NOT NULL"


class Walked(NamedTuple):
    """What is left after the last process has finished the walk."""

    titles: Counter[str | None]
    asked: dict[int, int]  # requests for each page
    gaps: list[float]  # between requests of one process, in seconds
    steps: int
    state: JobState
    same_schedule: bool
    polls: int  # requests for the current document

    def check(self, pages: int, per_page: int, kills: int, gap_ms: int) -> None:
        """Every entry once, no page more than twice, at the host's pace, and the schedule as it was."""
        assert self.state == "done"
        assert len(self.titles) == pages * per_page + 1
        assert set(self.titles.values()) == {1}
        assert set(self.asked) == set(range(1, pages + 1))
        assert max(self.asked.values()) <= 2
        assert sum(self.asked.values()) <= pages + kills
        assert self.steps <= _budget(pages, kills)
        assert min(self.gaps) >= gap_ms / 1000 - _TOLERANCE_SEC
        assert self.same_schedule
        assert self.polls == 1


async def walk_killed(
    home: Path,
    store_url: str | None,
    *,
    pages: int,
    per_page: int,
    kills: int,
    gap_ms: int,
    wait_for_leases: bool = False,
) -> Walked:
    """Walk an archive in processes that are killed on the way, one after the other."""
    limits = {
        "FEEDMILL_HOST_MIN_GAP_MS": str(gap_ms),
        "FEEDMILL_BACKFILL_HOST_PAGES_PER_DAY": str(_budget(pages, kills)),
    }
    mill = Mill(home, store_url, **SHORT_LEASE, **SLOWLY, **limits)
    async with Publisher() as publisher:
        _publish(publisher, pages, per_page)
        await mill.subscribe([publisher.url("/feed", host="127.0.0.1")])
        async with open_services(load_config(None, mill.settings)) as services:
            store = services.store
            await run_once(services, Lifecycle("first"))
            (before,) = (await store.feeds(limit=1)).items
            await start_backfill(before, services)
            bounds = [0]
            for number in range(1, kills + 1):
                # Behind the page that the kill before interrupted: no page is interrupted twice.
                wanted = max(pages * number // (kills + 1), bounds[-1] + 2)
                async with await mill.start() as running:
                    await wait_until(lambda w=wanted: _has_come(publisher, w), "pages")  # type: ignore[misc]
                    await running.kill()
                bounds.append(len(_pages(publisher)))
                if not wait_for_leases:
                    await end_leases(home, store_url)
            async with await mill.start() as running:
                job = await wait_for_answer(
                    lambda: store.find_job("backfill", before.id),
                    lambda job: job is not None and job.state not in ("queued", "running"),
                    "the end of the walk",
                )
                assert await running.stop() == 0
            assert job is not None
            after = await store.feed(before.id)
            assert after is not None
            entries = (await store.entries(EntryFilter(), limit=pages * per_page + 10)).items
            assert await store.problems() == ()
        asked = _pages(publisher)
        times = [one.offset_sec for one in asked]
        if wait_for_leases:
            bounds = [0]
        return Walked(
            titles=Counter(entry.title for entry in entries),
            asked=Counter(int(one.target.rpartition("/")[2]) for one in asked),
            gaps=[
                later - sooner
                for at, (sooner, later) in enumerate(pairwise(times), start=1)
                if at not in bounds
            ],
            steps=job.steps,
            state=job.state,
            same_schedule=(after.schedule, after.next_poll_at, after.validators)
            == (before.schedule, before.next_poll_at, before.validators),
            polls=len(publisher.requests_to("/feed")),
        )


async def end_leases(home: Path, store_url: str | None) -> None:
    """As if the leases of a killed process had run out: a test does not wait for them."""
    await write_to_store(home, store_url, _RUNNING, _HELD)


async def write_to_store(home: Path, store_url: str | None, *statements: str) -> None:
    """Change a store from outside while processes work on it."""
    if store_url is None:

        def write() -> None:
            with sqlite3.connect(home / "feedmill.db", timeout=HANG_GUARD_SEC) as connection:
                for statement in statements:
                    connection.execute(statement)

        await asyncio.to_thread(write)
        return
    connection = await asyncpg.connect(store_url)
    # One by one: a transaction of the killed process may still be running, and takes them in another order.
    for statement in statements:
        await connection.execute(statement)
    await connection.close()


def _budget(pages: int, kills: int) -> int:
    """Steps that a day may have: one looks for the first page, and one may wait for its host."""
    return pages + 2 * kills + 5


def _publish(publisher: Publisher, pages: int, per_page: int) -> None:
    current = atom(atom_entry(0), extra=atom_link("prev-archive", f"/archive/{pages}"))
    publisher.script("/feed", document(current, ATOM), host="127.0.0.1")
    for number in range(1, pages + 1):
        older = atom_link("prev-archive", f"/archive/{number - 1}") if number > 1 else ""
        entries = (atom_entry(number * 1_000 + at) for at in range(per_page))
        page = document(atom(*entries, extra=older), ATOM)
        publisher.script(f"/archive/{number}", page, host="127.0.0.1")


def _has_come(publisher: Publisher, requests: int) -> bool:
    """Whether so many pages were asked for, or the last of them."""
    asked = _pages(publisher)
    return len(asked) >= requests or any(one.target == "/archive/1" for one in asked)


def _pages(publisher: Publisher) -> list[Request]:
    return [one for one in publisher.requests if one.target.startswith("/archive/")]
