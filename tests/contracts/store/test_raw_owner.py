"""The id of a store, evidence for the sweep, and bodies that were indexed again."""

from datetime import UTC, datetime, timedelta

from tests.contracts.store.conftest import Tell
from tests.support.sample_refreshes import blob_ref

from feedmill.engine.ports.store import Store

NOON = datetime(2025, 10, 14, 12, 0, tzinfo=UTC)


def test_identity_is_made_once_and_stays(tell: Tell) -> None:
    async def story(store: Store) -> None:
        first = await store.store_identity()
        await store.confirm_raw_place("s3://bucket/prefix")

        again = await store.store_identity()

        assert len(first.id) == 32
        assert first.raw_place is None
        assert (again.id, again.raw_place) == (first.id, "s3://bucket/prefix")

    tell(story)


def test_segments_are_released_by_removed_and_by_moved_pointers(tell: Tell) -> None:
    async def story(store: Store) -> None:
        one, two, three = (blob_ref(name * 64, segment=f"s{name}") for name in "abc")
        await store.adopt_blobs([one, two, three], now=NOON)
        assert await store.segments_in_use() == {"sa", "sb", "sc"}
        assert await store.released_segments() == frozenset()

        await store.delete_blobs([one.sha256])
        await store.move_blobs([blob_ref(two.sha256, segment="packed")])

        assert await store.released_segments() == {"sa", "sb"}
        assert await store.segments_in_use() == {"packed", "sc"}
        await store.forget_released(["sa", "gone"])
        assert await store.released_segments() == {"sb"}

    tell(story)


def test_adopted_body_is_kept_by_age_and_a_known_one_stays_where_it_is(tell: Tell) -> None:
    async def story(store: Store) -> None:
        ref = blob_ref("a" * 64)

        assert await store.adopt_blobs([ref], now=NOON) == 1
        assert await store.adopt_blobs([blob_ref("a" * 64, segment="other")], now=NOON) == 0

        assert await store.blob(ref.sha256) == ref
        assert await store.known_blobs([ref.sha256, "b" * 64]) == {ref.sha256: "0001"}
        kept = await store.expired_blobs(keep_last=1, before=NOON - timedelta(days=90))
        spent = await store.expired_blobs(keep_last=1, before=NOON + timedelta(seconds=1))
        assert (kept, spent) == ((), (ref.sha256,))

    tell(story)
