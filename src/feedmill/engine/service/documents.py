"""Stored documents for people: what changed between two, one as a fixture for parser tests, one at every stage of reading.

Exports one table to one file, batch by batch in constant memory.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Final

from feedmill.config import Config
from feedmill.engine.documents.fixtures import Fixture, make_fixture
from feedmill.engine.documents.raw_documents import load_document
from feedmill.engine.ports.entries import ExportStore, ExportWriter
from feedmill.engine.run.memory_budget import PARSE_THREADS
from feedmill.engine.run.services import Services, each_item
from feedmill.engine.service import queries
from feedmill.engine.service.feed_lookup import resolve_feed
from feedmill.errors import ConflictError, NotFoundError
from feedmill.identify.compare_documents import ReadDocument, compare_documents
from feedmill.model.base import Value
from feedmill.model.derived.document_diff import FetchDiff
from feedmill.model.entry import Entry, NormalisedFeed
from feedmill.model.feed import Feed, FetchRecord
from feedmill.model.parsed import ParsedEntry, ParsedFeed, Repair, Unreadable
from feedmill.model.running.export import ExportFilter, ExportName, ExportPosition, ExportRow
from feedmill.normalise.entry import normalise
from feedmill.parse.document import parse_document

_FIRST_ROWS: Final = 200
_MAX_ROWS: Final = 2_000
_BATCH_CHARS: Final = 8_000_000  # of texts; entries may have a few bytes or a megabyte


async def diff_documents(before_id: str, after_id: str, services: Services) -> FetchDiff:
    """What a publisher changed between two fetches of one feed."""
    before = await queries.raw(before_id, services)
    after = await queries.raw(after_id, services)
    if before.fetch.feed_id != after.fetch.feed_id:
        message = f"the fetches {before_id} and {after_id} are of different feeds"
        raise ConflictError(message, reason="conflict", hint="compare fetches of one feed")
    feed = await queries.require_feed(after.fetch.feed_id, services)
    diff = await PARSE_THREADS.run(
        lambda: compare_documents(_read(before, services), _read(after, services), feed.feed_key)
    )
    return FetchDiff(
        feed_id=feed.id,
        before=before_id,
        after=after_id,
        before_at=before.fetch.fetched_at,
        after_at=after.fetch.fetched_at,
        same_bytes=before.body == after.body,
        diff=diff,
    )


async def diff_last_documents(
    feed_id: str, services: Services, *, before: str | None = None, after: str | None = None
) -> FetchDiff:
    """What changed between two fetches of a feed: its last two different documents unless they are named."""
    feed = await queries.require_feed(feed_id, services)
    newest: list[str] = []
    if before is None or after is None:
        newest = [one.fetch_id async for one in _different_documents(feed, services, after)]
        if len(newest) < 2:  # two are compared
            message = f"the feed {feed.id} has fewer than two different documents to compare"
            raise NotFoundError(message, "[retention] raw_keep_last says how many are kept")
    found = await diff_documents(before or newest[1], after or newest[0], services)
    if found.feed_id != feed.id:
        message = f"the fetches {found.before} and {found.after} are not of the feed {feed.id}"
        raise NotFoundError(message)
    return found


async def fixture_of(name: str, services: Services) -> Fixture:
    """The fixture of a fetch, or of the last document of a feed."""
    fetch = await services.store.fetch(name)
    if fetch is None:
        feed = await resolve_feed(name, services)
        fetch = await _last_document(feed, services)
    raw = await queries.raw(fetch.fetch_id, services)
    feed = await queries.require_feed(fetch.feed_id, services)
    return await PARSE_THREADS.run(lambda: make_fixture(feed, raw.fetch, raw.body, services.config))


async def _last_document(feed: Feed, services: Services) -> FetchRecord:
    async for fetch in _different_documents(feed, services, None):
        return fetch
    message = f"no document of the feed {feed.id} is kept"
    raise NotFoundError(message, "poll it: `feedmill sync`")


async def _different_documents(
    feed: Feed, services: Services, newest: str | None
) -> AsyncIterator[FetchRecord]:
    """At most two fetches with different bodies that are kept, the newest (or the named one) first."""
    seen: set[str] = set()
    started = newest is None
    async for fetch in each_item(lambda after: services.store.fetches(feed.id, after=after)):
        started = started or fetch.fetch_id == newest
        body = fetch.body_sha256
        if not started or body is None or body in seen:
            continue
        if await load_document(fetch, services.store, services.blobs) is None:
            continue
        seen.add(body)
        yield fetch
        if len(seen) == 2:
            return


def _read(raw: queries.RawContent, services: Services) -> ReadDocument:
    fetch, config = raw.fetch, services.config
    parsed = parse_document(raw.document, config.parse)
    if isinstance(parsed, Unreadable):
        message = f"fetch {fetch.fetch_id} brought no feed: {parsed.reason}"
        raise ConflictError(message, reason="conflict", hint="`feedmill raw` shows its bytes")
    clean = normalise(
        parsed, url=fetch.final_url, config=config.normalise, seen_at=fetch.fetched_at
    )
    return ReadDocument(parsed, clean)


_HEAD_BYTES: Final = 4_000  # of the document, before its first entry


class EntryStages(Value):
    """One entry: its bytes as text, as parsed, and as normalised."""

    number: int  # in the document, from 1
    raw: str | None  # None: where it stands is not known
    offset: int | None
    parsed: ParsedEntry
    clean: Entry


class DocumentView(Value):
    """A document as it came and as it was read; without `parsed` it is no feed."""

    fetch: FetchRecord
    length: int
    head: str  # up to the first entry
    parsed: ParsedFeed | None = None
    clean: NormalisedFeed | None = None
    entries: tuple[EntryStages, ...] = ()
    total: int = 0  # entries in the document
    repairs: tuple[Repair, ...] = ()
    unreadable: Unreadable | None = None


async def view_document(
    fetch_id: str, services: Services, *, first: int = 1, count: int = 10
) -> DocumentView:
    """The document of a fetch, read again, with some of its entries.

    NotFoundError without a document, NotKeptError when it is gone.
    """
    raw = await queries.raw(fetch_id, services)
    return await PARSE_THREADS.run(lambda: _view(raw, services.config, first, count))


def _view(raw: queries.RawContent, config: Config, first: int, count: int) -> DocumentView:
    body, fetch = raw.body, raw.fetch
    parsed = parse_document(raw.document, config.parse)
    if isinstance(parsed, Unreadable):
        head = body[:_HEAD_BYTES].decode("utf-8", "replace")
        return DocumentView(fetch=fetch, length=len(body), head=head, unreadable=parsed)
    clean = normalise(
        parsed, url=fetch.final_url, config=config.normalise, seen_at=fetch.fetched_at
    )
    pairs = list(zip(parsed.entries, clean.entries, strict=True))
    begins = [one.slice.offset for one in parsed.entries if one.slice is not None]
    end = min([_HEAD_BYTES, *begins])
    return DocumentView(
        fetch=fetch,
        length=len(body),
        head=_text(body[:end], parsed.encoding),
        parsed=parsed,
        clean=clean,
        entries=tuple(
            _stages(number, one, entry, body, parsed.encoding)
            for number, (one, entry) in enumerate(pairs, 1)
            if first <= number < first + count
        ),
        total=len(pairs),
        repairs=parsed.repairs,
    )


def _stages(
    number: int, parsed: ParsedEntry, clean: Entry, body: bytes, encoding: str
) -> EntryStages:
    place = parsed.slice
    return EntryStages(
        number=number,
        raw=None
        if place is None
        else _text(body[place.offset : place.offset + place.length], encoding),
        offset=None if place is None else place.offset,
        parsed=parsed,
        clean=clean,
    )


def _text(data: bytes, encoding: str) -> str:
    try:
        return data.decode(encoding, "replace")
    except LookupError:  # a label that Python does not know
        return data.decode("utf-8", "replace")


async def export_table(
    name: ExportName,
    where: ExportFilter,
    store: ExportStore,
    writer: ExportWriter,
    *,
    start: ExportPosition,
    save: Callable[[ExportPosition], None],
) -> ExportPosition:
    """Write every row after the start; `save` is called behind each batch that is in the file."""
    done, limit = start, _FIRST_ROWS
    while True:
        batch = await store.export_batch(name, where, after=done.cursor, limit=limit)
        if batch.rows:
            await writer.write(batch.rows)
            limit = _next_limit(batch.rows)
        done = ExportPosition(
            cursor=batch.cursor,
            rows=done.rows + len(batch.rows),
            file_bytes=writer.flush(),
            complete=batch.complete,
        )
        save(done)
        if done.complete:
            return done


def _next_limit(rows: Sequence[ExportRow]) -> int:
    """So many rows that a batch of the same kind stays within its limit, at most twice as many."""
    size = sum(len(one) for row in rows for one in row if type(one) is str)
    fitting = _BATCH_CHARS * len(rows) // max(size, 1)
    return max(1, min(fitting, 2 * len(rows), _MAX_ROWS))
