"""A decision in sentences that a person can read."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from feedmill.config import ScheduleConfig
from feedmill.model.parsed import PublisherHints
from feedmill.model.schedule import Cadence, ErrorBudget, Hints, ScheduleState
from feedmill.schedule.decide import decide_next_poll, learn_times, outcome_of_status
from feedmill.schedule.delay import merge_hints
from feedmill.schedule.explain import (
    circuit_in_words,
    duration_in_words,
    explain_decision,
    instant_in_words,
)

NOW = datetime(2025, 10, 14, 1, 50, tzinfo=UTC)
STILL = ScheduleConfig(jitter_ratio=0)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        pytest.param(0, "0 s", id="nought"),
        pytest.param(0.4, "0 s", id="less than a second"),
        pytest.param(59.6, "1 min", id="rounded before it is split"),
        pytest.param(75, "1 min 15 s", id="two units"),
        pytest.param(59, "59 s", id="the smallest unit alone"),
        pytest.param(3_601, "1 h", id="the third unit is left out"),
        pytest.param(90_000, "1 d 1 h", id="days and hours"),
        pytest.param(604_800, "7 d", id="no weeks"),
    ],
)
def test_a_duration_is_told_in_its_two_largest_units(seconds: float, words: str) -> None:
    told = duration_in_words(seconds)

    assert told == words


def test_an_instant_is_told_in_utc() -> None:
    elsewhere = NOW.astimezone(timezone(timedelta(hours=-9, minutes=-30)))

    assert instant_in_words(elsewhere) == "2025-10-14 01:50:00 UTC"


def test_a_quiet_poll_is_explained_from_the_answer_to_the_quiet_window() -> None:
    said = PublisherHints(ttl_minutes=90, skip_hours=(3,))
    decision = decide_next_poll(
        ScheduleState(
            interval_sec=900,
            cadence=Cadence(ewma_sec=3_600, last_published_at=NOW - timedelta(hours=2)),
        ),
        outcome_of_status(304),
        merge_hints(Hints(), publisher=said, seen_at=NOW),
        now=NOW,
        feed_id="feed",
        config=STILL,
    )

    sentences = explain_decision(decision)

    assert sentences == (
        "The feed was polled at 2025-10-14 01:50:00 UTC.",
        "The feed had not changed, so the interval goes from 15 min to 18 min 45 s.",
        "Entries come every 1 h on average, but the last one is 2 h old, so the interval goes from 18 min 45 s to 48 min 22 s.",
        "The publisher asks for 1 h 30 min between polls (ttl, last seen 2025-10-14 01:50:00 UTC), so the interval goes from 48 min 22 s to 1 h 30 min.",
        "2025-10-14 03:20:00 UTC is in the publisher's quiet hours; the next open hour starts at 2025-10-14 04:00:00 UTC.",
        "The next poll is due at 2025-10-14 04:00:00 UTC, in 2 h 10 min.",
        "The feed is active.",
    )


def test_a_pause_is_explained_by_what_the_server_asked_for() -> None:
    decision = decide_next_poll(
        ScheduleState(interval_sec=3_600),
        outcome_of_status(429, retry_after_sec=120),
        now=NOW,
        feed_id="feed",
    )

    sentences = explain_decision(decision)

    assert sentences[1:] == (
        "The server answered HTTP 429 and asked for a pause of 2 min; the interval of 1 h is kept for later.",
        "The next poll is due at 2025-10-14 01:52:00 UTC, in 2 min.",
        "The feed is backing off after one failure.",
    )


@pytest.mark.parametrize(
    ("status", "reason", "new_entries", "opening"),
    [
        pytest.param(200, "", 1, "The poll brought one new entry, so", id="one new entry"),
        pytest.param(200, "", 7, "The poll brought 7 new entries, so", id="many new entries"),
        pytest.param(200, "", 0, "The document held nothing new, so", id="nothing new"),
        pytest.param(500, "", 0, "The poll failed (HTTP 500), so", id="a status"),
        pytest.param(
            None, "timeout-connect", 0, "The poll failed (timeout-connect), so", id="a reason"
        ),
        pytest.param(None, "", 0, "The poll failed (no answer), so", id="neither"),
    ],
)
def test_the_first_reason_is_how_the_poll_ended(
    status: int | None, reason: str, new_entries: int, opening: str
) -> None:
    decision = decide_next_poll(
        ScheduleState(interval_sec=900),
        outcome_of_status(status, new_entries=new_entries, reason=reason),
        now=NOW,
        feed_id="feed",
    )

    sentences = explain_decision(decision)

    assert sentences[1].startswith(opening)


def test_an_interval_that_does_not_move_is_said_to_stay() -> None:
    decision = decide_next_poll(
        ScheduleState(interval_sec=86_400), outcome_of_status(304), now=NOW, feed_id="feed"
    )

    sentences = explain_decision(decision)

    assert sentences[1] == "The feed had not changed, so the interval stays at 1 d."


def test_jitter_is_explained_by_its_purpose() -> None:
    decision = decide_next_poll(
        ScheduleState(interval_sec=900), outcome_of_status(304), now=NOW, feed_id="feed"
    )

    sentences = explain_decision(decision)

    told = duration_in_words(decision.delay_sec)
    assert f"So that feeds do not come all at once, the wait becomes {told}." in sentences


@pytest.mark.parametrize(
    ("status", "failures", "ending"),
    [
        pytest.param(
            500,
            9,
            "The feed is suspect after 10 failures in a row, and is still polled.",
            id="suspect",
        ),
        pytest.param(
            410, 1, "The feed is gone, and is still polled in case it returns.", id="gone"
        ),
        pytest.param(
            500, 1, "The feed is backing off after 2 failures in a row.", id="backing off"
        ),
    ],
)
def test_the_last_sentence_tells_the_health_of_the_feed(
    status: int, failures: int, ending: str
) -> None:
    state = ScheduleState(
        interval_sec=900,
        consecutive_failures=failures,
        gone_seen_at=NOW - timedelta(days=2) if status == 410 else None,
    )
    decision = decide_next_poll(state, outcome_of_status(status), now=NOW, feed_id="feed")

    sentences = explain_decision(decision)

    assert sentences[-1] == ending


@pytest.mark.parametrize(
    ("fresh_sec", "sentence"),
    [
        (
            7_200,
            "The last answer is fresh until 2025-10-14 03:50:00 UTC (expires), so the poll waits for that.",
        ),
        (
            259_200,
            "The last answer is fresh until 2025-10-17 01:50:00 UTC (expires), so the poll waits for that, but 1 d is the longest wait.",
        ),
    ],
)
def test_an_answer_that_stays_fresh_is_explained_by_the_moment_at_which_it_goes_stale(
    fresh_sec: int, sentence: str
) -> None:
    decision = decide_next_poll(
        ScheduleState(interval_sec=900),
        outcome_of_status(304),
        merge_hints(Hints(), seen_at=NOW, freshness_sec=fresh_sec, freshness_source="expires"),
        now=NOW,
        feed_id="feed",
        config=STILL,
    )

    sentences = explain_decision(decision)

    assert sentence in sentences


def test_a_wish_beyond_the_longest_interval_is_explained_by_both() -> None:
    decision = decide_next_poll(
        ScheduleState(interval_sec=900),
        outcome_of_status(304),
        merge_hints(Hints(), publisher=PublisherHints(update_period="weekly"), seen_at=NOW),
        now=NOW,
        feed_id="feed",
        config=STILL,
    )

    assert any(
        "asks for 7 d between polls" in sentence
        and sentence.endswith(
            "1 d is the longest interval, so the interval goes from 18 min 45 s to 1 d."
        )
        for sentence in explain_decision(decision)
    )


def test_update_period_of_the_publisher_is_explained_as_its_wish() -> None:
    said = PublisherHints(update_period="daily", update_frequency=2)
    decision = decide_next_poll(
        ScheduleState(interval_sec=900),
        outcome_of_status(304),
        merge_hints(Hints(), publisher=said, seen_at=NOW),
        now=NOW,
        feed_id="feed",
        config=STILL,
    )

    assert any("asks for 12 h between polls" in one for one in explain_decision(decision))


def test_pause_that_an_earlier_answer_asked_for_is_explained() -> None:
    decision = decide_next_poll(
        ScheduleState(interval_sec=900),
        outcome_of_status(403, retry_after_sec=7_200),
        now=NOW,
        feed_id="feed",
        config=STILL,
    )

    assert "The server asked for a pause that lasts another 2 h." in explain_decision(decision)


def test_quiet_hours_that_leave_no_open_hour_are_explained_as_ignored() -> None:
    said = PublisherHints(skip_hours=tuple(range(24)))
    decision = decide_next_poll(
        ScheduleState(interval_sec=900),
        outcome_of_status(304),
        merge_hints(Hints(), publisher=said, seen_at=NOW),
        now=NOW,
        feed_id="feed",
        config=STILL,
    )

    assert "The publisher excludes every hour of the week, which is ignored." in explain_decision(
        decision
    )


def learnt(times: list[datetime], *, window: int = 30) -> ScheduleState:
    seconds = sorted(at.timestamp() for at in times)
    return learn_times(ScheduleState(interval_sec=3_600), seconds, now=NOW, window=window)


def forecast(state: ScheduleState, **settings: float) -> str:
    config = ScheduleConfig(jitter_ratio=0, policy="budget", **settings)  # type: ignore[arg-type]
    decision = decide_next_poll(
        state, outcome_of_status(304), Hints(), now=NOW, feed_id="feed", config=config
    )
    return " ".join(explain_decision(decision))


def test_a_forecast_says_what_is_expected_since_when_and_at_which_hours_and_days() -> None:
    mornings = [
        (NOW - timedelta(days=day)).replace(hour=hour)
        for day in range(1, 60)
        for hour in (8, 9, 15)
        if (NOW - timedelta(days=day)).weekday() < 2
    ]

    said = forecast(learnt(mornings))

    assert "mostly at 8-10 h, 15-16 h UTC" in said
    assert " and on Mon, Tue" in said
    assert "the price of a request" in said


def test_a_forecast_says_when_entries_would_leave_the_document_unseen() -> None:
    often = [NOW - timedelta(minutes=10 * number) for number in range(1, 500)]

    assert "entries that leave it unseen would be lost" in forecast(
        learnt(often, window=4), price_sec=3e8, max_interval_sec=86_400
    )


def test_a_forecast_says_when_the_ceiling_or_that_of_quiet_feeds_applies() -> None:
    long_ago = [NOW - timedelta(days=200 + number) for number in range(5)]

    assert "but this is the longest interval" in forecast(learnt(long_ago))
    assert "the longer ceiling of quiet feeds applies" in forecast(
        learnt(long_ago), quiet_max_interval_sec=604_800
    )


def test_a_forecast_says_when_the_shortest_interval_applies() -> None:
    often = [NOW - timedelta(hours=number) for number in range(1, 500)]

    said = forecast(learnt(often), min_interval_sec=43_200)

    assert "which is worth a request, but this is the shortest interval" in said
    assert "the price of a request" not in said


def test_a_price_below_a_second_is_told_as_a_fraction() -> None:
    often = [NOW - timedelta(seconds=90 * number) for number in range(1, 500)]

    assert "0.01 s" in forecast(learnt(often), price_sec=0.01, min_interval_sec=1)


def test_a_dearer_request_is_explained() -> None:
    often = [NOW - timedelta(hours=number) for number in range(1, 500)]
    decision = decide_next_poll(
        learnt(often),
        outcome_of_status(304),
        Hints(),
        now=NOW,
        feed_id="feed",
        config=ScheduleConfig(jitter_ratio=0),
        whole_documents=True,
        late_sec=7_200,
    )

    said = " ".join(explain_decision(decision))

    assert "because it always sends its whole document" in said
    assert "because the poll waited 2 h for its host" in said


def test_a_wait_that_changes_the_price_by_nothing_one_can_see_is_not_told() -> None:
    often = [NOW - timedelta(hours=number) for number in range(1, 500)]
    decision = decide_next_poll(
        learnt(often), outcome_of_status(304), Hints(), now=NOW, feed_id="feed", late_sec=0.5
    )

    assert "waited" not in " ".join(explain_decision(decision)).partition("which is the price")[2]


_OPEN = (
    "It works and fails by turns and has spent its error budget: its circuit is open since"
    " 2026-03-01 00:00:00 UTC, so it is polled at most every 1 h until it is steady."
)


@pytest.mark.parametrize(
    ("errors", "words"),
    [
        (None, None),
        (ErrorBudget(spent=0.2), None),
        (ErrorBudget(spent=0.3), "It has used 75% of its error budget."),
        (
            ErrorBudget(spent=0.5, opened_at=datetime(2026, 3, 1, tzinfo=UTC)),
            _OPEN,
        ),
    ],
)
def test_the_error_budget_in_words(errors: ErrorBudget | None, words: str | None) -> None:
    assert circuit_in_words(errors, ScheduleConfig()) == words
