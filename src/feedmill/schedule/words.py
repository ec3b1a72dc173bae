"""A step of a decision as a sentence, made when somebody asks: every poll has steps, few are read.

Everything that a sentence says stands in the step and in the inputs of its decision.
"""

from collections.abc import Callable
from datetime import timedelta

from feedmill.model.schedule import Hint, Inputs, Step, StepCode
from feedmill.schedule.cadence import silence_sec
from feedmill.schedule.durations import duration_in_words, instant_in_words


def step_in_words(step: Step, inputs: Inputs) -> str:
    """One English sentence: what moved the interval or the delay, and where to."""
    told = _SENTENCES[step.code](step, inputs)
    if step.of == "delay":
        return told
    was, now = duration_in_words(step.before), duration_in_words(step.after)
    move = f"stays at {now}" if was == now else f"goes from {was} to {now}"
    return f"{told}, so the interval {move}."


def _new_entries(_step: Step, inputs: Inputs) -> str:
    count = inputs.outcome.new_entries
    return f"The poll brought {'one new entry' if count == 1 else f'{count} new entries'}"


def _no_new_entries(_step: Step, _inputs: Inputs) -> str:
    return "The document held nothing new"


def _not_modified(_step: Step, _inputs: Inputs) -> str:
    return "The feed had not changed"


def _error_backoff(_step: Step, inputs: Inputs) -> str:
    outcome = inputs.outcome
    status = f"HTTP {outcome.http_status}" if outcome.http_status is not None else ""
    why = ", ".join(filter(None, (status, outcome.reason))) or "no answer"
    return f"The poll failed ({why})"


def _gone(_step: Step, _inputs: Inputs) -> str:
    return "The publisher has said that the feed is gone"


def _pace(_step: Step, inputs: Inputs) -> str:
    cadence = inputs.state.cadence
    assert cadence is not None  # nothing else makes such a step
    usual = f"Entries come every {duration_in_words(cadence.ewma_sec)} on average"
    silence = silence_sec(cadence, now=inputs.now)
    if silence is None:
        return usual
    return f"{usual}, but the last one is {duration_in_words(silence)} old"


def _ttl(_step: Step, inputs: Inputs) -> str:
    return _asked(inputs.hints.ttl_sec)


def _update_period(_step: Step, inputs: Inputs) -> str:
    return _asked(inputs.hints.update_period_sec)


def _asked(hint: Hint[int] | None) -> str:
    assert hint is not None  # nothing else makes such a step
    asked, seen = duration_in_words(hint.value), instant_in_words(hint.seen_at)
    return f"The publisher asks for {asked} between polls ({hint.source}, last seen {seen})"


def _retry_after(step: Step, inputs: Inputs) -> str:
    return (
        f"The server answered HTTP {inputs.outcome.http_status} and asked for a pause of "
        f"{duration_in_words(step.after)}; the interval of {duration_in_words(step.before)} is kept for later."
    )


def _jitter(step: Step, _inputs: Inputs) -> str:
    wait = duration_in_words(step.after)
    return f"So that feeds do not come all at once, the wait becomes {wait}."


def _freshness(step: Step, inputs: Inputs) -> str:
    hint = inputs.hints.freshness_sec
    assert hint is not None  # nothing else makes such a step
    until = instant_in_words(inputs.now + timedelta(seconds=step.after))
    return f"The last answer is fresh until {until} ({hint.source}), so the poll waits for that."


def _pause(step: Step, _inputs: Inputs) -> str:
    return f"The server asked for a pause that lasts another {duration_in_words(step.after)}."


def _quiet(step: Step, inputs: Inputs) -> str:
    due = instant_in_words(inputs.now + timedelta(seconds=step.before))
    opened = instant_in_words(inputs.now + timedelta(seconds=step.after))
    return f"{due} is in the publisher's quiet hours; the next open hour starts at {opened}."


def _always_quiet(_step: Step, _inputs: Inputs) -> str:
    return "The publisher excludes every hour of the week, which is ignored."


_SENTENCES: dict[StepCode, Callable[[Step, Inputs], str]] = {
    "new-entries": _new_entries,
    "no-new-entries": _no_new_entries,
    "not-modified": _not_modified,
    "error-backoff": _error_backoff,
    "retry-after": _retry_after,
    "gone": _gone,
    "cadence": _pace,
    "silence": _pace,
    "ttl-floor": _ttl,
    "update-period-floor": _update_period,
    "jitter": _jitter,
    "freshness-floor": _freshness,
    "retry-after-floor": _pause,
    "quiet-window": _quiet,
    "quiet-windows-ignored": _always_quiet,
}
