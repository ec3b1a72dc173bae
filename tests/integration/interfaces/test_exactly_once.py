"""Whoever is killed, and however often: every reader sees every event once and in order (D29).

Writers commit all the time, the server with all its doors is killed with -9, and so are its
readers. What counts is what each reader has in its own journal afterwards, without repetitions by
id: 1 to N, no gap, no stranger. `make doors-soak` does the same at full speed and for as long as you like.
"""

from pathlib import Path

from tests.support.children.consume_events import KINDS
from tests.support.exactly_once_trial import READERS, trial


async def test_every_reader_sees_every_event_once_whoever_is_killed(tmp_path: Path) -> None:
    async with trial(tmp_path, writers=2, writer_pause_sec=0.05) as one:
        await one.start()
        await one.progress()
        await one.kill("server")  # the readers come back by themselves
        await one.progress()
        await one.kill_writers()
        await one.kill("server", *KINDS)  # nobody is there to say goodbye to

        last = await one.settle()
        repeated = one.check()

    assert last >= 100
    assert one.kills == {"server": 2, "writer": 2, **dict.fromkeys(KINDS, 1)}
    assert set(repeated) == set(READERS)
    assert repeated["tap"] == 0  # files have each event on one line, killed or not
