"""Job kind `fulltext`: fetch the web page of one entry politely and store the text that is extracted from it.

robots.txt and its crawl-delay hold, the host's lane keeps its pace, and the egress guard and all limits of a fetch
apply. Credentials of the feed go to its own host only.
"""
# Tested in tests/integration/engine/jobs/test_fulltext.py

from datetime import timedelta
from typing import Any, Final, Unpack
from weakref import WeakKeyDictionary

from msgspec.structs import replace

from feedmill.config import Config, FetchConfig
from feedmill.engine.documents.fetch_document import Answer, describe_verdict
from feedmill.engine.documents.fetched import failed_page, store_full_text
from feedmill.engine.jobs.kind import FINAL_REASONS, JobKind, JobRun, KindLimits
from feedmill.engine.ports.io import Fetcher, FetchOptions
from feedmill.engine.subscribe.host_queue import RobotsGate
from feedmill.errors import MissingExtraError
from feedmill.model.derived.fetched import FullText, NoFullText
from feedmill.model.event import StoredEntry
from feedmill.model.fetch import FetchPlan, Fresh, RawResponse
from feedmill.model.running.job import Done, Failed, JobResult, Later
from feedmill.publish.events import event_of_full_text
from feedmill.schedule.follow_up import FULL_TEXT as NAME
from feedmill.schedule.follow_up import wants_full_text

_MAX_ATTEMPTS: Final = 3  # one try and two more
_ENDED: Final = "ended"  # in the cursor of a job, written together with the text
# What robots.txt said is remembered as long as the fetcher lives.
_origins: Final[WeakKeyDictionary[Fetcher, dict[str, Any]]] = WeakKeyDictionary()


async def run(run: JobRun) -> JobResult:
    """Fetch and extract one page."""
    if ended := run.job.cursor.get(_ENDED):  # stored by a process that died before it could say so
        return Done(reason=ended)
    entry = await run.services.store.entry(run.job.key)
    feed = None if entry is None else await run.services.store.feed(entry.feed_id)
    if entry is None or feed is None or run.job.url is None:
        return Done(reason="no-entry")
    forced = bool(run.job.payload.get("forced"))
    if not forced and not wants_full_text(feed, run.services.config.fulltext):
        return Done(reason="not-wanted")
    refused = await _refusal(run, run.job.url)
    if isinstance(refused, Later):
        return refused
    if refused is not None:
        return await _give_up(run, entry, refused)
    answer = await run.fetch(
        run.job.url, feed.overrides, home_url=feed.url, page=True, config=_limits(run)
    )
    if isinstance(answer, Later):
        return answer
    if not isinstance(answer.verdict, Fresh):
        return await _failed(run, entry, answer)
    try:
        step = run.step({_ENDED: "stored"})
        found = await store_full_text(entry, feed, answer, run.services, step)
    except MissingExtraError as problem:
        return Failed(reason=problem.reason, detail=problem.hint)
    if found is None:
        return Done(reason="lost")
    return Done(progress={"words": found.words}, reason=found.reason or "extracted")


def limits_of(config: Config) -> KindLimits:
    """How many pages a day, of one host and altogether."""
    return KindLimits(
        at_one_host=config.fulltext.pages_per_host_day, at_all_hosts=config.fulltext.pages_per_day
    )


KIND: Final = JobKind(NAME, run, max_attempts=_MAX_ATTEMPTS, limits=limits_of)


async def _refusal(run: JobRun, url: str) -> Later | NoFullText | None:
    """None when robots.txt lets us fetch the page now."""
    fetcher = _PacedFetcher(run)
    services = run.services
    gate = RobotsGate(
        fetcher,
        services.clock,
        services.config.fetch,
        origins=_origins.setdefault(services.fetcher, {}),
    )
    allowed = await gate.allows(url)
    if fetcher.later is not None:
        return fetcher.later
    if not allowed:
        return NoFullText(reason="robots", detail="robots.txt forbids the page")
    delay = await gate.crawl_delay(url)
    last = None if delay is None else await services.store.last_page_at(url)
    if delay is None or last is None:
        return None
    wait = last + timedelta(seconds=delay) - services.clock.now()
    return Later(wait=wait, reason="crawl-delay") if wait > timedelta(0) else None


async def _failed(run: JobRun, entry: StoredEntry, answer: Answer) -> JobResult:
    reason, detail = describe_verdict(answer.verdict)
    if reason not in FINAL_REASONS and run.job.attempts < _MAX_ATTEMPTS:
        asked = getattr(answer.verdict, "retry_after_sec", None)
        again = None if asked is None else timedelta(seconds=asked)
        return Failed(reason=reason, detail=detail, retry_after=again)
    failure = NoFullText(reason="unreachable", detail=f"{reason}: {detail}" if detail else reason)
    return await _give_up(run, entry, failure, answer)


async def _give_up(
    run: JobRun, entry: StoredEntry, failure: NoFullText, answer: Answer | None = None
) -> JobResult:
    """Store why there is no full text; the feed's own content stays."""
    url, at = run.job.url or "", run.services.clock.now()
    page = FullText(
        entry_uid=entry.entry_uid,
        feed_id=entry.feed_id,
        url=url,
        final_url=url if answer is None else answer.response.final_url,
        fetched_at=at,
        extracted_at=at,
        state="failed",
        http_status=None if answer is None else answer.response.status,
    )
    row = failed_page(page, failure)
    await run.services.store.save_full_text(
        row, events=(event_of_full_text(row),), step=run.step({_ENDED: failure.reason})
    )
    return Done(reason=failure.detail or failure.reason)


def _limits(run: JobRun) -> FetchConfig:
    most = run.services.config.fulltext.max_page_bytes
    config = run.services.config.fetch
    return replace(
        config,
        max_body_bytes=min(most, config.max_body_bytes),
        max_wire_bytes=min(most, config.max_wire_bytes),
    )


class _PacedFetcher:
    """The fetcher for robots.txt: it waits for the host's gap and tells the lane of the answer."""

    def __init__(self, run: JobRun) -> None:
        self._run = run
        self.later: Later | None = None

    async def fetch(self, plan: FetchPlan, **how: Unpack[FetchOptions]) -> RawResponse:
        self.later = await self._run.wait_for_host(plan.url)
        if self.later is not None:
            return RawResponse(url=plan.url, final_url=plan.url, error="rate-limited")
        fetcher = self._run.services.fetcher
        leased = replace(plan, send_before=self._run.send_before)
        response = await fetcher.fetch(leased, **how)
        await self._run.note_answer(response, plan)
        return response
