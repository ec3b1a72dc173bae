"""Runs background jobs: claims due ones, renews their leases, stores their results (D42).

    claim     Due jobs of the registered kinds, with a free lane of their host, and only while no feed
              of that host is due. A job is leased like a lane; when its process dies, another one
              begins the step again from the stored cursor.
    step      One call of the kind's `run`, a request or two. It returns Done, Again, Later or Failed.
    settle    The result is stored under the epoch of the lease, then the lane is released with its
              new pace. A job that was cancelled meanwhile, or lost to another process, stays as it is.

A bug in a kind fails that step; a store error is retried with backoff. How to write a kind:
docs/explanation/jobs.md.
"""
# Tested in tests/integration/engine/jobs/

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Final, Literal

from msgspec.structs import replace

from feedmill.engine.jobs import backfill, cluster, fulltext, media, websub
from feedmill.engine.jobs.kind import JobKind, JobRun, settlement_of
from feedmill.engine.run.lane_lease import LaneLease
from feedmill.engine.run.lifecycle import Backoff, Lifecycle, is_transient, retry
from feedmill.engine.run.services import Services
from feedmill.errors import FeedmillError, NotSentError
from feedmill.fetch.guard import printable_url
from feedmill.model.running.job import (
    Again,
    Done,
    Failed,
    Job,
    JobClaim,
    JobLimit,
    JobResult,
    JobRunRecord,
    Later,
)
from feedmill.observe.traces import Facts

JobListener = Callable[[JobRunRecord], None]

_GRACE_SEC: Final = 1.0  # for a claim or a settlement when the run should end
_STORE_WAIT: Final = timedelta(seconds=30)  # before a step that met a store error is tried again
# A new kind is one file with a `KIND`, and one line here.
KINDS: Final[tuple[JobKind, ...]] = (
    backfill.KIND,
    cluster.KIND,
    fulltext.KIND,
    *media.KINDS,
    *websub.KINDS,
    websub.KIND,
)


async def run_jobs(
    services: Services,
    lifecycle: Lifecycle,
    *,
    kinds: Sequence[JobKind] = KINDS,
    listeners: tuple[JobListener, ...] = (),
) -> None:
    """Run jobs until the run ends; steps under way are finished within its limit."""
    if not kinds or services.config.jobs.concurrency == 0:
        return
    runner = _Runner(services, lifecycle, kinds, listeners)
    backoff = Backoff("jobs", lifecycle)
    is_prepared = False
    try:
        while not lifecycle.is_stopping():
            await backoff.wait()
            try:
                if not is_prepared:
                    await runner.queue_standing()
                    is_prepared = True
                if not await runner.claim():
                    await runner.idle()
            except FeedmillError as problem:
                backoff.failed(problem)
            else:
                backoff.succeeded()
    finally:
        await runner.drain()


async def run_due_jobs(
    services: Services,
    lifecycle: Lifecycle,
    *,
    kinds: Sequence[JobKind] = KINDS,
    listeners: tuple[JobListener, ...] = (),
) -> None:
    """Run jobs until none can be claimed any more; what waits for a later time is left."""
    if not kinds:
        return
    runner = _Runner(services, lifecycle, kinds, listeners)
    try:
        await runner.queue_standing()
        while not lifecycle.is_stopping():
            was_busy = bool(runner.busy)  # a step that ends during the claim may free its host
            if not await runner.claim() and not was_busy:
                break
            await runner.one_done()
    finally:
        await runner.drain()


class _Runner:
    """The jobs of this process, one task each."""

    def __init__(
        self,
        services: Services,
        lifecycle: Lifecycle,
        kinds: Sequence[JobKind],
        listeners: tuple[JobListener, ...],
    ) -> None:
        self._services, self._lifecycle, self._listeners = services, lifecycle, listeners
        self._kinds = {kind.name: kind for kind in kinds}
        self.busy: dict[asyncio.Task[None], str] = {}

    async def queue_standing(self) -> None:
        """Queue the jobs that some kinds always have; one that waits comes forward."""
        for kind in self._kinds.values():
            job = kind.standing(self._services.config)
            if job is not None:
                await self._services.store.add_job(job, now=self._services.clock.now())

    async def claim(self) -> int:
        """Begin as many due jobs as there are free places; how many."""
        clock, run = self._services.clock, self._services.config.run
        free = self._services.config.jobs.concurrency - len(self.busy)
        limits = self._free_kinds()
        if free <= 0 or not limits:
            return 0
        claimed_at, now = clock.monotonic(), clock.now()
        claiming = self._services.store.claim_jobs(
            self._lifecycle.owner,
            limits,
            now=now,
            until=now + timedelta(seconds=run.lease_sec),
            max_jobs=free,
        )
        try:
            claims = await self._lifecycle.unless_stopping(claiming, _GRACE_SEC)
        except TimeoutError:
            return 0
        self._lifecycle.on_poll_loop("jobs")
        for claim in claims:
            self._start(claim, claimed_at)
        return len(claims)

    async def idle(self) -> None:
        """Wait until a job is due, a place is free, or it is time to look again."""
        wait = self._services.config.run.idle_sec
        if len(self.busy) < self._services.config.jobs.concurrency:
            kinds = [limit.kind for limit in self._free_kinds()]
            due_at = await self._services.store.next_job_at(kinds)
            if due_at is not None:
                until = (due_at - self._services.clock.now()) / timedelta(seconds=1)
                # One that is due and was not claimed waits for its host.
                wait = min(wait, until) if until > 0 else wait
        await self.one_done(wait)

    async def one_done(self, wait_sec: float | None = None) -> None:
        """Wait until a step has ended, the time is over, or the run should end."""
        if not self.busy:
            if wait_sec is not None:
                await self._lifecycle.sleep_unless_stopping(wait_sec)
            return
        ended = asyncio.ensure_future(
            asyncio.wait(self.busy, timeout=wait_sec, return_when=asyncio.FIRST_COMPLETED)
        )
        try:
            await self._lifecycle.wait_for(ended)
        finally:
            ended.cancel()

    async def drain(self) -> None:
        """Let steps under way finish within the limit; the others are cancelled and begin again later."""
        if self.busy:
            await asyncio.wait(self.busy, timeout=self._services.config.run.drain_sec)
        late = set(self.busy)
        for task in late:
            task.cancel()
        if late:
            await asyncio.wait(late, timeout=_GRACE_SEC)

    def _free_kinds(self) -> list[JobLimit]:
        running = Counter(self.busy.values())
        config = self._services.config
        found = []
        for kind in self._kinds.values():
            limits = kind.limits(config)
            free = (limits.at_once or kind.concurrency) - running[kind.name]
            if free > 0:
                limit = JobLimit(
                    kind=kind.name,
                    host_steps=limits.at_one_host,
                    day_steps=limits.at_all_hosts,
                    max_attempts=kind.max_attempts,
                    one_per_host=kind.one_per_host,
                    free=free,
                )
                found.append(limit)
        return found

    def _start(self, claim: JobClaim, claimed_at: float) -> None:
        job = claim.job
        work = _Step(
            claim, self._kinds[job.kind], self._services, self._lifecycle, claimed_at=claimed_at
        )
        task = asyncio.create_task(self._run(work), name=f"job {job.kind} {job.id}")
        self.busy[task] = job.kind
        task.add_done_callback(lambda done: self.busy.pop(done, None))

    async def _run(self, work: "_Step") -> None:
        record = await work.run()
        for listener in self._listeners:
            listener(record)


class _Step:
    """One step of one claimed job."""

    def __init__(
        self,
        claim: JobClaim,
        kind: JobKind,
        services: Services,
        lifecycle: Lifecycle,
        *,
        claimed_at: float,
    ) -> None:
        self._claim, self._kind = claim, kind
        self._services, self._lifecycle = services, lifecycle
        self._deadline = claimed_at + services.config.run.lease_sec
        self._lease = (
            None
            if claim.lane is None
            else LaneLease(
                claim.lane, claim.job.url or "", services, lifecycle, claimed_at=claimed_at
            )
        )
        self._backoff = Backoff("write", lifecycle)

    async def run(self) -> JobRunRecord:
        """Run the step, store its result, release the lane."""
        began = self._services.clock.monotonic()
        result: JobResult | None = None
        try:
            result = await self._traced_result()
            settled = result is not None and await self._settle(result)
        except asyncio.CancelledError:
            with suppress(FeedmillError):
                await self._settle(Later(wait=timedelta(0), reason="stopped"))
            raise
        finally:
            if self._lease is not None:
                with suppress(FeedmillError):  # the lease ends by itself
                    await self._lease.release()
        elapsed_ms = int((self._services.clock.monotonic() - began) * 1000)
        return _record(self._claim, result if settled else None, self._kind, elapsed_ms)

    async def _traced_result(self) -> JobResult | None:
        """The result; the step is one trace where traces are on."""
        if self._services.traces is None:
            return await self._result()
        with self._services.traces.begin("job") as trace:
            trace.describe(_job_facts, self._claim.job)
            result = await self._result()
            if isinstance(result, Failed):
                trace.fail(result.reason)
            return result

    async def _result(self) -> JobResult | None:
        """What the kind says; None when the job was cancelled or lost meanwhile."""
        job = JobRun(
            self._claim.job, self._services, self._lifecycle, self._lease, lambda: self._deadline
        )
        work = asyncio.ensure_future(self._kind.run(job))
        try:
            while not work.done():
                await asyncio.wait({work}, timeout=self._services.config.run.lease_sec / 3)
                if not work.done() and not await self._renew():
                    return None
            return work.result()
        except NotSentError as problem:  # this process was stopped: no attempt has failed
            return Later(wait=timedelta(0), reason=problem.reason)
        except FeedmillError as problem:
            if not is_transient(problem):
                return Failed(reason=problem.reason, detail=str(problem))
            return Later(wait=_STORE_WAIT, reason=problem.reason)
        except asyncio.CancelledError:
            raise
        except Exception as problem:  # noqa: BLE001  # the edge of a task: stored with the job, counted
            self._lifecycle.on_job_crash(self._claim.job, problem)
            return Failed(reason="internal-error", detail=f"{type(problem).__name__}: {problem}")
        finally:
            if not work.done():
                work.cancel()
                await asyncio.wait({work}, timeout=_GRACE_SEC)

    async def _renew(self) -> bool:
        """Hold the job and its lane longer; a store that fails for a while costs nothing yet."""
        clock, lease_sec = self._services.clock, self._services.config.run.lease_sec
        began = clock.monotonic()
        has_left = self._lease is not None and self._lease.is_released
        try:
            held = await self._services.store.renew_job(
                replace(self._claim, lane=None) if has_left else self._claim,
                owner=self._lifecycle.owner,
                until=clock.now() + timedelta(seconds=lease_sec),
            )
        except FeedmillError:
            return self._has_time()
        if held:
            self._deadline = began + lease_sec
            if self._lease is not None:
                self._lease.deadline = self._deadline
        return held

    async def _settle(self, result: JobResult) -> bool:
        settlement = settlement_of(self._claim.job, result, self._kind, self._services.clock.now())
        return await retry(
            lambda: self._services.store.settle_job(settlement),
            self._backoff,
            has_time=self._has_time,
        )

    def _has_time(self) -> bool:
        return self._services.clock.monotonic() < self._deadline


def _job_facts(job: Job) -> Facts:
    return {
        "feedmill.job.kind": job.kind,
        "feedmill.job.id": job.id,
        "feedmill.job.attempts": job.attempts,
        "feedmill.feed_id": job.feed_id,
        "url.full": None if job.url is None else printable_url(job.url),
    }


def _record(
    claim: JobClaim, result: JobResult | None, kind: JobKind, elapsed_ms: int
) -> JobRunRecord:
    word: Literal["done", "again", "later", "failed", "retry", "lost"] = "lost"
    reason, detail, wait = "", "", timedelta(0)
    match result:
        case Done():
            word, reason = "done", result.reason
        case Again():
            word, wait = "again", result.after
        case Later():
            word, reason, wait = "later", result.reason, result.wait
        case Failed():
            ended = result.final or claim.job.attempts >= kind.max_attempts
            word, reason, detail = "failed" if ended else "retry", result.reason, result.detail
    return JobRunRecord(
        job=claim.job,
        result=word,
        reason=reason,
        detail=detail,
        elapsed_ms=elapsed_ms,
        wait_sec=wait / timedelta(seconds=1),
    )
