"""A kind of background job: its step, its limits, what the step is given, and what becomes of the job after it."""
# Tested in tests/integration/engine/jobs/

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple, assert_never

from msgspec.structs import replace

from feedmill.config import Config, FetchConfig
from feedmill.engine.documents.fetch_document import Answer, fetch_and_judge, outcome_of
from feedmill.engine.run.lane_lease import LaneLease
from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.engine.run.services import Services
from feedmill.fetch.headers import retry_after_sec
from feedmill.fetch.judge import judge
from feedmill.fetch.plan import limits_of
from feedmill.model.feed import FeedOverrides, Lane
from feedmill.model.fetch import (
    REFUSED_URLS,
    FailureReason,
    FetchPlan,
    Headers,
    Post,
    RawResponse,
    RefusalReason,
    Validators,
)
from feedmill.model.running.job import (
    Again,
    Done,
    Failed,
    Job,
    JobResult,
    JobSettlement,
    JobStep,
    Later,
    NewJob,
)
from feedmill.model.schedule import Outcome
from feedmill.publish.webhook_delivery import Delivered, backoff_sec, judge_delivery
from feedmill.schedule.host_pace import host_wait_sec

_BUSY: Final = frozenset({429, 503})
_ANSWERED: Final = Outcome(kind="unchanged")
# What the next attempt will not change.
FINAL_REASONS: Final[frozenset[FailureReason | RefusalReason | str]] = frozenset(
    {
        *("gone", "not-found", "auth-required", "forbidden", "bot-wall", "legally-unavailable"),
        *("client-error", "too-large", "unsupported-encoding", "empty-body", "no-content"),
        *REFUSED_URLS,
        *("redirect-loop", "too-many-redirects", "downgrade", "bad-location", "no-location"),
        *("redirect-not-followed", "headers-too-large"),
    }
)


class JobRun:
    """One step of a job: what it knows, and requests at the pace of its host.

    The lease of the job and of its lane is renewed while the step runs. A step of a job that names
    a `url` sends its requests to that host only, through `fetch`.
    """

    def __init__(
        self,
        job: Job,
        services: Services,
        lifecycle: Lifecycle,
        lease: LaneLease | None,
        job_deadline: Callable[[], float],
    ) -> None:
        self.job, self.services, self.lifecycle = job, services, lifecycle
        self._lease, self._job_deadline = lease, job_deadline

    @property
    def lane(self) -> Lane | None:
        """The lane that the job holds: the fence of a commit."""
        return None if self._lease is None else self._lease.lane

    async def fetch(
        self,
        url: str,
        overrides: FeedOverrides = FeedOverrides(),  # noqa: B008  # a frozen value
        *,
        home_url: str | None = None,
        validators: Validators | None = None,
        page: bool = False,  # a web page: HTML is what is wanted
        config: FetchConfig | None = None,  # other limits than the usual ones
    ) -> Answer | Later:
        """GET an address of the job's host when its gap is over; Later when the host has to rest.

        Credentials of `overrides` go to the host of `home_url` only.
        """
        wait = await self.wait_for_host(url)
        if wait is not None:
            return wait
        answer = await fetch_and_judge(
            url,
            overrides,
            home_url=home_url or url,
            fetcher=self.services.fetcher,
            clock=self.services.clock,
            config=config or self.services.config.fetch,
            validators=validators,
            send_before=self.send_before,
            page=page,
        )
        if self._lease is not None:
            await self._lease.update_pace(url, outcome_of(answer.verdict), answer.at)
        return answer

    async def post(self, url: str, headers: Headers, body: bytes) -> RawResponse | Later:
        """POST to the job's host when its gap is over; Later when the host has to rest.

        A redirect is an answer; every failure is a response with its reason.
        """
        wait = await self.wait_for_host(url)
        if wait is not None:
            return wait
        limits = limits_of(self.services.config.fetch)
        response = await self.services.fetcher.post(
            Post(url=url, headers=headers, body=body, limits=limits, send_before=self.send_before)
        )
        if self._lease is not None:
            now = self.services.clock.now()
            await self._lease.update_pace(url, _outcome(response, now), now)
        return response

    @property
    def send_before(self) -> float:
        """By when a request has to leave, on the monotonic clock: the end of the leases of job and lane."""
        own = self._job_deadline()
        return own if self._lease is None else min(own, self._lease.deadline)

    async def note_answer(self, response: RawResponse, plan: FetchPlan) -> None:
        """Tell the lane of an answer that came outside of `fetch`: the gap counts from now."""
        if self._lease is not None:
            now = self.services.clock.now()
            failed = response.status is None or response.status in _BUSY
            outcome = outcome_of(judge(response, plan, now)) if failed else _ANSWERED
            await self._lease.update_pace(plan.url, outcome, now)

    async def leave_lane(self, url: str) -> None:
        """Release the lane while the step goes on: polls of the host do not wait for it.

        For an answer that has begun and takes long to arrive; the host's gap counts from now.
        """
        if self._lease is not None:
            await self._lease.update_pace(url, _ANSWERED, self.services.clock.now())
            await self._lease.release()
            self._lease = None

    async def wait_for_host(self, url: str) -> Later | None:
        """Wait for the host's gap before a request to it; Later when that takes too long."""
        if self._lease is None:
            return None
        now = self.services.clock.now()
        limited = self._lease.limited_until(url)
        if limited is not None:
            return Later(wait=limited - now, reason="retry-after")
        if await self._lease.may_send():
            return None
        rest = host_wait_sec(self._lease.pace, self.services.clock.now())
        return Later(wait=timedelta(seconds=rest), reason="host-pause" if rest else "stopping")

    def step(self, cursor: dict[str, Any], *, progress: dict[str, Any] | None = None) -> JobStep:
        """How far the job has come, for `Refresh.job`: written with the document or not at all."""
        return JobStep(job_id=self.job.id, epoch=self.job.epoch, cursor=cursor, progress=progress)


class KindLimits(NamedTuple):
    """How many steps may begin in a day (UTC), and run at once in one process; None: no limit, the kind's."""

    at_one_host: int | None = None
    at_all_hosts: int | None = None
    at_once: int | None = None


class JobKind(NamedTuple):
    """One kind of job; listed in runner.py."""

    name: str
    run: Callable[[JobRun], Awaitable[JobResult]]
    concurrency: int = 4  # steps at once in one process
    max_attempts: int = 8  # of one step, before the job has failed
    backoff_base_sec: float = 60.0  # after the first failure; then doubled
    backoff_cap_sec: float = 21_600.0
    limits: Callable[[Config], KindLimits] = lambda _: KindLimits()
    standing: Callable[[Config], NewJob | None] = lambda _: None  # queued whenever a runner starts
    one_per_host: bool = False  # for steps that leave their lane and go on: one at a time at a host


def _outcome(response: RawResponse, now: datetime) -> Outcome:
    """What the answer to a POST says about its host."""
    verdict = judge_delivery(response)
    if isinstance(verdict, Delivered) or verdict.reason == "redirect-not-followed":
        return Outcome(kind="fresh", http_status=response.status)
    asked = retry_after_sec(response.status or 0, response.headers, now)
    return Outcome(
        kind="failed", http_status=response.status, retry_after_sec=asked, reason=verdict.reason
    )


_ERROR_CHARS = 500
_NOW = timedelta(0)


def settlement_of(job: Job, result: JobResult, kind: JobKind, now: datetime) -> JobSettlement:
    """The job after a step that ended like this."""
    queued = JobSettlement(
        job_id=job.id,
        epoch=job.epoch,
        at=now,
        state="queued",
        not_before=now,
        attempts=job.attempts,
    )
    match result:
        case Done(progress=progress, reason=reason):
            error = reason[:_ERROR_CHARS]
            return replace(queued, state="done", attempts=0, progress=progress, last_error=error)
        case Again(cursor=cursor, progress=progress, url=url, after=after):
            due = now + max(after, _NOW)
            return replace(
                queued, not_before=due, attempts=0, cursor=cursor, progress=progress, url=url
            )
        case Later(wait=wait, reason=reason):
            due, error = now + max(wait, _NOW), reason[:_ERROR_CHARS]
            return replace(queued, not_before=due, attempts=job.attempts - 1, last_error=error)
        case Failed():
            return _after_failure(job, result, kind, queued)
        case _:
            assert_never(result)


def _after_failure(job: Job, failed: Failed, kind: JobKind, queued: JobSettlement) -> JobSettlement:
    error = f"{failed.reason}: {failed.detail}" if failed.detail else failed.reason
    queued = replace(queued, last_error=error[:_ERROR_CHARS])
    if failed.final or job.attempts >= kind.max_attempts:
        return replace(queued, state="failed")
    own = backoff_sec(
        f"{job.kind}/{job.key}",
        job.id,
        job.attempts,
        base_sec=kind.backoff_base_sec,
        cap_sec=kind.backoff_cap_sec,
    )
    wait = max(timedelta(seconds=own), failed.retry_after or _NOW)
    return replace(queued, not_before=queued.at + wait)
