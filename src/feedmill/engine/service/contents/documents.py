"""Stored documents for people: what changed between two, and one as a fixture for parser tests."""
# Tested in tests/integration/engine/service/contents/test_documents.py

from collections.abc import AsyncIterator

from feedmill.engine.documents.fixtures import Fixture, make_fixture
from feedmill.engine.documents.parse_threads import PARSE_THREADS
from feedmill.engine.documents.raw_documents import load_document
from feedmill.engine.run.pages import each_item
from feedmill.engine.run.services import Services
from feedmill.engine.service import queries
from feedmill.engine.service.feed_lookup import resolve_feed
from feedmill.errors import ConflictError, NotFoundError
from feedmill.identify.compare_documents import ReadDocument, compare_documents
from feedmill.model.derived.document_diff import FetchDiff
from feedmill.model.feed import Feed, FetchRecord
from feedmill.model.parsed import Unreadable
from feedmill.normalise.feed import normalise
from feedmill.parse.document import parse_document


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
    document = raw.document
    parsed = parse_document(document, config.parse)
    if isinstance(parsed, Unreadable):
        message = f"fetch {fetch.fetch_id} brought no feed: {parsed.reason}"
        raise ConflictError(message, reason="conflict", hint="`feedmill raw` shows its bytes")
    clean = normalise(parsed, url=document.url, config=config.normalise, seen_at=fetch.fetched_at)
    return ReadDocument(parsed, clean)
