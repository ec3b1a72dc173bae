"""Replays a feed's last raw document through today's parser: shows what would change, or writes it."""
# Tested in tests/integration/engine/poll/

from msgspec.structs import replace

from feedmill.engine.documents.raw_documents import load_body
from feedmill.engine.documents.read_document import ComparedDocument, NotAFeed, read_and_compare
from feedmill.engine.documents.unscheduled import commit_unscheduled, unscheduled
from feedmill.engine.poll.fetch_record import with_reading
from feedmill.engine.poll.live_screening import apply_live_screen, held_rows
from feedmill.engine.run.services import Services
from feedmill.model.base import Value
from feedmill.model.feed import Feed, FetchRecord
from feedmill.model.fetch import RawDocument
from feedmill.model.identity import Added, Change, Identified, KnownEntry, Revised, UnchangedEntry


class EntryDifference(Value):
    """One entry that today's parser reads differently."""

    entry_uid: str
    kind: str  # "added", "revised", or "reread": the publisher's text is the same, our reading not
    changed: tuple[str, ...]
    title: str | None


class Replayed(Value):
    """What a feed's last document would be today."""

    feed_id: str
    fetch_id: str | None
    outcome: str
    differences: tuple[EntryDifference, ...] = ()
    unchanged: int = 0
    written: bool = False


async def replay(feed: Feed, services: Services, *, write: bool = False) -> Replayed:
    """Read the feed's last document again; the difference, and with `write` the commit of it."""
    fetch_id = feed.document_fetch_id
    fetch = await services.store.fetch(fetch_id) if fetch_id else None
    if fetch is None or fetch.body_sha256 is None:
        return Replayed(feed_id=feed.id, fetch_id=fetch_id, outcome="no-raw-document")
    body = await load_body(fetch.body_sha256, services.store, services.blobs)
    read = await read_and_compare(
        RawDocument(body=body, url=fetch.final_url, content_type=fetch.content_type),
        feed,
        services.store,
        services.config,
        now=fetch.fetched_at,  # as if it had just arrived: replay never depends on today
        anew=True,
    )
    if isinstance(read, NotAFeed):
        return Replayed(feed_id=feed.id, fetch_id=fetch_id, outcome=read.reason)
    read = await apply_live_screen(read, feed, services)
    found = _differences(read)
    if write:
        await _write(feed, fetch, read, services)
    return Replayed(
        feed_id=feed.id,
        fetch_id=fetch_id,
        outcome="read",
        differences=found,
        unchanged=read.seen - len(found),
        written=write,
    )


async def _write(
    feed: Feed, fetch: FetchRecord, read: ComparedDocument, services: Services
) -> None:
    now = services.clock.now()
    after = replace(feed, **read.facts)
    again = replace(
        fetch,
        fetch_id=services.clock.new_id(),
        scheduled_at=now,
        fetched_at=now,
        outcome="replayed",
    )
    again = with_reading(again, read)
    refresh = unscheduled(after, again, read.changes, read.removed, whole=True)
    await commit_unscheduled(replace(refresh, held=held_rows(read, again, now)), services.store)


def _differences(read: ComparedDocument) -> tuple[EntryDifference, ...]:
    return tuple(found for found in map(_difference, read.changes.changes) if found is not None)


def _difference(change: Change) -> EntryDifference | None:
    match change:
        case Added(seen=seen):
            return _entry_difference(change.entry_uid, "added", (), seen)
        case Revised(seen=seen):
            return _entry_difference(change.known.entry_uid, "revised", change.changed, seen)
        case UnchangedEntry(refresh=True, seen=Identified() as seen):
            changed = _changed(change.known, seen)
            return (
                _entry_difference(change.known.entry_uid, "reread", changed, seen)
                if changed
                else None
            )
        case _:
            return None


def _changed(row: KnownEntry, seen: Identified) -> tuple[str, ...]:
    before = dict(row.field_digests)
    return tuple(name for name, digest in seen.field_digests if before.get(name) != digest)


def _entry_difference(
    entry_uid: str, kind: str, changed: tuple[str, ...], seen: Identified
) -> EntryDifference:
    return EntryDifference(entry_uid=entry_uid, kind=kind, changed=changed, title=seen.entry.title)
