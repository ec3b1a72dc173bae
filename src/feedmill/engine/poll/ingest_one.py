"""Ingests one feed or one document outside the schedule: `ingest-one` of seed 003 and its counters."""

from hashlib import sha256
from typing import Final

from msgspec.structs import replace

from feedmill.engine.documents.raw_documents import keep_document
from feedmill.engine.documents.read_document import NotAFeed, read_and_compare, reader_version
from feedmill.engine.documents.unscheduled import commit_unscheduled, unscheduled
from feedmill.engine.poll.fetch_record import with_reading
from feedmill.engine.poll.refresh import refresh
from feedmill.engine.run.report import report_entries
from feedmill.engine.run.services import Services
from feedmill.model.base import Value
from feedmill.model.feed import Feed, FetchRecord
from feedmill.model.fetch import RawDocument
from feedmill.model.identity import Added, Change
from feedmill.model.refresh import Refresh
from feedmill.observe.log import logger

_LOG: Final = logger("engine")


class Ingested(Value):
    """What one ingestion did, in numbers (003 §5 and §8).

    `inserted` counts articles, as 003 does: an entry whose article another feed has published already
    is kept, and skipped here (D10). `parsed` is the sum of the next three.
    """

    parsed: int = 0
    inserted: int = 0
    updated: int = 0
    skipped: int = 0
    errors: int = 0
    normalized_modified_count: int = 0
    outcome: str = ""
    detail: str = ""


async def ingest_feed(feed: Feed, services: Services) -> Ingested:
    """Fetch a feed now and store its entries; conditionally, unless they are to be read in another way."""
    now = services.clock.now()
    forced = feed.reader_version != reader_version(services.config)
    result = await refresh(feed, scheduled_at=now, lane=None, services=services, forced=forced)
    await services.store.commit(result)
    report_entries(_LOG, result)
    if result.fetch.outcome in ("unchanged", "same-body"):
        known = len(await services.store.current_document(feed.id))
        return Ingested(parsed=known, skipped=known, outcome=result.fetch.outcome)
    return _counted(result)


async def ingest_document(document: RawDocument, feed: Feed, services: Services) -> Ingested:
    """Store the entries of a document at hand, as if the feed had just served it."""
    store, now = services.store, services.clock.now()
    digest = sha256(document.body).hexdigest()
    fetch = FetchRecord(
        fetch_id=services.clock.new_id(),
        feed_id=feed.id,
        scheduled_at=now,
        fetched_at=now,
        url=feed.url,
        final_url=document.url or feed.url,
        outcome="ingested",
        body_sha256=digest,
        content_type=document.content_type,
        content_length=len(document.body),
    )
    blob = await keep_document(document.body, fetch, feed, store, services.blobs)
    read = await read_and_compare(document, feed, store, services.config, now=now)
    fetch = with_reading(fetch, read)
    if isinstance(read, NotAFeed):
        await commit_unscheduled(unscheduled(feed, fetch, blob=blob, whole=True), store)
        return Ingested(errors=1, outcome=read.reason, detail=read.detail)
    # The server's validators vouch for what it served, not for this: the next poll asks for all.
    facts = read.facts | {
        "body_sha256": None if fetch.truncated else digest,
        "document_fetch_id": fetch.fetch_id,
        "validators": None,
    }
    after = replace(feed, **facts, last_success_at=now, last_result="fresh")
    result = unscheduled(after, fetch, read.changes, read.removed, blob=blob, whole=True)
    await commit_unscheduled(result, store)
    report_entries(_LOG, result)
    return _counted(result)


def _counted(result: Refresh) -> Ingested:
    fetch, changes = result.fetch, result.changes
    if changes is None:
        return Ingested(errors=1, outcome=fetch.outcome, detail=fetch.detail)
    counts = changes.summary
    duplicates = sum(_is_duplicate(change) for change in changes.changes)
    return Ingested(
        parsed=counts.added + counts.revised + counts.touched + counts.skipped,
        inserted=counts.added - duplicates,
        updated=counts.revised,
        skipped=counts.touched + counts.skipped + duplicates,
        normalized_modified_count=changes.modified_count,
        outcome=fetch.outcome,
    )


def _is_duplicate(change: Change) -> bool:
    return isinstance(change, Added) and change.article == "duplicate"
