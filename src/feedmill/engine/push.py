"""What hubs send to the callback: verifications and pings (WebSub §5.3, §7).

A fat ping is a document like any other: raw kept before it is parsed, then the same reading, identity
and commit as a poll. A thin ping, a bad or missing signature, or a document of another topic brings the
next poll forward, within the pace of the feed's host, and no sooner than `hint_gap_sec` after the last
one. What the sender gets as an answer never depends on whether a signature was right.
"""
# Tested in tests/integration/engine/push/

from collections.abc import Mapping
from datetime import timedelta
from hashlib import sha256
from typing import Final, NamedTuple

from msgspec.structs import replace

from feedmill.engine.documents.quota import apply_quota, own_quota, quota_events
from feedmill.engine.documents.raw_documents import PUSHED, keep_document
from feedmill.engine.documents.read_document import NotAFeed, read_and_compare
from feedmill.engine.documents.unscheduled import (
    commit_unscheduled,
    removals_of_part,
    unscheduled,
)
from feedmill.engine.poll.fetch_record import with_reading
from feedmill.engine.poll.live_screening import apply_live_screen, held_rows
from feedmill.engine.run.services import Services
from feedmill.fetch.headers import link_headers, links_with_rel, redact_headers
from feedmill.model.base import fields_of
from feedmill.model.feed import Feed, FetchRecord, PushEvidence, PushSubscription
from feedmill.model.fetch import Headers, RawDocument
from feedmill.model.running.job import NewJob
from feedmill.push.hub import SIGNATURE, is_signed
from feedmill.push.subscription import Confirmed, Denied, is_own_document, judge_challenge

_APART: Final = timedelta(milliseconds=1)  # from the instant of the ping, which names its own fetch


class CallbackAnswer(NamedTuple):
    """What the hub is answered."""

    status: int
    body: bytes = b""


NOT_FOUND: Final = CallbackAnswer(404, b"no such subscription\n")
_GONE: Final = CallbackAnswer(410, b"unsubscribed\n")
_TAKEN: Final = CallbackAnswer(202)


async def verify(token: str, query: Mapping[str, str], services: Services) -> CallbackAnswer:
    """Echo the challenge of a subscription that we asked for; 404 for everything else."""
    known = await services.store.push_subscription(token)
    if known is None:
        return NOT_FOUND
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
        return NOT_FOUND
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
        return NOT_FOUND
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
    kind = next((value for name, value in headers if name.lower() == "content-type"), None)
    fetch = replace(
        _record(known, feed, body, services),
        response_headers=redact_headers(headers),
        body_sha256=digest,
        content_type=kind,
        wire_length=len(body),
    )
    blob = await keep_document(body, fetch, feed, store, services.blobs)
    document = RawDocument(body=body, url=known.topic, content_type=kind)
    read = await read_and_compare(document, feed, store, services.config, now=now)
    evidence = PushEvidence(subscription_id=known.id, at=now, body_sha256=digest)
    if isinstance(read, NotAFeed) or not is_own_document(
        read.clean.self_url, known.topic, feed.self_url, feed.url
    ):
        reason = read.reason if isinstance(read, NotAFeed) else "other-topic"
        failed = replace(fetch, outcome=reason, detail=f"pushed by {known.hub}")
        failure = replace(unscheduled(feed, failed, blob=blob), push=evidence)
        await commit_unscheduled(failure, store)
        return False
    read = await apply_live_screen(read, feed, services)
    quota = apply_quota(read, feed, services.config.quota, now)
    read, feed = quota.read, replace(feed, quota=quota.use)
    fetch = with_reading(fetch, read)
    result = unscheduled(feed, fetch, read.changes, removals_of_part(read), blob=blob)
    pushed = replace(
        result,
        keep_revisions=own_quota(feed.overrides, services.config.quota).revisions_per_entry,
        events=(*result.events, *quota_events(feed, quota, now)),
        held=held_rows(read, fetch, now),
        push=replace(evidence, by_push=fetch.entries_new + read.newly_held),
    )
    await commit_unscheduled(pushed, store)
    return True


def _is_of_topic(headers: Headers, known: PushSubscription) -> bool:
    """False when the Link header of a delivery names another topic (§7)."""
    named = links_with_rel(link_headers(headers, known.topic), "self")
    return not named or known.topic in named


async def _count(known: PushSubscription, feed: Feed, body: bytes, services: Services) -> None:
    """A thin ping is a sign of life of the hub."""
    fetch = replace(_record(known, feed, body, services), detail="thin ping")
    digest = sha256(body).hexdigest()
    evidence = PushEvidence(subscription_id=known.id, at=fetch.fetched_at, body_sha256=digest)
    thin = replace(unscheduled(feed, fetch), push=evidence)
    await commit_unscheduled(thin, services.store)


def _record(known: PushSubscription, feed: Feed, body: bytes, services: Services) -> FetchRecord:
    now = services.clock.now()
    return FetchRecord(
        fetch_id=services.clock.new_id(),
        feed_id=feed.id,
        scheduled_at=now,
        fetched_at=now,
        url=feed.url,
        final_url=known.topic,
        outcome=PUSHED,
        content_length=len(body),
    )


async def _hint(feed: Feed, services: Services) -> None:
    """Bring the next poll forward, unless the last one was a moment ago."""
    at = services.clock.now() + _APART
    if feed.last_fetch_at is not None:
        at = max(at, feed.last_fetch_at + timedelta(seconds=services.config.push.hint_gap_sec))
    if at < feed.next_poll_at:
        await services.store.make_due([feed.id], at)


async def _wake_job(known: PushSubscription, services: Services) -> None:
    """Let the feed's job go on to the next hub."""
    if known.feed_id is None:
        return
    job = await services.store.find_job("websub", known.feed_id)
    if job is not None:
        new = NewJob(**fields_of(job, "kind key url feed_id payload"), sooner=True)
        await services.store.add_job(new, now=services.clock.now())
