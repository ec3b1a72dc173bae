"""Background jobs run by the real engine against a publisher on loopback, on both stores."""

import asyncio
import os
import signal
import sqlite3
from datetime import timedelta
from pathlib import Path

import pytest
from tests.support.engine_harness import Play, Stage, opened, titles
from tests.support.feed_documents import paper, said
from tests.support.job_kinds import kind_of, read_pages, run_due, stored, walk
from tests.support.waiting import hang_guard, wait_for_answer
from tests.support.warm_process import CHILDREN, start_script

from feedmill.adapters.clock import SystemClock
from feedmill.config import HostConfig, JobsConfig, RunConfig
from feedmill.engine.jobs.kind import JobRun, KindLimits
from feedmill.engine.jobs.runner import run_jobs
from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.engine.service.jobs import cancel_job, list_jobs, retry_job
from feedmill.errors import ConflictError, NotFoundError, StoreError, UsageError
from feedmill.model.feed import Feed
from feedmill.model.running.job import Again, Done, JobResult, JobRunRecord, Later, NewJob

PAGES = 5


async def _archive(stage: Stage, pages: int = PAGES) -> tuple[Feed, NewJob]:
    """A feed that was polled, and a job over the pages of its archive."""
    feed = await stage.add("/feed", paper(1))
    await stage.pass_once()  # it is due since it was added
    for number in range(1, pages + 1):
        stage.publisher.script(f"/page/{number}", paper(number), host="127.0.0.1")
    base = stage.publisher.url("/page", host="127.0.0.1")
    payload = {"base": base, "pages": pages}
    return feed, walk(base, feed_id=feed.id, payload=payload)


def test_job_runs_step_by_step_to_its_end(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feed, new = await _archive(stage)
        job, _ = await stage.services.store.add_job(new, now=stage.clock.now())

        records = await run_due(stage.services, kind_of(read_pages))

        ended = await stored(stage.services, job)
        assert [one.result for one in records] == ["again"] * (PAGES - 1) + ["done"]
        assert (ended.state, ended.steps, ended.progress) == ("done", PAGES, {"pages": PAGES})
        assert len(await stage.entries(feed)) == PAGES + 1
        assert all(len(stage.requests(f"/page/{n}")) == 1 for n in range(1, PAGES + 1))
        assert titles(await stage.entries(feed))[0] == "About page-1"

    play(story)


def test_due_feed_of_the_host_is_polled_before_any_step(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feed, new = await _archive(stage)
        await stage.services.store.add_job(new, now=stage.clock.now())
        await stage.services.store.make_due([feed.id], stage.clock.now())

        before = await run_due(stage.services, kind_of(read_pages))
        await stage.pass_once()
        after = await run_due(stage.services, kind_of(read_pages))

        assert before == []
        assert len(after) == PAGES

    play(story)


def test_steps_keep_the_gap_of_their_host(play: Play) -> None:
    async def story(stage: Stage) -> None:
        _, new = await _archive(stage)
        job, _ = await stage.services.store.add_job(new, now=stage.clock.now())
        begun = []
        for _ in range(4):
            stage.later(seconds=0.5)
            begun.append(len(await run_due(stage.services, kind_of(read_pages))))

        assert begun == [0, 1, 0, 1]  # the poll before them ended at the first moment
        assert (await stored(stage.services, job)).cursor == {"page": 2}

    play(story, host=HostConfig(rps=0, min_gap_ms=1000))


def test_retry_after_binds_jobs_and_polls_of_the_host(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feed, new = await _archive(stage)
        stage.publisher.script(
            "/page/1", said(429, ("Retry-After", "600")), paper(1), host="127.0.0.1"
        )
        job, _ = await stage.services.store.add_job(new, now=stage.clock.now())

        (failed,) = await run_due(stage.services, kind_of(read_pages, backoff_base_sec=1.0))
        stage.later(minutes=9)
        await stage.services.store.make_due([feed.id], stage.clock.now())
        too_early = await run_due(stage.services, kind_of(read_pages)), await stage.pass_once()
        stage.later(minutes=2)
        await stage.pass_once()
        rest = await run_due(stage.services, kind_of(read_pages))

        assert (failed.result, failed.reason) == ("retry", "rate-limited")
        assert too_early == ([], 0)
        assert len(rest) == PAGES
        assert (await stored(stage.services, job)).state == "done"

    play(story)


def test_cancelled_job_stops_and_its_step_under_way_stores_nothing(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feed, new = await _archive(stage)
        job, _ = await stage.services.store.add_job(new, now=stage.clock.now())

        async def cancelled_inside(run: JobRun) -> JobResult:
            await cancel_job(job.id, run.services)
            return await read_pages(run)

        (lost,) = await run_due(stage.services, kind_of(cancelled_inside))

        assert lost.result == "lost"
        assert len(await stage.entries(feed)) == 1
        assert (await stored(stage.services, job)).state == "cancelled"
        with pytest.raises(ConflictError, match="ended already"):
            await cancel_job(job.id, stage.services)

        await retry_job(job.id, stage.services)
        with pytest.raises(ConflictError, match="has not ended"):
            await retry_job(job.id, stage.services)
        await run_due(stage.services, kind_of(read_pages))
        assert len(await stage.entries(feed)) == PAGES + 1

    play(story)


def test_bug_in_a_kind_fails_the_step_and_nothing_else(play: Play) -> None:
    async def story(stage: Stage) -> None:
        async def broken(run: JobRun) -> JobResult:
            message = f"bug in {run.job.key}"
            raise ValueError(message)

        now = stage.clock.now()
        job, _ = await stage.services.store.add_job(NewJob(kind="walk", key="a"), now=now)
        crashes: list[Exception] = []
        lifecycle = Lifecycle("one")
        lifecycle.job_crash_listeners += (lambda _, problem: crashes.append(problem),)
        kind = kind_of(broken, max_attempts=2, backoff_base_sec=1.0)

        for _ in range(3):
            await run_due(stage.services, kind, lifecycle=lifecycle)
            stage.later(seconds=2)

        ended = await stored(stage.services, job)
        assert (ended.state, ended.attempts) == ("failed", 2)
        assert ended.last_error == "internal-error: ValueError: bug in a"
        assert len(crashes) == 2

    play(story)


def test_store_error_inside_a_step_counts_no_attempt(play: Play) -> None:
    async def story(stage: Stage) -> None:
        errors = [StoreError("locked", reason="busy"), UsageError("wrong")]

        async def unlucky(_: JobRun) -> JobResult:
            if errors:
                raise errors.pop(0)
            return Done()

        now = stage.clock.now()
        job, _ = await stage.services.store.add_job(NewJob(kind="walk", key="a"), now=now)

        words = []
        for _ in range(3):
            (record,) = await run_due(stage.services, kind_of(unlucky, backoff_base_sec=1.0))
            words.append((record.result, (await stored(stage.services, job)).attempts))
            stage.later(minutes=1)

        assert words == [("later", 0), ("retry", 1), ("done", 0)]

    play(story)


def test_budget_of_a_kind_ends_its_steps_for_the_day(play: Play) -> None:
    async def story(stage: Stage) -> None:
        _, new = await _archive(stage)
        await stage.services.store.add_job(new, now=stage.clock.now())
        kind = kind_of(read_pages, limits=lambda _: KindLimits(at_one_host=2))

        today = await run_due(stage.services, kind)
        stage.later(days=1)
        await stage.pass_once()
        tomorrow = await run_due(stage.services, kind)

        assert (len(today), len(tomorrow)) == (2, 2)

    play(story)


def test_lease_is_renewed_while_a_long_step_runs(play: Play) -> None:
    async def story(stage: Stage) -> None:
        seen: list[object] = []

        async def long_step(run: JobRun) -> JobResult:
            first = (await stored(run.services, run.job)).lease_until

            async def lease() -> object:
                stage.later(seconds=0.1)
                return (await stored(run.services, run.job)).lease_until

            seen.append(await wait_for_answer(lease, lambda until: until != first, "a renewal"))
            return Done()

        now = stage.clock.now()
        await stage.services.store.add_job(walk(stage.publisher.url("/x")), now=now)

        (record,) = await run_due(stage.services, kind_of(long_step))

        assert record.result == "done"
        assert seen

    play(story, run=RunConfig(lease_sec=0.6))


def test_step_under_way_is_finished_at_the_end_and_a_longer_one_begins_again_later(
    play: Play,
) -> None:
    async def story(stage: Stage) -> None:
        lifecycle = Lifecycle("one")
        begun = asyncio.Event()

        async def endless(_: JobRun) -> JobResult:
            begun.set()
            await asyncio.Event().wait()
            return Done()

        now = stage.clock.now()
        job, _ = await stage.services.store.add_job(walk(stage.publisher.url("/x")), now=now)
        kinds = [kind_of(endless)]
        task = asyncio.create_task(run_jobs(stage.services, lifecycle, kinds=kinds))
        await begun.wait()

        lifecycle.stop()
        await task

        left = await stored(stage.services, job)
        assert (left.state, left.attempts, left.last_error) == ("queued", 0, "stopped")
        (again,) = await run_due(stage.services, kind_of(_at_once))
        assert again.result == "done"  # the lane was released too

    play(story, run=RunConfig(lease_sec=60.0, drain_sec=0.05))


async def _at_once(_: JobRun) -> JobResult:
    return Done()


async def test_runner_looks_for_new_jobs_until_it_is_stopped_and_waits_for_their_time(
    tmp_path: Path,
) -> None:
    async with hang_guard(), opened(tmp_path, clock=SystemClock()) as stage:
        lifecycle, records = Lifecycle("one"), list[JobRunRecord]()
        answers: list[JobResult] = [
            Later(wait=timedelta(milliseconds=20)),
            Again(after=timedelta(milliseconds=20)),
            Done(),
        ]

        async def step(_: JobRun) -> JobResult:
            return answers.pop(0)

        running = asyncio.create_task(
            run_jobs(stage.services, lifecycle, kinds=[kind_of(step)], listeners=(records.append,))
        )
        await stage.services.store.add_job(NewJob(kind="walk", key="a"), now=stage.clock.now())

        async def results() -> list[str]:
            return [one.result for one in records]

        await wait_for_answer(results, lambda found: len(found) == 3, "three steps")
        lifecycle.stop()
        await running

        assert await results() == ["later", "again", "done"]


def test_process_without_places_for_jobs_runs_none(play: Play) -> None:
    async def story(stage: Stage) -> None:
        now = stage.clock.now()
        await stage.services.store.add_job(NewJob(kind="walk", key="a"), now=now)

        await run_jobs(stage.services, Lifecycle("one"), kinds=[kind_of(_at_once)])

        page = await list_jobs(stage.services, state="queued")
        assert len(page.items) == 1

    play(story, jobs=JobsConfig(concurrency=0))


def test_list_refuses_an_unknown_state_and_job_numbers_that_are_not_there(play: Play) -> None:
    async def story(stage: Stage) -> None:
        with pytest.raises(UsageError, match="queued, running"):
            await list_jobs(stage.services, state="open")
        with pytest.raises(NotFoundError):
            await cancel_job(1, stage.services)

    play(story)


def test_address_with_a_pause_of_its_own_makes_the_job_wait(play: Play) -> None:
    async def story(stage: Stage) -> None:
        _, new = await _archive(stage)
        stage.publisher.script(
            "/page/1", said(503, ("Retry-After", "300")), paper(1), host="127.0.0.1"
        )
        job, _ = await stage.services.store.add_job(new, now=stage.clock.now())
        kind = kind_of(read_pages, backoff_base_sec=1.0)

        await run_due(stage.services, kind)
        stage.later(minutes=2)
        (waits,) = await run_due(stage.services, kind)

        assert (waits.result, waits.reason) == ("later", "retry-after")
        assert len(stage.requests("/page/1")) == 1
        left = await stored(stage.services, job)
        assert left.not_before - stage.clock.now() == timedelta(minutes=3)

    play(story, host=HostConfig(rps=0, min_gap_ms=0, incident_after=99))


@pytest.mark.parametrize("failpoint", ["store-commit@6", "store-committed@6", "store-begun@9"])
async def test_job_killed_in_the_middle_stores_every_entry_once_and_asks_no_page_more_than_twice(
    tmp_path: Path, failpoint: str
) -> None:
    async with hang_guard(), opened(tmp_path, clock=SystemClock()) as stage:
        feed, new = await _archive(stage)
        job, _ = await stage.services.store.add_job(new, now=stage.clock.now())
        await stage.close()

        killed = await _child(tmp_path, "first", failpoint)
        _end_leases(tmp_path)
        ended = await _child(tmp_path, "second", None)
        await stage.open()

        assert (killed, ended) == (-signal.SIGKILL, 0)
        asked = [len(stage.requests(f"/page/{n}")) for n in range(1, PAGES + 1)]
        assert max(asked) <= 2
        assert len(await stage.entries(feed)) == PAGES + 1
        done = await stored(stage.services, job)
        assert (done.state, done.progress) == ("done", {"pages": PAGES})


async def _child(home: Path, name: str, failpoint: str | None) -> int:
    environment = {} if failpoint is None else {"FEEDMILL_FAILPOINT": failpoint}
    script = CHILDREN / "walk_pages.py"
    process = await start_script(script, str(home), name, env=os.environ | environment)
    return await process.wait()


def _end_leases(home: Path) -> None:
    """As if the leases of the killed process had run out: a test does not wait for them."""
    with sqlite3.connect(home / "feedmill.db") as connection:
        connection.execute("UPDATE jobs SET lease_until = 0 WHERE state = 'running'")
        connection.execute("UPDATE lanes SET claim_at = 0, owner = NULL WHERE owner IS NOT NULL")
