"""The recorded traces: seed 002 §6.2 in its guarded reading, event by event."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from feedmill.config import ScheduleConfig
from feedmill.model.parsed import PublisherHints
from feedmill.model.schedule import Cadence, Decision, Hints, ScheduleState
from feedmill.schedule.decide import decide_next_poll, outcome_of_status
from feedmill.schedule.delay import merge_hints
from feedmill.schedule.interval import ewma_of_gaps

VECTORS = json.loads(
    (Path(__file__).parents[2] / "vectors" / "scheduler_traces.json").read_text("utf-8")
)
TRACES = [case for case in VECTORS["cases"] if case["kind"] == "trace"]
EWMAS = [case for case in VECTORS["cases"] if case["kind"] == "ewma"]
SOME_DAY = "2025-10-14T09:30:00Z"


def play(case: dict[str, Any]) -> list[Decision]:
    config = ScheduleConfig(**{**VECTORS["params"], **case.get("params", {})})
    state = ScheduleState(interval_sec=case["initial_interval"])
    decisions = []
    for event in case["events"]:
        decisions.append(answer(event, state, config))
        state = decisions[-1].state
    return decisions


def answer(event: dict[str, Any], state: ScheduleState, config: ScheduleConfig) -> Decision:
    now = datetime.fromisoformat(event.get("now", SOME_DAY))
    ewma = event.get("ewma")
    said = PublisherHints(
        ttl_minutes=event.get("ttl_minutes"),
        skip_hours=tuple(event.get("skip_hours", ())),
        skip_days=tuple(event.get("skip_days", ())),
    )
    return decide_next_poll(
        ScheduleState(
            interval_sec=state.interval_sec,
            cadence=None if ewma is None else Cadence(ewma_sec=ewma),
        ),
        outcome_of_status(
            event["status"],
            new_entries=event.get("new_entries", 0),
            retry_after_sec=event.get("retry_after"),
        ),
        merge_hints(Hints(), publisher=said, seen_at=now),
        now=now,
        feed_id="feed",
        config=config,
    )


@pytest.mark.parametrize("case", TRACES, ids=[case["id"] + ": " + case["name"] for case in TRACES])
def test_a_recorded_trace_is_followed_event_by_event(case: dict[str, Any]) -> None:
    expected = case.get("expected_guarded", case["expected"])

    decisions = play(case)

    assert [decision.reason for decision in decisions] == [row["reason"] for row in expected]
    assert [decision.interval_sec for decision in decisions] == pytest.approx(
        [row["interval"] for row in expected], abs=1e-5
    )
    assert [decision.delay_sec for decision in decisions] == pytest.approx(
        [row["delay"] for row in expected], abs=1e-5
    )


def test_a_trace_with_a_clock_names_the_instant_of_the_next_poll() -> None:
    clocked = [case for case in TRACES if "next_run_at" in case["expected"][0]]

    due = [[decision.next_poll_at for decision in play(case)] for case in clocked]

    assert due == [
        [datetime.fromisoformat(row["next_run_at"]) for row in case["expected"]] for case in clocked
    ]
    assert len(due) == 7


@pytest.mark.parametrize("case", EWMAS, ids=[case["id"] + ": " + case["name"] for case in EWMAS])
def test_a_recorded_ewma_is_reproduced(case: dict[str, Any]) -> None:
    published = [datetime.fromisoformat(text).astimezone(UTC) for text in case["published"]]

    ewma = ewma_of_gaps(published, alpha=case["alpha"])

    assert ewma == pytest.approx(case["expected_ewma"])
