"""Following a feed to its new address: after a poll by itself, or because somebody said so (D6).

    candidate   named by polls, see moves.py
    objection   undone before, a loop, credentials that would leave their host
    proof       a redirect that went on with the feed is its own; everything else is fetched and
                compared, see proving.py
    adoption    the address, its alias, the history and the event in one transaction; or, where
                another feed lives already, that feed takes everything over

What is not proven is remembered with the candidate and left alone for a week, what could not be
reached for a day. A crash in between leaves the feed where it was, with its candidate.
"""

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Final, Literal

from msgspec.structs import replace

from feedmill.engine.moves.detect import (
    exposes_secrets,
    https_twin,
    is_gone,
    is_ripe,
    left_at,
    objection,
    sight_https,
)
from feedmill.engine.moves.probe import Answered, ask_outside
from feedmill.engine.run.services import World
from feedmill.engine.subscribe.add_feed import checked_address
from feedmill.engine.subscribe.host_queue import PATIENCE_SEC
from feedmill.engine.subscribe.same_feed import prove_same
from feedmill.errors import NotFoundError, UsageError
from feedmill.model.base import Value
from feedmill.model.feed import Feed, Lane, Move, MoveCandidate, MoveProof, MoveSource
from feedmill.model.fetch import Fresh
from feedmill.publish.events import event_of_held_move, event_of_merge, event_of_move

Ask = Callable[[str], Awaitable[Answered | None]]

_UNREACHED_WAIT: Final = timedelta(days=1)


class Followed(Value):
    """What came of an address that a feed may have moved to."""

    outcome: Literal["moved", "merged", "held", "put-off"]
    url: str
    reason: str = ""  # why not: a MoveReason, or why it could not be fetched
    move: Move | None = None
    into: str | None = None  # the feed that took this one over


async def follow_move(
    feed: Feed, world: World, *, ask: Ask, lane: Lane | None = None
) -> Followed | None:
    """What follows for the feed's address from the poll that it is the result of; mostly None.

    `ask` fetches an address politely, or gives None when that has to wait; `lane` is held.
    """
    now, config = world.clock.now(), world.config.moves
    candidate = feed.move
    gone = is_gone(feed, now, config)
    if candidate is not None and _is_worth(candidate, now):
        named = candidate.last_seen_at == feed.last_fetch_at
        if gone or (named and candidate.source != "https" and is_ripe(candidate, config)):
            return await _Following(feed, candidate, world, ask, lane, now).follow(gone=gone)
    twin = None if feed.last_success_at != feed.last_fetch_at else https_twin(feed, now, config)
    if twin is not None:
        return await _try_https(feed, twin, world, ask, lane, now)
    return None


async def move_feed(feed: Feed, address: str, world: World, *, force: bool = False) -> Followed:
    """Let the feed live at an address that somebody gives; held with a reason when it is not proven.

    `force` skips the proof, never the guard, and never takes an address from another feed.
    """
    target = checked_address(address, world.config.fetch.allow_cidrs).url
    if target == feed.url:
        message = f"the feed lives at {target} already"
        raise UsageError(message)
    if exposes_secrets(feed, target):
        return Followed(outcome="held", url=target, reason="has-credentials")
    now = world.clock.now()
    source: MoveSource = "manual"
    candidate = MoveCandidate(url=target, source=source, first_seen_at=now, last_seen_at=now)

    async def ask(url: str) -> Answered | None:
        return await ask_outside(url, feed, world, patience_sec=PATIENCE_SEC)

    following = _Following(feed, candidate, world, ask, None, now)
    if force:
        return await following.adopt(target, "forced")
    answered = await ask(target)
    if answered is None:
        return Followed(outcome="put-off", url=target, reason="host-resting")
    if not isinstance(answered.verdict, Fresh):
        return Followed(outcome="held", url=target, reason=answered.reason)
    if answered.settled_url == feed.url:
        return Followed(outcome="held", url=target, reason="leads-home")
    proof = await prove_same(feed, answered.verdict.document, world, by_entries=True)
    if proof is None:
        return Followed(outcome="held", url=target, reason="not-the-same-feed")
    return await following.adopt(target, proof)


async def undo_move(feed: Feed, world: World) -> Followed:
    """Set the feed's last address back; its present one is never adopted again by itself."""
    history = await world.store.moves(feed.id)
    made = [move for move in history if move.to_url == feed.url and move.undone_at is None]
    if not made:
        message = f"the feed at {feed.url} has not moved, so there is nothing to undo"
        raise NotFoundError(message, "`feedmill move FEED` shows where it lived")
    undone = replace(made[-1], undone_at=world.clock.now())
    if not await world.store.undo_move(feed.id, undone, (event_of_move(feed, undone),)):
        return Followed(outcome="held", url=undone.from_url, reason="taken")
    return Followed(outcome="moved", url=undone.from_url, move=undone)


class _Following:
    """One candidate of one feed on its way to be adopted or held."""

    def __init__(
        self,
        feed: Feed,
        candidate: MoveCandidate,
        world: World,
        ask: Ask,
        lane: Lane | None,
        now: datetime,
    ) -> None:
        self.feed, self.candidate, self.world = feed, candidate, world
        self.ask, self.lane, self.now = ask, lane, now
        self.config = world.config.moves

    async def follow(self, *, gone: bool) -> Followed:
        """Adopt the candidate, or note what speaks against it."""
        held = await self.object_to(self.candidate.url)
        if held is not None:
            return held
        if not self.candidate.continues:
            return await self.hold("not-the-same-feed", self.week_on(), refuted=True)
        if self.candidate.source == "redirect" and not gone:
            return await self.adopt(self.candidate.url, "redirect")
        answered = await self.ask(self.candidate.url)
        if answered is None:
            return Followed(outcome="put-off", url=self.candidate.url, reason="host-resting")
        return await self.weigh(answered, gone=gone)

    async def weigh(self, answered: Answered, *, gone: bool) -> Followed:
        """Adopt what was fetched when it is the same feed."""
        if not isinstance(answered.verdict, Fresh):
            return await self.hold(answered.reason, self.now + _UNREACHED_WAIT, tried=True)
        target = answered.settled_url
        if target != self.candidate.url:
            held = await self.object_to(target)
            if held is not None:
                return held
        proof = await prove_same(self.feed, answered.verdict.document, self.world, by_entries=gone)
        if proof is None:
            return await self.hold("not-the-same-feed", self.week_on(), tried=True, refuted=True)
        return await self.adopt(target, proof)

    async def object_to(self, target: str) -> Followed | None:
        """Hold still when the move is forbidden whatever the proof."""
        history = await self.world.store.moves(self.feed.id)
        reason = objection(self.feed, target, history, self.now, self.config)
        if reason is None:
            return None
        left = left_at(target, history, self.now, self.config)
        again = self.week_on() if reason != "loop" or left is None else self.week_on(left)
        return await self.hold(reason, again)

    async def adopt(self, target: str, proof: MoveProof) -> Followed:
        """Move the feed, or merge it into the one that lives at the address."""
        store, feed = self.world.store, self.feed
        other = await store.find_feed((target,))
        if other is not None and other.id != feed.id:
            return await self.join(other, target, proof)
        move = Move(
            from_url=feed.url,
            to_url=target,
            source=self.candidate.source,
            proof=proof,
            moved_at=self.now,
        )
        if not await store.move_feed(feed.id, move, (event_of_move(feed, move),)):
            return Followed(outcome="held", url=target, reason="taken")
        return Followed(outcome="moved", url=target, move=move)

    async def join(self, other: Feed, target: str, proof: MoveProof) -> Followed:
        """Become one with the feed that lives there; an address that it only had is left to it."""
        if other.url != target or proof == "forced":
            return await self.hold("taken", self.week_on())
        event = event_of_merge(self.feed, other, proof, now=self.now)
        counts = await self.world.store.merge_feeds(
            self.feed.id, other.id, at=self.now, events=(event,), lane=self.lane
        )
        if counts is None:
            return Followed(outcome="held", url=target, reason="taken")
        return Followed(outcome="merged", url=target, into=other.id)

    async def hold(
        self, reason: str, retry_at: datetime | None, *, tried: bool = False, refuted: bool = False
    ) -> Followed:
        """Note why the candidate is not adopted; a loop is told once. A person is only answered."""
        candidate, feed = self.candidate, self.feed
        held = Followed(outcome="held", url=candidate.url, reason=reason)
        if candidate.source == "manual":
            return held
        noted = replace(
            candidate,
            attempts=candidate.attempts + int(tried),
            refuted_at=self.now if refuted else candidate.refuted_at,
            retry_at=retry_at,
            reason=reason,
        )
        news = reason == "loop" and candidate.reason != "loop"
        event = event_of_held_move(feed, candidate.url, reason, now=self.now)
        await self.world.store.note_candidate(
            feed.id,
            noted,
            https_probed_at=feed.https_probed_at,
            events=(event,) if news else (),
        )
        return held

    def week_on(self, since: datetime | None = None) -> datetime:
        return (since or self.now) + timedelta(days=self.config.retry_days)


async def _try_https(
    feed: Feed, url: str, world: World, ask: Ask, lane: Lane | None, now: datetime
) -> Followed | None:
    """Look for the same feed by https; adopted when that worked as often as any other candidate."""
    candidate = sight_https(feed, url, now)
    following = _Following(feed, candidate, world, ask, lane, now)
    history = await world.store.moves(feed.id)
    barred = objection(feed, url, history, now, world.config.moves)
    answered = None if barred else await ask(url)
    if answered is None and not barred:
        return None  # the host has to rest: at the next poll
    proof = None
    if answered is not None and isinstance(answered.verdict, Fresh) and answered.settled_url == url:
        proof = await prove_same(feed, answered.verdict.document, world, by_entries=False)
    if proof is not None and is_ripe(candidate, world.config.moves):
        return await following.adopt(url, proof)
    await world.store.note_candidate(
        feed.id, candidate if proof is not None else _unless_https(feed.move), https_probed_at=now
    )
    return None


def _unless_https(candidate: MoveCandidate | None) -> MoveCandidate | None:
    return None if candidate is None or candidate.source == "https" else candidate


def _is_worth(candidate: MoveCandidate, now: datetime) -> bool:
    """Whether it may be looked at now: not within its pause."""
    return candidate.retry_at is None or now >= candidate.retry_at
