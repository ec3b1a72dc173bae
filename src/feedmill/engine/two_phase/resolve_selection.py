"""Finds the selected candidates again in their documents, and what inserting them changes."""
# Tested in tests/integration/engine/two_phase/

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import Final

from msgspec.structs import replace

from feedmill.engine.documents.raw_documents import load_body
from feedmill.engine.documents.read_document import SUMMARY_CHARS, ComparedDocument, NotAFeed
from feedmill.engine.run.services import Services
from feedmill.engine.two_phase.candidate_file import raise_candidate_error, unpack_body
from feedmill.engine.two_phase.candidates import identified_items
from feedmill.engine.two_phase.collect_source import read_anew
from feedmill.errors import NotFoundError
from feedmill.model.base import Value
from feedmill.model.candidate import (
    CandidateFile,
    CollectedDocument,
    SourceReport,
    WindowCandidate,
)
from feedmill.model.event import StoredEntry
from feedmill.model.feed import Feed
from feedmill.model.fetch import RawDocument
from feedmill.model.identity import (
    Added,
    Change,
    Changes,
    ChangeSummary,
    Identified,
    Revised,
    UnchangedEntry,
)

COLLECTED_AT: Final = "confirmed from a window that was collected at "


class SelectedDocument(Value):
    """One document of the file with the candidates selected from it."""

    document: CollectedDocument
    source: SourceReport
    candidates: tuple[WindowCandidate, ...]
    raw: RawDocument


async def selected_documents(
    file: CandidateFile, wanted: Sequence[WindowCandidate], services: Services
) -> AsyncIterator[SelectedDocument]:
    """The selection, document by document in the order of the file, one at a time with its bytes."""
    by_document: dict[int, list[WindowCandidate]] = {}
    for one in wanted:
        if not (0 <= one.document < len(file.documents) and 0 <= one.source < len(file.sources)):
            raise_candidate_error(
                "malformed",
                f"candidate {one.candidate_id} refers to a document that the file does not have",
            )
        if file.documents[one.document].source != one.source:
            raise_candidate_error(
                "malformed", f"candidate {one.candidate_id} is not from the source it names"
            )
        by_document.setdefault(one.document, []).append(one)
    for at in sorted(by_document):
        document = file.documents[at]
        body = await _body(document, services)
        raw = RawDocument(body=body, url=document.final_url, content_type=document.content_type)
        source = file.sources[by_document[at][0].source]
        mine = tuple(by_document[at])
        yield SelectedDocument(document=document, source=source, candidates=mine, raw=raw)


async def find_selected_items(
    choice: SelectedDocument, feed: Feed, services: Services
) -> tuple[ComparedDocument, dict[int, Identified]]:
    """The document compared with what is known, and the item of each chosen candidate in it."""
    read = await read_anew(choice.raw, feed, services)
    if isinstance(read, NotAFeed):
        raise_candidate_error(
            "no-such-item", f"{choice.source.url} can no longer be parsed as a feed ({read.reason})"
        )
    items = identified_items(read)
    by_place = {_place(item): item for item in items}
    by_key = {item.dedupe_key: item for item in items}
    found: dict[int, Identified] = {}
    for one in choice.candidates:
        place = (one.slice_offset, one.slice_length)
        item = by_place.get(place) if one.slice_offset is not None else by_key.get(one.dedupe_key)
        if item is None or not _is_as_shown(one, item, read.clean.title):
            message = f"candidate {one.candidate_id} is not found in its document any more"
            raise_candidate_error(
                "no-such-item", f"{message}; nothing was written", "collect the window again"
            )
        found[one.candidate_id] = item
    return read, found


async def changes_of_selected(
    read: ComparedDocument, items: Sequence[Identified], fetched_at: datetime, services: Services
) -> tuple[Changes, set[int]]:
    """Those of a document's changes that are about the selected items, as if the document held nothing else.

    A revision that is older than what is stored is left out; its item is in the second value.
    """
    mine = {id(item) for item in items}
    older = {
        id(change.seen)
        for change in read.changes.changes
        if isinstance(change, Revised)
        and id(change.seen) in mine
        and await _is_older(change, fetched_at, services)
    }
    mine -= older
    kept = [
        change
        for change in read.changes.changes
        if isinstance(change, Added | Revised | UnchangedEntry) and id(change.seen) in mine
    ]
    doubtful = [
        change.seen.article_hash
        for change in kept
        if isinstance(change, Added) and change.article == "duplicate" and change.seen.article_hash
    ]
    # An item that was not selected may have the same article; then this one brings it.
    taken = set(await services.store.articles(doubtful)) if doubtful else set()
    settled: list[Change] = []
    for change in kept:
        digest = change.seen.article_hash if isinstance(change, Added) else None
        if isinstance(change, Added) and change.article == "duplicate" and digest not in taken:
            change = replace(change, article="new")  # noqa: PLW2901
        if digest is not None:
            taken.add(digest)
        settled.append(change)
    return replace(read.changes, changes=tuple(settled), summary=_summary(settled)), older


async def _is_older(change: Revised, fetched_at: datetime, services: Services) -> bool:
    """Whether the stored text is newer: by the publisher's own dates, else by when it was last seen."""
    mine, stored = change.seen.entry.updated, change.known.updated
    if mine is not None and stored is not None and mine != stored:
        return mine < stored
    entry = await services.store.entry(change.known.entry_uid)
    if entry is None or entry.content_hash is None:
        return False
    return await _read_at(entry, services) > fetched_at


async def _read_at(entry: StoredEntry, services: Services) -> datetime:
    """When the stored text was last read from its publisher; an insertion stores what was collected earlier."""
    ref = next(iter(entry.raw_refs), None)
    fetch = None if ref is None else await services.store.fetch(ref.fetch_id)
    if fetch is None or fetch.outcome != "inserted" or entry.last_seen > fetch.fetched_at:
        return entry.last_seen
    return datetime.fromisoformat(fetch.detail.removeprefix(COLLECTED_AT))


async def _body(document: CollectedDocument, services: Services) -> bytes:
    if document.body:
        limit = services.config.fetch.max_body_bytes
        return unpack_body(document.body, document.body_sha256, limit)
    try:
        return await load_body(document.body_sha256, services.store, services.blobs)
    except NotFoundError:
        message = f"the document of {document.url} is neither in the file nor in the raw store"
        raise_candidate_error(
            "raw-missing", f"{message}; nothing was written", "collect the window again"
        )


def _place(item: Identified) -> tuple[int | None, int | None]:
    piece = item.entry.slice
    return (None, None) if piece is None else (piece.offset, piece.length)


def _is_as_shown(one: WindowCandidate, item: Identified, feed_title: str | None) -> bool:
    """Whether the text that was confirmed is that of the document."""
    entry = item.entry
    summary = None if entry.summary is None else entry.summary[:SUMMARY_CHARS]
    said = (one.title, one.url, one.summary, one.categories, one.feed_title)
    read = (entry.title, entry.link, summary, entry.categories, feed_title or one.feed_title)
    return said == read


def _summary(changes: Sequence[Change]) -> ChangeSummary:
    return ChangeSummary(
        added=sum(isinstance(change, Added) for change in changes),
        revised=sum(isinstance(change, Revised) for change in changes),
        touched=sum(isinstance(change, UnchangedEntry) for change in changes),
    )
