"""A stranger without a token holds no place: neither with a call that says nothing, nor by listening."""

from pathlib import Path
from typing import Any

import grpc
from grpc_health.v1 import health_pb2
from tests.integration.interfaces.grpc.test_auth import guarded
from tests.support.grpc_client import visiting
from tests.support.waiting import hang_guard, wait_until

from feedmill.config import GrpcConfig

CALLS = 8
HEALTH = "/grpc.health.v1.Health/Watch"


async def refusal(call: Any) -> Any:
    """How a stream is refused; None when it has something to say."""
    try:
        await call.read()
    except grpc.aio.AioRpcError as problem:
        return problem.code()
    return None


async def test_a_call_without_a_token_is_refused_before_it_says_a_word(tmp_path: Path) -> None:
    async with (
        guarded(tmp_path) as (_, port, _),
        grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel,
    ):
        # On the wire every kind of call begins alike; this one never sends its request.
        call = channel.stream_stream("/feedmill.v1.Feeds/List")()
        await call.wait_for_connection()

        assert await call.code() == grpc.StatusCode.UNAUTHENTICATED


async def test_whoever_watches_the_health_leaves_room_for_calls(tmp_path: Path) -> None:
    async with (
        guarded(tmp_path, grpc=GrpcConfig(max_calls=CALLS)) as (_, port, secrets),
        grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel,
        visiting(port, token=secrets["read"]) as visitor,
    ):
        watch = channel.unary_stream(HEALTH)
        told = health_pb2.HealthCheckRequest().SerializeToString()
        calls = [watch(told) for _ in range(CALLS)]
        ends = [await refusal(call) for call in calls]

        assert ends.count(None) == CALLS // 2
        assert set(ends) == {None, grpc.StatusCode.RESOURCE_EXHAUSTED}
        await visitor.ask("Feeds/List")


async def test_health_calls_that_never_send_their_request_leave_room_for_calls(
    tmp_path: Path,
) -> None:
    async with (
        guarded(tmp_path, grpc=GrpcConfig(max_calls=CALLS)) as (_, port, secrets),
        grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel,
        visiting(port, token=secrets["read"]) as visitor,
    ):
        silent = channel.stream_stream("/grpc.health.v1.Health/Check")
        calls = [silent() for _ in range(CALLS)]
        await wait_until(lambda: sum(call.done() for call in calls) >= CALLS // 2, "refusals")

        await visitor.ask("Feeds/List")
        assert sum(call.done() for call in calls) == CALLS // 2


async def test_a_call_that_never_sends_its_request_is_ended(tmp_path: Path) -> None:
    async with (
        guarded(tmp_path, grpc=GrpcConfig(call_sec=0.05)) as (_, port, secrets),
        grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel,
        hang_guard(),
    ):
        token = (("authorization", f"Bearer {secrets['read']}"),)
        paths = (HEALTH, "/feedmill.v1.Feeds/List", "/feedmill.v1.Events/Watch")
        calls = [channel.stream_stream(path)(metadata=token) for path in paths]

        ends = [await call.code() for call in calls]
        assert ends == [grpc.StatusCode.DEADLINE_EXCEEDED] * len(paths)
