"""The safety poll of a feed whose hub delivers."""

from datetime import UTC, datetime, timedelta

from feedmill.model.schedule import ScheduleState
from feedmill.schedule.decide import decide_next_poll, outcome_of_status
from feedmill.schedule.delay import stretch_for_push
from feedmill.schedule.explain import explain_decision

NOON = datetime(2025, 10, 14, 12, 0, tzinfo=UTC)
DECISION = decide_next_poll(
    ScheduleState(interval_sec=900.0), outcome_of_status(304), now=NOON, feed_id="f"
)


def test_wait_is_stretched_and_the_interval_is_kept() -> None:
    found = stretch_for_push(DECISION, wait_sec=86_400, code="push-trusted")

    assert found.next_poll_at == NOON + timedelta(days=1)
    assert (found.delay_sec, found.state) == (86_400.0, DECISION.state)
    assert found.steps[-1].code == "push-trusted"
    assert any("safety check" in one for one in explain_decision(found))
    weekly = stretch_for_push(DECISION, wait_sec=604_800, code="push-only")
    assert any("push only" in one for one in explain_decision(weekly))


def test_longer_wait_is_left_as_it_is() -> None:
    assert stretch_for_push(DECISION, wait_sec=1, code="push-only") is DECISION
