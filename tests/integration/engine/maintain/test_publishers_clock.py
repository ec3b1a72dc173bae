"""A clock that is far ahead of the publishers' purges nothing."""

from datetime import timedelta

import pytest
from tests.support.engine_harness import NOON, Play, Stage
from tests.support.feed_documents import item, rss

from feedmill.engine.maintain import retention
from feedmill.engine.maintain.publishers_clock import check_clock
from feedmill.engine.maintain.retention import run_maintenance
from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.errors import ConflictError
from feedmill_demo.server.script import Answer

YEAR = timedelta(days=365)


def dated(lead: timedelta | None, **headers: str) -> Answer:
    """A document of a server whose clock is behind the stage's by so much."""
    date = {} if lead is None else {"Date": f"{NOON - lead:%a, %d %b %Y %H:%M:%S GMT}"}
    return Answer(headers=tuple({**date, **headers}.items()), body=rss(item(1)))


@pytest.mark.parametrize(
    ("leads", "is_ahead"),
    [
        pytest.param([YEAR], True, id="a year"),
        pytest.param([timedelta(hours=23)], False, id="less than a day"),
        pytest.param([-YEAR], False, id="behind"),
        pytest.param([None], False, id="nobody says what time it is"),
        pytest.param([YEAR, timedelta(0), timedelta(0)], False, id="one server with a wrong date"),
        pytest.param([YEAR, YEAR, timedelta(0)], True, id="most servers"),
    ],
)
def test_clock_is_compared_with_the_dates_of_answers(
    play: Play, leads: list[timedelta | None], *, is_ahead: bool
) -> None:
    async def story(stage: Stage) -> None:
        for number, lead in enumerate(leads, start=1):
            await stage.poll(await stage.add("/feed", dated(lead), host=f"127.0.1.{number}"))

        if is_ahead:
            with pytest.raises(ConflictError, match="days ahead") as caught:
                await check_clock(stage.services.store, stage.clock.now())
            assert caught.value.reason == "clock-ahead"
        else:
            await check_clock(stage.services.store, stage.clock.now())

    play(story, addresses=len(leads))


def test_age_of_a_stored_copy_is_added_to_its_date(play: Play) -> None:
    async def story(stage: Stage) -> None:
        await stage.poll(await stage.add("/feed", dated(timedelta(days=9), Age=f"{9 * 86_400}")))

        await check_clock(stage.services.store, stage.clock.now())

    play(story)


def test_answers_of_another_day_say_nothing(play: Play) -> None:
    async def story(stage: Stage) -> None:
        await stage.poll(await stage.add("/feed", dated(YEAR)))
        stage.later(days=2)

        await check_clock(stage.services.store, stage.clock.now())

    play(story)


def test_maintenance_of_a_process_that_began_with_a_wrong_clock_purges_nothing(
    play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    purged = list[str]()

    async def noted(_: object) -> dict[str, int]:
        purged.append("")
        return {}

    class OneRound(Lifecycle):
        """Waits are over at once; the second one is the last."""

        rounds = 0

        async def sleep_unless_stopping(self, _: float) -> None:
            self.rounds += 1
            if self.rounds == 2:
                self.stop()

    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", dated(YEAR), dated(timedelta(0)))
        for times in (0, 1):
            await stage.poll(feed)
            await run_maintenance(stage.services, OneRound("the test"))
            assert len(purged) == times

    monkeypatch.setattr(retention, "purge", noted)
    play(story)
