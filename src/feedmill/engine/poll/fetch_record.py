"""What one poll leaves: the record of the request, the facts about the feed that it changed, and the pace that it shows.

Dates a poll by the clock that is valid when it is committed: the clock may be set while it runs (H32).
"""
# Tested in tests/integration/engine/poll/

import time
from datetime import datetime, timedelta
from typing import Final

from msgspec.structs import replace

from feedmill.canonicalise.urls import is_same_site, split_url
from feedmill.engine.documents.fetch_document import Answer, describe_verdict
from feedmill.engine.documents.read_document import ComparedDocument, NotAFeed, SameBody
from feedmill.engine.run.services import Services
from feedmill.fetch.figures import SUCCESSFUL_OUTCOMES
from feedmill.fetch.guard import printable_url
from feedmill.fetch.headers import redact_headers
from feedmill.fetch.plan import permanent_target
from feedmill.identify.hashes import learn_volatile
from feedmill.model.feed import Feed, FeedOverrides, FetchRecord, ValidatorUse
from feedmill.model.fetch import Fresh, Headers, RawResponse, Unchanged, Validators, Verdict
from feedmill.model.refresh import Refresh
from feedmill.model.schedule import ScheduleState
from feedmill.observe.traces import Facts, Trace, Traces
from feedmill.schedule.arrivals import event_times
from feedmill.schedule.decide import learn_stored, learn_times

HTTP_VERSION: Final = "HTTP/1.1"  # the only one that the fetcher speaks
Reading = ComparedDocument | SameBody | NotAFeed | None  # None: there was nothing to read
_CLOCK_JITTER: Final = timedelta(seconds=1)  # between two readings of a clock that was not set
_STORED_ARRIVALS: Final = 2_000  # entries of a feed that its pace is learnt from
_PUSHED_ARRIVALS: Final = 200  # of them, those that pings brought since the last poll


def record_fetch(
    feed: Feed,
    answer: Answer,
    *,
    fetch_id: str,
    scheduled_at: datetime,
    body_sha256: str | None,
) -> FetchRecord:
    """The record of one poll before its document is read, with credentials redacted."""
    response, document = answer.response, answer.document
    outcome, detail = describe_verdict(answer.verdict)
    return FetchRecord(
        fetch_id=fetch_id,
        feed_id=feed.id,
        scheduled_at=scheduled_at,
        fetched_at=answer.at,
        url=feed.url,
        final_url=response.final_url,
        outcome=outcome,
        http_status=response.status,
        detail=detail,
        request_headers=_as_sent(response, feed.overrides),
        response_headers=redact_headers(response.headers),
        hops=response.hops,
        body_sha256=body_sha256,
        content_type=document.content_type if document is not None else None,
        content_length=len(document.body) if document is not None else None,
        wire_length=response.wire_length,
        elapsed_ms=answer.elapsed_ms,
        truncated=response.truncated or response.capped,
        interval_sec=feed.schedule.interval_sec,
        saved_bytes=feed.document_bytes if isinstance(answer.verdict, Unchanged) else None,
        retries=response.retries,
    )


def with_reading(fetch: FetchRecord, reading: Reading) -> FetchRecord:
    """The record with what reading the document showed."""
    match reading:
        case NotAFeed(reason=reason, detail=detail):
            return replace(fetch, outcome=reason, detail=detail)
        case SameBody():
            return replace(fetch, outcome="same-body", detail="")
        case ComparedDocument():
            summary, parsed = reading.changes.summary, reading.parsed
            return replace(
                fetch,
                entries_seen=reading.seen,
                entries_new=summary.added,
                entries_updated=summary.revised,
                repairs=tuple(sorted({one.code for one in parsed.repairs})),
                truncated=parsed.truncated,
            )
        case None:
            return fetch


def begin_poll(
    traces: Traces, feed: Feed, scheduled_at: datetime, waited_sec: float, of_lane: Facts
) -> Trace:
    """A trace that begins with the claim of the lane; why and when the poll was due is its first span."""
    now_ns = time.perf_counter_ns()
    trace = traces.begin("poll", began_ns=now_ns - int(waited_sec * 1e9))
    trace.add_later(_add_schedule, feed, scheduled_at, now_ns, of_lane)
    return trace


def _add_schedule(
    trace: Trace, feed: Feed, scheduled_at: datetime, now_ns: int, of_lane: Facts
) -> None:
    trace.add(
        "schedule",
        trace.began_ns,
        now_ns,
        feedmill__reason=feed.reason,
        feedmill__interval_sec=feed.schedule.interval_sec,
        feedmill__scheduled_at=scheduled_at.isoformat(),
        feedmill__health=feed.schedule.health,
    )
    facts = {"feedmill.feed_id": feed.id, "url.full": printable_url(feed.url), **of_lane}
    trace.describe(dict, facts)


def with_trace(fetch: FetchRecord, trace: Trace | None) -> FetchRecord:
    """The record with the id of its trace when that is exported; a poll that failed always is."""
    if trace is None:
        return fetch
    if fetch.outcome not in SUCCESSFUL_OUTCOMES:
        trace.fail(fetch.outcome)
    trace.settle()
    if not trace.is_kept:
        return fetch
    trace.describe(_poll_facts, fetch)
    return replace(fetch, trace_id=trace.hex_id)


def _poll_facts(fetch: FetchRecord) -> Facts:
    return {
        "feedmill.fetch_id": fetch.fetch_id,
        "feedmill.outcome": fetch.outcome,
        "feedmill.entries_new": fetch.entries_new,
        "feedmill.entries_updated": fetch.entries_updated,
    }


def changed_facts(
    feed: Feed, verdict: Verdict, reading: Reading, fetch: FetchRecord
) -> dict[str, object]:
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
            facts["document_bytes"] = _transferred(fetch)
        case None if isinstance(verdict, Unchanged):
            facts |= {"validators": _kept_validators(feed, verdict.validators), "same_bodies": 0}
            facts["validator_use"] = _use_that_worked(feed, fetch)
            facts["last_success_at"] = fetch.fetched_at
        case _:  # what we have is still what we have, and so are its validators
            pass
    return facts


def served_addresses(fetch: FetchRecord, verdict: Verdict, reading: Reading) -> tuple[str, ...]:
    """Every address that was seen to serve the feed is an alias of it (D5).

    What a document says of itself is not among them: a template that was copied from another site
    would make that site "already here". A self link becomes an alias when it is proven (D6). Where
    a redirect leads is the feed's claim too: on its own site it is believed, elsewhere it is a
    candidate like any other, or one redirect would take over the address of another site.
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


def _document_facts(
    feed: Feed, verdict: Verdict, read: ComparedDocument, fetch: FetchRecord
) -> dict[str, object]:
    """What is remembered of a document; one that was cut vouches for nothing (D16, H25).

    Its validators would confirm the cut for ever, and its hash would let the same cut pass as
    the current document.
    """
    truncated = read.parsed.truncated
    cut = truncated or read.waiting > 0  # a 304 would hide what waits
    keeps_last = truncated and feed.document_fetch_id is not None
    return {
        "body_sha256": None if cut else fetch.body_sha256,
        "document_fetch_id": feed.document_fetch_id if keeps_last else fetch.fetch_id,
        "document_bytes": feed.document_bytes if keeps_last else _transferred(fetch),
        "validators": None if cut else getattr(verdict, "validators", None),
        "last_success_at": fetch.fetched_at,
        "same_bodies": feed.same_bodies + _asked_for_changes(fetch) if _is_same(read) else 0,
        "volatile_fields": learn_volatile(feed.volatile_fields, read.changes, fetch.fetched_at),
    }


def _is_same(read: ComparedDocument) -> bool:
    """True when the document differs from the last one in bytes only."""
    summary = read.changes.summary
    return not (summary.added or summary.revised or summary.rekeyed or read.removed or read.held)


def _kept_validators(feed: Feed, renewed: Validators | None) -> Validators | None:
    """The validators after a 304: one that was left out of the request is kept for later."""
    known = feed.validators
    if known is None or renewed is None or known.url != renewed.url:
        return renewed
    return replace(
        renewed,
        etag=renewed.etag or known.etag,
        last_modified=renewed.last_modified or known.last_modified,
    )


def _use_that_worked(feed: Feed, fetch: FetchRecord) -> ValidatorUse | None:
    """What the request carried that was answered 304, where there was a choice."""
    known = feed.validators
    if known is None or known.etag is None or known.last_modified is None:
        return feed.validator_use
    names = {name.lower() for name, _ in fetch.request_headers}
    etag, date = "if-none-match" in names, "if-modified-since" in names
    return "both" if etag == date else "etag" if etag else "date"


def _transferred(fetch: FetchRecord) -> int | None:
    """What a 304 instead of this answer would have saved."""
    return fetch.content_length if fetch.wire_length is None else fetch.wire_length


def _asked_for_changes(fetch: FetchRecord) -> int:
    """1 when the last request carried validators, so that a 200 with the same body is odd (H06)."""
    names = {name.lower() for name, _ in fetch.request_headers}
    return 0 if names.isdisjoint(("if-none-match", "if-modified-since")) else 1


def _as_sent(response: RawResponse, overrides: FeedOverrides) -> Headers:
    """The request as it was sent: the version of HTTP and the host, then the headers."""
    headers = _redacted(response.request_headers, overrides)
    if not headers:
        return headers  # nothing was sent
    parts = split_url(response.final_url)
    host = f"{parts.host}:{parts.port}" if parts.port else parts.host
    return ((":version", HTTP_VERSION), ("Host", host), *headers)


def _redacted(headers: Headers, overrides: FeedOverrides) -> Headers:
    """The request headers as they are stored; what a feed sends of its own may be a secret."""
    if not overrides.headers:
        return redact_headers(headers)
    own = {name.lower() for name, _ in overrides.headers}
    return tuple(
        (name, "[redacted]" if name.lower() in own else value)
        for name, value in redact_headers(headers)
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


async def learn_pace(
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
    pushed = () if known else await _pushed_times(feed, services)
    if not isinstance(reading, ComparedDocument):
        window = state.arrivals.window if state.arrivals else 0
        state = (
            learn_times(state, pushed, now=answer.at, window=window, config=config)
            if pushed
            else state
        )
        return state, known + pushed
    if state.arrivals is not None and not reading.new_dates and not pushed:
        if state.arrivals.window != reading.seen:
            state = replace(state, arrivals=replace(state.arrivals, window=reading.seen))
        return state, known
    found = event_times(reading.new_dates, previous_at=feed.last_success_at, now=answer.at)
    times = tuple(sorted((*pushed, *found)))
    state = learn_times(state, times, now=answer.at, window=reading.seen, config=config)
    return state, known + times


async def _pushed_times(feed: Feed, services: Services) -> tuple[float, ...]:
    """When entries came in since the last poll: a ping comes when its entry comes out."""
    if services.config.push.public_url is None or not feed.hubs or feed.last_success_at is None:
        return ()
    stored = await services.store.stored_arrivals(feed.id, _PUSHED_ARRIVALS)
    seen = (one.first_seen for one in stored if one.first_seen > feed.last_success_at)
    return tuple(sorted(at.timestamp() for at in seen))
