"""Following the log by gRPC: each event once and in order, whatever happens to the stream."""

import asyncio
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import grpc
import pytest
from tests.integration.interfaces.grpc.conftest import Serve
from tests.support.engine_harness import NOON, opened
from tests.support.feed_documents import paper
from tests.support.grpc_client import Said, Visitor, reason_of, told, visiting
from tests.support.waiting import hang_guard

from feedmill.app.services import DATABASE_NAME
from feedmill.config import AccessConfig, GrpcConfig
from feedmill.engine.ports.entries import NewestEvent
from feedmill.engine.run.services import Services
from feedmill.interfaces.grpc.server import grpc_server
from feedmill.model.event import NewEvent
from feedmill.model.feed import NewFeed
from feedmill.publish.events import REWOUND_LEAP
from feedmill.schedule.interval import initial_state

UNPACED = AccessConfig(requests_per_sec=0)


async def write_events(services: Services, count: int, *, kind: str = "feed.state") -> str:
    """Put so many events into the log at once; the id of the feed that they are about."""
    feed_id = services.clock.new_id()
    events = [
        NewEvent(
            type=kind,  # type: ignore[arg-type]  # one of the list
            feed_id=feed_id,
            occurred_at=NOON,
            data={"number": number, "filling": "x" * 400},
        )
        for number in range(count)
    ]
    new = NewFeed(
        id=feed_id,
        url=f"https://{feed_id}.example/",
        created_at=NOON,
        next_poll_at=NOON + timedelta(days=365),
        schedule=initial_state(services.config.schedule),
    )
    await services.store.add_feed(new, events)
    return feed_id


async def read_until(call: Any, last: int) -> tuple[list[Said], int]:
    """The events up to a number, and the number to go on after."""
    events: list[Said] = []
    place = 0
    while place < last:
        reply = told(await call.read())
        events += reply["events"]
        place = reply["next"]
    return events, place


async def read_to_the_end(call: Any) -> tuple[list[Said], int, grpc.aio.AioRpcError]:
    """What is left in a stream that was cut, the number to go on after, and why it ended."""
    events: list[Said] = []
    place = 0
    while True:
        try:
            reply = told(await call.read())
        except grpc.aio.AioRpcError as problem:
            return events, place, problem
        events += reply["events"]
        place = reply["next"]


async def first_that_is_let_in(visitor: Visitor) -> Any:
    """A watcher that found a seat; the server learns in its own time that one is free."""
    while True:  # the story has a limit
        call = visitor.stream("Events/Watch")
        try:
            await call.read()
        except grpc.aio.AioRpcError:
            await asyncio.sleep(0.02)
        else:
            return call


def numbers(events: Sequence[Said]) -> list[int]:
    return [event["seq"] for event in events]


async def test_a_watcher_reads_what_was_and_then_what_comes(serve: Serve) -> None:
    async with serve() as (stage, visitor):
        await write_events(stage.services, 5)
        call = visitor.stream("Events/Watch")
        before, _ = await read_until(call, 5)

        await stage.poll(await stage.add("/feed", paper(1, 2)))
        after, place = await read_until(call, await stage.services.store.last_seq())

        assert numbers(before + after) == list(range(1, place + 1))
        assert [event["type"] for event in after] == ["feed.added", "new_entry", "new_entry"]
        assert after[1]["data"]["title"] == "Title 1"


async def test_a_watcher_misses_nothing_while_several_write(serve: Serve) -> None:
    async with serve() as (stage, visitor):
        call = visitor.stream("Events/Watch")

        async def write() -> None:
            for _ in range(20):
                await write_events(stage.services, 7)

        async with asyncio.TaskGroup() as group:
            for _ in range(4):
                group.create_task(write())
            events, _ = await read_until(call, 4 * 20 * 7)

        assert numbers(events) == list(range(1, 4 * 20 * 7 + 1))


async def test_a_watcher_goes_on_after_a_break(serve: Serve) -> None:
    async with serve() as (stage, visitor):
        await write_events(stage.services, 450)
        first = visitor.stream("Events/Watch")
        events, place = await read_until(first, 1)
        first.cancel()

        rest, _ = await read_until(visitor.stream("Events/Watch", after_seq=place), 450)

        assert 0 < len(events) < 450
        assert numbers(events + rest) == list(range(1, 451))


async def test_a_filter_lets_through_what_was_asked_for_and_moves_on_past_the_rest(
    serve: Serve,
) -> None:
    async with serve() as (stage, visitor):
        await write_events(stage.services, 30)
        wanted = await write_events(stage.services, 3)
        await write_events(stage.services, 3, kind="feed.added")
        await write_events(stage.services, 30)

        by_feed, place = await read_until(visitor.stream("Events/Watch", feed_ids=[wanted]), 33)
        by_type, _ = await read_until(visitor.stream("Events/Watch", types=["feed.added"]), 36)
        none = visitor.stream("Events/Watch", types=["feed.moved"])
        _, far = await read_until(none, 66)

        assert numbers(by_feed) == [31, 32, 33]
        assert numbers(by_type) == [34, 35, 36]
        assert place == far == 66


async def test_a_watcher_that_does_not_read_holds_nobody(serve: Serve) -> None:
    async with serve() as (stage, visitor):
        await write_events(stage.services, 6_000)
        idle = visitor.stream("Events/Watch")
        await idle.read()

        quick, _ = await read_until(visitor.stream("Events/Watch"), 6_000)
        late, _ = await read_until(idle, 6_000)

        assert numbers(quick) == numbers(late) == list(range(1, 6_001))


async def test_a_watcher_that_stops_reading_is_cut_and_knows_where_to_go_on(serve: Serve) -> None:
    async with serve(grpc=GrpcConfig(stall_sec=2.0, max_watchers=1), access=UNPACED) as (
        stage,
        visitor,
    ):
        await write_events(stage.services, 20_000)
        slow = visitor.stream("Events/Watch")
        events, _ = await read_until(slow, 1)
        # There is one seat, so whoever is let in knows that the slow one was cut.
        other = await first_that_is_let_in(visitor)
        all_of_it, _ = await read_until(other, 20_000)

        late, place, problem = await read_to_the_end(slow)

        assert (problem.code(), reason_of(problem)) == (grpc.StatusCode.ABORTED, "too-slow")
        assert numbers(all_of_it) == list(range(1, 20_001))
        assert numbers(events + late) == list(range(1, place + 1))
        assert place < 20_000


async def test_watchers_have_a_limit_and_one_that_leaves_makes_room(serve: Serve) -> None:
    async with serve(grpc=GrpcConfig(max_watchers=1), access=UNPACED) as (_, visitor):
        first = visitor.stream("Events/Watch")
        await first.read()

        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await visitor.stream("Events/Watch").read()
        first.cancel()
        next_one = await first_that_is_let_in(visitor)

        assert caught.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
        assert reason_of(caught.value) == "too-many-streams"
        assert dict(caught.value.trailing_metadata())["retry-after"] == "5"
        assert not next_one.done()


async def test_a_number_that_the_log_has_not_reached_is_refused(serve: Serve) -> None:
    async with serve() as (stage, visitor):
        await write_events(stage.services, 3)

        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await visitor.stream("Events/Watch", after_seq=4).read()

        assert caught.value.code() == grpc.StatusCode.FAILED_PRECONDITION
        assert reason_of(caught.value) == "log-rewound"
        assert "ends at 3" in caught.value.details()


async def test_watcher_of_a_log_that_went_back_is_told(serve: Serve) -> None:
    async with serve() as (stage, visitor):
        await write_events(stage.services, 3)
        await stage.services.store.append_rewound(
            NewestEvent(seq=9, id="x"), stage.services.clock.now()
        )

        told, _ = await read_until(visitor.stream("Events/Watch", after_seq=5), 9 + REWOUND_LEAP)

        assert [one["type"] for one in told] == ["log.rewound"]


async def test_a_watcher_who_comes_too_late_learns_that_events_are_gone(
    serve: Serve, tmp_path: Path
) -> None:
    async with serve() as (stage, visitor):
        await write_events(stage.services, 10)
        with closing(sqlite3.connect(tmp_path / DATABASE_NAME)) as connection, connection:
            connection.execute("DELETE FROM outbox WHERE seq <= 5")

        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await visitor.stream("Events/Watch", after_seq=3).read()
        with pytest.raises(grpc.aio.AioRpcError) as listed:
            await visitor.ask("Events/List", after_seq=3)
        assert reason_of(listed.value) == "not-kept"
        edge, _ = await read_until(visitor.stream("Events/Watch", after_seq=5), 10)
        left, _ = await read_until(visitor.stream("Events/Watch"), 10)

        assert (caught.value.code(), reason_of(caught.value)) == (
            grpc.StatusCode.NOT_FOUND,
            "not-kept",
        )
        assert numbers(edge) == numbers(left) == [6, 7, 8, 9, 10]


async def test_a_server_that_ends_tells_its_watchers_and_they_go_on_at_the_next(
    tmp_path: Path,
) -> None:
    async with hang_guard(), opened(tmp_path) as stage:
        await write_events(stage.services, 10)
        async with grpc_server(stage.services) as bound:
            visit = visiting(bound.port)
            visitor = await visit.__aenter__()
            call = visitor.stream("Events/Watch")
            events, place = await read_until(call, 10)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await call.read()
        await visit.__aexit__(None, None, None)
        await write_events(stage.services, 10)

        async with (
            grpc_server(stage.services, port=bound.port) as again,
            visiting(again.port) as visitor,
        ):
            rest, _ = await read_until(visitor.stream("Events/Watch", after_seq=place), 20)

    assert caught.value.code() == grpc.StatusCode.UNAVAILABLE
    assert reason_of(caught.value) == "shutting-down"
    assert numbers(events + rest) == list(range(1, 21))


async def test_health_says_that_it_ends_before_the_server_does(tmp_path: Path) -> None:
    async with hang_guard(), opened(tmp_path) as stage:
        async with grpc_server(stage.services) as bound:
            visit = visiting(bound.port)
            visitor = await visit.__aenter__()
            watch = visitor.stream("grpc.health.v1.Health/Watch")
            first = told(await watch.read())
        last = told(await watch.read())
        await visit.__aexit__(None, None, None)

    assert (first, last) == ({"status": 1}, {"status": 2})
