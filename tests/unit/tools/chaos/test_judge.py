"""The judge of `make chaos` finds every kind of breach in forged books, and none in good ones."""

from collections.abc import Sequence

import pytest
from tools.chaos.judge import (
    Asked,
    Evidence,
    Fault,
    Finding,
    Lost,
    Ran,
    is_kept,
    judge,
    match_runs,
    table,
)
from tools.chaos.plan import Plan

PLAN = Plan(feeds=2, hosts=2, short_pause_sec=2, long_pause_sec=11, lease_sec=8.0)
SEC = 1_000_000
HOST = "127.0.3.1"
OTHER = "127.0.3.2"


def asked(
    number: int,
    began: float,
    *,
    host: str = HOST,
    feed: int = 0,
    worker: str = "worker1",
    took: float = 0.1,
    status: int = 200,
    pause_sec: int = 0,
    items: int = 2,
) -> Asked:
    ended = began + took
    return Asked(
        number=number,
        host=host,
        feed=feed,
        worker=worker,
        began=began,
        began_at=int(began * SEC),
        ended=ended,
        ended_at=int(ended * SEC),
        status=status,
        pause_sec=pause_sec,
        items=items,
    )


def ran(feed: int, scheduled: float, fetched: float, following: float, status: int = 200) -> Ran:
    return Ran(feed, int(scheduled * SEC), int(fetched * SEC), status, int(following * SEC))


def fault(kind: str, who: str, began: float, ended: float | None = None) -> Fault:
    end = began if ended is None else ended
    return Fault(kind, who, began, int(began * SEC), end, int(end * SEC))


def good() -> Evidence:
    """Two hosts of one feed each; both were limited once, one worker slept and one left."""
    requests = [
        asked(1, 10.0),
        asked(2, 20.0, status=429, pause_sec=2, items=0),
        asked(3, 30.0),
        asked(4, 10.0, host=OTHER, feed=1, worker="worker2"),
        asked(5, 20.0, host=OTHER, feed=1, worker="worker2", status=429, pause_sec=11, items=0),
        asked(6, 32.0, host=OTHER, feed=1, worker="worker2"),
    ]
    runs = [
        ran(0, 10, 10.12, 20),
        ran(0, 20, 20.12, 30, 429),
        ran(0, 30, 30.12, 40),
        ran(1, 10, 10.12, 20),
        ran(1, 20, 20.12, 32, 429),
        ran(1, 32, 32.12, 42),
    ]
    stored = [(0, "0-1"), (0, "0-2"), (1, "1-1"), (1, "1-2")]
    entries = [f"uid {guid}" for _, guid in stored]
    log = [(n, f"event {n}", "new_entry", uid) for n, uid in enumerate(entries, 1)]
    return Evidence(
        asked=requests,
        ran=runs,
        due={0: 40 * SEC, 1: 42 * SEC},
        stored=stored,
        entry_ids=entries,
        log=log,
        unnumbered=0,
        read={"cursor": [(n, event) for n, event, *_ in log]},
        faults=[fault("stop", "worker3", 50, 61), fault("term", "worker1", 70, 70.3)],
        lost=[],
        waits={},
        refused=2,
        surprises=0,
        late=0,
    )


def breaches(evidence: Evidence, plan: Plan = PLAN) -> list[str]:
    return [breach for finding in judge(evidence, plan) for breach in finding.breaches]


def test_good_books_are_found_good() -> None:
    findings = judge(good(), PLAN)

    assert breaches(good()) == []
    assert is_kept(findings)
    assert "BROKEN" not in table(findings)


def without(rows: Sequence[Ran], number: int) -> list[Ran]:
    return [row for at, row in enumerate(rows) if at != number]


GOOD = good()
RETOLD = ("event 2", "new_entry", "uid 0-1")
FORGED = {
    "a run that was committed twice": (
        GOOD._replace(ran=[*GOOD.ran, GOOD.ran[0]]),
        "feed 0 ran 2 times",
    ),
    "a feed that never ran": (
        GOOD._replace(due={**GOOD.due, 7: 5 * SEC}),
        "feed 7 never ran",
    ),
    "a run that got lost": (
        GOOD._replace(ran=without(GOOD.ran, 1)),
        "feed 0: the run of 20000000 became that of 30000000",
    ),
    "a run before its time": (
        GOOD._replace(ran=[*without(GOOD.ran, 2), ran(0, 29, 30.12, 40)]),
        "feed 0 ran 1000000 us before its time",
    ),
    "a schedule that forgot a decision": (
        GOOD._replace(due={0: 45 * SEC, 1: 42 * SEC}),
        "feed 0: the run of 40000000 became that of 45000000",
    ),
    "an answer that came to nothing": (
        GOOD._replace(asked=[*GOOD.asked, asked(7, 44.0)]),
        "feed 0: what worker1 was answered at 44100000 came to nothing",
    ),
    "two runs on one request": (
        GOOD._replace(ran=[*GOOD.ran, ran(0, 40, 30.13, 50)], due={**GOOD.due, 0: 50 * SEC}),
        "feed 0: a run at 30130000 without its own request",
    ),
    "an entry stored twice": (
        GOOD._replace(stored=[*GOOD.stored, (0, "0-1")]),
        "entry 0-1 is stored 2 times",
    ),
    "an entry that is missing": (
        GOOD._replace(stored=GOOD.stored[1:]),
        "entry 0-1 is missing",
    ),
    "an entry that nobody published": (
        GOOD._replace(stored=[*GOOD.stored, (0, "0-9")]),
        "entry 0-9 was never published",
    ),
    "a hole in the log": (
        GOOD._replace(log=[row for row in GOOD.log if row[0] != 2]),
        "the log is not 1 to 3: look at 2",
    ),
    "an event that stands twice in the log": (
        GOOD._replace(log=[*GOOD.log, (5, *RETOLD)]),
        "event event 2 stands 2 times in the log",
    ),
    "an entry that was told twice": (
        GOOD._replace(log=[*GOOD.log, (5, "event 5", "new_entry", "uid 0-1")]),
        "entry uid 0-1 was told 2 times",
    ),
    "an entry that was never told": (
        GOOD._replace(entry_ids=[*GOOD.entry_ids, "uid x"]),
        "entry uid x was never told",
    ),
    "an entry that was told and is gone": (
        GOOD._replace(entry_ids=GOOD.entry_ids[1:]),
        "entry uid 0-1 was told and is not there",
    ),
    "an event without a number": (
        GOOD._replace(unnumbered=3),
        "3 events never got a number",
    ),
    "a reader that missed an event": (
        GOOD._replace(read={"cursor": GOOD.read["cursor"][:-1]}),
        "missing [4], strangers []",
    ),
    "a reader that saw a stranger": (
        GOOD._replace(read={"cursor": [*GOOD.read["cursor"], (5, "event x")]}),
        "missing [], strangers ['event x']",
    ),
    "a reader that read in another order": (
        GOOD._replace(read={"cursor": GOOD.read["cursor"][::-1]}),
        "another order than the log's",
    ),
    "two requests of one host at a time": (
        GOOD._replace(asked=[*GOOD.asked, asked(7, 30.05, worker="worker2")]),
        "127.0.3.1: worker2 asked 0.050 s before worker1 had its answer",
    ),
    "a short request within a long one, then another": (
        GOOD._replace(
            asked=[
                *GOOD.asked,
                asked(7, 60.0, took=2.0),
                asked(8, 60.5, worker="worker2"),
                asked(9, 61.0, worker="worker4"),
            ]
        ),
        "127.0.3.1: worker4 asked 1.000 s before worker1 had its answer",
    ),
    "a gap that was too short": (
        GOOD._replace(asked=[*GOOD.asked, asked(7, 30.149, worker="worker2")]),
        "127.0.3.1: worker2 asked 49.0 ms after worker1",
    ),
    "a request within a short pause": (
        GOOD._replace(asked=[*GOOD.asked, asked(7, 22.0, worker="worker2")]),
        "127.0.3.1: worker2 asked 1.90 s after a 429",
    ),
    "a request within a long pause": (
        GOOD._replace(asked=[*GOOD.asked, asked(7, 31.0, host=OTHER, feed=1)]),
        "127.0.3.2: worker1 asked 10.90 s after a 429",
    ),
    "a stale commit that was written": (
        GOOD._replace(
            ran=[*without(GOOD.ran, 2), ran(0, 30, 41.0, 40)],
            asked=[*GOOD.asked, asked(7, 40.0, feed=5, worker="worker2")],
        ),
        "127.0.3.1: worker1 committed feed 0 after worker2 had asked",
    ),
    "a drain that took too long": (
        GOOD._replace(faults=[*GOOD.faults, fault("term", "worker2", 80, 81.5)]),
        "worker2 took 1.50 s to leave",
    ),
    "lanes that nobody took": (
        GOOD._replace(late=4),
        "4 lanes are due and nobody takes them",
    ),
    "a fault of our own": (
        GOOD._replace(surprises=1),
        "workers told of 1 faults of their own",
    ),
    "a trial without a pause": (
        GOOD._replace(asked=[one._replace(pause_sec=0) for one in GOOD.asked]),
        "no host asked for 11 s: nothing was put to the test",
    ),
    "a trial in which nobody was told to leave": (
        GOOD._replace(faults=GOOD.faults[:1]),
        "nobody was told to leave: nothing was put to the test",
    ),
}


@pytest.mark.parametrize(("evidence", "words"), FORGED.values(), ids=FORGED)
def test_the_judge_finds(evidence: Evidence, words: str) -> None:
    findings = judge(evidence, PLAN)

    assert any(words in breach for breach in breaches(evidence))
    assert not is_kept(findings)
    assert "BROKEN" in table(findings)


def test_a_run_may_move_when_its_worker_was_killed_in_between() -> None:
    moved = GOOD._replace(
        ran=without(GOOD.ran, 2),
        asked=[*GOOD.asked[:2], *GOOD.asked[3:]],
        due={0: 49 * SEC, 1: 42 * SEC},
    )

    assert breaches(moved) != []
    assert breaches(moved._replace(faults=[*GOOD.faults, fault("kill", "worker1", 31)])) == []


STARVED = {"worker1": [(at * SEC, at * 0.5) for at in range(100)]}  # half of the time
RUNNING = {"worker1": [(at * SEC, at * 0.1) for at in range(100)]}


def test_a_run_may_move_when_its_worker_lost_the_lease_without_a_processor() -> None:
    moved = GOOD._replace(
        ran=[run for run in GOOD.ran if run.scheduled_at != 30 * SEC],
        asked=[one for one in GOOD.asked if one.number != 3],
        due={0: 49 * SEC, 1: 42 * SEC},
        waits=STARVED,
    )
    lost = Lost(HOST, 38 * SEC, "worker1")

    assert breaches(moved._replace(lost=[lost])) == []
    assert breaches(moved._replace(lost=[lost._replace(host=OTHER)])) != []
    assert breaches(moved._replace(lost=[lost._replace(at=29 * SEC)])) != []


def test_a_lease_that_is_lost_by_a_worker_with_a_processor_excuses_nothing() -> None:
    moved = GOOD._replace(
        ran=[run for run in GOOD.ran if run.scheduled_at != 30 * SEC],
        asked=[one for one in GOOD.asked if one.number != 3],
        due={0: 49 * SEC, 1: 42 * SEC},
        lost=[Lost(HOST, 38 * SEC, "worker1")],
    )

    assert breaches(moved._replace(waits=RUNNING)) != []
    assert breaches(moved._replace(waits={})) != []
    assert breaches(moved._replace(waits={"worker2": STARVED["worker1"]})) != []


def test_an_answer_may_come_to_nothing_when_its_worker_was_refused_after_the_lease() -> None:
    vain = GOOD._replace(asked=[*GOOD.asked, asked(7, 44.0)], waits=STARVED)
    lost = Lost(HOST, 52 * SEC, "worker1", feed=0)

    assert breaches(vain._replace(lost=[lost])) == []
    assert breaches(vain._replace(lost=[lost], waits=RUNNING)) != []
    assert breaches(vain._replace(lost=[lost._replace(feed=None)])) != []
    assert breaches(vain._replace(lost=[lost._replace(feed=1)])) != []
    assert breaches(vain._replace(lost=[lost._replace(worker="worker2")])) != []


def test_a_refusal_within_the_time_that_a_lease_covers_is_a_breach() -> None:
    vain = GOOD._replace(asked=[*GOOD.asked, asked(7, 44.0)], waits=STARVED)
    early = Lost(HOST, int((44.1 + PLAN.covered_sec - 0.1) * SEC), "worker1", feed=0)

    assert breaches(vain._replace(lost=[early])) != []


def test_an_answer_may_get_lost_with_its_worker_or_the_database_and_with_nobody_else() -> None:
    vain = GOOD._replace(asked=[*GOOD.asked, asked(7, 64.0, worker="worker5")])

    assert breaches(vain._replace(faults=[*GOOD.faults, fault("kill", "worker5", 65)])) == []
    assert breaches(vain._replace(faults=[*GOOD.faults, fault("database", "fast", 65, 67)])) == []
    assert breaches(vain._replace(faults=[*GOOD.faults, fault("kill", "worker4", 65)])) != []
    assert breaches(vain._replace(faults=[*GOOD.faults, fault("bus", "nats", 65)])) != []


def unheard(*, next_request: float) -> Evidence:
    """A long pause that a worker was asked for and died with."""
    return GOOD._replace(
        asked=[*GOOD.asked[:5], asked(6, next_request, host=OTHER, feed=1, worker="worker2")],
        ran=[*GOOD.ran[:4], ran(1, next_request, next_request + 0.12, 42)],
        faults=[*GOOD.faults, fault("kill", "worker2", 20.2)],
    )


def test_a_pause_that_nobody_heard_of_binds_as_long_as_the_lease_does() -> None:
    assert breaches(unheard(next_request=27.0)) == []
    assert breaches(unheard(next_request=22.0)) == ["127.0.3.2: worker2 asked 1.90 s after a 429"]


def test_a_pause_that_was_committed_binds_whoever_dies() -> None:
    heard = unheard(next_request=27.0)
    heard = heard._replace(ran=[*heard.ran, ran(1, 20, 20.12, 32, 429)])

    assert "127.0.3.2: worker2 asked 6.90 s after a 429" in breaches(heard)


def test_a_run_without_an_answer_needs_no_request() -> None:
    silent = Ran(0, 40 * SEC, int(40.1 * SEC), None, 50 * SEC)

    assert match_runs(GOOD._replace(ran=[*GOOD.ran, silent])).strays == []


def test_the_table_shows_the_first_breaches_and_counts_the_others() -> None:
    shown = table([Finding("a promise", "7 things", [f"breach {n}" for n in range(7)])])

    assert "breach 4" in shown
    assert "breach 5" not in shown
    assert "and 2 more" in shown


def test_stopped_worker_that_did_not_send_its_request_is_no_breach() -> None:
    assert breaches(GOOD._replace(refused=0)) == []


def test_time_without_a_processor_is_no_part_of_a_drain() -> None:
    slow = fault("term", "worker2", 80, 83)._replace(waited=2.5)

    findings = judge(GOOD._replace(faults=[*GOOD.faults, slow]), PLAN)

    assert not any(finding.breaches for finding in findings)
