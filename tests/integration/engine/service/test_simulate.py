"""The recorded past under another policy: exact where it was recorded, figures where it was not."""

from datetime import timedelta

import pytest
from msgspec import json
from tests.support.engine_harness import Play, Stage
from tests.support.feed_documents import paper

from feedmill.config import ScheduleConfig
from feedmill.engine.service.simulate import candidate_config, simulate_series, simulate_store
from feedmill.errors import UsageError

BUDGET = ScheduleConfig()


def test_recorded_decisions_are_reproduced_exactly_and_another_policy_is_compared(
    play: Play,
) -> None:
    async def story(stage: Stage) -> None:
        numbers = [tuple(range(1, 3 + day)) for day in range(8)]
        feed = await stage.add("/feed", *(paper(*some) for some in numbers))
        for _ in numbers:
            await stage.poll(feed)
            stage.later(hours=12)

        seed = ScheduleConfig(policy="seed")
        done = await simulate_store(stage.services, seed)

        shape = done.shape
        assert (shape.feeds, shape.decisions, shape.reproduced) == (1, 8, 8)
        recorded, candidate = shape.policies
        assert (recorded.policy, recorded.requests, recorded.missed) == ("recorded", 8, None)
        assert (candidate.policy, candidate.missed) == ("seed", 0)
        assert candidate.requests > 8
        assert recorded.max_mean_delay_sec == pytest.approx(12 * 3600, rel=0.01)
        assert [one.policy for one in done.timelines] == ["recorded", "seed"]
        assert shape.settings == {"policy": "seed"}
        (item,) = shape.items
        assert item.recorded_requests == 8
        assert item.entries >= 6

    play(story, schedule=BUDGET)


def test_a_feed_that_was_not_polled_in_the_time_is_left_out(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", paper(1))
        await stage.poll(feed)
        stage.later(days=40)

        shape = (await simulate_store(stage.services, BUDGET, days=30)).shape

        assert (shape.feeds, shape.since, shape.entries) == (0, None, 0)
        assert shape.policies[1].requests == 0

    play(story, schedule=BUDGET)


def test_a_file_of_series_is_simulated_without_a_store() -> None:
    start = 1_760_000_000.0
    times = [start + at * timedelta(hours=6).total_seconds() for at in range(-20, 40)]
    row = {"id": "a", "times": times, "start": start, "end": start + 10 * 86_400, "window": 10}

    alone = simulate_series(json.encode({"series": [row]}), BUDGET)
    both = simulate_series(json.encode({"series": [row, {**row, "id": "b"}]}), BUDGET)

    assert (alone.title, alone.shape.feeds, alone.shape.entries) == ("a", 1, 39)
    assert len(alone.timelines) == 1
    assert (both.title, both.shape.feeds, both.series) == ("2 series", 2, None)
    assert simulate_series(b'{"series": []}', BUDGET).shape.feeds == 0


@pytest.mark.parametrize("data", [b"[]", b'{"series": [{"id": 1}]}', b"nonsense"])
def test_a_file_that_holds_no_series_is_refused_with_what_was_expected(data: bytes) -> None:
    with pytest.raises(UsageError, match=r"not a file of series.*times"):
        simulate_series(data, BUDGET)


def test_settings_of_the_candidate_are_checked() -> None:
    changed = candidate_config(BUDGET, "seed", ["price_sec=900", "min_interval_sec = 60"])

    assert (changed.policy, changed.price_sec, changed.min_interval_sec) == ("seed", 900.0, 60)
    contradicting = ["min_interval_sec=900", "max_interval_sec=60"]
    for wrong in (["price_sec"], ["no_such=1"], ["min_interval_sec=often"], contradicting):
        with pytest.raises(UsageError):
            candidate_config(BUDGET, None, wrong)
