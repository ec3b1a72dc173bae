"""What a run says of itself: alive, ready, waiting, stalled; and what its supervisor hears."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, cast

import pytest
from tests.support.waiting import hang_guard

from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.engine.run.readiness import (
    Liveness,
    cached_check,
    check_readiness,
    run_systemd_status,
    status_line,
)
from feedmill.engine.run.services import Services
from feedmill.errors import BlobError, StoreError
from feedmill.model.running.worker import Readiness, Unready

FULL = BlobError("disk-full", "no space")
AWAY = StoreError("no database answers", reason="cannot-open")


class HandClock:
    """Seconds that the test counts."""

    def __init__(self) -> None:
        self.seconds = 100.0
        self.reached = asyncio.Event()  # ten naps
        self._naps = 0

    def now(self) -> datetime:
        return datetime(2025, 10, 14, tzinfo=UTC)

    def monotonic(self) -> float:
        return self.seconds

    def new_id(self) -> str:
        return "id"

    def new_secret(self) -> str:
        return "secret"

    async def sleep(self, seconds: float) -> None:
        self.seconds += seconds
        self._naps += 1
        if self._naps == 10:
            self.reached.set()
        await asyncio.sleep(0)


class OnlyDueLanes:
    """The one question that readiness asks of a store."""

    def __init__(self, problem: Exception | None = None, *, hangs: bool = False) -> None:
        self.problem, self.hangs = problem, hangs

    async def due_lanes(self, _: datetime) -> int:
        if self.hangs:
            raise TimeoutError
        if self.problem is not None:
            raise self.problem
        return 3


def pulse_of(clock: HandClock, *parts: str) -> Liveness:
    return Liveness(clock, parts, stall_sec=60.0)


def world_with(store: OnlyDueLanes, clock: HandClock) -> Services:
    nothing: Any = None
    return Services(
        clock=clock,
        fetcher=nothing,
        blobs=nothing,
        store=cast("Any", store),
        config=nothing,
    )


def words(found: Sequence[Unready]) -> list[tuple[str, str]]:
    return [(one.part, one.reason) for one in found]


def test_a_run_is_starting_until_each_part_has_looked_once() -> None:
    pulse = pulse_of(HandClock(), "polls", "webhooks")
    pulse.record("polls")
    pulse.record("something else")

    assert words(pulse.unready()) == [("webhooks", "starting")]
    pulse.record("webhooks")
    assert pulse.unready() == ()
    assert pulse.is_alive()


def test_a_part_that_does_not_look_any_more_has_stalled() -> None:
    clock = HandClock()
    pulse = pulse_of(clock, "polls")
    pulse.record("polls")

    clock.seconds += 61

    assert words(pulse.unready()) == [("polls", "stalled")]
    assert not pulse.is_alive()


def test_a_part_that_never_looked_stalls_too() -> None:
    clock = HandClock()
    pulse = pulse_of(clock, "polls")

    clock.seconds += 61

    assert words(pulse.unready()) == [("polls", "stalled")]


def test_polling_is_a_sign_of_life_when_every_place_is_taken() -> None:
    clock = HandClock()
    pulse = pulse_of(clock, "polls")
    pulse.record("polls")
    clock.seconds += 59
    pulse.record_refresh()
    clock.seconds += 59

    assert pulse.is_alive()


def test_a_run_that_waits_for_a_trouble_is_alive_and_not_ready_until_it_is_over() -> None:
    clock = HandClock()
    pulse = pulse_of(clock, "polls")
    pulse.record("polls")
    clock.seconds += 90
    pulse.record_failure("run", AWAY, 1.0)

    assert pulse.is_alive()
    assert words(pulse.unready()) == [("run", "cannot-open")]
    pulse.record_failure("run", None, 0.0)
    pulse.record("polls")
    assert pulse.unready() == ()


def test_a_trouble_that_is_not_told_again_is_no_reason_any_more() -> None:
    clock = HandClock()
    pulse = pulse_of(clock, "polls")
    pulse.record("polls")
    pulse.record_failure("write", AWAY, 1.0)

    clock.seconds += 61

    assert pulse.unready() == ()  # a try takes long: the store itself is asked, whoever asks this
    assert pulse.is_alive()
    clock.seconds += 60
    assert not pulse.is_alive()


@pytest.mark.parametrize(
    ("store", "found"),
    [
        (OnlyDueLanes(), []),
        (OnlyDueLanes(AWAY), [("store", "cannot-open")]),
        (OnlyDueLanes(hangs=True), [("store", "too-slow")]),
    ],
    ids=["well", "away", "hanging"],
)
def test_readiness_asks_the_store(store: OnlyDueLanes, found: list[tuple[str, str]]) -> None:
    clock = HandClock()
    services, watch = world_with(store, clock), Lifecycle("me")

    told = asyncio.run(
        check_readiness(services.store, services.clock, watch, pulse_of(clock), "api", {})
    )

    assert words(told.reasons) == found
    assert (told.ready, told.role, told.name) == (not found, "api", "me")


def test_readiness_asks_every_probe_and_says_everything_at_once() -> None:
    clock, watch = HandClock(), Lifecycle("me")
    pulse = pulse_of(clock, "polls")

    async def full() -> None:
        raise FULL

    async def story() -> Readiness:
        watch.stop()
        services = world_with(OnlyDueLanes(AWAY), clock)
        return await check_readiness(
            services.store, services.clock, watch, pulse, "worker", {"raw": full}
        )

    told = asyncio.run(story())

    assert words(told.reasons) == [
        ("store", "cannot-open"),
        ("raw", "disk-full"),
        ("run", "draining"),
        ("polls", "starting"),
    ]


def test_a_good_answer_is_believed_for_a_while_and_a_bad_one_never() -> None:
    clock, asked = HandClock(), list[str]()

    async def probe() -> None:
        asked.append("x")
        if len(asked) == 2:
            raise AWAY

    async def story() -> None:
        patient = cached_check(probe, clock, seconds=30)
        await patient()
        await patient()
        clock.seconds += 31
        with pytest.raises(StoreError):
            await patient()
        await patient()

    asyncio.run(story())

    assert len(asked) == 3


class Supervisor:
    """Hears words, and ends the story after enough of them."""

    def __init__(self, watch: Lifecycle) -> None:
        self.heard: list[str] = []
        self.watch = watch

    def say(self, *said: str) -> bool:
        self.heard += said
        return True


def informed(
    answers: list[bool], *, watchdog_sec: float | None, is_alive: bool = True
) -> list[str]:
    """What a supervisor hears while readiness answers like that; then the run ends."""
    clock, watch = HandClock(), Lifecycle("me")
    supervisor = Supervisor(watch)
    pulse = pulse_of(clock, "polls")
    if not is_alive:
        clock.seconds += 61
    left = list(answers)

    async def ask() -> Readiness:
        ready = left.pop(0)
        if not left:
            watch.stop()
        reasons = () if ready else (Unready(reason="busy", part="store"),)
        return Readiness(ready=ready, role="worker", name="me", reasons=reasons)

    async def story() -> None:
        services = world_with(OnlyDueLanes(), clock)
        telling = asyncio.create_task(
            run_systemd_status(supervisor.say, watchdog_sec, ask, services.clock, watch, pulse)
        )
        async with hang_guard():
            await clock.reached.wait()  # the drain is told about too
        telling.cancel()

    asyncio.run(story())
    return supervisor.heard


def test_a_supervisor_hears_ready_once_and_only_when_it_is_so() -> None:
    heard = informed([False, False, True, True], watchdog_sec=0.03)

    assert heard.count("READY=1") == 1
    assert heard.index("STATUS=worker: not ready (store busy)") < heard.index("READY=1")
    assert heard.count("STOPPING=1") == 1
    assert heard.index("READY=1") < heard.index("STOPPING=1")


def test_the_watchdog_is_fed_through_the_drain_too() -> None:
    heard = informed([True], watchdog_sec=0.03)

    after = heard[heard.index("STOPPING=1") :]
    assert after.count("WATCHDOG=1") > 3


def test_run_that_ends_during_a_readiness_check_still_says_stopping() -> None:
    watch = Lifecycle("me")
    supervisor = Supervisor(watch)

    async def story() -> None:
        asked = asyncio.Event()

        async def ask() -> Readiness:
            asked.set()
            await asyncio.Event().wait()
            raise AssertionError

        clock = HandClock()
        services = world_with(OnlyDueLanes(), clock)
        reporting = asyncio.create_task(
            run_systemd_status(
                supervisor.say, 0.03, ask, services.clock, watch, pulse_of(clock, "polls")
            )
        )
        async with hang_guard():
            await asked.wait()
            watch.stop()
            reporting.cancel()
            await asyncio.wait([reporting])

    asyncio.run(story())

    assert supervisor.heard == ["STOPPING=1", "STATUS=finishing what is under way"]


def test_a_stalled_run_does_not_feed_the_watchdog() -> None:
    assert "WATCHDOG=1" not in informed([True, True], watchdog_sec=0.03, is_alive=False)


def test_without_a_watchdog_nobody_is_fed() -> None:
    assert "WATCHDOG=1" not in informed([True], watchdog_sec=None)


def test_the_status_says_how_much_is_going_on() -> None:
    watch = Lifecycle("me")
    watch.lanes = 3

    said = status_line(Readiness(ready=True, role="run", name="me"), watch)

    assert said == "run: working, 3 hosts at the moment"
