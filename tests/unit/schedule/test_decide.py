"""The decision about the next poll, rule by rule."""

from datetime import UTC, datetime, timedelta
from typing import Literal

import msgspec
import pytest
from msgspec.structs import replace

from feedmill.config import ScheduleConfig
from feedmill.errors import UsageError
from feedmill.model.feed import FeedOverrides
from feedmill.model.parsed import PublisherHints
from feedmill.model.schedule import (
    Cadence,
    Decision,
    Hints,
    Outcome,
    ScheduleState,
    StoredArrival,
)
from feedmill.schedule.decide import (
    decide_again,
    decide_next_poll,
    learn_entries,
    learn_stored,
    learn_times,
    outcome_of_status,
    own_schedule,
)
from feedmill.schedule.delay import merge_hints
from feedmill.schedule.explain import step_in_words
from feedmill.schedule.interval import initial_state

NOW = datetime(2025, 10, 14, 9, 30, tzinfo=UTC)
STILL = ScheduleConfig(jitter_ratio=0)
NOT_MODIFIED = outcome_of_status(304)


def state(interval_sec: float = 900, cadence: Cadence | None = None) -> ScheduleState:
    return ScheduleState(interval_sec=interval_sec, cadence=cadence)


def decide(
    outcome: Outcome = NOT_MODIFIED,
    hints: Hints = Hints(),  # noqa: B008 - a frozen value
    *,
    interval: float = 900,
    now: datetime = NOW,
    config: ScheduleConfig = STILL,
) -> Decision:
    return decide_next_poll(state(interval), outcome, hints, now=now, feed_id="feed", config=config)


def codes(decision: Decision) -> list[str]:
    return [step.code for step in decision.steps]


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        pytest.param(200, "fresh", id="200"),
        pytest.param(226, "fresh", id="IM used"),
        pytest.param(299, "fresh", id="the last of the successes"),
        pytest.param(304, "unchanged", id="304"),
        pytest.param(300, "failed", id="a redirect that was not followed"),
        pytest.param(199, "failed", id="no final answer"),
        pytest.param(404, "failed", id="404"),
        pytest.param(500, "failed", id="500"),
        pytest.param(None, "failed", id="no answer"),
    ],
)
def test_a_status_alone_says_how_a_poll_ended(status: int | None, kind: str) -> None:
    outcome = outcome_of_status(status)

    assert (outcome.kind, outcome.http_status) == (kind, status)


def test_defaults_are_enough_for_a_decision() -> None:
    decision = decide_next_poll(state(), NOT_MODIFIED, now=NOW, feed_id="feed")

    assert decision.interval_sec == 1_125
    assert 0.85 * 1_125 <= decision.delay_sec <= 1.15 * 1_125
    assert decision.next_poll_at == NOW + timedelta(seconds=decision.delay_sec)


def test_a_clock_without_a_zone_is_refused() -> None:
    naive = NOW.replace(tzinfo=None)

    with pytest.raises(UsageError, match="2025-10-14T09:30:00, which has no time zone"):
        decide(now=naive)


def test_a_stored_interval_of_nought_starts_over() -> None:
    decision = decide(interval=0)

    assert decision.interval_sec == 1_125


def test_a_200_that_could_not_be_read_backs_off() -> None:
    outcome = Outcome(kind="failed", http_status=200, new_entries=3, reason="not-a-feed")

    decision = decide(outcome)

    assert (decision.reason, decision.interval_sec) == ("error-backoff", 1_800)
    assert "(HTTP 200, not-a-feed)" in step_in_words(decision.steps[0], decision.inputs)


def test_an_error_keeps_an_interval_that_is_longer_than_the_cap() -> None:
    decision = decide(outcome_of_status(500), interval=200_000)

    assert decision.interval_sec == decision.delay_sec == 200_000


@pytest.mark.parametrize(
    ("status", "asked", "pause"),
    [
        pytest.param(503, 1, 1, id="under every floor"),
        pytest.param(429, 604_800, 604_800, id="a week"),
        pytest.param(503, 604_801, 604_800, id="more than a week is a week"),
        pytest.param(503, float("inf"), 604_800, id="for ever is a week"),
    ],
)
def test_a_retry_after_is_the_whole_decision(status: int, asked: float, pause: float) -> None:
    everything = merge_hints(
        Hints(),
        seen_at=NOW,
        publisher=PublisherHints(ttl_minutes=90, skip_hours=tuple(range(23))),
        freshness_sec=7_200,
    )

    decision = decide(
        outcome_of_status(status, retry_after_sec=asked), everything, config=ScheduleConfig()
    )

    assert codes(decision) == ["retry-after"]
    assert (decision.reason, decision.delay_sec) == ("retry-after", pause)
    assert decision.interval_sec == 900
    assert decision.state.consecutive_failures == 1


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize(
    "asked", [pytest.param(0, id="at once"), pytest.param(-5, id="the date has passed")]
)
def test_a_retry_after_that_asks_for_no_pause_leaves_the_backoff(status: int, asked: float) -> None:
    decision = decide(outcome_of_status(status, retry_after_sec=asked))

    assert (decision.reason, decision.delay_sec) == ("error-backoff", 1_800)


@pytest.mark.parametrize(
    ("status", "asked", "delay"),
    [
        pytest.param(413, 7_200, 7_200, id="a longer pause is kept"),
        pytest.param(500, 60, 1_800, id="a shorter one does not shorten the backoff"),
        pytest.param(200, 7_200, 1_125, id="a success needs no pause"),
        pytest.param(304, 7_200, 1_125, id="nor does a 304"),
    ],
)
def test_a_retry_after_with_another_status_only_lengthens_a_backoff(
    status: int, asked: float, delay: float
) -> None:
    decision = decide(outcome_of_status(status, retry_after_sec=asked))

    assert decision.delay_sec == delay
    assert decision.reason != "retry-after"


def test_a_pause_that_was_asked_for_earlier_still_holds_after_a_failure() -> None:
    hints = merge_hints(Hints(), seen_at=NOW - timedelta(hours=1), retry_after_sec=10_800)

    failed = decide(outcome_of_status(None), hints)
    succeeded = decide(NOT_MODIFIED, hints)

    assert (codes(failed), failed.delay_sec) == (["error-backoff", "retry-after-floor"], 7_200)
    assert succeeded.delay_sec == 1_125


def test_the_update_period_lifts_the_interval_like_a_ttl() -> None:
    said = PublisherHints(ttl_minutes=30, update_period="hourly")
    hints = merge_hints(Hints(), publisher=said, seen_at=NOW)

    decision = decide(NOT_MODIFIED, hints)

    assert codes(decision) == ["not-modified", "ttl-floor", "update-period-floor"]
    assert decision.interval_sec == decision.delay_sec == 3_600


def test_an_update_period_beyond_the_ceiling_is_cut_to_it() -> None:
    said = PublisherHints(update_period="yearly")
    hints = merge_hints(Hints(), publisher=said, seen_at=NOW)

    decision = decide(NOT_MODIFIED, hints)

    assert decision.interval_sec == STILL.max_interval_sec


@pytest.mark.parametrize(
    ("age", "lifetime", "delay"),
    [
        pytest.param(0, 7_200, 7_200, id="fresh for longer than the interval"),
        pytest.param(0, 600, 1_125, id="stale before the next poll anyway"),
        pytest.param(3_600, 7_200, 3_600, id="half of it is over"),
        pytest.param(7_200, 3_600, 1_125, id="all of it is over"),
        pytest.param(0, 31_536_000, 86_400, id="a year is cut to the ceiling"),
        pytest.param(172_800, 31_536_000, 1_125, id="and over after that"),
        pytest.param(-3_600, 31_536_000, 86_400, id="seen ahead of the clock"),
    ],
)
@pytest.mark.parametrize("status", [pytest.param(304, id="304"), pytest.param(200, id="200")])
def test_freshness_holds_back_the_poll_but_not_the_interval(
    status: int, age: int, lifetime: int, delay: float
) -> None:
    hints = merge_hints(Hints(), seen_at=NOW - timedelta(seconds=age), freshness_sec=lifetime)

    decision = decide(outcome_of_status(status), hints)

    assert decision.delay_sec == delay
    assert decision.interval_sec == 1_125


def test_freshness_still_holds_after_a_failure() -> None:
    hints = merge_hints(Hints(), seen_at=NOW, freshness_sec=7_200)

    decision = decide(outcome_of_status(502), hints)

    assert (codes(decision), decision.delay_sec) == (["error-backoff", "freshness-floor"], 7_200)


def test_a_poll_held_back_into_a_quiet_window_is_moved_out_of_it() -> None:
    said = PublisherHints(skip_hours=(11, 12))
    hints = merge_hints(Hints(), publisher=said, seen_at=NOW, freshness_sec=7_200)

    decision = decide(NOT_MODIFIED, hints)

    assert codes(decision) == ["not-modified", "freshness-floor", "quiet-window"]
    assert decision.next_poll_at == datetime(2025, 10, 14, 13, tzinfo=UTC)
    assert decision.interval_sec == 1_125


def test_a_publisher_who_excludes_the_whole_week_is_not_heard() -> None:
    said = PublisherHints(skip_hours=tuple(range(24)), skip_days=("Sat",))
    hints = merge_hints(Hints(), publisher=said, seen_at=NOW)

    decision = decide(NOT_MODIFIED, hints)

    assert codes(decision) == ["not-modified", "quiet-windows-ignored"]
    assert decision.delay_sec == 1_125


def test_new_publication_times_become_the_cadence_that_is_carried_on() -> None:
    published = [NOW - timedelta(hours=hour) for hour in range(5)]

    decision = decide_next_poll(
        state(cadence=Cadence(ewma_sec=60)),
        outcome_of_status(200, new_entries=1),
        now=NOW,
        feed_id="feed",
        config=STILL,
        publications=published,
    )

    assert codes(decision) == ["new-entries", "cadence"]
    assert decision.interval_sec == 0.5 * 3_600 + 0.5 * 675
    assert decision.state.cadence == Cadence(ewma_sec=3_600, last_published_at=NOW)


def test_a_feed_that_stops_publishing_slows_down() -> None:
    stopped = Cadence(ewma_sec=600, last_published_at=NOW)
    carried = ScheduleState(interval_sec=600, cadence=stopped)
    now = NOW
    decisions = []

    for _ in range(60):
        decision = decide_next_poll(carried, NOT_MODIFIED, now=now, feed_id="feed", config=STILL)
        decisions.append(decision)
        carried, now = decision.state, decision.next_poll_at

    intervals = [decision.interval_sec for decision in decisions]
    assert codes(decisions[-1]) == ["not-modified", "silence"]
    assert intervals == sorted(intervals)
    assert intervals[-1] == STILL.max_interval_sec


def test_a_feed_that_is_gone_is_probed_at_the_ceiling_until_it_returns() -> None:
    suspect = ScheduleState(
        interval_sec=900, health="suspect", gone_seen_at=NOW - timedelta(hours=24)
    )

    gone = decide_next_poll(suspect, outcome_of_status(410), now=NOW, feed_id="feed", config=STILL)
    back = decide_next_poll(
        gone.state, NOT_MODIFIED, now=gone.next_poll_at, feed_id="feed", config=STILL
    )

    assert (gone.reason, gone.delay_sec, gone.state.health) == ("gone", 86_400, "gone")
    assert (back.reason, back.state.health) == ("not-modified", "active")


def test_a_stored_decision_is_reached_again_from_its_inputs() -> None:
    said = PublisherHints(ttl_minutes=15, skip_hours=(10,), skip_days=("Sun",))
    decision = decide_next_poll(
        state(cadence=Cadence(ewma_sec=1_000, last_published_at=NOW - timedelta(days=1))),
        outcome_of_status(200, new_entries=2),
        merge_hints(Hints(), publisher=said, seen_at=NOW),
        now=NOW,
        feed_id="feed",
    )

    stored = msgspec.json.decode(msgspec.json.encode(decision), type=Decision)

    assert stored == decision
    assert decide_again(stored.inputs, ScheduleConfig()) == decision
    assert decide_again(stored.inputs, STILL).delay_sec != decision.delay_sec


def test_arrivals_are_learnt_from_stored_entries_in_the_order_of_their_times() -> None:
    stored = [
        StoredArrival(stated_at=NOW - timedelta(days=day), first_seen=NOW, previous_at=None)
        for day in (1, 3, 2)
    ]

    learnt, times = learn_stored(state(), stored, now=NOW, window=30)
    later = learn_times(
        replace(learnt, cadence=None), [NOW.timestamp()], now=NOW, window=30, config=STILL
    )

    assert list(times) == sorted(times)
    assert learnt.arrivals is not None
    assert learnt.arrivals.entries == 3
    assert later.cadence is not None


def test_a_feeds_own_intervals_take_the_place_of_the_settings() -> None:
    assert own_schedule(FeedOverrides(), STILL) is STILL
    for own, limits in (
        (FeedOverrides(min_interval_sec=60), (60, 86_400)),
        (FeedOverrides(max_interval_sec=7_200), (300, 7_200)),
        (FeedOverrides(min_interval_sec=172_800), (172_800, 172_800)),
        (FeedOverrides(max_interval_sec=60), (60, 60)),
    ):
        config = own_schedule(own, STILL)
        assert (config.min_interval_sec, config.max_interval_sec) == limits


@pytest.mark.parametrize("policy", ["budget", "seed"])
@pytest.mark.parametrize(("status", "new"), [(200, 3), (304, 0), (404, 0), (None, 0)])
def test_a_feed_is_never_polled_sooner_than_its_own_shortest_interval(
    policy: Literal["budget", "seed"], status: int | None, new: int
) -> None:
    own = FeedOverrides(min_interval_sec=172_800)
    config = own_schedule(own, ScheduleConfig(policy=policy))
    dates = [NOW - timedelta(hours=hour) for hour in range(20)]
    learnt, _ = learn_entries(
        initial_state(config), dates, previous_at=None, now=NOW, window=20, config=config
    )

    decision = decide_next_poll(
        learnt, outcome_of_status(status, new_entries=new), now=NOW, feed_id="f", config=config
    )

    assert decision.delay_sec >= 172_800
