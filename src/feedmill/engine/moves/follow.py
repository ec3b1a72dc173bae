"""Follows a feed to its new address: after a poll, or because a person asked for it (D6).

    candidate   named by polls, see detect.py
    objection   undone before, a loop, credentials that would leave their host
    proof       a redirect that continued the feed is its own proof; everything else is fetched and
                compared, see subscribe/same_feed.py
    move        the address, its alias, the history and the event in one transaction; or, where
                another feed has the address already, that feed takes everything over

What is not proven is stored with the candidate and not tried for a week, what could not be
reached for a day. A crash in between leaves the feed where it was, with its candidate.
"""

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Final, Literal

from msgspec.structs import replace

from feedmill.engine.documents.fetch_document import Answer, describe_verdict, probe_other_host
from feedmill.engine.moves.detect import (
    detect_https_move,
    exposes_secrets,
    find_on_site,
    has_enough_sightings,
    https_url_to_probe,
    is_gone,
    is_lost,
    reason_against_move,
    recently_left_at,
)
from feedmill.engine.run.services import Services
from feedmill.engine.subscribe.add_feed import validate_address
from feedmill.engine.subscribe.host_queue import MAX_WAIT_SEC
from feedmill.engine.subscribe.same_feed import prove_same
from feedmill.errors import NotFoundError, UsageError
from feedmill.model.base import Value
from feedmill.model.feed import Feed, Lane, Move, MoveCandidate, MoveProof, MoveSource
from feedmill.model.fetch import Fresh
from feedmill.publish.events import event_of_held_move, event_of_merge, event_of_move

ProbeFunction = Callable[[str], Awaitable[Answer | None]]

# Every entry is stored once from then on, which cannot be taken apart again.
MERGE_IS_FINAL: Final = "a merge by a move is final"
_UNREACHED_WAIT: Final = timedelta(days=1)


class MoveResult(Value):
    """The result for an address that a feed may have moved to."""

    outcome: Literal["moved", "merged", "held", "put-off"]
    url: str
    reason: str = ""  # why not: a MoveReason, or why it could not be fetched
    move: Move | None = None
    into: str | None = None  # the feed that took this one over


async def apply_move(
    feed: Feed, services: Services, *, ask: ProbeFunction, lane: Lane | None = None
) -> MoveResult | None:
    """What follows for the feed's address from the poll that it is the result of; mostly None.

    `ask` fetches an address politely, or gives None when that has to wait; `lane` is held.
    """
    now, config = services.clock.now(), services.config.moves
    candidate = feed.move
    gone = is_gone(feed, now, config)
    if is_lost(feed, now, config) and (candidate is None or candidate.source == "site"):
        if candidate is not None and not _is_worth(candidate, now):
            return None
        return await _search_site(feed, services, ask, lane, now)
    if candidate is not None and _is_worth(candidate, now):
        named = candidate.last_seen_at == feed.last_fetch_at
        if gone or (
            named and candidate.source != "https" and has_enough_sightings(candidate, config)
        ):
            return await _Following(feed, candidate, services, ask, lane, now).follow(gone=gone)
    twin = (
        None
        if feed.last_success_at != feed.last_fetch_at
        else https_url_to_probe(feed, now, config)
    )
    if twin is not None:
        return await _try_https(feed, twin, services, ask, lane, now)
    return None


async def move_feed(
    feed: Feed, address: str, services: Services, *, force: bool = False
) -> MoveResult:
    """Move the feed to a given address; held with a reason when that is not proven to be the same feed.

    `force` skips the proof, never the guard, and never takes an address from another feed.
    """
    target = validate_address(address, services.config.fetch.allow_cidrs).url
    if target == feed.url:
        message = f"the address of the feed is {target} already"
        raise UsageError(message)
    if exposes_secrets(feed, target):
        return MoveResult(outcome="held", url=target, reason="has-credentials")
    now = services.clock.now()
    source: MoveSource = "manual"
    candidate = MoveCandidate(url=target, source=source, first_seen_at=now, last_seen_at=now)

    async def ask(url: str) -> Answer | None:
        return await probe_other_host(url, feed, services, max_wait_sec=MAX_WAIT_SEC)

    following = _Following(feed, candidate, services, ask, None, now)
    if force:
        return await following.adopt(target, "forced")
    answer = await ask(target)
    if answer is None:
        return MoveResult(outcome="put-off", url=target, reason="host-resting")
    if not isinstance(answer.verdict, Fresh):
        return MoveResult(outcome="held", url=target, reason=describe_verdict(answer.verdict)[0])
    if answer.settled_url == feed.url:
        return MoveResult(outcome="held", url=target, reason="leads-home")
    proof = await prove_same(feed, answer.verdict.document, services, by_entries=True)
    if proof is None:
        return MoveResult(outcome="held", url=target, reason="not-the-same-feed")
    return await following.adopt(target, proof)


async def undo_move(feed: Feed, services: Services) -> MoveResult:
    """Set the feed's last address back; its present one is never adopted again by itself."""
    history = await services.store.moves(feed.id)
    made = [move for move in history if move.to_url == feed.url and move.undone_at is None]
    if not made:
        message = f"the feed at {feed.url} has not moved, so there is nothing to undo"
        raise NotFoundError(message, "`feedmill move FEED` shows where it lived")
    undone = replace(made[-1], undone_at=services.clock.now())
    if not await services.store.undo_move(feed.id, undone, (event_of_move(feed, undone),)):
        return MoveResult(outcome="held", url=undone.from_url, reason="taken")
    return MoveResult(outcome="moved", url=undone.from_url, move=undone)


class _Following:
    """One candidate of one feed on its way to be adopted or held."""

    def __init__(
        self,
        feed: Feed,
        candidate: MoveCandidate,
        services: Services,
        ask: ProbeFunction,
        lane: Lane | None,
        now: datetime,
    ) -> None:
        self.feed, self.candidate, self.services = feed, candidate, services
        self.ask, self.lane, self.now = ask, lane, now
        self.config = services.config.moves

    async def follow(self, *, gone: bool) -> MoveResult:
        """Adopt the candidate, or note what speaks against it."""
        held = await self.object_to(self.candidate.url)
        if held is not None:
            return held
        if not self.candidate.continues:
            return await self.hold("not-the-same-feed", self.week_on(), refuted=True)
        if self.candidate.source == "redirect" and not gone:
            return await self.adopt(self.candidate.url, "redirect")
        answer = await self.ask(self.candidate.url)
        if answer is None:
            return MoveResult(outcome="put-off", url=self.candidate.url, reason="host-resting")
        return await self.weigh(answer, gone=gone)

    async def weigh(self, answer: Answer, *, gone: bool) -> MoveResult:
        """Adopt what was fetched when it is the same feed."""
        if not isinstance(answer.verdict, Fresh):
            return await self.hold(
                describe_verdict(answer.verdict)[0], self.now + _UNREACHED_WAIT, tried=True
            )
        target = answer.settled_url
        if target != self.candidate.url:
            held = await self.object_to(target)
            if held is not None:
                return held
        proof = await prove_same(self.feed, answer.verdict.document, self.services, by_entries=gone)
        if proof is None:
            return await self.hold("not-the-same-feed", self.week_on(), tried=True, refuted=True)
        return await self.adopt(target, proof)

    async def object_to(self, target: str) -> MoveResult | None:
        """Hold still when the move is forbidden whatever the proof."""
        history = await self.services.store.moves(self.feed.id)
        reason = reason_against_move(self.feed, target, history, self.now, self.config)
        if reason is None:
            return None
        left = recently_left_at(target, history, self.now, self.config)
        again = self.week_on() if reason != "loop" or left is None else self.week_on(left)
        return await self.hold(reason, again)

    async def adopt(self, target: str, proof: MoveProof) -> MoveResult:
        """Move the feed, or merge it into the one that lives at the address."""
        store, feed = self.services.store, self.feed
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
            return MoveResult(outcome="held", url=target, reason="taken")
        return MoveResult(outcome="moved", url=target, move=move)

    async def join(self, other: Feed, target: str, proof: MoveProof) -> MoveResult:
        """Merge into the feed at that address; an address that is only its alias stays with it."""
        if other.url != target or proof == "forced":
            return await self.hold("taken", self.week_on())
        event = event_of_merge(self.feed, other, proof, now=self.now)
        counts = await self.services.store.merge_feeds(
            self.feed.id, other.id, at=self.now, events=(event,), lane=self.lane
        )
        if counts is None:
            return MoveResult(outcome="held", url=target, reason="taken")
        return MoveResult(outcome="merged", url=target, into=other.id)

    async def hold(
        self, reason: str, retry_at: datetime | None, *, tried: bool = False, refuted: bool = False
    ) -> MoveResult:
        """Store why the candidate is held; a loop is announced once. A manual move is only answer."""
        candidate, feed = self.candidate, self.feed
        held = MoveResult(outcome="held", url=candidate.url, reason=reason)
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
        await self.services.store.save_move_candidate(
            feed.id,
            noted,
            https_probed_at=feed.https_probed_at,
            events=(event,) if news else (),
        )
        return held

    def week_on(self, since: datetime | None = None) -> datetime:
        return (since or self.now) + timedelta(days=self.config.retry_days)


async def _search_site(
    feed: Feed, services: Services, ask: ProbeFunction, lane: Lane | None, now: datetime
) -> MoveResult | None:
    """Look for the feed on its site; adopt what is proven, propose the best of what is not."""
    if feed.overrides.disable_autodiscovery:
        return None
    week = now + timedelta(days=services.config.moves.retry_days)
    proposed: tuple[_Following, MoveResult] | None = None
    for answer in await find_on_site(feed, services, ask):
        candidate = _site_candidate(feed, answer.settled_url, now)
        following = _Following(feed, candidate, services, ask, lane, now)
        result = await following.object_to(candidate.url)
        result = result or await following.weigh(answer, gone=True)
        if result.outcome in ("moved", "merged"):
            return result
        proposed = proposed or (following, result)
    if proposed is not None:  # the best one; weighing another has stored that
        return await proposed[0].hold(proposed[1].reason, week, tried=True)
    nothing = _site_candidate(feed, feed.site_url or feed.url, now)
    await services.store.save_move_candidate(
        feed.id,
        replace(nothing, retry_at=week, reason="no-feed-found", sightings=0),
        https_probed_at=feed.https_probed_at,
    )
    return None


def _site_candidate(feed: Feed, url: str, now: datetime) -> MoveCandidate:
    before = feed.move
    if before is not None and before.url == url:
        return replace(before, last_seen_at=now, sightings=before.sightings + 1)
    return MoveCandidate(url=url, source="site", first_seen_at=now, last_seen_at=now)


async def _try_https(
    feed: Feed, url: str, services: Services, ask: ProbeFunction, lane: Lane | None, now: datetime
) -> MoveResult | None:
    """Look for the same feed by https; adopted when that worked as often as any other candidate."""
    candidate = detect_https_move(feed, url, now)
    following = _Following(feed, candidate, services, ask, lane, now)
    history = await services.store.moves(feed.id)
    barred = reason_against_move(feed, url, history, now, services.config.moves)
    answer = None if barred else await ask(url)
    if answer is None and not barred:
        return None  # the host has to rest: at the next poll
    proof = None
    if answer is not None and isinstance(answer.verdict, Fresh) and answer.settled_url == url:
        proof = await prove_same(feed, answer.verdict.document, services, by_entries=False)
    if proof is not None and has_enough_sightings(candidate, services.config.moves):
        return await following.adopt(url, proof)
    await services.store.save_move_candidate(
        feed.id, candidate if proof is not None else _unless_https(feed.move), https_probed_at=now
    )
    return None


def _unless_https(candidate: MoveCandidate | None) -> MoveCandidate | None:
    return None if candidate is None or candidate.source == "https" else candidate


def _is_worth(candidate: MoveCandidate, now: datetime) -> bool:
    """Whether it may be looked at now: not within its pause."""
    return candidate.retry_at is None or now >= candidate.retry_at
