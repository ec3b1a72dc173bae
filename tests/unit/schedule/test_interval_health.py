"""Nothing is silently dead: how a feed's health falls and recovers."""

from datetime import UTC, datetime, timedelta

import pytest

from feedmill.config import ScheduleConfig
from feedmill.model.schedule import Health, Outcome, ScheduleState
from feedmill.schedule.decide import outcome_of_status
from feedmill.schedule.interval import advance_state, initial_state

NOW = datetime(2025, 10, 14, 9, 30, tzinfo=UTC)
DAY = timedelta(days=1)
CONFIG = ScheduleConfig()


def live(*polls: tuple[int | None, timedelta]) -> ScheduleState:
    state = initial_state(CONFIG)
    for status, after in polls:
        state = advance_state(state, outcome_of_status(status), now=NOW + after, config=CONFIG)
    return state


def test_a_new_feed_is_active_and_starts_with_the_initial_interval() -> None:
    state = initial_state(ScheduleConfig(initial_interval_sec=1_200))

    assert state == ScheduleState(interval_sec=1_200, health="active")
    assert initial_state(ScheduleConfig(min_interval_sec=7_200)).interval_sec == 7_200


@pytest.mark.parametrize(
    ("polls", "health", "failures"),
    [
        pytest.param([(200, DAY)], "active", 0, id="a success"),
        pytest.param([(None, DAY)], "backing-off", 1, id="one failure"),
        pytest.param([(500, DAY)] * 9, "backing-off", 9, id="nine in a row"),
        pytest.param([(500, DAY)] * 10, "suspect", 10, id="ten in a row"),
        pytest.param([(500, DAY)] * 10 + [(304, DAY)], "active", 0, id="a success forgives"),
        pytest.param([(410, DAY)], "suspect", 1, id="one 410"),
        pytest.param([(410, DAY), (503, 2 * DAY)], "suspect", 2, id="a 410 is remembered"),
        pytest.param([(410, DAY), (410, 2 * DAY)], "gone", 2, id="410 again a day later"),
        pytest.param(
            [(410, DAY), (410, 2 * DAY - timedelta(seconds=1))], "suspect", 2, id="410 too soon"
        ),
        pytest.param(
            [(410, DAY), (410, DAY * 1.5), (410, 2 * DAY)], "gone", 3, id="from the first 410"
        ),
        pytest.param(
            [(410, DAY), (404, DAY * 1.5), (410, 2 * DAY)], "gone", 3, id="a 404 in between"
        ),
        pytest.param(
            [(410, DAY), (200, DAY * 1.5), (410, 3 * DAY)], "suspect", 1, id="a 200 in between"
        ),
        pytest.param([(410, DAY), (410, 2 * DAY), (503, 3 * DAY)], "gone", 3, id="gone stays gone"),
        pytest.param(
            [(410, DAY), (410, 2 * DAY), (200, 3 * DAY)], "active", 0, id="back from the dead"
        ),
    ],
)
def test_health_follows_the_outcomes_of_the_polls(
    polls: list[tuple[int | None, timedelta]], health: Health, failures: int
) -> None:
    state = live(*polls)

    assert (state.health, state.consecutive_failures) == (health, failures)


def test_a_200_that_could_not_be_read_is_a_failure() -> None:
    outcome = Outcome(kind="failed", http_status=200, reason="not-a-feed")

    state = advance_state(initial_state(CONFIG), outcome, now=NOW, config=CONFIG)

    assert state.health == "backing-off"


def test_health_leaves_the_interval_alone() -> None:
    state = live((410, DAY), (410, 2 * DAY))

    assert state.interval_sec == CONFIG.initial_interval_sec
    assert state.gone_seen_at == NOW + DAY
