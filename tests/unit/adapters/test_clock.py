"""Time that is aware, and ids that are unique and in the order in which they were made."""

import asyncio
import os
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from uuid import UUID

from feedmill.adapters.clock import SystemClock


def test_now_is_aware_and_in_utc() -> None:
    assert SystemClock().now().utcoffset() == timedelta(0)


def test_the_monotonic_clock_never_goes_back() -> None:
    clock = SystemClock()

    seen = [clock.monotonic() for _ in range(100)]

    assert seen == sorted(seen)


def test_sleeping_gives_way_to_others() -> None:
    async def story() -> list[str]:
        order: list[str] = []

        async def other() -> None:
            order.append("other")

        async with asyncio.TaskGroup() as group:
            group.create_task(other())
            await SystemClock().sleep(0)
            order.append("sleeper")
        return order

    assert asyncio.run(story()) == ["other", "sleeper"]


def test_ids_are_uuids_of_version_7_in_the_order_in_which_they_were_made() -> None:
    clock = SystemClock()

    made = [clock.new_id() for _ in range(10_000)]

    assert made == sorted(made)
    assert len({one[-12:] for one in made}) == len(made)  # what a listing shows tells them apart
    ids = [UUID(one) for one in made[:100]]
    assert {(one.version, one.variant) for one in ids} == {(7, "specified in RFC 4122")}


def test_the_beginning_of_an_id_is_the_moment_at_which_it_was_made() -> None:
    clock = SystemClock()

    before = clock.now()
    milliseconds = int(clock.new_id().replace("-", "")[:12], 16)
    after = clock.now()

    assert before.timestamp() * 1000 - 1 <= milliseconds <= after.timestamp() * 1000 + 1


def test_a_forked_process_draws_other_random_ends() -> None:
    clock = SystemClock()
    clock.new_id()
    reader, writer = os.pipe()

    child = os.fork()
    if child == 0:
        os.write(writer, clock.new_id().encode())
        os._exit(0)
    os.waitpid(child, 0)
    theirs = os.read(reader, 36).decode()

    assert theirs[-12:] != clock.new_id()[-12:]
    os.close(reader)
    os.close(writer)


def test_threads_never_get_the_same_id() -> None:
    clock = SystemClock()

    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: clock.new_id(), range(2_000)))

    assert len({one[:18] for one in made}) == 2_000
