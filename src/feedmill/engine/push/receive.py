"""What hubs send to the callback: verifications and pings (WebSub §5.3, §7).

A fat ping is a document like any other: raw kept before it is parsed, then the same reading, identity
and commit as a poll. A thin ping, a bad or missing signature, or a document of another topic brings the
next poll forward, within the pace of the feed's host, and no sooner than `hint_gap_sec` after the last
one. What the sender is told never depends on whether a signature was right.
"""
# Tested in tests/integration/engine/push/

from collections.abc import Mapping
from datetime import timedelta
from hashlib import sha256
from typing import Final, NamedTuple

from msgspec.structs import replace

from feedmill.engine.documents.raw_documents import keep_raw
from feedmill.engine.documents.read_document import NotAFeed, read_and_compare
from feedmill.engine.poll.live_screening import apply_live_screen, held_rows
from feedmill.engine.run.services import Services
from feedmill.fetch.headers import redact_headers
from feedmill.fetch.link_headers import link_headers, links_with_rel
from feedmill.model.feed import Feed, FetchRecord
from feedmill.model.fetch import Headers, RawDocument
from feedmill.model.job import NewJob
from feedmill.model.push import PushEvidence, PushSubscription
from feedmill.model.refresh import Refresh
from feedmill.publish.events import events_of_changes
from feedmill.push.signatures import SIGNATURE, is_signed
from feedmill.push.subscription import Confirmed, Denied, judge_challenge

_INSTANTS: Final = 1_000
PUSHED: Final = "pushed"  # the outcome of a ping that was read


class CallbackAnswer(NamedTuple):
    """What the hub is answered."""

    status: int
    body: bytes = b""


_NOT_FOUND: Final = CallbackAnswer(404, b"no such subscription\n")
_GONE: Final = CallbackAnswer(410, b"unsubscribed\n")
_TAKEN: Final = CallbackAnswer(202)


async def verify(token: str, query: Mapping[str, str], services: Services) -> CallbackAnswer:
    """Echo the challenge of a subscription that we asked for; 404 for everything else."""
    known = await services.store.push_subscription(token)
    if known is None:
        return _NOT_FOUND
    now, lease_sec = services.clock.now(), services.config.push.lease_sec
    found = judge_challenge(query, known, asked_lease_sec=lease_sec)
    if isinstance(found, Denied):
        error = f"the hub denied the subscription: {found.reason or 'no reason given'}"
        await services.store.change_push_subscription(
            replace(known, state="denied", last_error=error)
        )
        await _wake_job(known, services)
        return CallbackAnswer(200)
    if not isinstance(found, Confirmed):
        return _NOT_FOUND
    if found.mode == "subscribe":
        await services.store.change_push_subscription(
            replace(
                known,
                state="active",
                verified_at=now,
                lease_until=now + found.lease,
                last_error="",
            )
        )
    else:
        await services.store.change_push_subscription(replace(known, state="ended"))
    return CallbackAnswer(200, found.challenge.encode())


async def receive(token: str, headers: Headers, body: bytes, services: Services) -> CallbackAnswer:
    """Take a ping: its entries are stored when this returns, or a poll is brought forward."""
    known = await services.store.push_subscription(token)
    if known is None:
        return _NOT_FOUND
    feed = None if known.feed_id is None else await services.store.feed(known.feed_id)
    if feed is None or known.state in ("ended", "unsubscribing", "denied"):
        return _GONE
    signature = next((value for name, value in headers if name.lower() == SIGNATURE.lower()), None)
    if not is_signed(signature, body, known.secret):
        await services.store.reject_push(known.id)
        await _hint(feed, services)
        return _TAKEN
    if not body.strip():
        await _count(known, feed, body, services)
        await _hint(feed, services)
        return _TAKEN
    if sha256(body).hexdigest() == known.last_body_sha256:
        return _TAKEN  # the same ping again
    if not _is_of_topic(headers, known):
        await services.store.reject_push(known.id)
        await _hint(feed, services)
        return _TAKEN
    if not await _read(known, feed, headers, body, services):
        await _hint(feed, services)
    return _TAKEN


async def _read(
    known: PushSubscription, feed: Feed, headers: Headers, body: bytes, services: Services
) -> bool:
    """Store what the document brings; False when it is no document of this feed."""
    store, now = services.store, services.clock.now()
    digest = sha256(body).hexdigest()
    blob = await keep_raw(body, digest, store, services.blobs)
    kind = next((value for name, value in headers if name.lower() == "content-type"), None)
    document = RawDocument(body=body, url=known.topic, content_type=kind)
    read = await read_and_compare(document, feed, store, services.config, now=now)
    is_own = not isinstance(read, NotAFeed) and _is_own(read.clean.self_url, known, feed)
    fetch = FetchRecord(
        fetch_id=services.clock.new_id(),
        feed_id=feed.id,
        scheduled_at=now,
        fetched_at=now,
        url=feed.url,
        final_url=known.topic,
        outcome=PUSHED,
        response_headers=redact_headers(headers),
        body_sha256=digest,
        content_type=kind,
        content_length=len(body),
        wire_length=len(body),
    )
    if isinstance(read, NotAFeed) or not is_own:
        reason = read.reason if isinstance(read, NotAFeed) else "other-topic"
        failed = replace(fetch, outcome=reason, detail=f"pushed by {known.hub}")
        evidence = PushEvidence(subscription_id=known.id, at=now, body_sha256=digest)
        failure = Refresh(
            lane=None, feed=feed, fetch=failed, blob=blob, entries_only=True, push=evidence
        )
        await _commit(failure, services)
        return False
    read = await apply_live_screen(read, feed, services)
    counts = read.changes.summary
    fetch = replace(
        fetch,
        entries_seen=read.seen,
        entries_new=counts.added,
        entries_updated=counts.revised,
        repairs=tuple(sorted({one.code for one in read.parsed.repairs})),
        truncated=read.parsed.truncated,
    )
    # A ping may hold only what is new: what it lacks was not removed.
    removed = () if read.parsed.complete else read.removed
    evidence = PushEvidence(
        subscription_id=known.id,
        at=now,
        by_push=counts.added + read.newly_held,
        body_sha256=digest,
    )
    result = Refresh(
        lane=None,
        feed=feed,
        fetch=fetch,
        blob=blob,
        changes=read.changes,
        removed=removed,
        entries_only=True,
        events=events_of_changes(
            read.changes, removed, feed=feed, fetch_id=fetch.fetch_id, now=now
        ),
        held=held_rows(read, fetch, now),
        push=evidence,
    )
    await _commit(result, services)
    return True


def _is_of_topic(headers: Headers, known: PushSubscription) -> bool:
    """False when the Link header of a delivery names another topic (§7)."""
    named = links_with_rel(link_headers(headers, known.topic), "self")
    return not named or known.topic in named


def _is_own(self_url: str | None, known: PushSubscription, feed: Feed) -> bool:
    return self_url is None or self_url in (known.topic, feed.self_url, feed.url)


async def _count(known: PushSubscription, feed: Feed, body: bytes, services: Services) -> None:
    """A thin ping is a sign of life of the hub."""
    now = services.clock.now()
    fetch = FetchRecord(
        fetch_id=services.clock.new_id(),
        feed_id=feed.id,
        scheduled_at=now,
        fetched_at=now,
        url=feed.url,
        final_url=known.topic,
        outcome=PUSHED,
        detail="thin ping",
        content_length=len(body),
    )
    evidence = PushEvidence(subscription_id=known.id, at=now, body_sha256=sha256(body).hexdigest())
    thin = Refresh(lane=None, feed=feed, fetch=fetch, entries_only=True, push=evidence)
    await _commit(thin, services)


async def _commit(refresh: Refresh, services: Services) -> None:
    """Store a ping; when a poll has the same instant, a moment later: an instant names one fetch."""
    for _ in range(_INSTANTS):
        done = await services.store.commit(refresh)
        if not done.duplicate:
            return
        later = refresh.fetch.scheduled_at + timedelta(microseconds=1)
        refresh = replace(refresh, fetch=replace(refresh.fetch, scheduled_at=later))


async def _hint(feed: Feed, services: Services) -> None:
    """Bring the next poll forward, unless the last one was a moment ago."""
    now, gap = services.clock.now(), timedelta(seconds=services.config.push.hint_gap_sec)
    at = now if feed.last_fetch_at is None else max(now, feed.last_fetch_at + gap)
    if at < feed.next_poll_at:
        await services.store.make_due([feed.id], at)


async def _wake_job(known: PushSubscription, services: Services) -> None:
    """Let the feed's job go on to the next hub."""
    if known.feed_id is None:
        return
    job = await services.store.find_job("websub", known.feed_id)
    if job is not None:
        new = NewJob(
            kind=job.kind,
            key=job.key,
            url=job.url,
            feed_id=job.feed_id,
            payload=job.payload,
            sooner=True,
        )
        await services.store.add_job(new, now=services.clock.now())
