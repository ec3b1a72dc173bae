"""/metrics and /healthz on loopback: small, patient with nobody, and over when the run is."""

import asyncio
import socket
from collections.abc import Awaitable, Callable

import pytest
from tests.support.servers.free_port import free_port
from tests.support.waiting import hang_guard, wait_until

from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.errors import UsageError
from feedmill.observe.health_page import serve_metrics
from feedmill.observe.metrics import Metrics

Ask = Callable[[bytes], Awaitable[bytes]]


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return bool(probe.connect_ex(("127.0.0.1", port)) == 0)


def served(story: Callable[[Metrics, Ask], Awaitable[None]]) -> None:
    """Tell a story to a page that is served meanwhile, and see it end."""

    async def main() -> None:
        metrics, watch, port = Metrics(), Lifecycle("test"), free_port()

        async def ask(octets: bytes) -> bytes:
            await wait_until(lambda: _listens(port), "a page that listens")
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(octets)
            answer = await reader.read()
            writer.close()
            return answer

        async with hang_guard(), asyncio.TaskGroup() as group:
            group.create_task(serve_metrics(metrics, port, watch))
            await story(metrics, ask)
            watch.stop()

    asyncio.run(main())


def test_the_numbers_are_served_as_prometheus_reads_them() -> None:
    async def story(metrics: Metrics, ask: Ask) -> None:
        metrics.fetches.labels("fresh").inc()
        answer = await ask(b"GET /metrics?x=1 HTTP/1.1\r\nHost: x\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
        assert b'feedmill_fetches_total{outcome="fresh"} 1.0\n' in answer
        assert b"_created" not in answer

    served(story)


def test_health_is_said_and_nothing_else_is_served() -> None:
    async def story(_: Metrics, ask: Ask) -> None:
        assert (await ask(b"GET /healthz HTTP/1.0\r\n\r\n")).endswith(b"ok\n")
        assert b" 404 " in await ask(b"GET /etc/passwd HTTP/1.0\r\n\r\n")
        assert b" 404 " in await ask(b"nonsense\r\n\r\n")

    served(story)


def test_a_head_without_end_is_not_listened_to_for_ever() -> None:
    async def story(_: Metrics, ask: Ask) -> None:
        assert await ask(b"GET /metrics HTTP/1.1\r\nX: " + b"x" * 60_000) == b""
        assert (await ask(b"GET /healthz HTTP/1.0\r\n\r\n")).endswith(b"ok\n")

    served(story)


def test_a_port_that_is_taken_is_told() -> None:
    async def main() -> None:
        server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        try:
            await serve_metrics(Metrics(), port, Lifecycle("test"))
        finally:
            server.close()

    with pytest.raises(UsageError, match="choose another"):
        asyncio.run(main())


def test_two_processes_worth_of_metrics_do_not_meet() -> None:
    one, other = Metrics(), Metrics()

    one.surprises.inc()

    assert b"feedmill_surprises_total 1.0" in one.page()
    assert b"feedmill_surprises_total 0.0" in other.page()
