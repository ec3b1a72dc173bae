"""The health page: its routes, its limits and a port in use."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from tests.support.waiting import hang_guard

from feedmill.errors import UsageError
from feedmill.interfaces.health_page import alive_route, metrics_route, serve_health_page
from feedmill.observe.metrics import Metrics

Ask = Callable[[bytes], Awaitable[bytes]]


def with_page(body: Callable[[Metrics, Ask], Awaitable[None]]) -> None:
    """Run the body while a page with /metrics and /healthz is served."""

    async def main() -> None:
        metrics = Metrics()
        routes = {"/metrics": metrics_route(metrics), "/healthz": alive_route}
        async with hang_guard(), serve_health_page(routes, "127.0.0.1", 0) as port:

            async def ask(octets: bytes) -> bytes:
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(octets)
                answer = await reader.read()
                writer.close()
                return answer

            await body(metrics, ask)

    asyncio.run(main())


def test_metrics_are_served_in_prometheus_format() -> None:
    async def body(metrics: Metrics, ask: Ask) -> None:
        metrics.fetches.labels("fresh", "none").inc()
        answer = await ask(b"GET /metrics?x=1 HTTP/1.1\r\nHost: x\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
        assert b'feedmill_fetches_total{fault="none",outcome="fresh"} 1.0\n' in answer
        assert b"_created" not in answer

    with_page(body)


def test_unknown_path_is_404_and_no_http_is_400() -> None:
    async def body(_: Metrics, ask: Ask) -> None:
        assert (await ask(b"GET /healthz HTTP/1.0\r\n\r\n")).endswith(b"ok\n")
        assert b" 404 " in await ask(b"GET /etc/passwd HTTP/1.0\r\n\r\n")
        assert b" 400 " in await ask(b"nonsense\r\n\r\n")

    with_page(body)


def test_endless_head_is_refused() -> None:
    async def body(_: Metrics, ask: Ask) -> None:
        answer = await ask(b"GET /metrics HTTP/1.1\r\nX: " + b"x" * 60_000)
        assert answer.startswith(b"HTTP/1.1 400 ")
        assert (await ask(b"GET /healthz HTTP/1.0\r\n\r\n")).endswith(b"ok\n")

    with_page(body)


def test_port_in_use_is_a_usage_error() -> None:
    async def main() -> None:
        server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        try:
            async with serve_health_page({"/healthz": alive_route}, "127.0.0.1", port):
                pass
        finally:
            server.close()

    with pytest.raises(UsageError, match="choose another port for /healthz"):
        asyncio.run(main())


def test_two_metrics_objects_do_not_share_counters() -> None:
    one, other = Metrics(), Metrics()

    one.surprises.inc()

    assert b"feedmill_surprises_total 1.0" in one.page()
    assert b"feedmill_surprises_total 0.0" in other.page()
