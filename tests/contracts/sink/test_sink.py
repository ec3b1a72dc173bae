"""What every sink promises: in order, complete, one line per event, resumable by number."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.support.buses_under_test import BUSES
from tests.support.sinks_under_test import SINKS, Bench, event, events

from feedmill.model.event import Event
from feedmill.publish.ndjson import position_of_line


@pytest.fixture(params=[*SINKS, *BUSES])
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Bench:
    name: str = request.param
    return SINKS[name](tmp_path) if name in SINKS else BUSES[name](tmp_path, request)


async def handed_over(bench: Bench, several: Sequence[Event]) -> None:
    """Open the sink, hand the events over and close it again."""
    sink = bench.open()
    try:
        await sink.deliver(several)
    finally:
        await sink.close()


def numbers(bench: Bench) -> list[int]:
    return [position_of_line(line)[0] for line in bench.lines()]


def test_events_arrive_in_the_order_of_their_numbers(bench: Bench) -> None:
    async def story() -> None:
        sink = bench.open()
        await sink.deliver(events(1, 3))
        await sink.deliver(events(4, 5))
        await sink.close()

    asyncio.run(story())

    assert numbers(bench) == [1, 2, 3, 4, 5]


def test_nothing_is_delivered_for_no_events(bench: Bench) -> None:
    asyncio.run(handed_over(bench, ()))

    assert bench.lines() == []


def test_a_sink_that_is_opened_again_goes_on(bench: Bench) -> None:
    async def story() -> None:
        await handed_over(bench, events(1, 2))
        await handed_over(bench, events(3, 4))

    asyncio.run(story())

    assert numbers(bench) == [1, 2, 3, 4]


def test_a_line_is_the_whole_event_and_reads_back_as_it_was(bench: Bench) -> None:
    told: Any = event(1, title="Zwölf\nZeilen \u2028\u2029\x85\x1b and \u4e2d\u6587", nothing=None)

    asyncio.run(handed_over(bench, (told,)))

    (line,) = bench.lines()
    assert msgspec.json.decode(line, type=type(told)) == told
    assert len(line.decode().splitlines()) == 1


def test_a_name_belongs_to_a_cursor_and_is_always_the_same(bench: Bench) -> None:
    assert bench.open().name == bench.open().name


def test_closing_twice_or_unused_does_no_harm(bench: Bench) -> None:
    async def story() -> None:
        sink = bench.open()
        await sink.close()
        await handed_over(bench, events(1, 1))
        await sink.close()

    asyncio.run(story())

    assert numbers(bench) == [1]
