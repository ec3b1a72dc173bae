"""What one of many does at a time: whose turn it is, on every kind of store."""

import asyncio
from datetime import UTC, datetime, timedelta

from tests.contracts.store.conftest import Tell

from feedmill.engine.ports.store import Store

NOON = datetime(2025, 10, 14, 12, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)


def test_a_lease_belongs_to_one_until_it_ends_by_itself(tell: Tell) -> None:
    async def story(store: Store) -> None:
        assert await store.take_lease("purge", "a", now=NOON, until=NOON + HOUR)

        assert not await store.take_lease("purge", "b", now=NOON, until=NOON + HOUR)
        assert await store.take_lease("other", "b", now=NOON, until=NOON + HOUR)
        assert await store.take_lease("purge", "b", now=NOON + HOUR, until=NOON + 2 * HOUR)
        assert not await store.take_lease("purge", "a", now=NOON + HOUR, until=NOON + 2 * HOUR)

    tell(story)


def test_whoever_has_a_lease_holds_it_longer_or_gives_it_back(tell: Tell) -> None:
    async def story(store: Store) -> None:
        await store.take_lease("purge", "a", now=NOON, until=NOON + HOUR)
        assert await store.take_lease("purge", "a", now=NOON, until=NOON + 3 * HOUR)
        assert not await store.take_lease("purge", "b", now=NOON + HOUR, until=NOON + 2 * HOUR)

        await store.release_lease("purge", "b")  # not theirs: nothing happens
        assert not await store.take_lease("purge", "b", now=NOON, until=NOON + HOUR)
        await store.release_lease("purge", "a")
        assert await store.take_lease("purge", "b", now=NOON, until=NOON + HOUR)

    tell(story)


def test_of_many_who_ask_at_once_one_gets_it(tell: Tell) -> None:
    async def story(store: Store) -> None:
        asked = [
            store.take_lease("purge", f"worker {n}", now=NOON, until=NOON + HOUR) for n in range(20)
        ]

        assert sum(await asyncio.gather(*asked)) == 1

    tell(story)
