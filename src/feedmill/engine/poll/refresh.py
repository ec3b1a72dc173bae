"""One refresh, and the whole program is this order. START HERE.

    plan      what to ask the server
    fetch     politeness, guard and limits are inside
    judge     what the answer means
    keep      raw before anybody reads it
    read      parse, normalise, identify, compare with what is known
    hold      what a standing screen lets wait for a person (standing.py)
    decide    when to ask again, and why
    commit    all of it in one transaction (the caller: lanes.py)
    follow    the feed, where it has moved to (adoption.py, once the poll is committed)

A line with `await` touches the world; every other line is a function that can be opened and
tested alone.
"""

import asyncio
from datetime import datetime
from hashlib import sha256

from msgspec.structs import replace

from feedmill.canonicalise.urls import is_same_site
from feedmill.config import ScheduleConfig
from feedmill.engine.moves.detect import detect_move
from feedmill.engine.poll.live_screening import apply_live_screen, held_rows
from feedmill.engine.poll.read_document import (
    ComparedDocument,
    NotAFeed,
    SameBody,
    classify_non_feed,
    read_document,
    reader_version,
)
from feedmill.engine.poll.recall import compare_with_store
from feedmill.engine.run.services import Services
from feedmill.fetch.headers import redact_headers
from feedmill.fetch.judge import judge
from feedmill.fetch.plan import plan_feed_fetch
from feedmill.fetch.redirects import permanent_target
from feedmill.model.feed import BlobRef, Feed, FeedOverrides, FetchRecord, Lane, MoveCandidate
from feedmill.model.fetch import (
    Failed,
    Fresh,
    Gone,
    Headers,
    RawDocument,
    RawResponse,
    Unchanged,
    Verdict,
)
from feedmill.model.refresh import Refresh
from feedmill.model.schedule import Outcome
from feedmill.publish.events import event_of_state, events_of_changes
from feedmill.schedule.decide import decide_next_poll
from feedmill.schedule.hints import merge_hints

Reading = ComparedDocument | SameBody | NotAFeed | None


async def refresh(
    feed: Feed,
    *,
    scheduled_at: datetime,
    lane: Lane | None,
    services: Services,
    forced: bool = False,
    charged: bool = True,
) -> Refresh:
    """Poll a feed and say everything that follows from the answer; the caller commits it.

    `forced` asks unconditionally. `charged=False` is for the canary of a host in trouble: a
    failure is recorded, but not held against the feed (D24).
    """
    plan = plan_feed_fetch(
        feed.url,
        feed.overrides,
        services.config.fetch,
        validators=feed.validators,
        forced=forced,
    )
    began = services.clock.monotonic()
    response = await services.fetcher.fetch(
        plan, verify_tls=feed.overrides.verify_tls, proxy=feed.overrides.proxy
    )
    elapsed_ms = int((services.clock.monotonic() - began) * 1000)
    now = services.clock.now()
    verdict = judge(response, plan, now)
    digest = _digest(verdict)
    blob = await _keep(verdict, digest, feed, services)
    reading = await _read(verdict, digest, feed, services, now=now)
    fetch = _record(
        feed, response, verdict, digest, reading, scheduled_at, now, elapsed_ms, services
    )
    return await conclude(
        feed, fetch, verdict, reading, lane, blob, services, now=now, charged=charged
    )


async def conclude(
    feed: Feed,
    fetch: FetchRecord,
    verdict: Verdict,
    reading: Reading,
    lane: Lane | None,
    blob: BlobRef | None,
    services: Services,
    *,
    now: datetime,
    charged: bool,
) -> Refresh:
    """What follows from an answer that was judged and read: the decision, the feed, the events."""
    outcome = _outcome(verdict, reading)
    publisher = reading.parsed.hints if isinstance(reading, ComparedDocument) else None
    hints = merge_hints(
        feed.hints,
        seen_at=now,
        publisher=publisher,
        freshness_sec=_freshness(verdict),
        retry_after_sec=outcome.retry_after_sec,
    )
    decision = decide_next_poll(
        feed.schedule,
        outcome,
        hints,
        now=now,
        feed_id=feed.id,
        config=_own_schedule(feed.overrides, services.config.schedule),
        publications=_publications(reading),
    )
    after = replace(
        feed,
        **_facts(feed, verdict, reading, fetch),
        move=_move(feed, verdict, reading, now),
        hints=hints,
        schedule=decision.state if charged or outcome.kind != "failed" else feed.schedule,
        next_poll_at=decision.next_poll_at,
        reason=decision.reason,
        last_decision_at=now,
        last_fetch_at=now,
    )
    changes = reading.changes if isinstance(reading, ComparedDocument) else None
    removed = reading.removed if isinstance(reading, ComparedDocument) else ()
    events = event_of_state(feed, after, now=now)
    if changes is not None:
        told = events_of_changes(
            changes,
            removed,
            feed=after,
            fetch_id=fetch.fetch_id,
            now=now,
            previous_fetch_id=feed.document_fetch_id,
        )
        events = (*told, *events)
    return Refresh(
        lane=lane,
        feed=after,
        fetch=fetch,
        decision=decision,
        blob=blob,
        changes=changes,
        removed=removed,
        in_document=outcome.kind != "failed" and not fetch.truncated,
        events=events,
        aliases=_addresses(fetch, verdict, reading),
        held=held_rows(reading, fetch, now) if isinstance(reading, ComparedDocument) else (),
    )


async def _keep(
    verdict: Verdict, digest: str | None, feed: Feed, services: Services
) -> BlobRef | None:
    """Raw before parse, always: durable when this returns. The same body is kept once."""
    document = _document(verdict)
    if document is None or digest is None or digest == feed.body_sha256:
        return None
    known = await services.store.blob(digest)
    return known if known is not None else await services.blobs.put(document.body, sha256=digest)


async def _read(
    verdict: Verdict, digest: str | None, feed: Feed, services: Services, *, now: datetime
) -> Reading:
    if isinstance(verdict, Failed) and verdict.reason == "not-a-feed":
        return classify_non_feed(verdict.document, services.config)
    if not isinstance(verdict, Fresh):
        return None
    if digest == feed.body_sha256 and feed.reader_version == reader_version(services.config):
        return SameBody()
    rows = await services.store.current_document(feed.id, with_keys=False)
    if len(verdict.document.body) > services.config.run.parse_in_thread_bytes:
        made = await asyncio.to_thread(
            read_document, verdict.document, feed, rows, services.config, now
        )
    else:
        made = read_document(verdict.document, feed, rows, services.config, now)
    if isinstance(made, NotAFeed):
        return made
    return await apply_live_screen(await compare_with_store(made, feed, services), feed, services)


def _publications(reading: Reading) -> tuple[datetime, ...] | None:
    """The last publication times, when there is a new one (002 §6.3)."""
    if not isinstance(reading, ComparedDocument) or not reading.new_dates:
        return None
    return (*reading.earlier_dates, *reading.new_dates)


def _outcome(verdict: Verdict, reading: Reading) -> Outcome:
    match verdict:
        case _ if isinstance(reading, NotAFeed):
            status = getattr(verdict, "status", None)
            return Outcome(kind="failed", http_status=status, reason=reading.reason)
        case Fresh(status=status):
            read = reading if isinstance(reading, ComparedDocument) else None
            new = 0 if read is None else read.changes.summary.added + read.newly_held
            return Outcome(kind="fresh", http_status=status, new_entries=new)
        case Unchanged():
            return Outcome(kind="unchanged", http_status=304)
        case Gone(status=status):
            return Outcome(kind="failed", http_status=status, reason="gone")
        case Failed():
            return Outcome(
                kind="failed",
                http_status=verdict.status,
                retry_after_sec=verdict.retry_after_sec,
                reason=verdict.reason,
            )


def _facts(feed: Feed, verdict: Verdict, reading: Reading, fetch: FetchRecord) -> dict[str, object]:
    """The feed's fields that this answer changed."""
    facts: dict[str, object] = {
        "last_result": fetch.outcome,
        "last_status": fetch.http_status,
        "last_detail": fetch.detail,
        "new_entries_last_fetch": fetch.entries_new,
    }
    match reading:
        case ComparedDocument():
            facts |= reading.facts | _document_facts(feed, verdict, reading, fetch)
        case SameBody():
            facts["validators"] = getattr(verdict, "validators", None)
            facts["last_success_at"] = fetch.fetched_at
            facts["same_bodies"] = feed.same_bodies + _asked_for_changes(fetch)
        case None if isinstance(verdict, Unchanged):
            facts |= {"validators": verdict.validators, "same_bodies": 0}
            facts["last_success_at"] = fetch.fetched_at
        case _:  # what we have is still what we have, and so are its validators
            pass
    return facts


def _document_facts(
    feed: Feed, verdict: Verdict, read: ComparedDocument, fetch: FetchRecord
) -> dict[str, object]:
    """What is remembered of a document; one that was cut vouches for nothing (D16, H25).

    Its validators would confirm the cut for ever, and its hash would let the same cut pass as
    the current document.
    """
    cut = read.parsed.truncated
    keeps_last = cut and feed.document_fetch_id is not None
    return {
        "body_sha256": None if cut else fetch.body_sha256,
        "document_fetch_id": feed.document_fetch_id if keeps_last else fetch.fetch_id,
        "validators": None if cut else getattr(verdict, "validators", None),
        "last_success_at": fetch.fetched_at,
        "same_bodies": 0,
    }


def _asked_for_changes(fetch: FetchRecord) -> int:
    """1 when the last request carried validators, so that a 200 with the same body is odd (H06)."""
    names = {name.lower() for name, _ in fetch.request_headers}
    return 0 if names.isdisjoint(("if-none-match", "if-modified-since")) else 1


def _move(feed: Feed, verdict: Verdict, reading: Reading, now: datetime) -> MoveCandidate | None:
    """Where the feed may have moved to (D6); an answer that failed says nothing about it."""
    if not isinstance(verdict, Fresh | Unchanged) or isinstance(reading, NotAFeed):
        return feed.move
    return detect_move(
        feed, verdict, reading if isinstance(reading, ComparedDocument) else None, now
    )


def _record(
    feed: Feed,
    response: RawResponse,
    verdict: Verdict,
    digest: str | None,
    reading: Reading,
    scheduled_at: datetime,
    now: datetime,
    elapsed_ms: int,
    services: Services,
) -> FetchRecord:
    document = _document(verdict)
    outcome, detail = _words(verdict, reading)
    read = reading if isinstance(reading, ComparedDocument) else None
    return FetchRecord(
        fetch_id=services.clock.new_id(),
        feed_id=feed.id,
        scheduled_at=scheduled_at,
        fetched_at=now,
        url=feed.url,
        final_url=response.final_url,
        outcome=outcome,
        http_status=response.status,
        detail=detail,
        request_headers=_shown(response.request_headers, feed.overrides),
        response_headers=redact_headers(response.headers),
        hops=response.hops,
        body_sha256=digest,
        content_type=document.content_type if document is not None else None,
        content_length=len(document.body) if document is not None else None,
        wire_length=response.wire_length,
        elapsed_ms=elapsed_ms,
        entries_seen=read.seen if read else 0,
        entries_new=read.changes.summary.added if read else 0,
        entries_updated=read.changes.summary.revised if read else 0,
        repairs=tuple(sorted({one.code for one in read.parsed.repairs})) if read else (),
        truncated=read.parsed.truncated if read else response.truncated or response.capped,
    )


def _words(verdict: Verdict, reading: Reading) -> tuple[str, str]:
    match reading:
        case NotAFeed():
            return reading.reason, reading.detail
        case SameBody():
            return "same-body", ""
        case _:
            pass
    match verdict:
        case Fresh():
            return "fresh", ""
        case Unchanged():
            return "unchanged", ""
        case Gone():
            return "gone", "the publisher says that the feed is gone (410)"
        case Failed():
            return verdict.reason, verdict.detail


def _document(verdict: Verdict) -> RawDocument | None:
    return None if isinstance(verdict, Unchanged) else verdict.document


def _digest(verdict: Verdict) -> str | None:
    document = _document(verdict)
    return sha256(document.body).hexdigest() if document is not None and document.body else None


def _freshness(verdict: Verdict) -> float | None:
    return None if isinstance(verdict, Gone) else verdict.freshness_sec


def _addresses(fetch: FetchRecord, verdict: Verdict, reading: Reading) -> tuple[str, ...]:
    """Every address that was seen to serve the feed is an alias of it (D5).

    What a document says of itself is not among them: a template that was copied from another site
    would make that site "already here". A self link becomes an alias when it is proven (D6). Where
    a redirect leads is the feed's word too: on its own site it is believed, elsewhere it is a
    candidate like any other, or one redirect would give away a stranger's address.
    """
    if (
        not fetch.hops
        or not isinstance(verdict, Fresh | Unchanged)
        or isinstance(reading, NotAFeed)
    ):
        return ()
    hops = dict.fromkeys((*(hop.url for hop in fetch.hops), fetch.final_url))
    lasts = permanent_target(fetch.hops) is not None
    return tuple(
        url
        for url in hops
        if url != fetch.url and is_same_site(url, fetch.url) and (lasts or "?" not in url)
    )


def _shown(headers: Headers, overrides: FeedOverrides) -> Headers:
    """The request as it may be written down; what a feed sends of its own may be a secret."""
    if not overrides.headers:
        return redact_headers(headers)
    own = {name.lower() for name, _ in overrides.headers}
    return tuple(
        (name, "[redacted]" if name.lower() in own else value)
        for name, value in redact_headers(headers)
    )


def _own_schedule(overrides: FeedOverrides, config: ScheduleConfig) -> ScheduleConfig:
    if overrides.min_interval_sec is None and overrides.max_interval_sec is None:
        return config
    return replace(
        config,
        min_interval_sec=overrides.min_interval_sec or config.min_interval_sec,
        max_interval_sec=overrides.max_interval_sec or config.max_interval_sec,
    )
