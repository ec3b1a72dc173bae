"""Inserts confirmed candidates, through the same reading and the same transaction as a poll.

    check     every id, the confirmation, every document: before anything is written
    read      the raw document again, whole, so that identity is judged as a poll would
    select    of its changes those of the confirmed items
    commit    entries, identities, articles, events and the reference to the raw body, document by document

A source without a subscription becomes a paused subscription under the tag `collected`: its
entries need a feed to belong to, and it is not to be polled until `feedmill resume`.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from feedmill.engine.documents.raw_documents import keep_collected
from feedmill.engine.documents.unscheduled import commit_unscheduled, unscheduled
from feedmill.engine.run.services import Services
from feedmill.engine.subscribe.add_feed import validate_address
from feedmill.engine.two_phase.candidate_file import raise_candidate_error, select_candidates
from feedmill.engine.two_phase.collect_source import unsubscribed_feed
from feedmill.engine.two_phase.held_window import held_uids_at
from feedmill.engine.two_phase.resolve_selection import (
    COLLECTED_AT,
    SelectedDocument,
    changes_of_selected,
    find_selected_items,
    selected_documents,
)
from feedmill.engine.two_phase.sidecar_files import record_confirmation
from feedmill.errors import AddressError, ConflictError
from feedmill.fetch.guard import printable_url
from feedmill.fetch.plan import is_trusted
from feedmill.model.candidate import (
    CandidateFile,
    SourceReport,
    WindowCandidate,
)
from feedmill.model.feed import Feed, FetchRecord, NewFeed
from feedmill.model.identity import (
    Added,
    Changes,
    ChangeSummary,
)
from feedmill.model.screening import Confirmation, InsertResult
from feedmill.publish.events import event_of_new_feed
from feedmill.schedule.interval import initial_state

COLLECTED_TAG: Final = "collected"
_OLDER: Final = "older-than-stored: the stored entry is newer than the collected document"
_REPEAT: Final = "repeat: another entry of its document has the same identity"


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
    counts["new"] += summary.added
    counts["updated"] += summary.revised
    counts["unchanged"] += summary.touched
    counts["skipped"] += len(found) - summary.added - summary.revised - summary.touched
    if summary.added or summary.revised:
        await _commit(choice, feed, changes, services)
    return [change.entry_uid for change in changes.changes if isinstance(change, Added)]


async def _commit(
    choice: SelectedDocument, feed: Feed, changes: Changes, services: Services
) -> None:
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


def _record(
    choice: SelectedDocument, feed: Feed, summary: ChangeSummary, now: datetime, services: Services
) -> FetchRecord:
    document, seen = choice.document, len(choice.candidates)
    return FetchRecord(
        fetch_id=services.clock.new_id(),
        feed_id=feed.id,
        scheduled_at=now,
        fetched_at=now,
        url=document.url,
        final_url=document.final_url,
        outcome="inserted",
        detail=COLLECTED_AT + document.fetched_at.isoformat(),
        http_status=choice.source.http_status,
        body_sha256=document.body_sha256,
        content_type=document.content_type,
        content_length=len(choice.raw.body),
        entries_seen=seen,
        entries_new=summary.added,
        entries_updated=summary.revised,
    )
