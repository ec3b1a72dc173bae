"""A hub against a model of it: verifications get lost or forged, pings are doubled, out of order or forged, leases run out.

Whatever the order, an entry is stored exactly when a signed ping of a live subscription or a poll brought it, each is told
once, and a subscription is active only while its hub has verified it.
"""

import asyncio
from collections import Counter
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from tests.support.engine_harness import opened
from tests.support.feed_documents import item
from tests.support.push_harness import announcing, run_push_jobs, subscription

from feedmill.config import PushConfig
from feedmill.engine.push import receive, verify
from feedmill.push.hub import SIGNATURE, sign_delivery
from feedmill_demo.server.script import Answer

NUMBERS = st.integers(1, 6)
LEASE_SEC = 86_400
VERIFIED = ("asked", "active", "unverified")  # states in which a verification is expected
LIVE = ("asked", "active", "unverified", "failed")  # states in which pings are read


class HubModel(RuleBasedStateMachine):
    """One feed at one hub that misbehaves."""

    def __init__(self) -> None:
        super().__init__()
        self.stored: set[int] = set()
        self.rejected = 0
        self._loop, self._stack = asyncio.new_event_loop(), AsyncExitStack()
        home = Path(self._stack.enter_context(TemporaryDirectory()))
        push = PushConfig(public_url="http://127.0.0.1:9", pings_per_sec=0, hint_gap_sec=0)
        self.verify_sec = push.verify_sec
        self.stage = self.run(self._stack.enter_async_context(opened(home, push=push)))
        url = self.stage.publisher.url
        self.hub, self.topic = (url(one, host="127.0.0.1") for one in ("/hub", "/feed"))
        self.stage.publisher.script("/hub", Answer(status=202), host="127.0.0.1")
        self.feed = self.run(self.stage.add("/feed", self.document(1)))
        self.poll({1})
        self.run(run_push_jobs(self.stage))

    def run(self, work: Any) -> Any:  # of any coroutine
        return self._loop.run_until_complete(work)

    def teardown(self) -> None:
        try:
            self.run(self._stack.aclose())
        finally:
            self._loop.close()

    def document(self, *numbers: int) -> Answer:
        return announcing(*map(item, numbers), hub=self.hub, topic=self.topic)

    @property
    def known(self) -> Any:
        return self.run(subscription(self.stage, self.feed))

    @rule(numbers=st.sets(NUMBERS, min_size=1))
    def poll(self, numbers: set[int]) -> None:
        """A document of the feed; what is not in it any more stays stored."""
        self.stage.publish(self.feed, self.document(*sorted(numbers)))
        self.run(self.stage.poll(self.feed))
        self.stored |= numbers

    @rule(numbers=st.sets(NUMBERS, min_size=1), times=st.integers(1, 3))
    def deliver(self, numbers: set[int], times: int) -> None:
        """A ping, perhaps of older items, perhaps several times."""
        known, body = self.known, self.document(*sorted(numbers)).body
        for _ in range(times):
            status = self._ping(body, sign_delivery(body, known.secret))
            assert status == (202 if known.state in LIVE else 410)
        if known.state in LIVE:
            self.stored |= numbers

    @rule(
        numbers=st.sets(NUMBERS, min_size=1), signature=st.sampled_from(["", "sha256=00", "other"])
    )
    def forge(self, numbers: set[int], signature: str) -> None:
        """A ping that the hub did not sign is answered alike, and not read."""
        known, body = self.known, self.document(*sorted(numbers), 99).body
        if signature == "other":
            signature = sign_delivery(body, "another secret")
        assert self._ping(body, signature) == (202 if known.state in LIVE else 410)
        self.rejected += known.state in LIVE

    @rule(
        topic=st.sampled_from(["", "http://other.example/"]), challenge=st.sampled_from(["", "c"])
    )
    def verification(self, topic: str, challenge: str) -> None:
        """A verification, perhaps of another topic or without a challenge."""
        before = self.known
        status = self._callback("subscribe", topic or self.topic, challenge)
        is_right = not topic and bool(challenge) and before.state in VERIFIED
        assert status == (200 if is_right else 404)
        assert self.known.state == ("active" if is_right else before.state)

    @rule()
    def denial(self) -> None:
        assert self._callback("denied", self.topic, "") == 200
        assert self.known.state == "denied"

    @rule(hours=st.sampled_from([0.1, 1, 12, 30]))
    def time_passes(self, hours: float) -> None:
        """Due feeds are polled, then jobs run; the hub accepts every request and verifies none."""
        for _ in range(4):
            self.stage.later(hours=hours / 4)
            self.run(self.stage.pass_once())
            self.run(run_push_jobs(self.stage))

    @invariant()
    def each_entry_that_was_brought_is_stored_and_told_once(self) -> None:
        events = self.run(self.stage.events("new_entry"))
        titles = Counter(one.title for one in self.run(self.stage.entries()))
        assert titles == Counter({f"Title {number}": 1 for number in self.stored})
        assert len(events) == len({event.entry_uid for event in events}) == len(self.stored)
        assert self.known.rejected == self.rejected

    @invariant()
    def subscription_is_active_only_while_its_hub_has_verified_it(self) -> None:
        found, slack = self.known, timedelta(hours=10, seconds=self.verify_sec)
        if found.state == "active":
            assert found.verified_at is not None
            assert self.stage.clock.now() <= found.lease_until + slack

    def _ping(self, body: bytes, signature: str) -> int:
        signed = ((SIGNATURE, signature),) if signature else ()
        headers = (("Content-Type", "application/rss+xml"), *signed)
        answer = self.run(receive(self.known.token, headers, body, self.stage.services))
        return int(answer.status)

    def _callback(self, mode: str, topic: str, challenge: str) -> int:
        query = {"hub.mode": mode, "hub.topic": topic, "hub.lease_seconds": str(LEASE_SEC)}
        query |= {"hub.challenge": challenge} if challenge else {}
        return int(self.run(verify(self.known.token, query, self.stage.services)).status)


HubModel.TestCase.settings = settings(
    max_examples=8,
    stateful_step_count=15,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
TestHubModel = HubModel.TestCase
