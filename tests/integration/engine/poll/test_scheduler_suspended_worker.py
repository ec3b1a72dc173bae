"""A worker that slept through an answer of its own store must not trust what the answer says."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, cast

import pytest
from msgspec.structs import replace
from tests.support.engine_harness import PLAIN, Stage, SteppedClock, opened
from tests.support.feed_documents import numbered, paper
from tests.support.job_kinds import kind_of, run_due, stored, walk

from feedmill.adapters.http.fetcher import CurlFetcher
from feedmill.config import HostConfig, MovesConfig
from feedmill.engine.jobs.kind import JobRun
from feedmill.engine.poll.scheduler import run_once
from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.model.running.job import Done, JobResult, Later
from feedmill_demo.server.script import document, redirect

LEASE_SEC = 15.2  # a fetch may take 10 s and is given 5 s more: the second needs a renewal


class SleepyClock(SteppedClock):
    """The monotonic clock goes on while the worker sleeps."""

    slept_sec = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self.slept_sec


def play(home: Path, story: Callable[[Stage], Awaitable[None]], **parts: Any) -> None:
    async def run() -> None:
        leased = replace(PLAIN.run, lease_sec=LEASE_SEC)
        async with opened(home, clock=SleepyClock(), run=leased, **parts) as stage:
            await story(stage)

    asyncio.run(run())


def test_a_renewal_that_was_read_after_the_lease_had_ended_sends_nobody_a_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(stage: Stage) -> None:
        await stage.add("/0", replace(paper(0), delay_sec=0.25))
        await stage.add("/1", paper(1))
        store, clock = stage.services.store, stage.clock
        assert isinstance(clock, SleepyClock)
        renew, claim = store.renew, store.claim
        seen: list[str] = []

        async def renew_and_sleep(*given: Any, **named: Any) -> bool:
            held = await renew(*given, **named)
            clock.slept_sec += LEASE_SEC + 1
            seen.append(f"renewed {held}, asked {len(stage.requests('/1'))}")
            return held

        async def claim_and_tell(*given: Any, **named: Any) -> Any:
            claims = await claim(*given, **named)
            seen.extend(f"claimed, asked {len(stage.requests('/1'))}" for _ in claims)
            return claims

        monkeypatch.setattr(store, "renew", renew_and_sleep)
        monkeypatch.setattr(store, "claim", claim_and_tell)
        assert await stage.pass_once() == 2

        assert seen == ["claimed, asked 0", "renewed True, asked 0", "claimed, asked 0"]
        assert len(stage.requests("/1")) == 1

    play(tmp_path, story)


def test_a_lease_that_was_lost_to_somebody_else_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(stage: Stage) -> None:
        await stage.add("/0", replace(paper(0), delay_sec=0.25))
        await stage.add("/1", paper(1))
        told: list[str] = []

        async def lose(*_: Any, **__: Any) -> bool:
            watch.stop()
            return False

        monkeypatch.setattr(stage.services.store, "renew", lose)
        watch = Lifecycle("the slow one", lease_lost_listeners=(told.append,))
        await run_once(stage.services, watch)

        assert told == [f"127.0.0.1:{stage.publisher.port}"]
        assert stage.requests("/1") == ()

    play(tmp_path, story)


@pytest.mark.parametrize("kept", [False, True], ids=["new connection", "kept connection"])
def test_worker_that_slept_until_its_lease_was_over_does_not_send_its_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, kept: bool
) -> None:
    """It was stopped after the last look at its lease, and continues beside its successor."""

    async def story(stage: Stage) -> None:
        feed = await stage.add("/0", paper(0))
        if kept:
            await stage.pass_once()
            await stage.services.store.make_due([feed.id], stage.clock.now())
        before, told = len(stage.requests("/0")), list[tuple[str, int]]()
        clock, fetcher = stage.clock, cast("CurlFetcher", stage.services.fetcher)
        assert isinstance(clock, SleepyClock)
        check = fetcher._address_check.check

        async def check_and_sleep(*given: Any, **named: Any) -> Any:
            found = await check(*given, **named)
            clock.slept_sec += LEASE_SEC + 1 if not told else 0.0
            return found

        def lost(lane: str) -> None:
            told.append((lane, len(stage.requests("/0"))))
            watch.stop()

        monkeypatch.setattr(fetcher._address_check, "check", check_and_sleep)
        watch = Lifecycle("the slow one", lease_lost_listeners=(lost,))
        await run_once(stage.services, watch)

        assert told == [(f"127.0.0.1:{stage.publisher.port}", before)]
        assert len(stage.requests("/0")) == before
        assert await stage.pass_once() == 1  # under the next lease, as if nothing had been
        assert len(stage.requests("/0")) == before + 1

    play(tmp_path, story, host=HostConfig(rps=0, min_gap_ms=0))


def _sleep_before(path: str, stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stop the worker once, between the look at its lease and the request to this path."""
    clock, fetcher = stage.clock, cast("CurlFetcher", stage.services.fetcher)
    assert isinstance(clock, SleepyClock)
    check = fetcher._address_check.check

    async def check_and_sleep(url: str, **named: Any) -> Any:
        found = await check(url, **named)
        if url.endswith(path) and not clock.slept_sec:
            clock.slept_sec = LEASE_SEC + 1
        return found

    monkeypatch.setattr(fetcher._address_check, "check", check_and_sleep)


def test_worker_that_slept_within_a_redirect_does_not_follow_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(stage: Stage) -> None:
        stage.publisher.script("/new", paper(0), host="127.0.0.1")
        await stage.add("/old", redirect("/new", 302))
        _sleep_before("/new", stage, monkeypatch)
        lost: list[str] = []
        watch = Lifecycle("the slow one", lease_lost_listeners=(lost.append,))
        watch.lease_lost_listeners += (lambda _: watch.stop(),)

        await run_once(stage.services, watch)

        assert len(lost) == 1
        assert stage.requests("/new") == ()

    play(tmp_path, story, host=HostConfig(rps=0, min_gap_ms=0))


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.1.1"], ids=["same host", "other host"])
def test_worker_that_slept_before_it_looked_at_a_new_address_does_not_ask_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    """The poll is committed: the feed is not polled once more because of what follows it."""

    async def story(stage: Stage) -> None:
        feed = await stage.add("/old", paper(0))
        await stage.pass_once()
        address = stage.publisher.url("/new", host=host)
        stage.publisher.script("/new", paper(0), host=host)
        moved = f"<itunes:new-feed-url>{address}</itunes:new-feed-url>"
        stage.publish(feed, document(numbered(0, extra=moved)))
        await stage.services.store.make_due([feed.id], stage.clock.now())
        _sleep_before("/new", stage, monkeypatch)
        lost: list[str] = []
        watch = Lifecycle("the slow one", lease_lost_listeners=(lost.append,))

        await run_once(stage.services, watch)

        assert len(lost) == 1
        assert stage.requests("/new") == ()
        assert len(stage.requests("/old")) == 2
        next_at = await stage.services.store.next_due_at(None)
        assert next_at is not None
        assert next_at > stage.clock.now()

    play(
        tmp_path,
        story,
        host=HostConfig(rps=0, min_gap_ms=0),
        addresses=1,
        moves=MovesConfig(sightings=1, quarantine_hours=0),
    )


def test_job_that_slept_until_its_lease_was_over_does_not_post(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a subscription to a hub does; the step begins again, and counts as no failed attempt."""

    async def subscribe(run: JobRun) -> JobResult:
        assert run.job.url is not None
        answer = await run.post(run.job.url, (), b"hub.mode=subscribe")
        return answer if isinstance(answer, Later) else Done()

    async def story(stage: Stage) -> None:
        stage.publisher.script("/hub", paper(0), host="127.0.0.1")
        new = walk(stage.publisher.url("/hub", host="127.0.0.1"))
        job, _ = await stage.services.store.add_job(new, now=stage.clock.now())
        _sleep_before("/hub", stage, monkeypatch)
        lifecycle, asked = Lifecycle("the slow one"), list[int]()
        settle = stage.services.store.settle_job

        async def settle_and_stop(*given: Any) -> bool:
            asked.append(len(stage.requests("/hub")))
            return await settle(*given)

        monkeypatch.setattr(stage.services.store, "settle_job", settle_and_stop)

        await run_due(stage.services, kind_of(subscribe), lifecycle=lifecycle)

        ended = await stored(stage.services, job)
        assert asked == [0, 1]
        assert (ended.state, ended.attempts) == ("done", 0)

    play(tmp_path, story, host=HostConfig(rps=0, min_gap_ms=0))


def test_the_gap_of_a_host_is_waited_for_with_a_millisecond_to_spare(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An event loop that counts in milliseconds rings half of one early, and that is impolite."""

    async def story(stage: Stage) -> None:
        for number in range(2):
            await stage.add(f"/{number}", paper(number))
        watch, waits = Lifecycle("the test"), list[float]()

        async def pause(seconds: float) -> None:
            waits.append(seconds)
            await asyncio.sleep(0)
            if len(waits) == 2:
                watch.stop()

        monkeypatch.setattr(watch, "sleep_unless_stopping", pause)
        await run_once(stage.services, watch)

        assert 0.05 < min(waits) == pytest.approx(0.051)

    play(tmp_path, story, host=HostConfig(rps=0, min_gap_ms=50))
