"""A decision in plain English, for `feedmill explain` (D23)."""

from typing import assert_never

from feedmill.model.schedule import Decision, ScheduleState
from feedmill.schedule.durations import duration_in_words, instant_in_words
from feedmill.schedule.words import step_in_words


def explain_decision(decision: Decision) -> tuple[str, ...]:
    """The decision in sentences: when the poll was, what moved the schedule, what comes next."""
    return (
        f"The feed was polled at {instant_in_words(decision.inputs.now)}.",
        *(step_in_words(step, decision.inputs) for step in decision.steps),
        _next_poll(decision),
        _health(decision.state),
    )


def _next_poll(decision: Decision) -> str:
    when = instant_in_words(decision.next_poll_at)
    return f"The next poll is due at {when}, in {duration_in_words(decision.delay_sec)}."


def _health(state: ScheduleState) -> str:
    count = state.consecutive_failures
    failures = "one failure" if count == 1 else f"{count} failures in a row"
    match state.health:
        case "active":
            return "The feed is active."
        case "backing-off":
            return f"The feed is backing off after {failures}."
        case "suspect":
            return f"The feed is suspect after {failures}, and is still polled."
        case "gone":
            return "The feed is gone, and is still asked in case it returns."
        case _:
            assert_never(state.health)
