"""Live screening: holds new entries of selected feeds for review (001).

    choose    the screen of the feed: its own, or that of one of its tags
    score     the new entries, when the screen accepts any at all
    hold      what is not accepted is no entry and no event; its bytes stay in the raw store

The rule is applied once, when an entry is new. What is held stays held, also when its text changes
and when the screen is removed: only a person releases it, by reviewing and inserting it like a
collected window.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

from msgspec.structs import replace

from feedmill.engine.documents.read_document import (
    ComparedDocument,
    HeldChange,
    candidate_of,
    dates_of,
)
from feedmill.engine.run.services import Services
from feedmill.errors import FeedmillError
from feedmill.model.feed import Feed, FetchRecord
from feedmill.model.identity import Added, Changes
from feedmill.model.screening import HeldEntry, LiveScreen, Screening
from feedmill.observe import log
from feedmill.screen.language import screen_text_of


async def apply_live_screen(
    read: ComparedDocument, feed: Feed, services: Services
) -> ComparedDocument:
    """The document without the new entries that are held; those are listed apart."""
    if not read.changes.summary.added:
        return read
    state = read.screening or await services.store.live_screen_state(feed.id)
    screen = screen_for(state.screens, feed)
    if screen is None and not state.held:
        return read
    fresh = [one for one in _added(read.changes) if one.entry_uid not in state.held]
    if screen is None:
        return split_held(read, {one.entry_uid for one in fresh}, state.held, {})
    said = await _screened(fresh, screen, read, services)
    through = {uid for uid, one in said.items() if is_accepted(screen, one)}
    return split_held(read, through, state.held, said)


def screen_for(screens: Sequence[LiveScreen], feed: Feed) -> LiveScreen | None:
    """The screen that holds for a feed: its own before that of a tag, an older one first."""
    own = [one for one in screens if one.feed_id == feed.id]
    tagged = [one for one in screens if one.tag is not None and one.tag in feed.tags]
    return next(iter((*own, *tagged)), None)


def is_accepted(screen: LiveScreen, said: Screening) -> bool:
    """Whether the rule accepts an entry; a suspicious or degraded screening never does."""
    return (
        screen.keep_at is not None
        and said.suggestion == "keep"
        and said.score >= screen.keep_at
        and not said.is_suspicious
        and not said.is_degraded
    )


def split_held(
    read: ComparedDocument,
    through: set[str],
    before: Mapping[str, str],
    said: Mapping[str, Screening],
) -> ComparedDocument:
    """The document with every new entry that is not accepted taken out of its changes.

    `before` is what is held already, with the hashes of its text: with the same text it is taken out
    and not noted again. What is newly held counts as published: it is part of the feed's cadence.
    """
    waiting = [one for one in _added(read.changes) if one.entry_uid not in through]
    uids = {one.entry_uid for one in waiting}
    kept = tuple(
        change
        for change in read.changes.changes
        if not (isinstance(change, Added) and change.entry_uid in uids)
    )
    summary = replace(
        read.changes.summary,
        added=read.changes.summary.added - len(waiting),
        articles_skipped=read.changes.summary.articles_skipped
        - sum(one.article == "duplicate" for one in waiting),
    )
    held = tuple(
        HeldChange(change=one, screening=said.get(one.entry_uid))
        for one in waiting
        if before.get(one.entry_uid) != one.seen.content_hash
    )
    begun = [one for one in waiting if one.entry_uid not in before]
    news = [*(c for c in kept if isinstance(c, Added)), *begun]
    return replace(
        read,
        changes=replace(read.changes, changes=kept, summary=summary),
        new_dates=dates_of(news),
        held=held,
        newly_held=len(begun),
    )


def held_rows(read: ComparedDocument, fetch: FetchRecord, now: datetime) -> tuple[HeldEntry, ...]:
    """The newly held entries as they are stored: with the position of their bytes."""
    return tuple(
        HeldEntry(
            feed_id=fetch.feed_id,
            entry_uid=one.change.entry_uid,
            dedupe_key=one.change.seen.dedupe_key,
            content_hash=one.change.seen.content_hash,
            held_at=now,
            fetch_id=fetch.fetch_id,
            body_sha256=fetch.body_sha256 or "",
            slice_offset=_offset(one.change),
            title=one.change.seen.entry.title,
            screening=one.screening,
        )
        for one in read.held
    )


async def _screened(
    fresh: Sequence[Added], screen: LiveScreen, read: ComparedDocument, services: Services
) -> dict[str, Screening]:
    """The screenings of new entries; empty when the rule needs none, or the screener failed."""
    if screen.keep_at is None or screen.topics is None or services.screen is None or not fresh:
        return {}
    title = read.clean.title
    texts = [
        screen_text_of(replace(candidate_of(one, one.seen, feed_title=title), candidate_id=at))
        for at, one in enumerate(fresh)
    ]
    try:
        said = await services.screen(texts, screen.topics, screen.method)
    except FeedmillError as problem:
        log.logger("standing").warning("new entries wait unjudged", reason=str(problem))
        return {}
    return {
        fresh[one.candidate_id].entry_uid: replace(one, candidate_id=0, scores=()) for one in said
    }


def _offset(change: Added) -> int | None:
    piece = change.seen.entry.slice
    return None if piece is None else piece.offset


def _added(changes: Changes) -> list[Added]:
    return [change for change in changes.changes if isinstance(change, Added)]
