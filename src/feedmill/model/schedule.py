"""Scheduling: the inputs of a decision, its steps, and when a feed is polled next.

Everything here is plain data that a store can keep, so that a decision can be explained long
after it was made and replayed under another policy (D23).
"""
# Tested in tests/unit/publish/test_to_json.py

from collections.abc import Mapping
from datetime import datetime
from typing import Generic, Literal, TypeVar

from feedmill.model.base import Value

T = TypeVar("T")

Setting = str | int | float

HintSource = Literal[
    "ttl",  # RSS ttl
    "sy",  # RSS 1.0 syndication module
    "skipHours",
    "skipDays",
    "max-age",  # Cache-Control: max-age, less Age
    "expires",  # Expires, less Date
    "retry-after",
]

Health = Literal[
    "active",
    "backing-off",  # the last poll failed
    "suspect",  # many failures in a row, or one 410
    "gone",  # 410 twice, a day apart; still probed at the cap
]

DecisionReason = Literal[
    "new-entries", "no-new-entries", "not-modified", "error-backoff", "retry-after", "gone"
]

StepCode = Literal[
    DecisionReason,
    "price",  # the wait is worth a request: unseen entries have together waited for the price (D34)
    "window",  # half a document may have come out by then
    "ceiling",  # the price is not reached within the longest interval
    "quiet-ceiling",  # the longer ceiling of a feed that has been silent for long
    "circuit-open",  # the error budget is spent: polled like a canary
    "cadence",  # drawn towards the pace at which entries are published
    "silence",  # the same, with the open gap since the last entry counted in (D21)
    "ttl-floor",
    "update-period-floor",
    "jitter",
    "freshness-floor",
    "retry-after-floor",
    "quiet-window",
    "push-trusted",  # the hub delivers: the poll is a safety check
    "push-only",  # the feed is polled once a week
    "quiet-windows-ignored",  # the whole week is excluded, so the hint means nothing
]


class Hint(Value, Generic[T]):
    """Something a publisher or a server asked for, who said it, and when we last heard it."""

    value: T
    source: HintSource
    seen_at: datetime


class Hints(Value):
    """All hints of one feed; they outlive the answer that brought them (D22)."""

    ttl_sec: Hint[int] | None = None
    update_period_sec: Hint[int] | None = None
    skip_hours: Hint[tuple[int, ...]] | None = None  # 0..23, GMT
    skip_days: Hint[tuple[str, ...]] | None = None  # Mon..Sun, GMT
    freshness_sec: Hint[int] | None = None  # counted from seen_at
    retry_after_sec: Hint[int] | None = None  # counted from seen_at


class Cadence(Value):
    """How often the feed publishes: the EWMA of the gaps between its last entries."""

    ewma_sec: float
    last_published_at: datetime | None = None  # without it, silence is not counted


class Arrivals(Value, array_like=True):
    """When a feed's entries came out: decayed counts and a profile of hours and weekdays (D34).

    Times are Unix seconds. Counts are as of `last`; nothing changes while nothing new comes.
    """

    opened: float  # from when on the feed was watched: its oldest known event
    last: float  # the newest event
    entries: int  # all that were learnt
    events: int  # the same, with what came out together counted once
    window: int  # entries in one document; what is beyond has rolled out of it
    counts: tuple[float, float, float]  # events, with half-lives of 2, 10 and 60 days
    hours: tuple[float, ...]  # 24, UTC
    weekdays: tuple[float, ...]  # 7, from Monday, UTC


Circuit = Literal["closed", "open"]


class ErrorBudget(Value, array_like=True):
    """How much a feed that fails, works and fails again has spent of its error budget (002 §7)."""

    spent: float  # 0 to 1: the share of the last polls that failed after a success
    opened_at: datetime | None = None  # when the circuit opened; None: it is closed


class StoredArrival(Value):
    """What the store knows about the time at which an entry came out."""

    stated_at: datetime | None  # published, or updated
    first_seen: datetime
    previous_at: datetime | None  # of the last poll before, as far as it is remembered


class ScheduleState(Value):
    """What is carried from one poll of a feed to the next."""

    interval_sec: float
    consecutive_failures: int = 0
    health: Health = "active"
    gone_seen_at: datetime | None = None  # the first 410 since the last success
    cadence: Cadence | None = None
    arrivals: Arrivals | None = None
    errors: ErrorBudget | None = None  # None: nothing was spent

    @property
    def circuit(self) -> Circuit:
        """Open while the feed has spent its error budget."""
        return "closed" if self.errors is None or self.errors.opened_at is None else "open"


class Outcome(Value):
    """How a poll ended, as far as the schedule cares.

    `kind` decides: a 200 that could not be read as a feed is `failed`, and `reason` says why.
    """

    kind: Literal["fresh", "unchanged", "failed"]
    http_status: int | None = None  # None: no answer came
    new_entries: int = 0
    retry_after_sec: float | None = None
    reason: str = ""  # the stable word of the failure, such as timeout-connect


class Inputs(Value):
    """Everything one decision was made from, except the policy."""

    feed_id: str
    now: datetime
    state: ScheduleState
    outcome: Outcome
    hints: Hints = Hints()
    whole_documents: bool = False  # nothing that was sent made the server answer 304
    late_sec: float = 0.0  # how late the poll was because the host's lane was busy


class Step(Value):
    """One link of the chain: a rule that changed the interval or the delay, in seconds."""

    code: StepCode
    of: Literal["interval", "delay"]
    before: float
    after: float


class Decision(Value):
    """When the next poll is due, what is carried to it, and how that came about."""

    inputs: Inputs
    state: ScheduleState  # to be stored for the next decision
    delay_sec: float
    next_poll_at: datetime
    reason: DecisionReason
    steps: tuple[Step, ...]
    # The policy: the settings that differ from their defaults. None: made before these were kept.
    settings: Mapping[str, Setting] | None = None

    @property
    def interval_sec(self) -> float:
        """The interval carried on; jitter, pauses and quiet windows never change it."""
        return self.state.interval_sec
