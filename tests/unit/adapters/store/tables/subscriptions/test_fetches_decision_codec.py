"""Decisions as compact JSON: short forms for what a 304 repeats, and the forms of earlier versions."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from feedmill.adapters.store.tables.codec import micros
from feedmill.adapters.store.tables.subscriptions.fetches import decision_of, decision_text
from feedmill.model.schedule import Cadence, Decision, Inputs, Outcome, ScheduleState, Step

AT = datetime(2026, 11, 18, 8, 0, tzinfo=UTC)
STATE = ScheduleState(
    interval_sec=900.0, cadence=Cadence(ewma_sec=60.0, last_published_at=AT - timedelta(days=1))
)


def not_modified() -> Decision:
    """What a 304 decides."""
    return Decision(
        inputs=Inputs(
            feed_id="f", now=AT, state=STATE, outcome=Outcome(kind="unchanged", http_status=304)
        ),
        state=STATE,
        delay_sec=880.25,
        next_poll_at=AT + timedelta(seconds=880.25),
        reason="not-modified",
        steps=(
            Step(code="not-modified", of="interval", before=900.0, after=900.0),
            Step(code="ceiling", of="interval", before=900.0, after=900.0),
            Step(code="jitter", of="delay", before=900.0, after=880.25),
        ),
        settings={},
    )


def test_decision_after_304_repeats_nothing_that_its_fetch_says() -> None:
    text = decision_text(not_modified(), AT)

    assert msgspec.json.decode(text) == [
        0,
        [900.0, [60.0, micros(AT - timedelta(days=1))]],
        0,
        None,
        [],
        880.25,
        0,
        "not-modified",
        ["", "ceiling", ["jitter"]],
        {},
    ]


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({}, id="all short"),
        pytest.param({"state": replace(STATE, interval_sec=1200.0)}, id="another interval"),
        pytest.param(
            {"state": replace(STATE, health="suspect", consecutive_failures=9)}, id="another health"
        ),
        pytest.param({"next_poll_at": AT + timedelta(hours=9)}, id="a later poll than the delay"),
        pytest.param(
            {"steps": (Step(code="quiet-window", of="delay", before=1.0, after=2.0),)},
            id="a step that changed the delay",
        ),
        pytest.param(
            {"steps": (Step(code="price", of="interval", before=900.0, after=901.0),)},
            id="a step that changed the interval",
        ),
        pytest.param(
            {
                "inputs": replace(
                    not_modified().inputs,
                    now=AT + timedelta(seconds=1),
                    state=replace(STATE, consecutive_failures=2, gone_seen_at=AT, cadence=None),
                    outcome=Outcome(kind="failed", retry_after_sec=60.0, reason="timeout-connect"),
                )
            },
            id="a failure, decided after the fetch",
        ),
    ],
)
def test_decision_is_read_as_it_was_written(changes: dict[str, Any]) -> None:
    decision = replace(not_modified(), **changes)

    found = decision_of("f", micros(AT), decision_text(decision, AT))

    assert found == decision


def test_decision_of_an_earlier_version_is_read() -> None:
    at, published = micros(AT), micros(AT - timedelta(days=1))
    steps = (
        '["not-modified","interval",900.0,900.0],["ceiling","interval",900.0,900.0],'
        '["jitter","delay",900.0,880.25]'
    )
    text = (
        f'[{at},[900.0,0,"active",null,[60.0,{published}]],["unchanged",304,0,null,""],null,[900.0],'
        f'880.25,{at + 880_250_000},"not-modified",[{steps}],{{}}]'
    )

    assert decision_of("f", at, text) == not_modified()
