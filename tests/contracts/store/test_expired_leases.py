"""What a lease that ran out leaves behind: a host that somebody may have asked until its end (D24)."""

from datetime import timedelta

import pytest
from tests.contracts.store.conftest import Tell
from tests.support.sample_refreshes import NOON, new_feed

from feedmill.engine.ports.store import Store
from feedmill.model.feed import Claim, HostPace

LEASE_SEC = 20.0


@pytest.mark.parametrize(("slow_down", "rest_sec"), [(1.0, 30), (2.0, 60)])
def test_the_gap_of_a_host_counts_from_the_end_of_a_lease_that_ran_out(
    tell: Tell, slow_down: float, rest_sec: int
) -> None:
    async def story(store: Store) -> None:
        for number in (1, 2, 3):
            await store.add_feed(new_feed(number, host="slow.example"))
        (claim,) = await _claim(store, "first", 0)
        await store.release(claim.lane, HostPace(gap_ms=30_000, slow_down=slow_down), now=NOON)
        assert await _claim(store, "dies", 100)
        ends = 100 + LEASE_SEC

        early = await _claim(store, "next", ends + rest_sec - 1)
        due_at = await store.next_due_at()
        (late,) = await _claim(store, "next", ends + rest_sec)

        assert early == ()
        assert due_at == NOON + timedelta(seconds=ends + rest_sec)
        assert len(late.feeds) == 1

    tell(story)


async def _claim(store: Store, owner: str, after_sec: float) -> tuple[Claim, ...]:
    now = NOON + timedelta(seconds=after_sec)
    return await store.claim(owner, now=now, lease_sec=LEASE_SEC, max_lanes=9, max_feeds=1)
