"""Background jobs: queue, claims with lanes, leases, fencing, budgets, on every kind of store."""

import asyncio
from datetime import timedelta

import pytest
from msgspec.structs import replace
from tests.contracts.store.conftest import Tell
from tests.support.sample_refreshes import (
    HOUR,
    NOON,
    a_refresh,
    an_entry,
    claim_all,
    new_feed,
    read,
)

from feedmill.engine.ports.store import Store
from feedmill.model.running.job import (
    Job,
    JobClaim,
    JobFilter,
    JobLimit,
    JobSettlement,
    JobState,
    JobStep,
    NewJob,
)

SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)
ANY = (JobLimit(kind="walk"), JobLimit(kind="look"))
WALK = NewJob(kind="walk", key="a", payload={"depth": 3})


def at_host(key: str, host: str = "blog.example", **more: object) -> NewJob:
    return replace(NewJob(kind="walk", key=key, url=f"https://{host}/{key}"), **more)


async def claim(
    store: Store,
    owner: str = "one",
    *,
    now: object = NOON,
    limits: tuple[JobLimit, ...] = ANY,
    max_jobs: int = 10,
) -> tuple[JobClaim, ...]:
    assert isinstance(now, type(NOON))
    return await store.claim_jobs(owner, limits, now=now, until=now + MINUTE, max_jobs=max_jobs)


def settled(
    claimed: JobClaim, state: JobState = "done", *, after: timedelta = 0 * SECOND, **more: object
) -> JobSettlement:
    job = claimed.job
    made = JobSettlement(
        job_id=job.id, epoch=job.epoch, at=NOON, state=state, not_before=NOON + after, attempts=0
    )
    return replace(made, **more)


async def stored(store: Store, job: Job) -> Job:
    found = await store.job(job.id)
    assert found is not None
    return found


def test_job_is_queued_once_per_kind_and_key(tell: Tell) -> None:
    async def story(store: Store) -> None:
        first, is_new = await store.add_job(WALK, now=NOON)
        again, is_new_again = await store.add_job(replace(WALK, payload={}), now=NOON + HOUR)
        other, _ = await store.add_job(replace(WALK, kind="look"), now=NOON)

        assert (is_new, is_new_again) == (True, False)
        assert again == first
        assert first.payload == {"depth": 3}
        assert first.state == "queued"
        assert other.id != first.id
        assert await store.find_job("walk", "a") == first
        assert await store.find_job("walk", "b") is None
        assert await store.job(99) is None

    tell(story)


def test_ended_job_begins_anew_only_when_told_to(tell: Tell) -> None:
    async def story(store: Store) -> None:
        await store.add_job(WALK, now=NOON)
        (claimed,) = await claim(store)
        await store.settle_job(settled(claimed, cursor={"page": 7}, last_error="old"))

        kept, queued = await store.add_job(WALK, now=NOON + HOUR)
        assert (kept.state, queued) == ("done", False)

        anew, queued = await store.add_job(WALK, now=NOON + HOUR, restart=True)
        assert (anew.state, queued) == ("queued", True)
        assert (anew.cursor, anew.attempts, anew.last_error, anew.ended_at) == ({}, 0, "", None)
        _, queued = await store.add_job(WALK, now=NOON + HOUR, restart=True)
        assert not queued

    tell(story)


def test_claim_takes_due_jobs_by_priority_and_only_of_its_kinds(tell: Tell) -> None:
    async def story(store: Store) -> None:
        await store.add_job(replace(WALK, key="late", not_before=NOON + SECOND), now=NOON)
        await store.add_job(replace(WALK, key="normal"), now=NOON)
        await store.add_job(replace(WALK, key="urgent", priority=1), now=NOON)
        await store.add_job(replace(WALK, key="other", kind="sleep"), now=NOON)

        claims = await claim(store, max_jobs=1)
        claims += await claim(store)

        assert [one.job.key for one in claims] == ["urgent", "normal"]
        running = claims[0].job
        assert (running.state, running.owner, running.attempts, running.steps) == (
            "running", "one", 1, 1,
        )  # fmt: skip
        assert running.lease_until == NOON + MINUTE
        assert await claim(store, "two") == ()
        assert await store.next_job_at(["walk"]) == NOON + SECOND
        assert await store.next_job_at(["sleep"]) == NOON
        assert await store.next_job_at(["nothing"]) is None

    tell(story)


def test_of_many_processes_one_gets_each_job(tell: Tell) -> None:
    async def story(store: Store) -> None:
        for number in range(8):
            await store.add_job(replace(WALK, key=f"{number}"), now=NOON)

        found = await asyncio.gather(*(claim(store, f"p{n}", max_jobs=3) for n in range(4)))
        more = await claim(store, "last")

        ids = [one.job.id for claims in (*found, more) for one in claims]
        assert len(ids) == len(set(ids)) == 8

    tell(story)


def test_again_keeps_cursor_progress_and_address_of_the_next_step(tell: Tell) -> None:
    async def story(store: Store) -> None:
        job, _ = await store.add_job(at_host("1"), now=NOON)
        (claimed,) = await claim(store)
        assert claimed.lane is not None
        await store.release(claimed.lane, claimed.lane.pace, now=NOON)

        assert await store.settle_job(
            settled(
                claimed,
                "queued",
                after=HOUR,
                cursor={"page": 2},
                progress={"pages": 1},
                url="https://other.example:8080/2",
            )
        )

        after = await stored(store, job)
        assert (after.state, after.cursor, after.progress) == ("queued", {"page": 2}, {"pages": 1})
        assert (after.url, after.host) == ("https://other.example:8080/2", "other.example:8080")
        assert (after.owner, after.lease_until, after.not_before) == (None, None, NOON + HOUR)
        assert after.attempts == 0
        assert await claim(store) == ()
        (resumed,) = await claim(store, now=NOON + HOUR)
        assert resumed.job.cursor == {"page": 2}

    tell(story)


def test_expired_lease_is_claimed_anew_and_the_first_holder_writes_nothing(tell: Tell) -> None:
    async def story(store: Store) -> None:
        await store.add_job(WALK, now=NOON)
        (lost,) = await claim(store, "one")
        assert await store.renew_job(lost, owner="one", until=NOON + 2 * MINUTE)
        assert await claim(store, "two", now=NOON + MINUTE) == ()

        (taken,) = await claim(store, "two", now=NOON + 2 * MINUTE)

        assert taken.job.attempts == 2
        assert taken.job.last_error.startswith("lease-expired")
        assert not await store.renew_job(lost, owner="one", until=NOON + HOUR)
        assert not await store.settle_job(settled(lost))
        assert await store.settle_job(settled(taken))

    tell(story)


def test_job_whose_process_dies_each_time_fails_in_the_end(tell: Tell) -> None:
    async def story(store: Store) -> None:
        job, _ = await store.add_job(WALK, now=NOON)
        limits = (JobLimit(kind="walk", max_attempts=3),)

        begun = [
            len(await claim(store, now=NOON + number * MINUTE, limits=limits))
            for number in range(5)
        ]

        assert begun == [1, 1, 1, 0, 0]
        ended = await stored(store, job)
        assert (ended.state, ended.attempts) == ("failed", 3)
        assert ended.ended_at == NOON + 3 * MINUTE

    tell(story)


def test_cancelled_job_is_not_claimed_and_a_running_step_writes_nothing(tell: Tell) -> None:
    async def story(store: Store) -> None:
        waiting, _ = await store.add_job(replace(WALK, key="w", not_before=NOON + HOUR), now=NOON)
        job, _ = await store.add_job(WALK, now=NOON)
        (running,) = await claim(store)

        assert await store.cancel_job(waiting.id, now=NOON)
        assert await store.cancel_job(job.id, now=NOON)
        assert not await store.cancel_job(job.id, now=NOON)

        assert not await store.renew_job(running, owner="one", until=NOON + HOUR)
        assert not await store.settle_job(settled(running))
        assert await claim(store, now=NOON + 2 * HOUR) == ()
        assert {(await stored(store, one)).state for one in (waiting, job)} == {"cancelled"}

    tell(story)


def test_retried_job_goes_on_where_it_was(tell: Tell) -> None:
    async def story(store: Store) -> None:
        job, _ = await store.add_job(WALK, now=NOON)
        assert not await store.retry_job(job.id, now=NOON)
        (claimed,) = await claim(store)
        failed = settled(claimed, "failed", cursor={"page": 4}, last_error="not-found", attempts=8)
        await store.settle_job(failed)

        assert await store.retry_job(job.id, now=NOON + HOUR)

        (anew,) = await claim(store, now=NOON + HOUR)
        assert (anew.job.cursor, anew.job.attempts, anew.job.ended_at) == ({"page": 4}, 1, None)

    tell(story)


def test_job_at_a_host_waits_for_due_feeds_of_the_host(tell: Tell) -> None:
    async def story(store: Store) -> None:
        await store.add_feed(new_feed(1, host="blog.example"))
        await store.add_job(at_host("1"), now=NOON)
        await store.add_job(at_host("2", "other.example"), now=NOON)

        (other,) = await claim(store)
        assert other.job.key == "2"

        (polling,) = await claim_all(store)
        assert await claim(store) == ()  # the lane is held by a poll
        await store.release(polling.lane, polling.lane.pace, now=NOON)
        (now_free,) = await claim(store)
        assert now_free.job.key == "1"
        assert now_free.lane is not None
        assert now_free.lane.key == "blog.example"

    tell(story)


def test_job_holds_its_lane_so_that_no_feed_of_the_host_is_polled_beside_it(tell: Tell) -> None:
    async def story(store: Store) -> None:
        await store.add_feed(replace(new_feed(1, host="blog.example"), next_poll_at=NOON + SECOND))
        await store.add_job(at_host("1"), now=NOON)
        await store.add_job(at_host("2"), now=NOON)

        (held,) = await claim(store)
        assert held.lane is not None
        assert await claim_all(store, now=NOON + 2 * SECOND) == ()
        assert await claim(store, "two") == ()

        pause = replace(held.lane.pace, next_ok_at=NOON + MINUTE, blocked_reason="rate-limited")
        await store.release(held.lane, pause, now=NOON)
        assert await claim(store, "two", now=NOON + 2 * SECOND) == ()
        assert await store.next_job_at(["walk"]) == NOON + MINUTE
        assert await claim_all(store, now=NOON + 2 * SECOND) == ()
        (polling,) = await claim_all(store, now=NOON + MINUTE)
        assert [feed.id for feed in polling.feeds] == ["feed-00000001"]

    tell(story)


def test_lane_of_a_job_whose_process_died_is_free_after_the_lease(tell: Tell) -> None:
    async def story(store: Store) -> None:
        await store.add_job(at_host("1"), now=NOON)
        (lost,) = await claim(store)
        assert lost.lane is not None

        later = NOON + MINUTE + 5 * SECOND  # and the host's gap after the lease
        assert await claim_all(store, now=later) == ()
        (anew,) = await claim(store, "two", now=later)

        assert anew.lane is not None
        assert anew.lane.epoch > lost.lane.epoch

    tell(story)


def test_budget_of_a_host_and_of_a_day_stop_claims_until_the_next_day(tell: Tell) -> None:
    async def story(store: Store) -> None:
        limits = (JobLimit(kind="walk", host_steps=2, day_steps=3),)
        for number in range(6):
            await store.add_job(at_host(f"{number}", f"h{number % 2}.example"), now=NOON)

        async def begun(day: int) -> list[str | None]:
            hosts = []
            for number in range(6):
                now = NOON + timedelta(days=day) + number * 5 * SECOND
                for one in await claim(store, now=now, limits=limits, max_jobs=1):
                    assert one.lane is not None
                    await store.settle_job(settled(one))
                    await store.release(one.lane, one.lane.pace, now=now)
                    hosts.append(one.job.host)
            return hosts

        assert await begun(0) == ["h0.example", "h1.example", "h0.example"]
        assert len(await begun(1)) == 3

    tell(story)


def test_cursor_is_written_with_the_entries_of_a_document(tell: Tell) -> None:
    async def story(store: Store) -> None:
        feed, _ = await store.add_feed(new_feed(1, host="blog.example"))
        job, _ = await store.add_job(replace(WALK, feed_id=feed.id), now=NOON)
        (claimed,) = await claim(store)
        step = JobStep(
            job_id=job.id, epoch=claimed.job.epoch, cursor={"page": 2}, progress={"pages": 1}
        )
        page = a_refresh(feed, 1, at=NOON, changes=await read(store, feed, [an_entry("one")]))

        done = await store.commit(replace(page, job=step))

        after = await stored(store, job)
        assert not done.fenced
        assert (after.state, after.cursor, after.progress) == ("running", {"page": 2}, {"pages": 1})
        assert (await store.counts())["entries"] == 1

    tell(story)


@pytest.mark.parametrize("how", ["cancelled", "lost"])
def test_document_of_a_job_that_was_lost_is_not_stored(tell: Tell, how: str) -> None:
    async def story(store: Store) -> None:
        feed, _ = await store.add_feed(new_feed(1, host="blog.example"))
        job, _ = await store.add_job(replace(WALK, feed_id=feed.id), now=NOON)
        (claimed,) = await claim(store)
        step = JobStep(job_id=job.id, epoch=claimed.job.epoch, cursor={"page": 2})
        page = a_refresh(feed, 1, at=NOON, changes=await read(store, feed, [an_entry("one")]))
        if how == "cancelled":
            await store.cancel_job(job.id, now=NOON)
        else:
            await claim(store, "two", now=NOON + HOUR)

        done = await store.commit(replace(page, job=step))

        assert done.fenced
        assert (await store.counts())["entries"] == 0
        assert (await stored(store, job)).cursor == {}

    tell(story)


def test_jobs_are_queued_with_a_refresh(tell: Tell) -> None:
    async def story(store: Store) -> None:
        feed, _ = await store.add_feed(new_feed(1))
        (held,) = await claim_all(store)
        result = a_refresh(feed, 1, at=NOON, lane=held.lane)

        await store.commit(replace(result, jobs=(WALK, replace(WALK, kind="look"))))

        assert await store.find_job("walk", "a") is not None
        assert await store.find_job("look", "a") is not None

    tell(story)


def test_jobs_are_listed_newest_first_by_kind_state_and_feed(tell: Tell) -> None:
    async def story(store: Store) -> None:
        feed, _ = await store.add_feed(new_feed(1))
        for number in range(3):
            await store.add_job(replace(WALK, key=f"{number}"), now=NOON)
        own, _ = await store.add_job(NewJob(kind="look", key="f", feed_id=feed.id), now=NOON)

        page = await store.jobs(JobFilter(kind="walk"), limit=2)
        rest = await store.jobs(JobFilter(kind="walk"), after=page.next, limit=2)

        assert [one.key for one in page.items + rest.items] == ["2", "1", "0"]
        assert rest.next is None
        assert (await store.jobs(JobFilter(feed_id=feed.id))).items == (own,)
        assert (await store.jobs(JobFilter(state="done"))).items == ()
        counts = {(one.kind, one.state): one.jobs for one in await store.job_counts()}
        assert counts == {("walk", "queued"): 3, ("look", "queued"): 1}
        assert (await store.counts())["jobs"] == 4

    tell(story)


def test_jobs_of_a_removed_feed_are_deleted_and_those_of_a_merged_one_move(tell: Tell) -> None:
    async def story(store: Store) -> None:
        first, _ = await store.add_feed(new_feed(1))
        second, _ = await store.add_feed(new_feed(2))
        moved, _ = await store.add_job(replace(WALK, feed_id=first.id), now=NOON)

        await store.merge_feeds(first.id, second.id, at=NOON)
        assert (await stored(store, moved)).feed_id == second.id

        await store.remove_feed(second.id)
        assert await store.job(moved.id) is None

    tell(story)


def test_retention_deletes_ended_jobs_except_those_to_keep(tell: Tell) -> None:
    async def story(store: Store) -> None:
        for key, keep in (("gone", False), ("kept", True), ("waiting", False)):
            await store.add_job(replace(WALK, key=key, keep=keep), now=NOON)
        for one in await claim(store, max_jobs=2):
            await store.settle_job(settled(one))

        gone = await store.purge(before=NOON + HOUR, now=NOON + HOUR)

        assert gone["jobs"] == 1
        assert {one.key for one in (await store.jobs(JobFilter())).items} == {"kept", "waiting"}

    tell(story)


def test_many_jobs_of_a_host_at_work_do_not_hide_those_of_others(tell: Tell) -> None:
    async def story(store: Store) -> None:
        for number in range(510):
            await store.add_job(at_host(f"busy-{number}", "busy.example"), now=NOON)
        (first,) = await claim(store, max_jobs=1)
        later = NOON + SECOND
        await store.add_job(at_host("other", priority=90), now=later)
        await store.add_job(at_host("third", "third.example", priority=80), now=later)
        await store.add_job(replace(WALK, kind="look", priority=99), now=later)

        found = await claim(store, now=later, max_jobs=10)

        assert first.job.host == "busy.example"
        assert [one.job.key for one in found] == ["third", "other", "a"]
        assert await claim(store, now=later) == ()

    tell(story)


def test_jobs_of_a_kind_without_a_free_place_do_not_hide_those_of_others(tell: Tell) -> None:
    async def story(store: Store) -> None:
        for number in range(510):
            await store.add_job(replace(WALK, key=str(number)), now=NOON)
        await store.add_job(replace(WALK, kind="look", priority=99), now=NOON)

        found = await claim(store, limits=(JobLimit(kind="look"),))

        assert [one.job.kind for one in found] == ["look"]

    tell(story)
