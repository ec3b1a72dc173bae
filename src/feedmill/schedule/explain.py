"""Explains a scheduling decision in plain English, for `feedmill explain` (D23).

Sentences are made on request: every poll has steps, few are read. Everything that a sentence says
stands in the step and in the inputs of its decision.
"""

from datetime import UTC, datetime, timedelta
from typing import assert_never

from feedmill.config import ScheduleConfig
from feedmill.model.schedule import (
    Arrivals,
    Decision,
    ErrorBudget,
    Hint,
    Inputs,
    Outcome,
    ScheduleState,
    Step,
)
from feedmill.schedule.arrivals import (
    entry_rate,
    expected_unseen,
    hour_factors,
    weekday_factors,
)
from feedmill.schedule.decide import config_of
from feedmill.schedule.delay import DAY_NAMES
from feedmill.schedule.interval import known_arrivals, late_factor, price_sec, silence_sec

_BUSY = 1.5  # times the average: an hour or a day that is worth naming
_NAMED = frozenset({"new-entries", "no-new-entries", "not-modified"})
_DAY = 86_400
_WORTH_A_WORD = 0.6  # of the error budget: more than one failure
_DEFAULTS = ScheduleConfig()
_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def explain_decision(decision: Decision) -> tuple[str, ...]:
    """The decision in sentences: when the poll was, what moved the schedule, what comes next."""
    config = config_of(decision)
    circuit = circuit_in_words(decision.state.errors, config)
    return (
        f"The feed was polled at {instant_in_words(decision.inputs.now)}.",
        *(step_in_words(step, decision.inputs, config) for step in decision.steps),
        _next_poll(decision),
        _health(decision.state),
        *(() if circuit is None else (circuit,)),
    )


def step_in_words(step: Step, inputs: Inputs, config: ScheduleConfig = _DEFAULTS) -> str:
    """One English sentence: what moved the interval or the delay, and where to."""
    sentence = _sentence(step, inputs, config)
    if step.of == "delay":
        return sentence
    if step.code in _NAMED and known_arrivals(inputs, config) is not None:
        return f"{sentence}."
    was, now = duration_in_words(step.before), duration_in_words(step.after)
    move = f"stays at {now}" if was == now else f"goes from {was} to {now}"
    return f"{sentence}, so the interval {move}."


def duration_in_words(seconds: float) -> str:
    """A duration that is not negative, in its two largest units: 1 h 15 min."""
    left = round(seconds)
    for index, (size, unit) in enumerate(_UNITS):
        if left >= size:
            smaller = left % size // _UNITS[index + 1][0] if index + 1 < len(_UNITS) else 0
            tail = f" {smaller} {_UNITS[index + 1][1]}" if smaller else ""
            return f"{left // size} {unit}{tail}"
    return "0 s"


def instant_in_words(instant: datetime) -> str:
    """The instant in UTC, to the second."""
    return f"{instant.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def circuit_in_words(errors: ErrorBudget | None, config: ScheduleConfig) -> str | None:
    """What a feed that fails by turns has spent of its error budget; None: nothing worth a word."""
    if errors is None:
        return None
    if errors.opened_at is None:
        share = errors.spent / config.error_budget
        return f"It has used {share:.0%} of its error budget." if share >= _WORTH_A_WORD else None
    every = duration_in_words(min(config.backoff_cap_sec, config.max_interval_sec))
    return (
        "It works and fails by turns and has spent its error budget: its circuit is open since"
        f" {instant_in_words(errors.opened_at)}, so it is polled at most every {every} until it is steady."
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
            return "The feed is gone, and is still polled in case it returns."
        case _:
            assert_never(state.health)


def _sentence(step: Step, inputs: Inputs, config: ScheduleConfig) -> str:
    after, hints = duration_in_words(step.after), inputs.hints
    match step.code:
        case "new-entries":
            count = inputs.outcome.new_entries
            return f"The poll brought {'one new entry' if count == 1 else f'{count} new entries'}"
        case "no-new-entries":
            return "The document held nothing new"
        case "not-modified":
            return "The feed had not changed"
        case "error-backoff":
            return f"The poll failed ({_failure(inputs.outcome)})"
        case "gone":
            return "The publisher has said that the feed is gone"
        case "circuit-open":
            return "The circuit of the feed is open"
        case "cadence" | "silence":
            return _pace(inputs)
        case "ttl-floor":
            return _asked(hints.ttl_sec, config)
        case "update-period-floor":
            return _asked(hints.update_period_sec, config)
        case "retry-after":
            return (
                f"The server answered HTTP {inputs.outcome.http_status} and asked for a pause of"
                f" {after}; the interval of {duration_in_words(step.before)} is kept for later."
            )
        case "jitter":
            return f"So that feeds do not come all at once, the wait becomes {after}."
        case "freshness-floor":
            assert hints.freshness_sec is not None  # nothing else makes such a step
            hint = hints.freshness_sec
            until = instant_in_words(hint.seen_at + timedelta(seconds=hint.value))
            but = (
                f", but {after} is the longest wait" if hint.value > config.max_interval_sec else ""
            )
            return f"The last answer is fresh until {until} ({hint.source}), so the poll waits for that{but}."
        case "retry-after-floor":
            return f"The server asked for a pause that lasts another {after}."
        case "quiet-window":
            due, opened = _after(inputs, step.before), _after(inputs, step.after)
            return (
                f"{due} is in the publisher's quiet hours; the next open hour starts at {opened}."
            )
        case "quiet-windows-ignored":
            return "The publisher excludes every hour of the week, which is ignored."
        case "push-trusted":
            return f"The feed's hub pushes what it publishes, so the poll is a safety check after {after}."
        case "push-only":
            return f"The feed is set to push only, so it is polled every {after}."
        case "price" | "window" if step.after <= config.min_interval_sec:
            return f"{_expected(step, inputs)}, which is worth a request, but this is the shortest interval"
        case "price":
            return (
                f"{_expected(step, inputs)}, and will together have waited {_price(inputs, config)},"
                f" which is the price of a request{_dearer(inputs, config)}"
            )
        case "window":
            return (
                f"{_expected(step, inputs)}, half of the {_arrivals(inputs).window} that the document"
                " holds; entries that leave it unseen would be lost"
            )
        case "ceiling":
            return (
                f"{_expected(step, inputs)}, which is less than the price of a request"
                f" ({_price(inputs, config)} of waiting), but this is the longest interval"
            )
        case "quiet-ceiling":
            silence = duration_in_words(inputs.now.timestamp() - _arrivals(inputs).last)
            return (
                f"Nothing has come out for {silence}, so the longer ceiling of quiet feeds applies"
            )
        case _:
            assert_never(step.code)


def _failure(outcome: Outcome) -> str:
    status = f"HTTP {outcome.http_status}" if outcome.http_status is not None else ""
    return ", ".join(filter(None, (status, outcome.reason))) or "no answer"


def _pace(inputs: Inputs) -> str:
    cadence = inputs.state.cadence
    assert cadence is not None  # nothing else makes such a step
    usual = f"Entries come every {duration_in_words(cadence.ewma_sec)} on average"
    silence = silence_sec(cadence, now=inputs.now)
    if silence is None:
        return usual
    return f"{usual}, but the last one is {duration_in_words(silence)} old"


def _asked(hint: Hint[int] | None, config: ScheduleConfig) -> str:
    assert hint is not None  # nothing else makes such a step
    asked, seen = duration_in_words(hint.value), instant_in_words(hint.seen_at)
    words = f"The publisher asks for {asked} between polls ({hint.source}, last seen {seen})"
    if hint.value <= config.max_interval_sec:
        return words
    return f"{words}, and {duration_in_words(config.max_interval_sec)} is the longest interval"


def _after(inputs: Inputs, seconds: float) -> str:
    return instant_in_words(inputs.now + timedelta(seconds=seconds))


def _price(inputs: Inputs, config: ScheduleConfig) -> str:
    price = price_sec(inputs, config)
    return duration_in_words(price) if price >= 1 else f"{price:.2g} s"


def _expected(step: Step, inputs: Inputs) -> str:
    """How many unseen entries there will be, how that is known, and which hours and days count."""
    arrivals = _arrivals(inputs)
    now = inputs.now.timestamp()
    daily = entry_rate(arrivals, now) * _DAY
    since = datetime.fromtimestamp(arrivals.opened, UTC)
    unseen = expected_unseen(arrivals, now=now, wait_sec=step.after)
    until = _after(inputs, step.after)
    return (
        f"The feed publishes about {_amount(daily)} entries a day now (learnt from"
        f" {arrivals.entries} since {since:%Y-%m-%d}{_busy_times(arrivals)}): by {until} about"
        f" {_amount(unseen)} of them will be unseen"
    )


def _busy_times(arrivals: Arrivals) -> str:
    hours = [hour for hour, factor in enumerate(hour_factors(arrivals)) if factor >= _BUSY]
    days = [
        day
        for day, factor in zip(DAY_NAMES, weekday_factors(arrivals), strict=True)
        if factor >= _BUSY
    ]
    parts = [
        f"at {', '.join(_hour_ranges(hours))} UTC" if hours else "",
        f"on {', '.join(days)}" if days else "",
    ]
    named = " and ".join(part for part in parts if part)
    return f", mostly {named}" if named else ""


def _hour_ranges(hours: list[int]) -> list[str]:
    """8, 9, 10, 15 as 8-11 h and 15-16 h."""
    ranges: list[list[int]] = []
    for hour in hours:
        if ranges and ranges[-1][1] == hour:
            ranges[-1][1] = hour + 1
        else:
            ranges.append([hour, hour + 1])
    return [f"{first}-{end} h" for first, end in ranges]


def _amount(number: float) -> str:
    return f"{number:.0f}" if number >= 10 else f"{number:.1f}" if number >= 1 else f"{number:.2f}"


def _dearer(inputs: Inputs, config: ScheduleConfig) -> str:
    reasons = []
    if inputs.whole_documents:
        times = f"{config.whole_document_price:g}"
        reasons.append(f"{times} times the usual one, because it always sends its whole document")
    late = late_factor(inputs, config)
    if late >= 1.05:  # less would be shown as "1 times"
        waited = duration_in_words(inputs.late_sec)
        reasons.append(f"{late:.2g} times, because the poll waited {waited} for its host")
    return f" ({'; '.join(reasons)})" if reasons else ""


def _arrivals(inputs: Inputs) -> Arrivals:
    assert inputs.state.arrivals is not None  # nothing else makes such a step
    return inputs.state.arrivals
