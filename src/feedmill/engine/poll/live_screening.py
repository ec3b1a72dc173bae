"""A standing screen on live polling: new entries of some feeds wait for somebody's word (001).

    govern    which screen holds for the feed: its own, or that of one of its tags
    judge     what is new is scored, when the screen lets anything through at all
    hold      what is not let through is no entry and no event; its bytes stay in the raw store

The rule speaks once, when an entry is new. What waits goes on waiting, in other words too and when the
screen is gone: only a person lets it in, with the review and the insertion of a collected window.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

from msgspec.structs import replace

from feedmill.engine.documents.candidate import candidate_of
from feedmill.engine.documents.read_document import ComparedDocument, HeldChange
from feedmill.engine.run.services import Services
from feedmill.errors import FeedmillError
from feedmill.model.feed import Feed, FetchRecord
from feedmill.model.identity import Added, Changes
from feedmill.model.live_screen import HeldEntry, StandingScreen
from feedmill.model.screening import Screening
from feedmill.observe import log
from feedmill.screen.texts import screen_text_of


async def apply_live_screen(
    read: ComparedDocument, feed: Feed, services: Services
) -> ComparedDocument:
    """What was read, without the new entries that have to wait; those are apart from it."""
    if not read.changes.summary.added:
        return read
    standing = await services.store.standing(feed.id)
    screen = screen_for(standing.screens, feed)
    if screen is None and not standing.held:
        return read
    fresh = [one for one in _added(read.changes) if one.entry_uid not in standing.held]
    if screen is None:
        return split_held(read, {one.entry_uid for one in fresh}, standing.held, {})
    said = await _judged(fresh, screen, read, services)
    through = {uid for uid, one in said.items() if is_accepted(screen, one)}
    return split_held(read, through, standing.held, said)


def screen_for(screens: Sequence[StandingScreen], feed: Feed) -> StandingScreen | None:
    """The screen that holds for a feed: its own before that of a tag, an older one first."""
    own = [one for one in screens if one.feed_id == feed.id]
    tagged = [one for one in screens if one.tag is not None and one.tag in feed.tags]
    return next(iter((*own, *tagged)), None)


def is_accepted(screen: StandingScreen, said: Screening) -> bool:
    """Whether the rule lets an entry in; whatever is doubtful about the judgement speaks for waiting."""
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
    """The reading with every new entry that is not let through taken out of its changes.

    `before` is what waits already, with the hashes of its words: in the same words it is taken out
    and not noted again. What begins to wait counts as published: the feed is as lively as it is,
    whoever reads it.
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
    dates = (one.seen.entry.published_effective for one in news)
    return replace(
        read,
        changes=replace(read.changes, changes=kept, summary=summary),
        new_dates=tuple(date for date in dates if date is not None),
        held=held,
        newly_held=len(begun),
    )


def held_rows(read: ComparedDocument, fetch: FetchRecord, now: datetime) -> tuple[HeldEntry, ...]:
    """What begins to wait, as it is remembered: with the way to its bytes."""
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


async def _judged(
    fresh: Sequence[Added], screen: StandingScreen, read: ComparedDocument, services: Services
) -> dict[str, Screening]:
    """What screening says of new entries; nothing when the rule wants no opinion, or it has none."""
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
