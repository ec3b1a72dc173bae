"""Feeds, documents and refreshes to try a store with, made by the real stages."""

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from msgspec.structs import replace

from feedmill.config import IdentifyConfig, ScheduleConfig
from feedmill.engine.ports.store import Store
from feedmill.identify.diff import diff
from feedmill.identify.keys import (
    articles_of,
    identify,
    keys_of,
    known_slice_digests,
    match_unchanged,
)
from feedmill.model.entry import Entry
from feedmill.model.event import NewEvent
from feedmill.model.feed import BlobRef, Claim, Feed, FetchRecord, Lane, NewFeed
from feedmill.model.fetch import Validators
from feedmill.model.identity import Added, Changes, FeedIdentity
from feedmill.model.parsed import Slice
from feedmill.model.refresh import Refresh
from feedmill.model.schedule import Decision, Hints, Outcome, ScheduleState
from feedmill.schedule.decide import decide_next_poll

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
SCHEDULE = ScheduleConfig()
IDENTIFY = IdentifyConfig()
READER = "test-1"


def new_feed(number: int = 1, *, host: str | None = None, at: datetime = NOON) -> NewFeed:
    """A subscription that is due at once."""
    url = f"https://{host or f'host{number}.example'}/feed/{number}"
    return NewFeed(
        id=f"feed-{number:08d}",
        url=url,
        created_at=at,
        next_poll_at=at,
        schedule=ScheduleState(interval_sec=900.0),
        aliases=(f"{url}?alias",),
        tags=("all", "odd" if number % 2 else "even"),
    )


def an_entry(name: str, text: str = "first", *, published: datetime | None = NOON) -> Entry:
    """An entry as the normaliser leaves it; its slice follows from its text."""
    link = f"https://blog.example/{name}"
    digest = hashlib.sha256(f"{name}/{text}".encode()).hexdigest()
    return Entry(
        guid=f"tag:blog.example,2026:{name}",
        link=link,
        canonical_link=link,
        article_link=link,
        title=f"About {name}",
        summary=text,
        content=f"<p>{text}</p>",
        categories=("news", name[:1]),
        published=published,
        published_effective=published,
        published_source=None if published is None else "published",
        slice=Slice(offset=len(name) * 100, length=len(text), digest=digest),
    )


async def read(store: Store, feed: Feed, entries: Sequence[Entry]) -> Changes:
    """What a document of these entries changes, asked as the engine asks."""
    identity = FeedIdentity(feed_id=feed.id, feed_key=feed.feed_key)
    rows = await store.current_document(feed.id)
    known = known_slice_digests(rows, READER)
    slices = [entry.slice for entry in entries if entry.slice and entry.slice.digest in known]
    touched = match_unchanged(rows, slices)
    fresh = [entry for entry in entries if not (entry.slice and entry.slice.digest in known)]
    seen = identify(fresh, identity, IDENTIFY, touched=touched, reader=READER)
    found = await store.known(feed.id, tuple(keys_of(seen)), ())
    every = {row.entry_id: row for row in (*rows, *found)}.values()
    articles = await store.articles(tuple(articles_of(seen)))
    return diff(every, seen, identity, IDENTIFY, touched=touched, articles=articles)


def a_refresh(
    feed: Feed,
    run: int,
    *,
    at: datetime,
    scheduled_at: datetime | None = None,
    lane: Lane | None = None,
    changes: Changes | None = None,
    whole: bool = True,
) -> Refresh:
    """A poll of the feed that brought these changes, or a 304."""
    decision = decision_for(feed, at=at, new=0 if changes is None else changes.summary.added)
    fetch = fetch_record(feed, run, at=at, scheduled_at=scheduled_at or at, changes=changes)
    after = replace(
        feed,
        next_poll_at=decision.next_poll_at,
        schedule=decision.state,
        reason=decision.reason,
        last_decision_at=at,
        last_fetch_at=at,
        last_success_at=at,
        last_result=fetch.outcome,
        last_status=fetch.http_status,
        validators=Validators(etag=f'"{run}"', last_modified=None, url=feed.url),
    )
    return Refresh(
        lane=lane,
        feed=after,
        fetch=fetch,
        decision=decision,
        blob=None if fetch.body_sha256 is None else blob_ref(fetch.body_sha256),
        changes=changes,
        in_document=whole,
        events=events_for(feed, changes, at),
    )


def decision_for(feed: Feed, *, at: datetime, new: int = 0) -> Decision:
    """The scheduler's own answer."""
    outcome = Outcome(kind="fresh" if new else "unchanged", http_status=304, new_entries=new)
    return decide_next_poll(
        feed.schedule, outcome, Hints(), now=at, feed_id=feed.id, config=SCHEDULE
    )


def fetch_record(
    feed: Feed, run: int, *, at: datetime, scheduled_at: datetime, changes: Changes | None
) -> FetchRecord:
    """A fetch with the headers of a common server."""
    body = None if changes is None else hashlib.sha256(f"{feed.id}/{run}".encode()).hexdigest()
    return FetchRecord(
        fetch_id=f"{at:%Y%m%d%H%M%S%f}-{feed.id}-{run}",  # in the order of time, as a clock gives
        feed_id=feed.id,
        scheduled_at=scheduled_at,
        fetched_at=at,
        url=feed.url,
        final_url=feed.url,
        outcome="unchanged" if changes is None else "fresh",
        http_status=304 if changes is None else 200,
        request_headers=(
            ("User-Agent", "feedmill/0.1 (+https://feedmill.example/bot)"),
            ("Accept", "application/atom+xml, application/rss+xml;q=0.9, */*;q=0.1"),
            ("Accept-Encoding", "gzip, deflate, br, zstd"),
            ("If-None-Match", '"v1"'),
        ),
        response_headers=(
            ("Server", "nginx"),
            ("Date", at.strftime("%a, %d %b %Y %H:%M:%S GMT")),
            ("ETag", '"v1"' if changes is None else f'"{run}"'),
            ("Cache-Control", "max-age=300"),
            ("Vary", "Accept-Encoding"),
            ("Connection", "keep-alive"),
        ),
        body_sha256=body,
        content_length=None if changes is None else 4_321,
        elapsed_ms=42,
    )


def blob_ref(sha256: str, *, segment: str = "0001", offset: int = 0) -> BlobRef:
    """A place in the raw store."""
    return BlobRef(
        sha256=sha256, segment=segment, offset=offset, length=100, coding="raw", raw_length=100
    )


def events_for(feed: Feed, changes: Changes | None, at: datetime) -> tuple[NewEvent, ...]:
    """One event for each new entry."""
    if changes is None:
        return ()
    return tuple(
        NewEvent(
            type="new_entry",
            feed_id=feed.id,
            occurred_at=at,
            entry_uid=change.entry_uid,
            data={"title": change.seen.entry.title},
        )
        for change in changes.changes
        if isinstance(change, Added)
    )


async def poll(
    store: Store,
    feed: Feed,
    run: int,
    entries: Sequence[Entry] | None,
    *,
    at: datetime,
    whole: bool = True,
) -> Feed:
    """Read and commit a document outside the schedule (None: a 304); the feed afterwards."""
    changes = None if entries is None else await read(store, feed, entries)
    refresh = a_refresh(feed, run, at=at, changes=changes, whole=whole)
    await store.commit(refresh)
    return refresh.feed


async def claim_all(
    store: Store, owner: str = "me", *, now: datetime = NOON, lanes: int = 100, feeds: int = 100
) -> tuple[Claim, ...]:
    """Whatever is due, for a minute."""
    return await store.claim(owner, now=now, lease_sec=60, max_lanes=lanes, max_feeds=feeds)
