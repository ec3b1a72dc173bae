"""Kinds of jobs for tests: one that reads numbered pages of a publisher, and what runs them."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from msgspec.structs import replace
from tests.support.sample_refreshes import a_refresh, an_entry, read

from feedmill.engine.documents.unscheduled import commit_unscheduled
from feedmill.engine.jobs.kind import JobKind, JobRun
from feedmill.engine.jobs.runner import run_due_jobs
from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.engine.run.services import Services
from feedmill.model.fetch import Fresh
from feedmill.model.running.job import (
    Again,
    Done,
    Failed,
    Job,
    JobResult,
    JobRunRecord,
    Later,
    NewJob,
)

Step = Callable[[JobRun], Awaitable[JobResult]]


def kind_of(step: Step, **more: Any) -> JobKind:
    """A kind `walk` that runs this step."""
    return JobKind("walk", step, **more)


def walk(url: str, key: str = "a", **more: Any) -> NewJob:
    """A job of the kind `walk` at an address."""
    return NewJob(kind="walk", key=key, url=url, **more)


async def read_pages(run: JobRun) -> JobResult:
    """GET `url`/N, N = 1, 2 …, until `pages`; each page brings one entry, committed with the cursor."""
    number = run.job.cursor.get("page", 0) + 1
    assert run.job.url is not None
    answer = await run.fetch(f"{run.job.payload['base']}/{number}")
    if isinstance(answer, Later):
        return answer
    if not isinstance(answer.verdict, Fresh):
        return Failed(reason=getattr(answer.verdict, "reason", "gone"))
    assert run.job.feed_id is not None
    store = run.services.store
    feed = await store.feed(run.job.feed_id)
    assert feed is not None
    changes = await read(store, feed, [an_entry(f"page-{number}")])
    page = a_refresh(feed, number, at=run.services.clock.now(), changes=changes, whole=False)
    progress = {"pages": number}
    step = run.step({"page": number}, progress=progress)
    fetch = replace(page.fetch, fetch_id=run.services.clock.new_id())
    whole = replace(page, lane=run.lane, fetch=fetch, entries_only=True, blob=None, job=step)
    done = await commit_unscheduled(whole, store)  # a clock may stand still
    if done.fenced:
        return Failed(reason="lost")
    return Done(progress=progress) if number == run.job.payload["pages"] else Again()


async def run_due(
    services: Services, *kinds: JobKind, lifecycle: Lifecycle | None = None
) -> Sequence[JobRunRecord]:
    """Run what is due; the record of each step."""
    records: list[JobRunRecord] = []
    await run_due_jobs(
        services, lifecycle or Lifecycle("one"), kinds=kinds, listeners=(records.append,)
    )
    return records


async def stored(services: Services, job: Job) -> Job:
    """The job as it is now."""
    found = await services.store.job(job.id)
    assert found is not None
    return found
