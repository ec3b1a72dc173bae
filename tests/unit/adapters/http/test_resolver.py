"""Names are asked for once, remembered for a while, and never waited for without end."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from tests.support.waiting import HANG_GUARD_SEC

from feedmill.adapters.clock import SystemClock
from feedmill.adapters.http.resolver import SystemResolver, _settle, look_up_host


class StandingClock(SystemClock):
    """A monotonic clock that moves when it is told to."""

    def __init__(self) -> None:
        self.at = 0.0

    def monotonic(self) -> float:
        return self.at


class Lookups:
    """A name server that counts; it can be made to wait."""

    def __init__(self, addresses: tuple[str, ...] = ("192.0.2.1",)) -> None:
        self.addresses = addresses
        self.asked: list[str] = []
        self.answering = threading.Event()
        self.answering.set()

    def __call__(self, host: str) -> tuple[str, ...]:
        self.asked.append(host)
        self.answering.wait(HANG_GUARD_SEC)
        return self.addresses


def _resolver(
    lookups: Lookups, clock: StandingClock | None = None, **settings: Any
) -> SystemResolver:
    values: dict[str, Any] = {
        "timeout_sec": HANG_GUARD_SEC,
        "cache_sec": 60,
        "cache_hosts": 100,
        **settings,
    }
    return SystemResolver(clock or StandingClock(), lookup=lookups, **values)


def run(story: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(story(), HANG_GUARD_SEC))


def test_an_answer_is_remembered_until_it_is_old() -> None:
    lookups, clock = Lookups(), StandingClock()

    async def story() -> None:
        resolver = _resolver(lookups, clock)
        for clock.at in (0.0, 59.0, 61.0):
            assert await resolver.resolve("a.example") == ("192.0.2.1",)

    run(story)
    assert lookups.asked == ["a.example", "a.example"]


def test_a_failure_is_remembered_for_a_shorter_while() -> None:
    lookups, clock = Lookups(()), StandingClock()

    async def story() -> None:
        resolver = _resolver(lookups, clock)
        for clock.at in (0.0, 9.0, 11.0):
            assert await resolver.resolve("a.example") == ()

    run(story)
    assert len(lookups.asked) == 2


def test_many_who_ask_at_once_share_one_question() -> None:
    lookups = Lookups()
    lookups.answering.clear()

    async def story() -> None:
        resolver = _resolver(lookups)
        asking = [asyncio.create_task(resolver.resolve("a.example")) for _ in range(50)]
        await asyncio.sleep(0)
        asking[0].cancel()  # who gives up does not take the answer from the others
        await asyncio.sleep(0)
        lookups.answering.set()
        answers = await asyncio.gather(*asking[1:])

        assert set(answers) == {("192.0.2.1",)}

    run(story)
    assert lookups.asked == ["a.example"]


def test_a_silent_name_server_is_not_waited_for() -> None:
    lookups = Lookups()
    lookups.answering.clear()

    async def story() -> None:
        resolver = _resolver(lookups, timeout_sec=0.05)
        assert await resolver.resolve("a.example") == ()
        await resolver.close()

    run(story)
    lookups.answering.set()


def test_an_answer_that_nobody_waits_for_any_more_is_dropped() -> None:
    async def story() -> None:
        given_up: asyncio.Future[tuple[str, ...]] = asyncio.get_running_loop().create_future()
        given_up.cancel()

        _settle(given_up, ("192.0.2.1",))

        assert given_up.cancelled()

    run(story)


def test_the_memory_is_bounded_and_forgets_the_oldest() -> None:
    lookups = Lookups()

    async def story() -> None:
        resolver = _resolver(lookups, cache_hosts=2)
        for host in ("a.example", "b.example", "c.example", "c.example", "a.example"):
            await resolver.resolve(host)

    run(story)
    assert lookups.asked == ["a.example", "b.example", "c.example", "a.example"]


@pytest.mark.parametrize("literal", ["192.0.2.7", "2001:db8::1"])
def test_a_literal_address_is_its_own_answer(literal: str) -> None:
    lookups = Lookups()

    async def story() -> None:
        assert await _resolver(lookups).resolve(literal) == (literal,)

    run(story)
    assert lookups.asked == []


def test_a_lookup_that_breaks_is_a_failure_and_not_a_hang(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(threading, "excepthook", lambda _: None)

    def broken(host: str) -> tuple[str, ...]:
        raise RuntimeError(host)

    async def story() -> None:
        resolver = SystemResolver(
            SystemClock(), timeout_sec=5, cache_sec=60, cache_hosts=10, lookup=broken
        )
        assert await resolver.resolve("a.example") == ()

    run(story)


def test_the_systems_resolver_knows_this_machine_and_no_nonsense() -> None:
    assert "127.0.0.1" in look_up_host("localhost")
    assert look_up_host("a" * 300 + ".example") == ()
    assert look_up_host("name.invalid") == ()
