"""Polls the due feeds of one lane, one after the other: lanes, leases, fencing and politeness (D24).

    lane        The unit of work: the feeds of one host (a large host is split into several lanes).
                Feeds of one lane are polled one at a time; lanes are polled concurrently, by any
                number of processes on one store.
    claim       The scheduler takes due lanes with their due feeds. In the same transaction each
                claimed feed gets its next run: if this process dies, the feed is late by one
                interval, not lost.
    lease       A claim holds its lane for `lease_sec`. The deadline is kept on the monotonic
                clock, from before the claim was sent, so it is never later than the store's. No
                request starts that could outlast it; a lease that is too short for the next
                request is renewed first, and none leaves after it: libcurl asks at the last
                moment, so a process that was stopped and continued does not ask beside its
                successor.
    fencing     Every lease has an epoch that grows with each claim. A commit carries the epoch of
                its lane; if another worker has claimed the lane since (this process was suspended,
                or its clock was wrong), the transaction writes nothing and the worker stops. So an
                entry is stored once however many workers polled it.
    politeness  `HostPace` travels with the lane: the gap between requests, the slow-down after
                errors, the time before which the host must not be asked. A 429 or Retry-After
                stops the lane and is stored before anything else, so that it holds after a crash
                and for the other lanes of the host. A 503 with Retry-After pauses its own URL
                first.
    incident    When several feeds of a host fail alike, the host failed: the lane pauses, its
                feeds are not charged with the failure, and after the pause one feed at a time
                tries again (the canary).
    release     At the end the lane goes back with its new pace and with the feeds that were not
                polled, where nothing is left in the transaction of the last poll; if that fails,
                the lease ends by itself.

A bug in one refresh costs that run of that feed; a store or disk error is retried while the lease
lasts, then ends the lane. Pure decisions about pace: schedule/host_pace.py. What one poll does:
refresh.py. Who claims: scheduler.py.
"""

import sys
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from msgspec.structs import replace

from feedmill.engine.documents.fetch_document import (
    Answer,
    outcome_of,
    probe_in_lane,
    probe_other_host,
)
from feedmill.engine.documents.unscheduled import commit_unscheduled
from feedmill.engine.moves.detect import is_same_host, may_follow
from feedmill.engine.moves.follow import apply_move
from feedmill.engine.poll.fetch_record import begin_poll, redate
from feedmill.engine.poll.refresh import refresh
from feedmill.engine.run.lane_lease import LaneLease
from feedmill.engine.run.lifecycle import Lifecycle, retry
from feedmill.engine.run.memory_budget import MemoryBudget
from feedmill.engine.run.services import Services
from feedmill.errors import DAMAGE, FeedmillError, NotSentError
from feedmill.model.feed import Claim, Feed, HostPace
from feedmill.model.refresh import Committed, Refresh
from feedmill.model.schedule import Outcome
from feedmill.observe.traces import Facts, current_trace, span
from feedmill.publish.events import event_of_host
from feedmill.schedule.host_pace import host_of_lane, host_state, is_incident, mark_trouble

_CROWDED_WAIT: Final = timedelta(seconds=15)  # for a feed that is large, while many are under way


class LaneWorker:
    """One claimed lane: its lease, and the feeds that are left."""

    def __init__(
        self,
        claim: Claim,
        services: Services,
        lifecycle: Lifecycle,
        *,
        claimed_at: float,
        forced: bool = False,
        polled: set[str] | None = None,  # feeds that are not polled again; those polled are added
    ) -> None:
        self.claim = claim
        self.polled = polled
        self.services = services
        self.lifecycle = lifecycle
        self.forced = forced
        self.claimed_at = claimed_at
        url = claim.feeds[0].url
        self.lease = LaneLease(claim.lane, url, services, lifecycle, claimed_at=claimed_at)
        self.left = {feed.id for feed in claim.feeds}
        self._memory = services.memory or MemoryBudget(sys.maxsize)
        self.uncommitted: set[str] = set()  # polled, but not committed
        self.crowded: set[str] = set()  # large, and too many of those are under way

    @property
    def pace(self) -> HostPace:
        """How the host is treated now."""
        return self.lease.pace

    async def run(self) -> None:
        """Poll what is due, then release the lane with the feeds that have to wait."""
        try:
            for feed, scheduled_at in self._runs():
                if self.polled is not None and feed.id in self.polled:
                    continue
                if self.lease.limited_until(feed.url) is not None or self._is_crowded(feed):
                    continue
                if not await self.lease.may_send(left=self.left):
                    break
                self.left.discard(feed.id)
                self.uncommitted.add(feed.id)
                if self.polled is not None:
                    self.polled.add(feed.id)
                if not await self._poll(feed, scheduled_at):
                    break
        finally:
            await self._release()

    def _is_crowded(self, feed: Feed) -> bool:
        if is_crowded := not self.forced and self._memory.is_crowded(feed.id):
            self.crowded.add(feed.id)
        return is_crowded

    def _runs(self) -> Iterator[tuple[Feed, datetime]]:
        return zip(self.claim.feeds, self.claim.scheduled_at, strict=True)

    async def _poll(self, feed: Feed, scheduled_at: datetime) -> bool:
        """One poll, as one trace where traces are on; False when the lane has to pause."""
        if self.services.traces is None:
            return await self._refresh(feed, scheduled_at)
        waited_sec = self.services.clock.monotonic() - self.claimed_at
        of_lane: Facts = {"feedmill.lane": self.claim.lane.key, "feedmill.forced": self.forced}
        with begin_poll(self.services.traces, feed, scheduled_at, waited_sec, of_lane):
            return await self._refresh(feed, scheduled_at)

    async def _refresh(self, feed: Feed, scheduled_at: datetime) -> bool:
        """One refresh, committed; False when the lane has to pause or its lease is lost.

        A bug of our own, a damaged row or a damaged page costs this run of this feed and nothing else: its next run
        was stored with the claim. Only a store or a disk error ends the work.
        """
        try:
            return await self._refresh_within(self._memory, feed, scheduled_at)
        except NotSentError:  # this process was stopped, and its lease is over
            if feed.id in self.uncommitted:  # else it was the look at a new address
                self.left.add(feed.id)
                self.uncommitted.discard(feed.id)
            self.lifecycle.on_lease_lost(self.claim.lane.key)
            return False
        except FeedmillError as problem:
            if problem.reason not in (FeedmillError.reason, *DAMAGE):
                raise
            self._on_crash(feed, problem)
        except Exception as problem:  # noqa: BLE001  # the edge of the task: logged, counted, survived
            self._on_crash(feed, problem)
        return True

    async def _refresh_within(
        self, budget: MemoryBudget, feed: Feed, scheduled_at: datetime
    ) -> bool:
        began = self.services.clock.monotonic()
        with budget.share(feed.id, lambda: self.lease.keep(left=self.left)) as memory:
            try:
                result = await refresh(
                    feed,
                    scheduled_at=scheduled_at,
                    lane=self.claim.lane,
                    services=self.services,
                    forced=self.forced,
                    charged=not self._is_canary(feed),
                    late_sec=self._late_sec(scheduled_at),
                    send_before=self.lease.deadline,
                    memory=memory,
                )
            finally:
                self.lease.stop_keeping()
            follows = may_follow(result.feed, result.fetch.fetched_at, self.services.config.moves)
            if not await self._commit(feed, result, began, is_last=not follows and not self.left):
                return False
        if follows:
            await self._follow(result)
        return True

    def _on_crash(self, feed: Feed, problem: Exception) -> None:
        if (trace := current_trace()) is not None:
            trace.fail(type(problem).__name__)
        self.lifecycle.on_crash(feed.id, feed.url, problem)

    def _late_sec(self, scheduled_at: datetime) -> float:
        """How long the feed has waited for its lane; time before this process began does not count."""
        due_at = max(scheduled_at, self.lifecycle.started_at or scheduled_at)
        return max(0.0, (self.services.clock.now() - due_at).total_seconds())

    async def _release(self) -> None:
        """Release the lane; when that fails for long, its lease ends by itself."""
        kept = self.left | self.uncommitted
        left = [(f.id, self._due_at(f, at)) for f, at in self._runs() if f.id in kept]
        await self.lease.release(left)

    def _due_at(self, feed: Feed, scheduled_at: datetime) -> datetime:
        """When a feed that was not polled is due: as before, or when its own pause is over.

        One that was polled in vain (the run had to stop, the disk was full) waits an interval.
        """
        if feed.id in self.crowded:
            return self.services.clock.now() + _CROWDED_WAIT
        if feed.id in self.uncommitted:
            return self.services.clock.now() + timedelta(seconds=feed.schedule.interval_sec)
        return self.lease.limited_until(feed.url) or scheduled_at

    async def _commit(self, feed: Feed, result: Refresh, began: float, *, is_last: bool) -> bool:
        """Update the host's pace, commit, and report; False when the lane has to pause or is lost.

        What `is_last` to need the lane gives it back in the same transaction.
        """
        outcome, result = _outcome_of(result), self._redated(result, began)
        before = self.lease.pace
        await self.lease.update_pace(feed.url, outcome, result.fetch.fetched_at)
        result = self._with_host_event(before, feed, result)
        if is_last and self.uncommitted == {feed.id}:
            result = replace(result, release=self.lease.pace)
        with span("store") as storing:
            committed = await retry(
                lambda: self._commit_once(self._redated(result, began)),
                self.lease.backoff,
                has_time=self.lease.is_leased,
            )
            storing.describe(_commit_facts, committed)
        self.uncommitted.discard(feed.id)
        if result.release is not None and not committed.fenced and not committed.duplicate:
            self.lease.is_released = True
        self.lifecycle.on_refresh(feed, result, committed)
        return not committed.fenced and not self._is_incident(outcome)

    async def _commit_once(self, result: Refresh) -> Committed:
        """Commit the run, unless it is committed already.

        A feed has one fetch per instant (D26). When a ping or an archive page came at the very instant for which
        the poll was scheduled, the poll is stored a moment later.
        """
        store = self.services.store
        done = await store.commit(result)
        if done.duplicate and await store.fetch(result.fetch.fetch_id) is None:
            return await commit_unscheduled(result, store)
        return done

    def _with_host_event(self, before: HostPace, feed: Feed, result: Refresh) -> Refresh:
        """The refresh with an event of the host, when this answer changed its state (D24)."""
        at, config = result.fetch.fetched_at, self.services.config.host
        pace = self.lease.pace = mark_trouble(before, self.lease.pace, feed.id, at=at)
        was, now = host_state(before, config), host_state(pace, config)
        if was == now:
            return result
        event = event_of_host(host_of_lane(self.claim.lane.key), was, now, pace, now=at)
        return replace(result, events=(*result.events, event))

    def _redated(self, result: Refresh, began: float) -> Refresh:
        """The result in the time of a clock that was set while the poll was under way (H32)."""
        clock = self.services.clock
        return redate(result, clock.now(), timedelta(seconds=clock.monotonic() - began))

    async def _follow(self, result: Refresh) -> None:
        """Follow the feed to its new address, now that its poll is committed (D6)."""
        feed = result.feed

        async def probe(url: str) -> Answer | None:
            if not is_same_host(feed.url, url):
                if not await self.lease.has_time(left=self.left):
                    return None
                before = self.lease.deadline
                return await probe_other_host(url, feed, self.services, send_before=before)
            if self.lease.limited_until(url) is not None:
                return None
            if not await self.lease.may_send(left=self.left):
                return None
            answer = await probe_in_lane(url, feed, self.services, send_before=self.lease.deadline)
            await self.lease.update_pace(url, outcome_of(answer.verdict), answer.at)
            return answer

        await apply_move(feed, self.services, ask=probe, lane=self.claim.lane)

    def _is_canary(self, feed: Feed) -> bool:
        """The host fails, and this feed is the one that tries it: without being charged.

        Where the failures in a row are all its own, the host has no other feed to blame it on.
        """
        host_fails = self.pace.failures >= self.services.config.host.incident_after
        return host_fails and feed.schedule.consecutive_failures < self.pace.failures

    def _is_incident(self, outcome: Outcome) -> bool:
        """The host failed, not the feed: the others are spared (D24)."""
        return outcome.kind == "failed" and is_incident(
            self.pace, outcome.reason, self.services.config.host
        )


def _commit_facts(committed: Committed) -> Facts:
    return {"feedmill.fenced": committed.fenced, "feedmill.last_seq": committed.last_seq}


def _outcome_of(result: Refresh) -> Outcome:
    if result.decision is None:
        return Outcome(kind="unchanged")
    return result.decision.inputs.outcome
