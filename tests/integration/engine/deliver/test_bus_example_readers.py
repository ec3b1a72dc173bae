"""The examples of readers work: each prints every event once, in a process of its own."""

import asyncio
import sys
from pathlib import Path

import pytest
from tests.support.buses_under_test import BUSES, BusBench
from tests.support.sinks_under_test import event, events

EXAMPLES = Path(__file__).parents[4] / "examples"
EVENTS = 5


@pytest.mark.parametrize("kind", BUSES)
async def test_a_reader_prints_every_event_once(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    bench = BUSES[kind](tmp_path, request)

    bus = bench.open()
    await bus.deliver(events(1, EVENTS - 1))
    await bus.deliver((*events(2, EVENTS - 1), event(EVENTS, title="the last")))
    await bus.close()
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(EXAMPLES / f"bus_{kind}.py"),
        *_arguments(kind, bench),
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        lines = [await process.stdout.readline() for _ in range(EVENTS)]
    finally:
        process.kill()
        await process.communicate()

    printed = [line.decode().split(maxsplit=3) for line in lines]
    assert [int(words[0]) for words in printed] == list(range(1, EVENTS + 1))
    assert printed[-1][1:] == ["feedmill.new_entry", f"event-{EVENTS}", "the last\n"]


def _arguments(kind: str, bench: BusBench) -> list[str]:
    more = {"nats": ["reader"], "redis": ["group", "reader"], "kafka": ["group"]}
    return [bench.url.removeprefix("kafka://"), bench.stream, *more[kind]]
