"""The delay until the next poll: an interval with jitter, floors and quiet windows (D20), and the hints that bound it.

No delay is carried on: a pause or a quiet night must not become the next interval. Publisher and
server hints about when to poll are stored with their source and age (D22).

A publisher's hints stand in the document, so they are replaced only when a document was read;
a 304 and an error leave them as they are. What a server says about an answer counts from the
instant of that answer and fades by itself.
"""

from collections.abc import Collection, Iterable
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Literal

from msgspec.structs import replace

from feedmill.config import ScheduleConfig
from feedmill.model.parsed import PublisherHints
from feedmill.model.schedule import Decision, Hint, Hints, HintSource, Inputs, Step, StepCode
from feedmill.schedule.interval import ceiling_sec, current_interval, floor_of, known_arrivals

# RFC 9110 10.2.3 and RFC 6585 4: with these two a server says when it will be ready again.
_PAUSING_STATUSES = (429, 503)
DAY_NAMES = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_HOUR = timedelta(hours=1)
_FORECAST_JITTER = 0.05
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

_PERIOD_SEC = {
    "hourly": 3_600,
    "daily": 86_400,
    "weekly": 604_800,
    "monthly": 2_592_000,
    "yearly": 31_536_000,
}

# max-age=31536000 is how "for ever" is written. More says no more, and a number that a
# publisher chose must fit into every store.
_LONGEST_SEC = 31_536_000


def pause_exactly(interval: float, inputs: Inputs, config: ScheduleConfig) -> Step | None:
    """The pause that a 429 or 503 asked for: final, exact, without jitter (002 §4.6).

    None where it asked for none: a server that refuses and names no wait, or an instant that has
    passed, would be polled as often as its host's gap allows.
    """
    outcome = inputs.outcome
    if outcome.kind != "failed" or outcome.http_status not in _PAUSING_STATUSES:
        return None
    pause = _pause_sec(outcome.retry_after_sec or 0.0, config)
    return _step("retry-after", interval, pause) if pause > 0 else None


def add_jitter(delay: float, inputs: Inputs, config: ScheduleConfig) -> Step | None:
    """The delay moved a little either way, but never below a floor or beyond the ceiling."""
    if config.jitter_ratio == 0:
        return None
    share = jitter_share(inputs.feed_id, inputs.now)
    # An interval that was stored under a floor is not lifted here; it may only not sink.
    floor = min(delay, _highest_floor(inputs, config))
    ceiling = max(delay, ceiling_sec(inputs, config))
    moved = max(floor, spread(delay, share=share, ratio=_jitter_ratio(inputs, config)))
    moved = min(moved, ceiling)
    return _step("jitter", delay, moved)


def wait_out_freshness(delay: float, inputs: Inputs, config: ScheduleConfig) -> Step | None:
    """No earlier than the last answer goes stale; a lifetime beyond the ceiling is cut to it."""
    hint = inputs.hints.freshness_sec
    left = _left_of(hint, inputs, config.max_interval_sec)
    if hint is None or delay >= left:
        return None
    return _step("freshness-floor", delay, left)


def wait_out_pause(delay: float, inputs: Inputs, config: ScheduleConfig) -> Step | None:
    """After a failure, no earlier than any Retry-After allows, whatever status it came with."""
    if inputs.outcome.kind != "failed":
        return None
    asked = _pause_sec(inputs.outcome.retry_after_sec or 0, config)
    left = _left_of(inputs.hints.retry_after_sec, inputs, config.retry_after_max_sec)
    pause = max(asked, left)
    if delay >= pause:
        return None
    return _step("retry-after-floor", delay, pause)


def leave_quiet_windows(delay: float, inputs: Inputs, _config: ScheduleConfig) -> Step | None:
    """Later, to the next hour that the publisher's skipHours and skipDays leave open."""
    hours = inputs.hints.skip_hours.value if inputs.hints.skip_hours else ()
    days = inputs.hints.skip_days.value if inputs.hints.skip_days else ()
    if not hours and not days:
        return None
    due = inputs.now + timedelta(seconds=delay)
    opened = leave_quiet_window(due, hours, days)
    if opened is None:
        return _step("quiet-windows-ignored", delay, delay)
    if opened == due:
        return None
    return _step("quiet-window", delay, (opened - inputs.now).total_seconds())


def jitter_share(feed_id: str, run_at: datetime) -> float:
    """A number from -1 up to 1, spread evenly over feeds and runs.

    Drawn from the feed and the run, never from a random generator: two feeds that were subscribed
    in the same second drift apart, and the same feed at the same instant always gets the same
    answer, so that a decision can be replayed (D20).
    """
    at = run_at if run_at.tzinfo is UTC else run_at.astimezone(UTC)
    run = at.isoformat(timespec="microseconds")
    digest = sha256(f"{feed_id}\n{run}".encode("utf-8", "surrogatepass")).digest()
    # 53 bits are what a float holds exactly, so 1 itself is never reached by rounding.
    return (int.from_bytes(digest[:8], "big") >> 11) / 2**52 - 1


def spread(seconds: float, *, share: float, ratio: float) -> float:
    """The duration moved by its share of the ratio, either way."""
    return seconds * (1 + ratio * share)


def excludes_everything(hours: Collection[int], days: Collection[str]) -> bool:
    """Whether no hour of the week is left; such a hint cannot be followed and is ignored."""
    return set(range(24)) <= set(hours) or set(DAY_NAMES) <= set(days)


def is_quiet(instant: datetime, hours: Collection[int], days: Collection[str]) -> bool:
    """Whether the instant lies in an excluded hour or on an excluded day, both in GMT (RSS 2.0).

    An hour is excluded from its first second to its last.
    """
    at = instant.astimezone(UTC)
    return at.hour in hours or DAY_NAMES[at.weekday()] in days


def leave_quiet_window(
    instant: datetime, hours: Collection[int], days: Collection[str]
) -> datetime | None:
    """The instant itself, or the start of the next open hour; None when there is none."""
    if excludes_everything(hours, days):
        return None
    at = instant
    while is_quiet(at, hours, days):
        at = at.astimezone(UTC).replace(minute=0, second=0, microsecond=0) + _HOUR
    return at


def _jitter_ratio(inputs: Inputs, config: ScheduleConfig) -> float:
    """A wait that was computed is not blurred as much as one that was guessed."""
    if known_arrivals(inputs, config) is not None:
        return min(config.jitter_ratio, _FORECAST_JITTER)
    return config.jitter_ratio


def _highest_floor(inputs: Inputs, config: ScheduleConfig) -> float:
    # After a failure the interval before it is a floor too: an error never shortens.
    failed = inputs.outcome.kind == "failed"
    return max(
        config.min_interval_sec,
        floor_of(inputs.hints.ttl_sec, config),
        floor_of(inputs.hints.update_period_sec, config),
        current_interval(inputs.state, config) if failed else 0,
    )


def _left_of(hint: Hint[int] | None, inputs: Inputs, ceiling: int) -> float:
    """The seconds that remain of a hint which counts from the answer that brought it."""
    if hint is None:
        return 0
    whole = min(hint.value, ceiling)
    end = hint.seen_at + timedelta(seconds=whole)
    # A clock that was set back must not lengthen what the server asked for.
    return min((end - inputs.now).total_seconds(), whole)


def _pause_sec(asked: float, config: ScheduleConfig) -> float:
    return max(0.0, min(asked, config.retry_after_max_sec))


def _step(code: StepCode, before: float, after: float) -> Step:
    return Step(code=code, of="delay", before=float(before), after=float(after))


def stretch_for_push(
    decision: Decision, *, wait_sec: float, code: Literal["push-trusted", "push-only"]
) -> Decision:
    """The decision with at least this wait. The interval that is carried on stays, so that the feed
    returns to its own pace when trust ends."""
    if decision.delay_sec >= wait_sec:
        return decision
    step = Step(code=code, of="delay", before=decision.delay_sec, after=float(wait_sec))
    return replace(
        decision,
        steps=(*decision.steps, step),
        delay_sec=float(wait_sec),
        next_poll_at=decision.inputs.now + timedelta(seconds=wait_sec),
    )


def merge_hints(
    stored: Hints,
    *,
    seen_at: datetime,
    publisher: PublisherHints | None = None,
    freshness_sec: float | None = None,
    freshness_source: Literal["max-age", "expires"] = "max-age",
    retry_after_sec: float | None = None,
) -> Hints:
    """The stored hints with what one answer brought; `None` means that it said nothing.

    A freshness of nought ("Expires: 0") withdraws an earlier one.
    """
    merged = stored if publisher is None else _from_publisher(stored, publisher, seen_at)
    if freshness_sec is not None:
        merged = replace(merged, freshness_sec=_seconds(freshness_sec, freshness_source, seen_at))
    if retry_after_sec is not None:
        merged = replace(merged, retry_after_sec=_seconds(retry_after_sec, "retry-after", seen_at))
    return merged


def read_update_period(period: str | None, frequency: int | None) -> int | None:
    """The seconds between two updates by sy:updatePeriod and sy:updateFrequency.

    The module's defaults are daily and once; a period or frequency that means nothing makes
    the whole hint void.
    """
    if period is None and frequency is None:
        return None
    length = _PERIOD_SEC.get(period.strip().lower()) if period is not None else _PERIOD_SEC["daily"]
    times = 1 if frequency is None else frequency
    if length is None or times < 1:
        return None
    return length // times or None  # more often than every second is no hint


def read_skip_hours(hours: Iterable[int]) -> tuple[int, ...]:
    """The hours 0..23 among those given, in order; 24 is midnight, as in RSS 0.91."""
    return tuple(sorted({hour % 24 for hour in hours if 0 <= hour <= 24}))


def read_skip_days(names: Iterable[str]) -> tuple[str, ...]:
    """The days Mon..Sun that were named, in the order of the week; case and length are free."""
    wanted = {name.strip().rstrip(".").lower() for name in names}
    if not wanted:
        return ()
    return tuple(
        day[:3] for day in _DAYS if any(day[:end].lower() in wanted for end in range(3, 10))
    )


def _from_publisher(stored: Hints, said: PublisherHints, seen_at: datetime) -> Hints:
    period = read_update_period(said.update_period, said.update_frequency)
    hours = read_skip_hours(said.skip_hours)
    days = read_skip_days(said.skip_days)
    return replace(
        stored,
        ttl_sec=_seconds((said.ttl_minutes or 0) * 60, "ttl", seen_at),
        update_period_sec=_seconds(period or 0, "sy", seen_at),
        skip_hours=Hint(value=hours, source="skipHours", seen_at=seen_at) if hours else None,
        skip_days=Hint(value=days, source="skipDays", seen_at=seen_at) if days else None,
    )


def _seconds(seconds: float, source: HintSource, seen_at: datetime) -> Hint[int] | None:
    """A hint of whole seconds, as long as anything can mean; None for less than one."""
    if seconds >= 1:  # written so that NaN fails it
        return Hint(value=int(min(seconds, _LONGEST_SEC)), source=source, seen_at=seen_at)
    return None
