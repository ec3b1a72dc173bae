"""Laws that hold for every decision, whatever the state, the outcome and the hints."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace

from feedmill.config import ScheduleConfig
from feedmill.model.parsed import PublisherHints
from feedmill.model.schedule import Arrivals, Cadence, Hints, Outcome, ScheduleState
from feedmill.schedule.arrivals import learn_arrivals
from feedmill.schedule.decide import (
    config_of,
    decide_again,
    decide_next_poll,
    learn_entries,
    outcome_of_status,
)
from feedmill.schedule.delay import DAY_NAMES, excludes_everything, is_quiet, merge_hints
from feedmill.schedule.explain import explain_decision, step_in_words

NOW = datetime(2025, 10, 14, 9, 30, tzinfo=UTC)
CONFIG = ScheduleConfig()
UNCHANGED = outcome_of_status(304)

instants = st.integers(0, 14 * 86_400).map(lambda seconds: NOW + timedelta(seconds=seconds))
before = st.integers(0, 14 * 86_400).map(lambda seconds: NOW - timedelta(seconds=seconds))
successes = st.builds(outcome_of_status, st.sampled_from([200, 304]), new_entries=st.integers(0, 3))
failures = st.builds(
    outcome_of_status,
    st.sampled_from([None, 404, 410, 413, 429, 500, 503]),
    retry_after_sec=st.none() | st.integers(-10, 10**7),
)
arrivals = st.builds(
    lambda times, window: learn_arrivals(
        None, sorted(NOW.timestamp() - at for at in times), now=NOW.timestamp(), window=window
    ),
    st.lists(st.floats(0, 400 * 86_400), max_size=30),
    st.integers(0, 50),
)
configs = st.sampled_from(
    [
        ScheduleConfig(),
        ScheduleConfig(policy="seed"),
        ScheduleConfig(quiet_max_interval_sec=7 * 86_400),
        ScheduleConfig(price_sec=1.0, min_interval_sec=60),
    ]
)
states = st.builds(
    ScheduleState,
    arrivals=st.none() | arrivals,
    interval_sec=st.floats(1, 200_000),
    health=st.sampled_from(["active", "backing-off", "suspect", "gone"]),
    gone_seen_at=st.none() | before,
    cadence=st.none()
    | st.builds(Cadence, ewma_sec=st.floats(0, 1e8), last_published_at=st.none() | before),
)
publisher_hints = st.builds(
    PublisherHints,
    ttl_minutes=st.none() | st.integers(-1, 5_000),
    skip_hours=st.sets(st.integers(0, 24)).map(tuple),
    skip_days=st.sets(st.sampled_from(DAY_NAMES)).map(tuple),
    update_period=st.sampled_from([None, "hourly", "daily", "weekly", "nonsense"]),
    update_frequency=st.none() | st.integers(0, 100),
)
all_hints = st.builds(
    merge_hints,
    st.just(Hints()),
    seen_at=before,
    publisher=publisher_hints,
    freshness_sec=st.none() | st.integers(0, 10**8),
    retry_after_sec=st.none() | st.integers(0, 10**8),
)
feed_ids = st.text(max_size=8)


@given(states, successes | failures, all_hints, instants, feed_ids)
def test_the_same_inputs_lead_to_the_same_decision_which_never_lies_in_the_past(
    state: ScheduleState, outcome: Outcome, hints: Hints, now: datetime, feed_id: str
) -> None:
    decision = decide_next_poll(state, outcome, hints, now=now, feed_id=feed_id)

    assert decision.delay_sec >= 0
    assert decision.next_poll_at >= now
    assert decision == decide_next_poll(state, outcome, hints, now=now, feed_id=feed_id)


@given(states, failures, all_hints, instants, feed_ids)
def test_an_error_never_shortens_the_interval_nor_polls_before_it_is_over(
    state: ScheduleState, outcome: Outcome, hints: Hints, now: datetime, feed_id: str
) -> None:
    decision = decide_next_poll(state, outcome, hints, now=now, feed_id=feed_id)

    assert decision.interval_sec >= state.interval_sec
    assert decision.reason == "retry-after" or decision.delay_sec >= state.interval_sec


@given(states, st.sampled_from([429, 503]), st.integers(1, 604_800), all_hints, instants, feed_ids)
def test_a_retry_after_is_exact(
    state: ScheduleState, status: int, asked: int, hints: Hints, now: datetime, feed_id: str
) -> None:
    outcome = outcome_of_status(status, retry_after_sec=asked)

    decision = decide_next_poll(state, outcome, hints, now=now, feed_id=feed_id)

    assert decision.delay_sec == asked
    assert decision.next_poll_at == now + timedelta(seconds=asked)
    assert decision.interval_sec == state.interval_sec


@given(states, successes | failures, all_hints, instants, feed_ids)
def test_no_poll_is_due_in_a_quiet_window_unless_the_server_named_the_instant(
    state: ScheduleState, outcome: Outcome, hints: Hints, now: datetime, feed_id: str
) -> None:
    hours = hints.skip_hours.value if hints.skip_hours else ()
    days = hints.skip_days.value if hints.skip_days else ()
    assume(not excludes_everything(hours, days))

    decision = decide_next_poll(state, outcome, hints, now=now, feed_id=feed_id)

    assert decision.reason == "retry-after" or not is_quiet(decision.next_poll_at, hours, days)


@given(states, successes, all_hints, feed_ids)
def test_jitter_stays_within_its_ratio_and_above_the_floors(
    state: ScheduleState, outcome: Outcome, hints: Hints, feed_id: str
) -> None:
    floors = [CONFIG.min_interval_sec] + [
        min(hint.value, CONFIG.max_interval_sec)
        for hint in (hints.ttl_sec, hints.update_period_sec)
        if hint
    ]

    decision = decide_next_poll(state, outcome, hints, now=NOW, feed_id=feed_id)

    (jitter,) = (step for step in decision.steps if step.code == "jitter")
    assert jitter.before == decision.interval_sec
    assert abs(jitter.after - jitter.before) <= 0.15 * jitter.before * (1 + 1e-9)
    assert jitter.after >= min(jitter.before, max(floors))
    assert decision.delay_sec >= jitter.after


@given(states, successes, st.integers(1, 86_400), feed_ids)
def test_no_poll_is_due_while_the_last_answer_is_fresh(
    state: ScheduleState, outcome: Outcome, lifetime: int, feed_id: str
) -> None:
    hints = merge_hints(Hints(), seen_at=NOW, freshness_sec=lifetime)

    decision = decide_next_poll(state, outcome, hints, now=NOW, feed_id=feed_id)

    assert decision.delay_sec >= lifetime


@given(states, successes | failures, all_hints, instants, feed_ids)
def test_the_chain_of_steps_is_unbroken_from_the_old_interval_to_the_delay(
    state: ScheduleState, outcome: Outcome, hints: Hints, now: datetime, feed_id: str
) -> None:
    decision = decide_next_poll(state, outcome, hints, now=now, feed_id=feed_id)

    steps = decision.steps
    assert steps[0].before == state.interval_sec
    assert all(one.after == other.before for one, other in pairwise(steps))
    assert steps[-1].after == decision.delay_sec
    assert steps[0].code == decision.reason
    assert all(step_in_words(step, decision.inputs).endswith(".") for step in steps)


@given(states, successes | failures, all_hints, instants, feed_ids, configs, st.booleans())
def test_a_recorded_decision_is_replayed_exactly_from_its_inputs_and_its_settings(
    state: ScheduleState,
    outcome: Outcome,
    hints: Hints,
    now: datetime,
    feed_id: str,
    config: ScheduleConfig,
    whole: bool,
) -> None:
    decision = decide_next_poll(
        state, outcome, hints, now=now, feed_id=feed_id, config=config, whole_documents=whole
    )

    assert decide_again(decision.inputs, config_of(decision)) == decision


@given(states, successes, instants, feed_ids, configs)
def test_without_hints_a_success_waits_between_the_floor_and_the_ceiling(
    state: ScheduleState, outcome: Outcome, now: datetime, feed_id: str, config: ScheduleConfig
) -> None:
    state = replace(state, interval_sec=max(300.0, min(state.interval_sec, 86_400.0)))

    decision = decide_next_poll(state, outcome, now=now, feed_id=feed_id, config=config)

    ceiling = max(config.max_interval_sec, config.quiet_max_interval_sec)
    assert config.min_interval_sec <= decision.delay_sec <= ceiling
    assert config.min_interval_sec <= decision.interval_sec <= ceiling


@given(arrivals, instants, st.integers(1, 50), configs)
def test_a_longer_silence_never_makes_the_wait_shorter(
    known: Arrivals, now: datetime, weeks: int, config: ScheduleConfig
) -> None:
    """Compared at the same hour of the week, because the profile differs between hours."""
    assume(known.events > 0)
    state = ScheduleState(interval_sec=900.0, arrivals=known)
    config = replace(config, jitter_ratio=0.0)

    sooner = decide_next_poll(state, UNCHANGED, now=now, feed_id="f", config=config)
    later = decide_next_poll(
        state, UNCHANGED, now=now + timedelta(weeks=weeks), feed_id="f", config=config
    )

    assert later.interval_sec >= sooner.interval_sec - 1e-6


@given(st.lists(st.none() | instants | before, max_size=30), st.none() | before, st.integers(0, 50))
def test_no_date_can_fool_the_schedule_into_polling_without_end(
    dates: list[datetime | None], previous_at: datetime | None, window: int
) -> None:
    """Whatever entries say of themselves, they came out between the last poll and now."""
    state, times = learn_entries(
        ScheduleState(interval_sec=900.0), dates, previous_at=previous_at, now=NOW, window=window
    )

    assert all(at <= NOW.timestamp() for at in times)
    assert previous_at is None or all(at >= previous_at.timestamp() for at in times)
    for policy in ("budget", "seed"):
        config = ScheduleConfig(policy=policy)
        decision = decide_next_poll(state, UNCHANGED, now=NOW, feed_id="f", config=config)
        assert decision.delay_sec >= config.min_interval_sec
        assert not any("every 0 s" in words for words in explain_decision(decision))
