"""One request to the first address that can be reached, however many are tried."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from feedmill.adapters.http.connection import MaySend, alternate_families, send_to_first
from feedmill.adapters.http.response_buffer import BufferedResponse
from feedmill.model.fetch import FailureReason

V6, V4, OTHER = "2001:db8::1", "192.0.2.1", "192.0.2.2"
Connect = Callable[[], Awaitable[FailureReason | None]]


class Wires:
    """Connections by address: `connect` returns when one is ready, or with why it never will be."""

    def __init__(self, **connects: Connect) -> None:
        self.connects = connects
        self.sent: list[str] = []
        self.ended: list[str] = []

    async def send(self, address: str, may_send: MaySend) -> BufferedResponse:
        try:
            error = await self.connects[_name(address)]()
            if error is not None:
                return BufferedResponse(error=error)
            if not may_send():
                return BufferedResponse(error="connection-failed")
            self.sent.append(address)
            return BufferedResponse(status=200)
        finally:
            self.ended.append(address)


def _name(address: str) -> str:
    return {V6: "v6", V4: "v4", OTHER: "other"}[address]


def failing(error: FailureReason) -> Connect:
    async def connect() -> FailureReason | None:
        return error

    return connect


async def ready() -> None:
    return None


async def silent() -> None:
    await asyncio.Event().wait()


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ((V4,), (V4,)),
        ((V6, V4), (V6, V4)),
        ((V4, OTHER, V6), (V4, V6, OTHER)),
        ((V6, V4, OTHER), (V6, V4, OTHER)),
    ],
)
def test_families_alternate_beginning_with_the_first(
    given: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    assert alternate_families(given) == expected


@pytest.mark.parametrize(
    ("like", "expected"),
    [(OTHER, (V4, V6, OTHER)), ("2001:db8::7", (V6, V4, OTHER)), (None, (V6, V4, OTHER))],
)
def test_family_of_the_address_that_was_reached_comes_first(
    like: str | None, expected: tuple[str, ...]
) -> None:
    assert alternate_families((V6, V4, OTHER), like=like) == expected


def test_addresses_of_the_other_family_alone_are_kept_in_order() -> None:
    assert alternate_families((V4, OTHER), like=V6) == (V4, OTHER)


def test_address_that_answers_at_once_is_the_only_one_tried() -> None:
    wires = Wires(v6=ready, v4=ready)

    answer, address, tried = asyncio.run(send_to_first((V6, V4), wires.send))

    assert (answer.status, address, tried, wires.sent) == (200, V6, 1, [V6])


def test_silent_address_loses_to_the_next_and_is_dropped() -> None:
    wires = Wires(v6=silent, v4=ready)

    answer, address, tried = asyncio.run(send_to_first((V6, V4), wires.send))

    assert (answer.status, address, tried, wires.sent) == (200, V4, 2, [V4])
    assert wires.ended == [V4, V6]


def test_two_connections_that_are_ready_together_send_one_request() -> None:
    gate = asyncio.Event()

    async def slow() -> None:
        await gate.wait()

    async def last() -> None:
        gate.set()
        await asyncio.sleep(0)

    wires = Wires(v6=slow, v4=last)

    answer, address, _ = asyncio.run(send_to_first((V6, V4), wires.send))

    assert answer.status == 200
    assert wires.sent == [address]


def test_address_that_cannot_be_reached_is_followed_by_the_next() -> None:
    wires = Wires(v6=failing("connection-failed"), v4=failing("timeout-connect"), other=ready)

    answer, address, tried = asyncio.run(send_to_first((V6, V4, OTHER), wires.send))

    assert (answer.status, address, tried) == (200, OTHER, 3)


def test_answer_of_the_host_ends_the_race() -> None:
    wires = Wires(v6=failing("tls-failure"), v4=ready)

    answer, address, tried = asyncio.run(send_to_first((V6, V4), wires.send))

    assert (answer.error, address, tried, wires.sent) == ("tls-failure", V6, 1, [])


def test_host_without_a_reachable_address_is_unreached() -> None:
    wires = Wires(v6=failing("connection-failed"), v4=failing("connection-failed"))

    answer, _, tried = asyncio.run(send_to_first((V6, V4), wires.send))

    assert (answer.error, tried) == ("connection-failed", 2)


def test_error_of_one_attempt_reaches_the_caller() -> None:
    async def broken() -> None:
        raise RuntimeError

    wires = Wires(v6=broken, v4=ready)

    with pytest.raises(RuntimeError):
        asyncio.run(send_to_first((V6, V4), wires.send))
