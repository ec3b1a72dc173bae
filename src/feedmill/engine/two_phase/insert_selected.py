"""Inserts confirmed candidates, through the same reading and the same transaction as a poll.

    check     every id, the confirmation, every document: before anything is written
    read      the raw document again, whole, so that identity is judged as a poll would
    select    of its changes those of the confirmed items
    commit    entries, identities, articles, events and the reference to the raw body, document by document

A source without a subscription becomes a paused subscription under the tag `collected`: its
entries need a feed to belong to, and it is not to be polled until `feedmill resume`.
"""

from collections import Counter
from collections.abc import AsyncIterator, Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from feedmill.engine.documents.raw_documents import keep_collected, load_body
from feedmill.engine.documents.read_document import SUMMARY_CHARS, ComparedDocument, NotAFeed
from feedmill.engine.documents.unscheduled import commit_unscheduled, unscheduled
from feedmill.engine.run.services import Services
from feedmill.engine.subscribe.add_feed import validate_address
from feedmill.engine.two_phase.candidates import (
    identified_items,
    raise_candidate_error,
    select_candidates,
    unpack_body,
)
from feedmill.engine.two_phase.collect_window import COLLECTED_TAG, read_anew, unsubscribed_feed
from feedmill.engine.two_phase.held_window import held_uids_at
from feedmill.engine.two_phase.sidecar_files import record_confirmation
from feedmill.errors import AddressError, ConflictError, NotFoundError
from feedmill.fetch.guard import printable_url
from feedmill.fetch.plan import is_trusted
from feedmill.model.base import Value, filled
from feedmill.model.candidate import (
    CandidateFile,
    CollectedDocument,
    SourceReport,
    WindowCandidate,
)
from feedmill.model.event import StoredEntry
from feedmill.model.feed import Feed, FetchRecord, NewFeed
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
from feedmill.model.refresh import Committed
from feedmill.model.screening import Confirmation, InsertResult
from feedmill.publish.events import event_of_new_feed
from feedmill.schedule.interval import initial_state

_OLDER: Final = "older-than-stored: the stored entry is newer than the collected document"
_REPEAT: Final = "repeat: another entry of its document has the same identity"
COLLECTED_AT: Final = "confirmed from a window that was collected at "


async def insert_selected(
    file: CandidateFile,
    ids: Iterable[int],
    confirmation: Confirmation,
    services: Services,
    *,
    path: Path | None = None,
) -> InsertResult:
    """Store the chosen candidates; CandidateError before anything is written when one cannot be.

    The confirmation has to be about this file and about every one of the ids. It is recorded beside
    the file at `path` once everything was checked, and again with what the insertion did.
    """
    wanted = select_candidates(file, ids)
    _check(confirmation, file, wanted)
    # Twice over the documents, one at a time: packed in a file, they can be far larger than it.
    async for choice in selected_documents(file, wanted, services):
        known = await _feed_of(choice.source, services)
        await find_selected_items(choice, known or _unsubscribed(choice.source, services), services)
    if path is not None:
        record_confirmation(path, confirmation)
    counts: Counter[str] = Counter()
    new: list[str] = []
    skipped: dict[int, str] = {}
    async for choice in selected_documents(file, wanted, services):
        feed = await _feed_of(choice.source, services)
        if feed is None:
            feed = await _add_feed(choice.source, services)
            counts["feeds_added"] += 1
        new += await _insert(choice, feed, counts, skipped, services)
    done = InsertResult(
        selected=len(wanted),
        new=counts["new"],
        updated=counts["updated"],
        unchanged=counts["unchanged"],
        skipped=counts["skipped"],
        feeds_added=counts["feeds_added"],
        entry_uids=tuple(new),
        skipped_reasons=skipped,
    )
    if path is not None:
        record_confirmation(path, replace(confirmation, result=done))
    return done


def _check(
    confirmation: Confirmation, file: CandidateFile, wanted: Sequence[WindowCandidate]
) -> None:
    if confirmation.file_digest != file.digest:
        raise_candidate_error(
            "other-file", "the confirmation is about another window; nothing was written"
        )
    if not wanted:
        raise_candidate_error("bad-selection", "no candidate was selected; nothing was written")
    missing = {one.candidate_id for one in wanted}.difference(confirmation.candidate_ids)
    if missing:
        words = ", ".join(map(str, sorted(missing)[:20]))
        raise_candidate_error(
            "not-confirmed", f"candidate {words} was not confirmed; nothing was written"
        )


async def _feed_of(source: SourceReport, services: Services) -> Feed | None:
    """The feed that the source's entries belong to, by the addresses that were collected from.

    Not by the id in the file: a forged file could name any feed with it.
    """
    urls = (source.url,) if source.final_url is None else (source.url, source.final_url)
    return await services.store.find_feed(urls)


def _unsubscribed(source: SourceReport, services: Services) -> Feed:
    """The feed that a source would become; CandidateError for an address that cannot be subscribed to."""
    try:
        url = validate_address(source.url, services.config.fetch.allow_cidrs).url
    except AddressError as problem:
        raise_candidate_error(
            "malformed", f"the file has an invalid source: {problem}", problem.hint
        )
    if url != source.url:
        raise_candidate_error(
            "malformed",
            f"the file has an invalid source: {printable_url(source.url)} is not in its canonical spelling",
        )
    return unsubscribed_feed(url, services)


async def _add_feed(source: SourceReport, services: Services) -> Feed:
    now, final_url = services.clock.now(), source.final_url
    # The end of a way to another host is that host's address, and stays it.
    is_own = final_url is not None and is_trusted(final_url, source.url)
    new = NewFeed(
        id=services.clock.new_id(),
        url=source.url,
        created_at=now,
        next_poll_at=now,
        schedule=initial_state(services.config.schedule),
        aliases=(final_url,) if final_url is not None and is_own else (),
        title=source.feed_title,
        tags=(COLLECTED_TAG,),
        paused=True,
    )
    feed, _ = await services.store.add_feed(new, (event_of_new_feed(new),))
    return feed


class SelectedDocument(Value):
    """One document of the file with the candidates selected from it."""

    document: CollectedDocument
    source: SourceReport
    candidates: tuple[WindowCandidate, ...]
    raw: RawDocument


async def _insert(
    choice: SelectedDocument,
    feed: Feed,
    counts: Counter[str],
    skipped: dict[int, str],
    services: Services,
) -> list[str]:
    """Commit what the chosen items of one document change; the ids of the new entries."""
    read, found = await find_selected_items(choice, feed, services)
    changes, older = await changes_of_selected(
        read, list(found.values()), choice.document.fetched_at, services
    )
    summary = changes.summary
    kept = {id(getattr(change, "seen", None)) for change in changes.changes}
    skipped |= {
        number: _OLDER if id(item) in older else _REPEAT
        for number, item in found.items()
        if id(item) not in kept
    }
    added = [change.entry_uid for change in changes.changes if isinstance(change, Added)]
    if added or summary.revised:
        done = await _commit(choice, feed, changes, services)
        added = [entry_uid for entry_uid in added if entry_uid not in done.overtaken]
    counts["new"] += len(added)
    counts["updated"] += summary.revised
    counts["unchanged"] += summary.touched + summary.added - len(added)
    counts["skipped"] += len(found) - summary.added - summary.revised - summary.touched
    return added


async def _commit(
    choice: SelectedDocument, feed: Feed, changes: Changes, services: Services
) -> Committed:
    now, digest = services.clock.now(), choice.document.body_sha256
    blob = await keep_collected(choice.raw.body, choice.document, services.store, services.blobs)
    added = [change.entry_uid for change in changes.changes if isinstance(change, Added)]
    waiting = await held_uids_at(choice.candidates, digest, feed, services.store)
    fetch = _record(choice, feed, changes.summary, now, services)
    refresh = unscheduled(feed, fetch, changes, blob=blob)
    released = tuple(dict.fromkeys((*added, *waiting)))
    done = await commit_unscheduled(replace(refresh, released=released), services.store)
    if done.fenced:
        message = f"the feed {feed.url} was removed during the insertion"
        raise ConflictError(message, reason="feed-removed", hint="insert again")
    if done.duplicate:
        message = f"the feed {feed.url} is being inserted into by other processes"
        raise ConflictError(message, reason="busy", hint="insert again")
    return done


def _record(
    choice: SelectedDocument, feed: Feed, summary: ChangeSummary, now: datetime, services: Services
) -> FetchRecord:
    document, seen = choice.document, len(choice.candidates)
    return filled(
        FetchRecord,
        document,
        fetch_id=services.clock.new_id(),
        feed_id=feed.id,
        scheduled_at=now,
        fetched_at=now,
        outcome="inserted",
        detail=COLLECTED_AT + document.fetched_at.isoformat(),
        http_status=choice.source.http_status,
        content_length=len(choice.raw.body),
        entries_seen=seen,
        entries_new=summary.added,
        entries_updated=summary.revised,
    )


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
