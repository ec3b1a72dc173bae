"""Working one lane: the due feeds of a host, one after the other, at the pace it wants (D24).

A lane is leased. The deadline is kept on the monotonic clock from before the claim, no request is
started that could outlast it, and a commit under a lost lease writes nothing. A pause that the host
asks for is stored before anything else: whoever has the lane after a crash knows of it.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from msgspec.structs import replace

from feedmill.engine.documents.fetch_document import Answer, outcome_of
from feedmill.engine.moves.detect import is_same_host
from feedmill.engine.moves.follow import apply_move
from feedmill.engine.moves.probe import probe_in_lane, probe_other_host
from feedmill.engine.poll.refresh import refresh
from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.engine.run.retry import Backoff, retry
from feedmill.engine.run.services import Services
from feedmill.errors import FeedmillError
from feedmill.model.feed import Claim, Feed, HostPace
from feedmill.model.refresh import Refresh
from feedmill.model.schedule import Outcome
from feedmill.schedule.host_pace import (
    host_wait_sec,
    is_incident,
    limited_until,
    pace_after,
    pause_until,
)

_SPARE_SEC: Final = 5.0  # what a lease lasts beyond a fetch: for reading and committing it
# Timers of the event loop count in milliseconds and round: one may ring half of one too early.
_TIMER_SEC: Final = 0.001


class LaneWorker:
    """One claim being worked: its pace as it changes, and the feeds left for later."""

    def __init__(
        self,
        claim: Claim,
        services: Services,
        watch: Lifecycle,
        *,
        claimed_at: float,
        forced: bool = False,
    ) -> None:
        self.claim = claim
        self.services = services
        self.watch = watch
        self.forced = forced
        self.pace: HostPace = claim.lane.pace
        self.deadline = claimed_at + services.config.run.lease_sec
        self.left = {feed.id for feed in claim.feeds}
        self.unsettled: set[str] = set()  # asked, but what came of it was not committed
        self.trouble = Backoff("write", watch)

    async def run(self) -> None:
        """Poll what is due, then hand the lane back with the feeds that have to wait."""
        try:
            for feed, scheduled_at in self._runs():
                if self._is_limited(feed):
                    continue
                if not await self._may_go_on():
                    break
                self.left.discard(feed.id)
                self.unsettled.add(feed.id)
                if not await self._poll(feed, scheduled_at):
                    break
        finally:
            await self._hand_back()

    def _runs(self) -> Iterator[tuple[Feed, datetime]]:
        return zip(self.claim.feeds, self.claim.scheduled_at, strict=True)

    async def _poll(self, feed: Feed, scheduled_at: datetime) -> bool:
        """One refresh, committed; False when the lane has to rest or is not ours any more.

        A fault of our own costs this run of this feed and nothing else: its next run was
        persisted with the claim. Only a store or a disk that fails ends the work.
        """
        try:
            result = await refresh(
                feed,
                scheduled_at=scheduled_at,
                lane=self.claim.lane,
                services=self.services,
                forced=self.forced,
                charged=not self._is_canary(feed),
            )
            if not await self._settle(feed, result):
                return False
            await self._follow(result)
        except FeedmillError as problem:
            if problem.reason != FeedmillError.reason:
                raise
            self.watch.on_crash(feed, problem)
        except Exception as problem:  # noqa: BLE001  # the edge of the task: told, counted, survived
            self.watch.on_crash(feed, problem)
        return True

    async def _hand_back(self) -> None:
        """Release the lane; when that fails for long, its lease ends by itself."""
        kept = self.left | self.unsettled
        left = [(f.id, self._due_at(f, at)) for f, at in self._runs() if f.id in kept]
        await retry(
            lambda: self.services.store.release(
                self.claim.lane, self.pace, now=self.services.clock.now(), deferred=left
            ),
            self.trouble,
            has_time=self._is_ours,
        )

    async def _may_go_on(self) -> bool:
        """Wait for the host's gap if that is short; False when the rest has to wait longer.

        How long is asked of the wall clock once and waited by the monotonic one (H32).
        """
        await self._hear_of_the_others()
        wait = host_wait_sec(self.pace, self.services.clock.now())
        if self.watch.is_stopping() or wait > self._max_gap_wait():
            return False
        if wait > 0:
            await self.watch.sleep_unless_stopping(wait + _TIMER_SEC)
        return not self.watch.is_stopping() and await self._has_time()

    async def _hear_of_the_others(self) -> None:
        """Take over a pause that another lane of this host was asked for."""
        if not self.claim.lane.has_siblings:
            return
        stored = await self.services.store.host_pace(self.claim.feeds[0].url)
        if stored is None or stored.blocked_reason is None or stored.next_ok_at is None:
            return
        if self.pace.next_ok_at is None or self.pace.next_ok_at < stored.next_ok_at:
            self.pace = replace(
                self.pace, next_ok_at=stored.next_ok_at, blocked_reason=stored.blocked_reason
            )

    def _is_limited(self, feed: Feed) -> bool:
        """The feed has a Retry-After of its own; the others of its host go on."""
        return limited_until(self.pace, feed.url, self.services.clock.now()) is not None

    def _due_at(self, feed: Feed, scheduled_at: datetime) -> datetime:
        """When a feed that was not polled is due: as before, or when its own pause is over.

        One that was asked in vain (we were told to stop, the disk was full) waits an interval.
        """
        if feed.id in self.unsettled:
            return self.services.clock.now() + timedelta(seconds=feed.schedule.interval_sec)
        return limited_until(self.pace, feed.url, self.services.clock.now()) or scheduled_at

    async def _has_time(self) -> bool:
        """True when a whole fetch fits into the lease; it is renewed when it does not.

        Renewing is asking, and the answer may be old news when it is read: what counts is how long
        the lease lasts from now.
        """
        fetch_sec = self.services.config.fetch.timeout_ms / 1000
        needed = fetch_sec + _SPARE_SEC
        if self.deadline - self.services.clock.monotonic() >= needed:
            return True
        lease = self.services.config.run.lease_sec
        began = self.services.clock.monotonic()
        until = self.services.clock.now() + timedelta(seconds=lease)
        held = await self.services.store.renew(
            self.claim.lane, owner=self.watch.owner, until=until, feeds=sorted(self.left)
        )
        if not held:
            self.watch.on_lease_lost(self.claim.lane.key)
            return False
        self.deadline = began + lease
        left = self.deadline - self.services.clock.monotonic()
        return lease >= needed and left >= fetch_sec + _SPARE_SEC / 2

    async def _settle(self, feed: Feed, result: Refresh) -> bool:
        """Learn the host's pace, commit, and tell; False when the lane is not ours any more."""
        outcome = _outcome_of(result)
        await self._learn(feed.url, outcome, result.fetch.fetched_at)
        committed = await retry(
            lambda: self.services.store.commit(result), self.trouble, has_time=self._is_ours
        )
        self.unsettled.discard(feed.id)
        self.watch.on_refresh(feed, result, committed)
        return not committed.fenced and not self._is_incident(outcome)

    async def _learn(self, url: str, outcome: Outcome, ended_at: datetime) -> None:
        """Take over what an answer says about the host; a pause binds everybody from now on."""
        self.pace = pace_after(
            self.pace, url, outcome, ended_at=ended_at, config=self.services.config.host
        )
        until, reason = pause_until(self.pace, ended_at=ended_at), self.pace.blocked_reason
        if until is not None:
            await retry(
                lambda: self.services.store.limit_host(url, until, reason),
                self.trouble,
                has_time=self._is_ours,
            )

    async def _follow(self, result: Refresh) -> None:
        """See to where the feed lives, now that its poll is committed (D6)."""
        feed = result.feed

        async def ask_here(url: str) -> Answer | None:
            if not is_same_host(feed.url, url):
                return (
                    await probe_other_host(url, feed, self.services)
                    if await self._has_time()
                    else None
                )
            if limited_until(self.pace, url, self.services.clock.now()) is not None:
                return None
            if not await self._may_go_on():
                return None
            answered = await probe_in_lane(url, feed, self.services)
            await self._learn(url, outcome_of(answered.verdict), answered.at)
            return answered

        await apply_move(feed, self.services, ask=ask_here, lane=self.claim.lane)

    def _is_ours(self) -> bool:
        """True while the lease lasts; then somebody else may work the lane."""
        return self.services.clock.monotonic() < self.deadline

    def _is_canary(self, feed: Feed) -> bool:
        """The host is in trouble, and this feed looks if it still is: not at its own cost.

        Where the failures in a row are all its own, the host has no other feed to blame it on.
        """
        in_trouble = self.pace.failures >= self.services.config.host.incident_after
        return in_trouble and feed.schedule.consecutive_failures < self.pace.failures

    def _is_incident(self, outcome: Outcome) -> bool:
        """The host failed, not the feed: the others are spared (D24)."""
        return outcome.kind == "failed" and is_incident(
            self.pace, outcome.reason, self.services.config.host
        )

    def _max_gap_wait(self) -> float:
        return min(10.0, self.services.config.run.lease_sec / 4)


def _outcome_of(result: Refresh) -> Outcome:
    if result.decision is None:
        return Outcome(kind="unchanged")
    return result.decision.inputs.outcome
