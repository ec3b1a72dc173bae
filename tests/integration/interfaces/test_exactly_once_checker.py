"""The comparison itself: a reader that missed, invented or mixed up something is found out."""

import asyncio
from contextlib import closing
from pathlib import Path

import pytest
from tests.support.children.consume_events import KINDS
from tests.support.consumer_journal import Journal, cursor_of, done_by
from tests.support.exactly_once_trial import Trial
from tests.support.webhook_harness import happen

from feedmill.adapters.settings import load_config
from feedmill.app.services import file_sinks, open_services

EVENTS = 5


@pytest.fixture
def settled(tmp_path: Path) -> Trial:
    """A trial that is over: five events, and every reader has all of them."""
    one = Trial(tmp_path, writers=0, mills=0)

    async def story() -> None:
        async with open_services(load_config(None, one._own)) as services:
            await happen(services, EVENTS)
            events = await services.store.events(after=0)
            await (await file_sinks(services))[0].deliver(events)
            for kind in KINDS:
                with closing(Journal(one._journals, kind)) as journal:
                    journal.take({"seq": e.seq, "id": e.id} for e in events)

    asyncio.run(story())
    return one


def rewrite(one: Trial, lines: list[tuple[int, str]]) -> None:
    text = "".join(f"{seq} {key}\n" for seq, key in lines)
    (one._journals / "stream.log").write_text(text, "ascii")


def test_equal_books_are_equal_and_repetitions_are_counted(settled: Trial) -> None:
    lines = settled.done("stream")
    rewrite(settled, [*lines[:3], *lines[1:]])

    repeated = settled.check()

    assert repeated == {**dict.fromkeys([*KINDS, "tap"], 0), "stream": 2}


@pytest.mark.parametrize(
    ("order", "why"),
    [
        ([0, 1, 3, 4], "a gap"),
        ([0, 1, 2, 3], "the end is missing"),
        ([0, 2, 1, 3, 4], "two of them the wrong way round"),
        ([], "nothing at all"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_reader_with_other_books_is_found_out(settled: Trial, order: list[int], why: str) -> None:
    lines = settled.done("stream")
    rewrite(settled, [lines[number] for number in order])

    with pytest.raises(AssertionError, match="stream"):
        settled.check()

    assert why


def test_an_event_that_nobody_wrote_is_found_out(settled: Trial) -> None:
    rewrite(settled, [*settled.done("stream"), (6, "a-stranger")])

    with pytest.raises(AssertionError, match="a-stranger"):
        settled.check()


def test_a_line_that_was_half_written_is_done_again(tmp_path: Path) -> None:
    with closing(Journal(tmp_path, "reader")) as first:
        first.take([{"seq": 1, "id": "a"}])
    with (tmp_path / "reader.log").open("ab") as log:
        log.write(b"2 b")  # killed here, before the cursor moved

    with closing(Journal(tmp_path, "reader")) as again:
        place = again.cursor
        again.take([{"seq": 2, "id": "b"}], cursor=7)

    assert place == 1
    assert done_by(tmp_path, "reader") == [(1, "a"), (2, "b")]
    assert cursor_of(tmp_path, "reader") == 7
