"""The error budget of a feed that flaps: what spends it, what the open circuit does, what closes it."""

from datetime import UTC, datetime, timedelta

from feedmill.config import ScheduleConfig
from feedmill.model.schedule import Decision, ScheduleState
from feedmill.schedule.decide import decide_next_poll, outcome_of_status
from feedmill.schedule.explain import explain_decision

NOW = datetime(2025, 10, 14, 9, 30, tzinfo=UTC)
CONFIG = ScheduleConfig(policy="seed", jitter_ratio=0.0)


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
