"""Bodies of requests that wait for room, and heads of answers without a body.

The server itself is tested in tests/integration/interfaces.
"""

import asyncio

import pytest

from feedmill.engine.run.memory_budget import SMALL_BYTES, MemoryBudget
from feedmill.interfaces.http_server import TimedBody, _JoiningTransport


def test_large_body_waits_for_room_and_that_time_does_not_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def story() -> list[int]:
        loop, now, arrived = asyncio.get_running_loop(), [1_000.0], list[int]()
        monkeypatch.setattr(loop, "time", lambda: now[0])
        budget = MemoryBudget(2 * SMALL_BYTES)

        async def receive() -> dict[str, object]:
            await asyncio.sleep(0)
            return {"body": b"x" * SMALL_BYTES, "more_body": len(arrived) < 2}

        async def read(body: TimedBody) -> None:
            for _ in range(3):
                arrived.append(len((await body.receive())["body"]))

        with budget.share() as other:
            assert other.may_grow(2 * SMALL_BYTES, lambda: None)
            with budget.share() as room:
                reading = asyncio.create_task(read(TimedBody(receive, 30, room)))
                for _ in range(10):
                    await asyncio.sleep(0)
                before = len(arrived)
                now[0] += 3_600
                budget.drop_body(other)
                await reading
        return [before, *arrived]

    assert asyncio.run(story()) == [1, *[SMALL_BYTES] * 3]


@pytest.mark.parametrize("ends", ["of itself", "by close"])
def test_head_without_a_body_is_sent_whole_and_lets_the_connection_close(ends: str) -> None:
    head = b"HTTP/1.1 204 No Content\r\n\r\n"

    async def story() -> bytes:
        async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            assert isinstance(writer.transport, asyncio.Transport)
            joining = _JoiningTransport(writer.transport)
            joining.write(head)
            if ends == "of itself":
                await asyncio.sleep(0)
            joining.close()

        async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            got = await reader.read()
            writer.close()
        return got

    assert asyncio.run(story()) == head
