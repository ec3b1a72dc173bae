"""Service levels, and the same recomputed from the fetch records by a script that shares no code."""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.support.engine_harness import NOON, Play, Stage, opened
from tests.support.feed_documents import numbered, paper, said
from tests.support.waiting import hang_guard
from tools.service_levels import recomputed

from feedmill.app.services import DATABASE_NAME
from feedmill.engine.service.status import service_levels
from feedmill.errors import RangeError
from feedmill.publish.figure_shapes import LevelShape, ServiceLevels
from feedmill_demo.server.script import document


def by_name(found: ServiceLevels, name: str) -> list[LevelShape]:
    return [one for one in found.levels if one.name == name]


def test_nothing_polled_misses_nothing(play: Play) -> None:
    async def story(stage: Stage) -> None:
        found = await service_levels(stage.services)

        assert all(level.met for level in found.levels)
        assert [level.value for level in found.levels] == [None, None]

    play(story)


def test_publisher_and_host_faults_spend_no_budget(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", said(404), said(500), paper(1))
        for _ in range(3):
            await stage.poll(feed)
            stage.later(hours=1)

        (level,) = by_name(await service_levels(stage.services), "failed-fetches")

        assert (level.value, level.measured, level.missed, level.met) == (0.0, 1, 0, True)

    play(story)


def test_our_own_faults_spend_it(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", paper(1), said(406))
        for _ in range(2):
            await stage.poll(feed)
            stage.later(hours=1)

        (level,) = by_name(await service_levels(stage.services), "failed-fetches")

        assert (level.value, level.measured, level.missed, level.met) == (0.5, 2, 1, False)

    play(story)


def test_a_feed_that_is_overdue_is_not_fresh(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", paper(1))
        await stage.poll(feed)

        (before,) = by_name(await service_levels(stage.services), "scheduler-freshness")
        stage.later(hours=8)
        (after,) = by_name(await service_levels(stage.services), "scheduler-freshness")

        assert (before.value, before.met) == (1.0, True)
        assert (after.value, after.missed, after.met) == (0.0, 1, False)

    play(story)


def test_the_levels_of_a_day_that_is_over_stay_as_they_were(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", paper(1))
        await stage.poll(feed)
        day = stage.clock.now()
        stage.later(days=2)

        found = await service_levels(stage.services, day=day)

        assert all(level.met for level in found.levels)
        assert by_name(found, "fetch-latency")[0].measured == 1

    play(story)


def test_a_day_before_a_feed_was_added_or_in_the_future_says_nothing_of_it(play: Play) -> None:
    async def story(stage: Stage) -> None:
        await stage.poll(await stage.add("/feed", paper(1)))
        now = stage.clock.now()

        for day in (
            now - timedelta(days=1),
            now + timedelta(days=1),
            datetime.min.replace(tzinfo=UTC),
        ):
            (level,) = by_name(await service_levels(stage.services, day=day), "scheduler-freshness")
            assert (level.value, level.measured, level.met) == (None, 0, True)

    play(story)


def test_the_last_day_of_the_calendar_is_refused(play: Play) -> None:
    async def story(stage: Stage) -> None:
        with pytest.raises(RangeError):
            await service_levels(stage.services, day=datetime.max.replace(tzinfo=UTC))

    play(story)


def test_the_levels_equal_what_the_fetch_records_say(tmp_path: Path) -> None:
    (found,) = compared(tmp_path, _poll_all_kinds, days=(0,))

    failed, fresh = by_name(found, "failed-fetches")[0], by_name(found, "scheduler-freshness")[0]
    assert {one.payload for one in by_name(found, "fetch-latency")} == {"none", "100kB", "1MB"}
    assert failed.missed == 1
    assert 1 <= fresh.missed < fresh.measured


@pytest.mark.parametrize(
    "hours",
    [
        pytest.param((11, 0.9, 0.2, 1), id="polls cross midnight"),
        pytest.param((11.9, 0.2, -0.2, -0.3, 0.6, 1), id="the clock steps back over midnight"),
        pytest.param((13, -60, 1, 59, 0.5), id="the clock was days behind for a while"),
        pytest.param((1, 60, 1, -60, 0.5), id="the clock was days ahead for a while"),
    ],
)
def test_the_levels_of_each_day_are_those_of_its_fetch_records(
    tmp_path: Path, hours: tuple[float, ...]
) -> None:
    async def story(stage: Stage) -> None:
        feeds = [
            await stage.add("/well", paper(1, etag='"1"'), *[said(304)] * 9),
            await stage.add("/wrong", *[said(406), paper(2)] * 5),
            await stage.add("/down", *[said(500)] * 10),
        ]
        for later in hours:
            await stage.poll(*feeds)
            stage.later(hours=later)
        await stage.poll(*feeds)

    days = compared(tmp_path, story, days=(-3, -2, -1, 0, 1, 2, 3))

    assert sum(bool(by_name(day, "failed-fetches")[0].measured) for day in days) >= 2


def test_feeds_that_were_removed_no_longer_count(tmp_path: Path) -> None:
    async def story(stage: Stage) -> None:
        kept, gone = await stage.add("/kept", paper(1)), await stage.add("/gone", said(406))
        stage.later(hours=14)
        await stage.poll(kept, gone)
        await stage.services.store.remove_feed(gone.id)

    _, found = compared(tmp_path, story, days=(0, 1))

    (failed,) = by_name(found, "failed-fetches")
    assert (failed.measured, failed.missed) == (1, 0)


def test_latencies_of_removed_feeds_stay_in_those_of_the_day(play: Play) -> None:
    async def story(stage: Stage) -> None:
        kept, gone = await stage.add("/kept", paper(1)), await stage.add("/gone", paper(2))
        await stage.poll(kept, gone)
        await stage.services.store.remove_feed(gone.id)

        found = await service_levels(stage.services)

        assert [one.measured for one in by_name(found, "fetch-latency")] == [2]
        assert [one.measured for one in by_name(found, "scheduler-freshness")] == [1]

    play(story)


def compared(
    home: Path, story: Callable[[Stage], Awaitable[None]], *, days: Sequence[int]
) -> list[ServiceLevels]:
    """The levels of some days after a story, each checked against the script; days count from noon's."""

    async def told() -> tuple[list[ServiceLevels], datetime]:
        async with hang_guard(), opened(home) as stage:
            await story(stage)
            whens = [NOON + timedelta(days=day) for day in days]
            shown = [await service_levels(stage.services, day=when) for when in whens]
            return shown, stage.clock.now()

    found, now = asyncio.run(told())
    with closing(sqlite3.connect(home / DATABASE_NAME)) as connection:
        for shown in found:
            check_levels(shown, recomputed(connection, shown.day, now))
    return found


def check_levels(found: ServiceLevels, script: dict[str, Any]) -> None:
    """What the program shows is what the script found; the program rounds latencies up by at most 19 %."""
    latency = {str(one.payload): one for one in by_name(found, "fetch-latency")}
    exact = script["fetch-latency"]
    assert {name: one.measured for name, one in latency.items()} == {
        name: one["polls"] for name, one in exact.items()
    }
    for name, one in latency.items():
        longest = max(exact[name]["p99_ms"], 1)
        assert longest <= (one.value or 0) + 0.1
        assert (one.value or 0) <= longest * 1.2
    (failed,) = by_name(found, "failed-fetches")
    assert (failed.value or 0.0, failed.missed, failed.measured) == (
        script["failed-fetches"]["value"],
        script["failed-fetches"]["missed"],
        script["failed-fetches"]["polls"],
    )
    (fresh,) = by_name(found, "scheduler-freshness")
    assert (fresh.value, fresh.missed, fresh.measured) == (
        script["scheduler-freshness"]["value"],
        script["scheduler-freshness"]["missed"],
        script["scheduler-freshness"]["feeds"],
    )


async def _poll_all_kinds(stage: Stage) -> None:
    """Feeds that work, are large, or fail through each of the three, polled on time and late."""
    large = numbered(*range(1_200))
    well = await stage.add("/well", paper(1, etag='"1"'), *[said(304)] * 9)
    await stage.add("/large", document(large), *[document(large + b" ")] * 9)
    await stage.add("/wrong", *[said(406), paper(2)] * 5)
    await stage.add("/gone", *[said(404)] * 10)
    await stage.add("/down", *[said(500)] * 10)
    paused = await stage.add("/paused", paper(3))
    await stage.services.store.change_feed(replace(paused, paused=True))
    for hours in (0.3, 0.3, 2, 0.3, 6, 0.2):
        await stage.poll(well)
        stage.later(hours=hours)
    await stage.poll(await stage.add("/fresh", paper(5)))
