"""Job kind `backfill`: read one page of a feed's archive and go on to the next (RFC 5005).

The first step makes no request for a page: it reads the links of the feed's current document, which is
stored. Each further step reads one page, and its entries and the job's new cursor are one transaction: a
crash repeats one page at most and stores nothing twice. The feed's own state, its schedule among it, is
left alone. Which page comes next is decided by `archive.py`.
"""
# Tested in tests/integration/engine/jobs/test_backfill.py

from hashlib import sha256
from typing import Any, Final

from msgspec.structs import replace

from feedmill.archive import (
    ArchivePage,
    ArchiveWalk,
    Stop,
    first_page,
    from_cursor,
    mark_of,
    next_page,
    to_cursor,
)
from feedmill.config import Config
from feedmill.engine.documents.fetch_document import Answer
from feedmill.engine.documents.raw_documents import BACKFILL as OUTCOME
from feedmill.engine.documents.raw_documents import keep_document, load_document
from feedmill.engine.documents.read_document import NotAFeed, read_and_compare
from feedmill.engine.documents.unscheduled import commit_unscheduled, unscheduled
from feedmill.engine.jobs.kind import JobKind, JobRun, KindLimits
from feedmill.engine.poll.fetch_record import record_fetch, with_reading
from feedmill.engine.poll.live_screening import apply_live_screen, held_rows
from feedmill.engine.run.memory_budget import PARSE_THREADS
from feedmill.engine.run.services import Services
from feedmill.engine.subscribe.host_queue import allows_by_robots, robots_url
from feedmill.fetch.headers import link_headers, links_with_rel
from feedmill.model import fetch as answers
from feedmill.model.feed import Feed
from feedmill.model.fetch import Fresh, Gone, RawDocument
from feedmill.model.parsed import Link, ParsedFeed
from feedmill.model.running.job import Again, Done, Failed, JobResult, Later
from feedmill.parse.document import parse_document
from feedmill.schedule.follow_up import BACKFILL

_NOT_THERE: Final = frozenset({404, 410})


async def run(run: JobRun) -> JobResult:
    """One step: find the first page, or read one page."""
    feed = await run.services.store.feed(run.job.feed_id or "")
    if feed is None:
        return Done(reason="feed-removed")
    if not run.job.cursor:
        return await _begin(run, feed)
    walk = from_cursor(run.job.cursor)
    answer = await run.fetch(walk.url, feed.overrides, home_url=feed.url)
    if isinstance(answer, Later):
        return answer
    if not isinstance(answer.verdict, Fresh):
        return _failed(answer, walk)
    return await _read_page(run, feed, walk, answer, answer.verdict)


async def _find_first_page(feed: Feed, run: JobRun) -> ArchiveWalk | Stop | JobResult:
    """The first page of the feed's archive; its current document is asked for when it is not stored."""
    config = run.services.config
    known = await stored_page(feed, run.services)
    if known is None:
        answer = await run.fetch(feed.url, feed.overrides)
        if isinstance(answer, Later):
            return answer
        verdict = answer.verdict
        if not isinstance(verdict, Fresh):
            return _failed(answer, None)
        known = await _page_of(verdict.document, verdict.links, config)
    return (
        Stop(reason="not-a-feed")
        if known is None
        else first_page(known, wordpress=config.backfill.wordpress)
    )


async def stored_page(feed: Feed, services: Services) -> ArchivePage | None:
    """What the feed's current document says about older pages; None when it is not stored."""
    store = services.store
    fetch = await store.fetch(feed.document_fetch_id) if feed.document_fetch_id else None
    document = await load_document(fetch, store, services.blobs) if fetch else None
    if fetch is None or document is None:
        return None
    links = link_headers(fetch.response_headers, fetch.final_url)
    return await _page_of(document, links, services.config)


async def _begin(run: JobRun, feed: Feed) -> JobResult:
    found = await _find_first_page(feed, run)
    if isinstance(found, Stop):
        return Done(progress=_progress(0, 0), reason=found.reason)
    if not isinstance(found, ArchiveWalk):
        return found
    if found.kind == "paged":
        allowed = await _robots_allow(run, found.url)
        if isinstance(allowed, Later):
            return allowed
        if not allowed:
            return Done(progress=_progress(0, 0), reason="robots")
    return Again(cursor=to_cursor(found), progress=_progress(0, 0), url=found.url)


async def _robots_allow(run: JobRun, url: str) -> bool | Later:
    """A page that only we thought of is asked for where robots.txt lets us."""
    answer = await run.fetch(robots_url(url) or url)
    if isinstance(answer, Later):
        return answer
    return allows_by_robots(answer.response, url, run.services.config.fetch)


async def _read_page(
    run: JobRun, feed: Feed, walk: ArchiveWalk, answer: Answer, verdict: Fresh
) -> JobResult:
    services, document = run.services, verdict.document
    digest = sha256(document.body).hexdigest()
    fetch = record_fetch(
        feed,
        answer,
        fetch_id=services.clock.new_id(),
        scheduled_at=services.clock.now(),
        body_sha256=digest,
    )
    fetch = replace(fetch, outcome=OUTCOME)
    blob = await keep_document(document.body, fetch, feed, services.store, services.blobs)
    read = await read_and_compare(
        document, feed, services.store, services.config, now=answer.at, rows=()
    )
    if isinstance(read, NotAFeed):
        return Done(progress=_progress(walk.number - 1, walk.entries), reason="not-a-feed")
    read = await apply_live_screen(read, feed, services)
    new_entries = read.changes.summary.added + read.newly_held
    after = next_page(
        walk,
        _archive_page(read.parsed, verdict.links, document.url or walk.url),
        body_sha256=digest,
        new_entries=new_entries,
        max_pages=run.job.payload.get("max_pages", services.config.backfill.max_pages),
    )
    progress = _progress(walk.number, walk.entries + new_entries)
    cursor = to_cursor(after) if isinstance(after, ArchiveWalk) else run.job.cursor
    # Nothing of it touches the feed or its schedule, and what the page lacks was not removed.
    refresh = unscheduled(feed, with_reading(fetch, read), read.changes, blob=blob)
    refresh = replace(
        refresh,
        lane=run.lane,
        events=tuple(replace(one, data={**one.data, "backfill": True}) for one in refresh.events),
        backfill=True,
        held=held_rows(read, fetch, answer.at),
        job=run.step(cursor, progress=progress),
    )
    committed = await commit_unscheduled(refresh, services.store)
    if committed.fenced:
        return Done(reason="lost")
    if committed.duplicate:
        return Failed(reason="busy", detail="other processes store documents of the feed")
    if isinstance(after, Stop):
        return Done(progress=progress, reason=after.reason)
    return Again(progress=progress, url=after.url)


def _failed(answer: Answer, walk: ArchiveWalk | None) -> JobResult:
    """A page that is gone ends the walk; anything else is tried again."""
    progress = None if walk is None else _progress(walk.number - 1, walk.entries)
    verdict = answer.verdict
    if isinstance(verdict, Gone) or answer.response.status in _NOT_THERE:
        return Done(progress=progress, reason="not-found")
    if isinstance(verdict, answers.Failed) and verdict.reason == "not-a-feed":
        return Done(progress=progress, reason="not-a-feed")
    if isinstance(verdict, answers.Failed):
        return Failed(reason=verdict.reason, detail=verdict.detail)
    return Failed(reason="unexpected-answer", detail=str(answer.response.status))


async def _page_of(
    document: RawDocument, links: tuple[Link, ...], config: Config
) -> ArchivePage | None:
    parsed = await PARSE_THREADS.run(lambda: parse_document(document, config.parse))
    if not isinstance(parsed, ParsedFeed):
        return None
    return _archive_page(parsed, links, document.url or "")


def _archive_page(parsed: ParsedFeed, links: tuple[Link, ...], url: str) -> ArchivePage:
    named = (parsed.prev_archive_url, *links_with_rel(links, "prev-archive"))
    following = (parsed.next_url, *links_with_rel(links, "next"))
    return ArchivePage(
        url=url,
        prev_archive_urls=tuple(one for one in named if one),
        next_urls=tuple(one for one in following if one),
        generator=parsed.generator,
        entries_mark=mark_of("\n".join(sorted(one.id or one.link or "" for one in parsed.entries))),
    )


def _progress(pages: int, entries: int) -> dict[str, Any]:
    return {"pages": pages, "entries": entries}


def _limits(config: Config) -> KindLimits:
    return KindLimits(
        at_one_host=config.backfill.host_pages_per_day, at_all_hosts=config.backfill.pages_per_day
    )


KIND: Final = JobKind(BACKFILL, run, limits=_limits)
