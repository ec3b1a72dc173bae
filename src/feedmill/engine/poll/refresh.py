"""Refreshes one feed. START HERE: the whole program is this order.

    plan      what to ask the server
    fetch     politeness, guard and limits are inside
    judge     what the answer means
    keep      the raw body, before anything parses it; what the store has of it and of the last document is one look
    read      parse, normalise, identify, compare with what is known
    hold      new entries that a live screen holds for review (live_screening.py)
    limit     what one feed may bring at once and in a day (documents/quota.py)
    learn     how often the feed publishes (fetch_record.py)
    decide    when to ask again, and why; a feed that a hub pushes is asked less (push_evidence.py)
    queue     background work that follows: archives, full texts, subscriptions to hubs
    commit    all of it in one transaction (the caller: lane_worker.py)
    follow    the feed to its new address, once the poll is committed (moves/follow.py)

A line with `await` does I/O; every other line is a pure function that can be opened and tested
alone. Plan to read are shared with collecting and probing (engine/documents); what is stored about
a poll is in fetch_record.py.
"""

from datetime import datetime
from functools import partial
from hashlib import sha256

from msgspec.structs import replace

from feedmill.config import Config
from feedmill.engine.documents.fetch_document import Answer, fetch_and_judge, outcome_of
from feedmill.engine.documents.quota import QuotaResult, apply_quota, own_quota, quota_events
from feedmill.engine.documents.raw_documents import keep_document
from feedmill.engine.documents.read_document import (
    ComparedDocument,
    NotAFeed,
    SameBody,
    classify_non_feed,
    off_loop,
    read_and_compare,
    reader_version,
)
from feedmill.engine.moves.detect import detect_move
from feedmill.engine.poll.fetch_record import (
    Reading,
    changed_facts,
    learn_pace,
    record_fetch,
    served_addresses,
    with_reading,
    with_trace,
)
from feedmill.engine.poll.live_screening import apply_live_screen, held_rows
from feedmill.engine.poll.push_evidence import (
    PushStatus,
    announced_hubs,
    missed_entries,
    push_jobs,
    push_status,
    with_safety_poll,
)
from feedmill.engine.run.memory_budget import MemoryShare
from feedmill.engine.run.services import Services
from feedmill.errors import DAMAGE, StoreError
from feedmill.fetch.caching import freshness_source
from feedmill.fetch.plan import EXHAUSTED, validators_to_send
from feedmill.model.event import NewEvent
from feedmill.model.feed import BlobRef, Feed, FetchRecord, Lane, MoveCandidate
from feedmill.model.fetch import Failed, Fresh, Gone, Unchanged, Verdict
from feedmill.model.refresh import Refresh, StoredDocument
from feedmill.model.running.job import NewJob
from feedmill.model.schedule import Decision, Outcome
from feedmill.observe.traces import Facts, current_trace, span
from feedmill.publish.events import event_of_state, events_of_changes
from feedmill.schedule.decide import decide_next_poll, own_schedule
from feedmill.schedule.delay import merge_hints
from feedmill.schedule.follow_up import backfill_job, full_text_jobs, is_backfilled, media_jobs


async def refresh(
    feed: Feed,
    *,
    scheduled_at: datetime,
    lane: Lane | None,
    services: Services,
    forced: bool = False,
    charged: bool = True,
    late_sec: float = 0.0,
    send_before: float | None = None,
    memory: MemoryShare | None = None,
) -> Refresh:
    """Poll a feed and say everything that follows from the answer; the caller commits it.

    `forced` asks unconditionally. `charged=False` is for the canary of a failing host: a
    failure is recorded, but not held against the feed (D24). `late_sec` is how long the poll
    waited for its lane. NotSentError when the request has not left by `send_before` on the
    monotonic clock. A large document waits for its `memory` while it arrives and before it is read.
    """
    answer = await fetch_and_judge(
        feed.url,
        feed.overrides,
        home_url=feed.url,
        fetcher=services.fetcher,
        clock=services.clock,
        config=services.config.fetch,
        validators=validators_to_send(feed.validators, feed.same_bodies, feed.validator_use),
        forced=forced,
        send_before=send_before,
        room=memory,
    )
    if memory is not None and answer.document is not None:
        await memory.take_for(len(answer.document.body))
    return await read_answer(
        feed,
        answer,
        scheduled_at=scheduled_at,
        lane=lane,
        services=services,
        charged=charged,
        late_sec=late_sec,
    )


async def keep_first_fetch(feed: Feed, answer: Answer, services: Services) -> Feed:
    """Commit what the search for a new feed fetched as its first poll; the feed afterwards.

    So the publisher is asked once: the next poll is conditional, and due when the policy says.
    """
    result = await read_answer(feed, answer, scheduled_at=answer.at, lane=None, services=services)
    committed = await services.store.commit(result)
    return feed if committed.fenced or committed.duplicate else result.feed


async def read_answer(
    feed: Feed,
    answer: Answer,
    *,
    scheduled_at: datetime,
    lane: Lane | None,
    services: Services,
    charged: bool = True,
    late_sec: float = 0.0,
) -> Refresh:
    """Everything that follows from an answer that came for the feed; the caller commits it."""
    body = answer.document.body if answer.document is not None else b""
    is_large = len(body) > services.config.run.parse_in_thread_bytes
    digest = await off_loop(lambda: sha256(body).hexdigest(), is_large=is_large) if body else None
    fetch = record_fetch(
        feed,
        answer,
        fetch_id=services.clock.new_id(),
        scheduled_at=scheduled_at,
        body_sha256=digest,
    )
    stored = await _look_up(answer, fetch.body_sha256, feed, services)
    blob = await _keep(body, fetch, feed, stored, services)
    reading = await _read(answer, fetch.body_sha256, feed, stored, services)
    quota = None
    if isinstance(reading, ComparedDocument):
        compared = reading
        quota = await off_loop(
            lambda: apply_quota(compared, feed, services.config.quota, answer.at), is_large=is_large
        )
        reading = quota.read
    fetch = with_trace(with_reading(fetch, reading), current_trace())
    schedule, arrived = await learn_pace(feed, answer, reading, services)
    conclude = partial(
        _conclude,
        feed if schedule is feed.schedule else replace(feed, schedule=schedule),
        answer,
        reading,
        fetch,
        config=services.config,
        before=feed,
        lane=lane,
        blob=blob,
        charged=charged,
        arrived=arrived,
        late_sec=late_sec,
        push=await push_status(feed, services.store, services.config.push, answer.at),
        quota=quota,
    )
    return await off_loop(conclude, is_large=is_large)


async def _look_up(
    answer: Answer, digest: str | None, feed: Feed, services: Services
) -> StoredDocument | None:
    """What the store has of a new document, in one look; None: it is asked for where it is needed."""
    if digest is None or digest == feed.body_sha256 or not isinstance(answer.verdict, Fresh):
        return None
    try:
        return await services.store.stored_document(feed.id, digest)
    except StoreError as problem:
        if problem.reason not in DAMAGE:
            raise
        return None  # rows that cannot be read do not keep the body from being kept


async def _keep(
    body: bytes,
    fetch: FetchRecord,
    feed: Feed,
    stored: StoredDocument | None,
    services: Services,
) -> BlobRef | None:
    """Raw before parse, always: durable when this returns. The body before is there already."""
    if fetch.body_sha256 is None or fetch.body_sha256 == feed.body_sha256:
        return None
    with span("keep"):
        return await keep_document(body, fetch, feed, services.store, services.blobs, stored)


async def _read(
    answer: Answer,
    digest: str | None,
    feed: Feed,
    stored: StoredDocument | None,
    services: Services,
) -> Reading:
    verdict, config = answer.verdict, services.config
    if isinstance(verdict, Failed) and verdict.reason == "not-a-feed":
        return await classify_non_feed(verdict.document, config)
    if not isinstance(verdict, Fresh):
        return None
    if digest == feed.body_sha256 and feed.reader_version == reader_version(config):
        return SameBody()
    rows = None if stored is None else stored.rows
    read = await read_and_compare(
        verdict.document, feed, services.store, config, now=answer.at, rows=rows
    )
    if isinstance(read, ComparedDocument) and read.parsed.truncated and not read.seen:
        # Nothing of the document could be read: that is a failure, whatever its status (002 §7).
        return NotAFeed(reason="truncated", detail="the document was cut before its first entry")
    return read if isinstance(read, NotAFeed) else await apply_live_screen(read, feed, services)


def _conclude(
    feed: Feed,
    answer: Answer,
    reading: Reading,
    fetch: FetchRecord,
    *,
    config: Config,
    before: Feed,
    lane: Lane | None,
    blob: BlobRef | None,
    charged: bool,
    arrived: tuple[float, ...],
    late_sec: float,
    push: PushStatus,
    quota: QuotaResult | None,
) -> Refresh:
    """What follows from an answer that was judged and read: the decision, the feed, the events."""
    now, verdict = answer.at, answer.verdict
    read = reading if isinstance(reading, ComparedDocument) else None
    outcome = _outcome(verdict, reading)
    fresh_sec = None if isinstance(verdict, Gone) else verdict.freshness_sec
    hints = merge_hints(
        feed.hints,
        seen_at=now,
        publisher=read.parsed.hints if read else None,
        freshness_sec=fresh_sec,
        freshness_source=freshness_source(answer.response.headers) if fresh_sec else "max-age",
        retry_after_sec=outcome.retry_after_sec,
    )
    with span("decide") as deciding:
        decision = decide_next_poll(
            feed.schedule,
            outcome,
            hints,
            now=now,
            feed_id=feed.id,
            config=own_schedule(feed.overrides, config.schedule),
            whole_documents=_sends_whole_documents(feed),
            late_sec=late_sec,
        )
        deciding.describe(_decision_facts, decision)
    decision = with_safety_poll(decision, feed, push, outcome, config.push)
    announced = announced_hubs(answer, read)
    missed = missed_entries(feed, push, outcome, now)
    facts = changed_facts(feed, verdict, reading, fetch)
    if read is not None:
        facts["hubs"] = announced.hubs if announced else ()
    if quota is not None:
        facts["quota"] = quota.use
    after = replace(
        feed,
        **facts,
        move=_move(feed, verdict, reading, now),
        hints=hints,
        schedule=decision.state if charged or outcome.kind != "failed" else feed.schedule,
        next_poll_at=decision.next_poll_at,
        reason=decision.reason,
        last_decision_at=now,
        last_fetch_at=now,
    )
    events = event_of_state(feed, after, now=now)
    if read is not None:
        with span("events") as writing:
            published = events_of_changes(
                read.changes,
                read.removed,
                feed=after,
                fetch_id=fetch.fetch_id,
                now=now,
                previous_fetch_id=feed.document_fetch_id,
            )
            events = (*published, *events, *quota_events(after, quota, now))
            writing.describe(_event_facts, events)
    return Refresh(
        lane=lane,
        feed=after,
        fetch=fetch,
        before=before,
        decision=decision,
        blob=blob,
        changes=read.changes if read else None,
        removed=read.removed if read else (),
        keep_revisions=own_quota(feed.overrides, config.quota).revisions_per_entry,
        in_document=outcome.kind != "failed" and not fetch.truncated,
        events=_traced(events),
        aliases=served_addresses(fetch, verdict, reading),
        held=held_rows(read, fetch, now) if read else (),
        arrived=arrived,
        push=missed,
        jobs=(
            *(_jobs(read, after, config) if read else ()),
            *push_jobs(feed, push, announced, missed, config),
        ),
    )


def _jobs(read: ComparedDocument, feed: Feed, config: Config) -> tuple[NewJob, ...]:
    """Background work that follows from a document: its archives, pages and files of its new entries."""
    archives = (backfill_job(feed),) if is_backfilled(feed, config.backfill) else ()
    changes = read.changes.changes
    return (
        *archives,
        *full_text_jobs(changes, feed, config.fulltext),
        *media_jobs(changes, feed, config.media),
    )


def _sends_whole_documents(feed: Feed) -> bool:
    """True when each poll of the feed brings its whole document: nothing ever makes it answer 304."""
    if feed.last_success_at is None:
        return False
    return feed.validators is None or feed.same_bodies >= EXHAUSTED


def _outcome(verdict: Verdict, reading: Reading) -> Outcome:
    outcome = outcome_of(verdict)
    if isinstance(reading, NotAFeed):
        status = getattr(verdict, "status", None)
        return Outcome(kind="failed", http_status=status, reason=reading.reason)
    if isinstance(reading, ComparedDocument):
        return replace(outcome, new_entries=reading.changes.summary.added + reading.newly_held)
    return outcome


def _decision_facts(decision: Decision) -> Facts:
    return {
        "feedmill.reason": decision.reason,
        "feedmill.interval_sec": decision.interval_sec,
        "feedmill.next_poll_at": decision.next_poll_at.isoformat(),
    }


def _event_facts(events: tuple[NewEvent, ...]) -> Facts:
    return {"feedmill.events": len(events)}


def _traced(events: tuple[NewEvent, ...]) -> tuple[NewEvent, ...]:
    """The events with the W3C context of an exported trace, which goes out to webhooks and the bus."""
    trace = current_trace() if events else None
    if trace is None or not trace.is_kept:
        return events
    context = {"traceparent": trace.traceparent}
    return tuple(replace(event, data=event.data | context) for event in events)


def _move(feed: Feed, verdict: Verdict, reading: Reading, now: datetime) -> MoveCandidate | None:
    """Where the feed may have moved to (D6); an answer that failed says nothing about it."""
    if not isinstance(verdict, Fresh | Unchanged) or isinstance(reading, NotAFeed):
        return feed.move
    return detect_move(
        feed, verdict, reading if isinstance(reading, ComparedDocument) else None, now
    )
