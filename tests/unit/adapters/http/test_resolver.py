"""Names are asked for once, remembered for a while, and never waited for without end."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from tests.support.name_server import NameServer, name_server
from tests.support.waiting import HANG_GUARD_SEC

from feedmill.adapters.clock import SystemClock
from feedmill.adapters.http.resolver import (
    AsyncResolver,
    CachedResolver,
    Found,
    SystemResolver,
    _settle,
    look_up_host,
)


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


async def test_an_answer_that_nobody_waits_for_any_more_is_dropped() -> None:
    given_up: asyncio.Future[tuple[str, ...]] = asyncio.get_running_loop().create_future()
    given_up.cancel()

    _settle(given_up, ("192.0.2.1",))

    assert given_up.cancelled()


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


async def test_a_lookup_that_breaks_is_a_failure_and_not_a_hang(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(threading, "excepthook", lambda _: None)

    def broken(host: str) -> tuple[str, ...]:
        raise RuntimeError(host)

    resolver = SystemResolver(
        SystemClock(), timeout_sec=5, cache_sec=60, cache_hosts=10, lookup=broken
    )
    assert await resolver.resolve("a.example") == ()


def test_the_systems_resolver_knows_this_machine_and_no_nonsense() -> None:
    assert "127.0.0.1" in look_up_host("localhost")
    assert look_up_host("a" * 300 + ".example") == ()
    assert look_up_host("name.invalid") == ()


def _asking(
    server: NameServer, clock: StandingClock | None = None, **settings: Any
) -> AsyncResolver:
    values: dict[str, Any] = {
        "timeout_sec": HANG_GUARD_SEC,
        "cache_sec": 300,
        "cache_hosts": 1_000,
        **settings,
    }
    return AsyncResolver(clock or StandingClock(), servers=[server.address], **values)


async def test_names_of_a_silent_domain_hold_up_no_other() -> None:
    """300 names behind one silent name server, and good hosts beside them."""

    async with name_server(lambda name: name.endswith("silent.example")) as server:
        resolver = _asking(server)
        silent = [
            asyncio.create_task(resolver.resolve(f"n{number}.silent.example"))
            for number in range(300)
        ]
        await asyncio.sleep(0)

        good = [await resolver.resolve(f"good{number}.example") for number in range(8)]

        assert good == [("192.0.2.7",)] * 8
        names = {name for name in server.asked if name.endswith("silent.example")}
        assert len(names) <= 16
        for task in silent:
            task.cancel()
        await resolver.close()


async def test_name_without_an_answer_is_given_up_and_not_asked_for_again_at_once() -> None:
    async with name_server(lambda _: True) as server:
        resolver = _asking(server, timeout_sec=0.2)

        first = await resolver.resolve("silent.example")
        await asyncio.gather(*resolver._asked.values())
        asked = len(server.asked)
        again = await resolver.resolve("silent.example")

        assert (first, again) == ((), ())
        assert len(server.asked) == asked
        await resolver.close()


class Scripted(CachedResolver):
    """A resolver whose name server says what the test wants; c-ares has a cache of its own."""

    found = Found(("192.0.2.7",))
    asked = 0

    async def _query(self, _: str) -> Found:
        self.asked += 1
        return self.found


def _scripted(clock: StandingClock) -> Scripted:
    return Scripted(clock, timeout_sec=HANG_GUARD_SEC, cache_sec=300, cache_hosts=10)


@pytest.mark.parametrize(
    ("ttl_sec", "holds_sec"),
    [(60, 60), (0, 5), (86_400, 300), (None, 300)],
    ids=["as said", "0", "a day", "unknown"],
)
async def test_answer_is_kept_as_long_as_its_ttl_within_bounds(
    ttl_sec: float | None, holds_sec: float
) -> None:
    clock = StandingClock()
    resolver = _scripted(clock)
    resolver.found = Found(("192.0.2.7",), ttl_sec)
    await resolver.resolve("good.example")

    clock.at = holds_sec - 0.1
    await resolver.resolve("good.example")
    before = resolver.asked
    clock.at = holds_sec + 0.1
    await resolver.resolve("good.example")

    assert (before, resolver.asked) == (1, 2)


async def test_old_answer_stands_in_for_an_hour_while_there_is_no_other() -> None:
    clock = StandingClock()
    resolver = _scripted(clock)
    await resolver.resolve("good.example")
    resolver.found = Found(())

    clock.at = 1_000
    old = await resolver.resolve("good.example")
    clock.at = 10_000
    none = await resolver.resolve("good.example")

    assert (old, none) == (("192.0.2.7",), ())


async def test_ttl_of_an_answer_is_that_of_its_records() -> None:
    async with name_server() as server:
        resolver = _asking(server)

        assert await resolver._query("good.example") == Found(("192.0.2.7",), 60.0)
        await resolver.close()


async def test_impossible_name_has_no_address() -> None:
    async with name_server() as server:
        resolver = _asking(server)

        assert await resolver.resolve("a" * 300 + ".example") == ()
        assert await resolver.resolve("localhost")
        await resolver.close()


async def test_names_of_a_domain_whose_server_says_nothing_fail_at_once_until_it_is_tried_again() -> (
    None
):
    clock = StandingClock()
    resolver = Scripted(clock, timeout_sec=HANG_GUARD_SEC, cache_sec=300, cache_hosts=100)
    resolver.found = Found((), is_silent=True)
    for number in range(8):
        assert await resolver.resolve(f"n{number}.silent.example") == ()
    resolver.found = Found(("192.0.2.7",))

    assert await resolver.resolve("n9.silent.example") == ()  # not asked
    assert await resolver.resolve("www.good.test") == ("192.0.2.7",)
    clock.at += 11.0
    assert await resolver.resolve("n9.silent.example") == ("192.0.2.7",)
    assert await resolver.resolve("n10.silent.example") == ("192.0.2.7",)
