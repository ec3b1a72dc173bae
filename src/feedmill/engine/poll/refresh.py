"""Refreshes one feed. START HERE: the whole program is this order.

    plan      what to ask the server
    fetch     politeness, guard and limits are inside
    judge     what the answer means
    keep      the raw body, before anything parses it
    read      parse, normalise, identify, compare with what is known
    hold      new entries that a live screen holds for review (live_screening.py)
    decide    when to ask again, and why
    commit    all of it in one transaction (the caller: lane_worker.py)
    follow    the feed to its new address, once the poll is committed (moves/follow.py)

A line with `await` does I/O; every other line is a pure function that can be opened and tested
alone. Plan to read are shared with collecting and probing (engine/documents); what is stored about
a poll is in fetch_record.py.
"""

from datetime import datetime, timedelta
from hashlib import sha256
from typing import Final

from msgspec.structs import replace

from feedmill.archive.wanted import backfill_job, is_backfilled
from feedmill.config import Config
from feedmill.engine.documents.fetch_document import Answer, fetch_and_judge, outcome_of
from feedmill.engine.documents.raw_documents import keep_raw
from feedmill.engine.documents.read_document import (
    ComparedDocument,
    NotAFeed,
    SameBody,
    classify_non_feed,
    read_and_compare,
    reader_version,
)
from feedmill.engine.moves.detect import detect_move
from feedmill.engine.poll.fetch_record import (
    Reading,
    changed_facts,
    record_fetch,
    served_addresses,
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
from feedmill.extract.opt_in import full_text_jobs
from feedmill.fetch.validator_use import EXHAUSTED, validators_to_send
from feedmill.model.event import NewEvent
from feedmill.model.feed import BlobRef, Feed, FetchNote, FetchRecord, Lane, MoveCandidate
from feedmill.model.fetch import Failed, Fresh, Gone, Unchanged, Verdict
from feedmill.model.job import NewJob
from feedmill.model.refresh import Refresh
from feedmill.model.schedule import Decision, Outcome, ScheduleState
from feedmill.observe.traces import Facts, current_trace, span
from feedmill.publish.events import event_of_state, events_of_changes
from feedmill.schedule.decide import decide_next_poll, learn_entries, learn_stored, own_schedule
from feedmill.schedule.hints import merge_hints

_STORED_ARRIVALS: Final = 2_000  # entries of a feed that its pace is learnt from
_CLOCK_JITTER: Final = timedelta(seconds=1)  # between two looks at a clock that nobody has set


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
    monotonic clock. A large document waits for its `memory` before it is read.
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
    fetch_id = services.clock.new_id()
    digest, blob = await _keep(answer, feed, services, fetch_id, scheduled_at)
    reading = await _read(answer, digest, feed, services)
    fetch = record_fetch(
        feed,
        answer,
        reading,
        fetch_id=fetch_id,
        scheduled_at=scheduled_at,
        body_sha256=digest,
    )
    fetch = with_trace(feed, fetch, current_trace())
    schedule, arrived = await _learn(feed, answer, reading, services)
    return _conclude(
        replace(feed, schedule=schedule),
        answer,
        reading,
        fetch,
        config=services.config,
        lane=lane,
        blob=blob,
        charged=charged,
        arrived=arrived,
        late_sec=late_sec,
        push=await push_status(feed, services.store, services.config.push, answer.at),
    )


def redate(result: Refresh, now: datetime, elapsed: timedelta) -> Refresh:
    """The result, moved to now when its date cannot be one of the last `elapsed`: the clock was set (H32).

    Dated by a clock that was ahead, a feed would be silent for as long as that clock was ahead.
    """
    fetch, feed, decision = result.fetch, result.feed, result.decision
    by = now - fetch.fetched_at
    if -_CLOCK_JITTER <= by <= elapsed + _CLOCK_JITTER:
        return result
    next_poll_at = feed.next_poll_at + by
    return replace(
        result,
        fetch=replace(fetch, fetched_at=now),
        feed=replace(
            feed,
            next_poll_at=next_poll_at,
            last_fetch_at=now,
            last_decision_at=None if feed.last_decision_at is None else now,
        ),
        decision=None if decision is None else replace(decision, next_poll_at=next_poll_at),
    )


async def _keep(
    answer: Answer, feed: Feed, services: Services, fetch_id: str, scheduled_at: datetime
) -> tuple[str | None, BlobRef | None]:
    """Raw before parse, always: durable when this returns. The body before is there already."""
    document = answer.document
    if document is None or not document.body:
        return None, None
    digest = sha256(document.body).hexdigest()
    if digest == feed.body_sha256:
        return digest, None
    fetch = record_fetch(
        feed, answer, None, fetch_id=fetch_id, scheduled_at=scheduled_at, body_sha256=digest
    )
    note = FetchNote(feed_key=feed.feed_key, tags=feed.tags, fetch=fetch)
    with span("keep"):
        return digest, await keep_raw(document.body, digest, services.store, services.blobs, note)


async def _read(answer: Answer, digest: str | None, feed: Feed, services: Services) -> Reading:
    verdict, config = answer.verdict, services.config
    if isinstance(verdict, Failed) and verdict.reason == "not-a-feed":
        return classify_non_feed(verdict.document, config)
    if not isinstance(verdict, Fresh):
        return None
    if digest == feed.body_sha256 and feed.reader_version == reader_version(config):
        return SameBody()
    read = await read_and_compare(verdict.document, feed, services.store, config, now=answer.at)
    if isinstance(read, ComparedDocument) and read.parsed.truncated and not read.seen:
        # Nothing of the document could be read: that is a failure, whatever its status (002 §7).
        return NotAFeed(reason="truncated", detail="the document was cut before its first entry")
    return read if isinstance(read, NotAFeed) else await apply_live_screen(read, feed, services)


async def _learn(
    feed: Feed, answer: Answer, reading: Reading, services: Services
) -> tuple[ScheduleState, tuple[float, ...]]:
    """The schedule's state with what the answer shows of the feed's pace, and when entries came out.

    A feed that was polled before this was remembered is learnt from what is stored of it, once.
    """
    state, config = feed.schedule, services.config.schedule
    if not isinstance(answer.verdict, Fresh | Unchanged) or isinstance(reading, NotAFeed):
        return state, ()
    known: tuple[float, ...] = ()
    if state.arrivals is None and feed.last_success_at is not None:
        stored = await services.store.stored_arrivals(feed.id, _STORED_ARRIVALS)
        window = feed.new_entries_last_fetch
        state, known = learn_stored(state, stored, now=answer.at, window=window, config=config)
    if not isinstance(reading, ComparedDocument):
        return state, known
    if state.arrivals is not None and not reading.new_dates:
        if state.arrivals.window != reading.seen:
            state = replace(state, arrivals=replace(state.arrivals, window=reading.seen))
        return state, known
    state, new = learn_entries(
        state,
        reading.new_dates,
        previous_at=feed.last_success_at,
        now=answer.at,
        window=reading.seen,
        config=config,
    )
    return state, known + new


def _conclude(
    feed: Feed,
    answer: Answer,
    reading: Reading,
    fetch: FetchRecord,
    *,
    config: Config,
    lane: Lane | None,
    blob: BlobRef | None,
    charged: bool,
    arrived: tuple[float, ...],
    late_sec: float,
    push: PushStatus,
) -> Refresh:
    """What follows from an answer that was judged and read: the decision, the feed, the events."""
    now, verdict = answer.at, answer.verdict
    read = reading if isinstance(reading, ComparedDocument) else None
    outcome = _outcome(verdict, reading)
    hints = merge_hints(
        feed.hints,
        seen_at=now,
        publisher=read.parsed.hints if read else None,
        freshness_sec=None if isinstance(verdict, Gone) else verdict.freshness_sec,
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
            events = (*published, *events)
            writing.describe(_event_facts, events)
    return Refresh(
        lane=lane,
        feed=after,
        fetch=fetch,
        decision=decision,
        blob=blob,
        changes=read.changes if read else None,
        removed=read.removed if read else (),
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
    """Background work that follows from a document: its archives, the pages of its new entries."""
    archives = (backfill_job(feed),) if is_backfilled(feed, config.backfill) else ()
    return (*archives, *full_text_jobs(read.changes.changes, feed, config.fulltext))


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
    trace = current_trace()
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
