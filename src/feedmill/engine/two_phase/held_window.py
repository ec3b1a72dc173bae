"""Entries held by live screens as a window: reviewed and inserted like a collected one (001)."""
# Tested in tests/integration/engine/two_phase/

from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace

from feedmill.engine.documents.raw_documents import load_body
from feedmill.engine.documents.read_document import NotAFeed
from feedmill.engine.ports.feeds import ScreenStore
from feedmill.engine.run.services import Services
from feedmill.engine.two_phase.candidates import (
    CandidateDraft,
    drafts_of,
    merge_drafts,
    pack_body,
    with_checksum,
    with_counts,
)
from feedmill.engine.two_phase.collect_window import read_anew
from feedmill.errors import BlobMoved, NotFoundError, UsageError
from feedmill.model.candidate import (
    SCHEMA,
    CandidateFile,
    CollectedDocument,
    SourceReport,
    Window,
    WindowCandidate,
)
from feedmill.model.feed import Feed
from feedmill.model.fetch import RawDocument
from feedmill.model.screening import HeldEntry, Screening

DocumentPosition = int | str  # in a document: where it begins, or its key where that is not known


class HeldWindow(NamedTuple):
    """A window of held entries, and their screenings from when they were held."""

    file: CandidateFile
    screenings: tuple[Screening, ...]


async def held_entries(
    store: ScreenStore, *, feeds: Sequence[Feed] | None = None
) -> list[HeldEntry]:
    """All held entries, of these feeds or of all, the oldest first."""
    found: list[HeldEntry] = []
    for feed_id in [None] if feeds is None else [feed.id for feed in feeds]:
        after: str | None = None
        while True:
            page = await store.held(feed_id=feed_id, after=after, limit=1_000)
            found += page.items
            if page.next is None:
                break
            after = page.next
    return found


async def held_window(services: Services, *, feeds: Sequence[Feed] | None = None) -> HeldWindow:
    """Held entries as a window, read from their raw documents; UsageError when there are none."""
    held = await held_entries(services.store, feeds=feeds)
    if not held:
        message = "no entries are held for review"
        raise UsageError(message)
    gathering = _Gathering(services)
    by_body: dict[tuple[str, str], list[HeldEntry]] = {}
    for one in held:
        by_body.setdefault((one.feed_id, one.body_sha256), []).append(one)
    for (feed_id, _), some in by_body.items():
        feed = await services.store.feed(feed_id)
        if feed is not None:
            await gathering.take(feed, some)
    return gathering.window(held)


async def held_uids_at(
    candidates: Sequence[WindowCandidate], body_sha256: str, feed: Feed, store: ScreenStore
) -> tuple[str, ...]:
    """The held entries of a feed at the positions of these candidates in a document."""
    places = {document_position_of(one) for one in candidates}
    return tuple(
        one.entry_uid
        for one in await held_entries(store, feeds=(feed,))
        if one.body_sha256 == body_sha256 and document_position_of(one) in places
    )


def document_position_of(one: HeldEntry | WindowCandidate) -> DocumentPosition:
    """Where it stands: ids and keys change when feeds become one, bytes do not."""
    return one.dedupe_key if one.slice_offset is None else one.slice_offset


class _Gathering:
    """The documents, sources and drafts of held entries."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._sources: dict[str, SourceReport] = {}
        self._documents: list[CollectedDocument] = []
        self._drafts: list[CandidateDraft] = []
        self._said: dict[tuple[int, DocumentPosition], Screening | None] = {}

    async def take(self, feed: Feed, held: Sequence[HeldEntry]) -> None:
        """Add the held entries of one document of a feed."""
        source = self._source(feed)
        fetch = await self._services.store.fetch(held[0].fetch_id)
        url = feed.url if fetch is None else fetch.url
        final_url = feed.url if fetch is None else fetch.final_url
        content_type = None if fetch is None else fetch.content_type
        digest = held[0].body_sha256
        try:
            body = await load_body(digest, self._services.store, self._services.blobs)
        except (NotFoundError, BlobMoved):
            self._note(feed, "a raw document is not kept any more")
            return
        raw = RawDocument(body=body, url=final_url, content_type=content_type)
        read = await read_anew(raw, feed, self._services)
        if isinstance(read, NotAFeed):
            self._note(feed, f"a document can no longer be parsed as a feed ({read.reason})")
            return
        waiting = {document_position_of(one): one for one in held}
        document = len(self._documents)
        drafts = drafts_of(
            read, None, source=source, document=document, feed_title=read.clean.title or feed.title
        )
        for draft in drafts:
            one = waiting.get(document_position_of(draft.candidate))
            if one is not None:
                self._drafts.append(draft)
                self._said[document, document_position_of(draft.candidate)] = one.screening
        self._documents.append(
            CollectedDocument(
                source=source,
                url=url,
                final_url=final_url,
                fetched_at=held[0].held_at if fetch is None else fetch.fetched_at,
                body_sha256=digest,
                content_type=content_type,
                fetch_id=held[0].fetch_id,
                body=pack_body(body),
            )
        )

    def window(self, held: Sequence[HeldEntry]) -> HeldWindow:
        """All of it as a window."""
        now = self._services.clock.now()
        candidates = merge_drafts(self._drafts)
        dates = [one.published_at for one in candidates if one.published_at is not None]
        start = min((*dates, *(one.held_at for one in held)))
        file = with_checksum(
            CandidateFile(
                schema=SCHEMA,
                created_at=now,
                window=Window(start=start, end=max((now, *dates))),
                topics=(),
                prompt="",
                sources=with_counts(tuple(self._sources.values()), self._drafts, candidates),
                candidates=candidates,
                documents=tuple(self._documents),
            )
        )
        said = ((one, self._said[one.document, document_position_of(one)]) for one in candidates)
        screenings = tuple(
            replace(screening, candidate_id=one.candidate_id)
            for one, screening in said
            if screening is not None
        )
        return HeldWindow(file, screenings)

    def _source(self, feed: Feed) -> int:
        report = SourceReport(
            url=feed.url, outcome="ok", feed_id=feed.id, feed_title=feed.title, final_url=feed.url
        )
        self._sources.setdefault(feed.id, report)
        return list(self._sources).index(feed.id)

    def _note(self, feed: Feed, words: str) -> None:
        self._sources[feed.id] = replace(self._sources[feed.id], note=words)
