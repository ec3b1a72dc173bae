"""The error budget of a feed that flaps: what spends it, what the open circuit does, what closes it.

The price of a request, and the ceiling of feeds that are quiet.
"""

from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from feedmill.config import ScheduleConfig
from feedmill.model.schedule import Decision, Inputs, ScheduleState
from feedmill.schedule.arrivals import learn_arrivals
from feedmill.schedule.decide import decide_again, decide_next_poll, outcome_of_status
from feedmill.schedule.explain import explain_decision
from feedmill.schedule.interval import ceiling_sec, known_arrivals, late_factor, price_sec

NOW = datetime(2025, 10, 14, 9, 30, tzinfo=UTC)
CONFIG = ScheduleConfig(policy="seed", jitter_ratio=0.0)

DAY = 86_400.0
PLAIN = ScheduleConfig(jitter_ratio=0.0)
QUIET = replace(PLAIN, quiet_max_interval_sec=int(7 * DAY))


def polled(statuses: list[int], state: ScheduleState | None = None) -> list[Decision]:
    decisions: list[Decision] = []
    state = state or ScheduleState(interval_sec=600)
    for number, status in enumerate(statuses):
        outcome = outcome_of_status(status, new_entries=int(status == 200))
        now = NOW + timedelta(hours=number)
        decision = decide_next_poll(state, outcome, now=now, feed_id="feed", config=CONFIG)
        decisions.append(decision)
        state = decision.state
    return decisions


def is_open(decision: Decision) -> bool:
    return decision.state.errors is not None and decision.state.errors.opened_at is not None


def test_a_feed_that_works_and_fails_by_turns_opens_its_circuit_and_is_polled_rarely() -> None:
    decisions = polled([200, 500] * 4 + [200])

    assert is_open(decisions[-1])
    assert decisions[-1].interval_sec == 3_600
    assert "circuit-open" in [step.code for step in decisions[-1].steps]
    assert any("spent its error budget" in words for words in explain_decision(decisions[-1]))


def test_one_long_outage_is_one_fault() -> None:
    decisions = polled([200] + [500] * 30 + [200])

    assert not any(map(is_open, decisions))
    assert decisions[-1].interval_sec < 3_600


def test_the_circuit_closes_once_the_feed_has_been_steady() -> None:
    flapping = polled([200, 500] * 4)[-1].state

    steady = polled([200] * 20, flapping)

    assert is_open(steady[0])
    assert not is_open(steady[-1])
    assert steady[-1].interval_sec < 3_600
    assert polled([304] * 40, steady[-1].state)[-1].state.errors is None


def test_a_feed_that_never_failed_has_spent_nothing() -> None:
    assert all(one.state.errors is None for one in polled([200, 304, 200]))


def test_an_interval_that_is_long_already_stays_while_the_circuit_is_open() -> None:
    flapping = polled([200, 500] * 4)[-1].state
    state = ScheduleState(interval_sec=50_000, errors=flapping.errors)

    (decision,) = polled([304], state)

    assert "circuit-open" not in [step.code for step in decision.steps]


def inputs(*, silence_days: float = 0.1, events: int = 30, interval: float = 3_600.0) -> Inputs:
    last = NOW.timestamp() - silence_days * DAY
    times = [last - back * 43_200 for back in reversed(range(events))]
    known = learn_arrivals(None, times, now=NOW.timestamp(), window=20)
    return Inputs(
        feed_id="feed",
        now=NOW,
        state=ScheduleState(interval_sec=interval, arrivals=known),
        outcome=outcome_of_status(304),
    )


def test_nothing_is_forecast_under_the_seeds_policy_nor_before_an_event_is_known() -> None:
    assert known_arrivals(inputs(), PLAIN) is not None
    assert known_arrivals(inputs(), replace(PLAIN, policy="seed")) is None
    assert known_arrivals(inputs(events=0), PLAIN) is None


def test_a_feed_that_sends_whole_documents_pays_more_and_is_polled_less() -> None:
    conditional = inputs()
    whole = replace(conditional, whole_documents=True)

    assert price_sec(conditional, PLAIN) == 2_700
    assert price_sec(whole, PLAIN) == 4 * 2_700
    ratio = decide_again(whole, PLAIN).interval_sec / decide_again(conditional, PLAIN).interval_sec
    assert 1.2 < ratio < 2.5


@pytest.mark.parametrize(
    ("late", "factor"),
    [(0.0, 1.0), (-5.0, 1.0), (1_800.0, 2.25), (3_600.0, 4.0), (1e6, 16.0)],
    ids=["in time", "early", "half an interval", "a whole interval", "at most"],
)
def test_the_price_rises_while_the_lane_of_the_host_is_late(late: float, factor: float) -> None:
    late_poll = replace(inputs(), late_sec=late)

    assert late_factor(late_poll, PLAIN) == pytest.approx(factor)


def test_a_quiet_feed_has_a_longer_ceiling_where_that_is_set() -> None:
    assert ceiling_sec(inputs(silence_days=300), PLAIN) == DAY
    assert ceiling_sec(inputs(silence_days=300), QUIET) == 7 * DAY
    assert ceiling_sec(inputs(silence_days=30), QUIET) == 3 * DAY
    assert ceiling_sec(inputs(silence_days=1), QUIET) == DAY

    decision = decide_again(inputs(silence_days=300), QUIET)
    assert (decision.interval_sec, decision.steps[1].code) == (7 * DAY, "quiet-ceiling")


def test_jitter_never_goes_beyond_the_ceiling() -> None:
    dead = inputs(silence_days=300)

    for number in range(50):
        one = replace(dead, feed_id=f"feed {number}")
        for config in (ScheduleConfig(), ScheduleConfig(policy="seed", jitter_ratio=0.5)):
            assert decide_again(one, config).delay_sec <= DAY
