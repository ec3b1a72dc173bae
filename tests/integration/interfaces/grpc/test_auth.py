"""Who may call what: scopes, tokens that do not hold, paces, and addresses that others reach."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import grpc
import pytest
from tests.integration.interfaces.grpc.test_event_stream import write_events
from tests.support.engine_harness import Stage, opened
from tests.support.grpc_client import Visitor, reason_of, told, visiting
from tests.support.waiting import hang_guard

from feedmill.config import AccessConfig, GrpcConfig
from feedmill.engine.service.auth import issue_token, revoke_token, rotate_token
from feedmill.errors import UsageError
from feedmill.interfaces.grpc.methods import GRPC_METHODS
from feedmill.interfaces.grpc.server import grpc_server
from feedmill.model.running.webhook import Scope

UNKNOWN = (grpc.StatusCode.UNAUTHENTICATED, "unauthenticated")
DENIED = (grpc.StatusCode.PERMISSION_DENIED, "forbidden")
STREAMS = ("Entries/Raw", "Events/Watch")
SCOPES: tuple[Scope, ...] = ("read", "write", "admin")


@asynccontextmanager
async def guarded(home: Path, **parts: Any) -> AsyncIterator[tuple[Stage, int, dict[Scope, str]]]:
    """A server on loopback with a token of each scope."""
    async with hang_guard(), opened(home, **parts) as stage:
        secrets = {
            scope: (
                await issue_token(scope, [scope], stage.services.store, stage.services.clock)
            ).secret
            for scope in SCOPES
        }
        async with grpc_server(stage.services) as bound:
            yield stage, bound.port, secrets


async def outcome(visitor: Visitor, method: str, **fields: Any) -> tuple[Any, str | None]:
    """How a call ends: its status and its reason."""
    try:
        if method in STREAMS:
            await visitor.stream(method, **fields).read()
        else:
            await visitor.ask(method, **fields)
    except grpc.aio.AioRpcError as problem:
        return problem.code(), reason_of(problem)
    return grpc.StatusCode.OK, None


async def ask_often(visitor: Visitor, times: int) -> None:
    for _ in range(times):
        await visitor.ask("Feeds/List")


async def test_every_method_takes_the_scope_that_it_says_and_no_less(tmp_path: Path) -> None:
    async with guarded(tmp_path, access=AccessConfig(requests_per_sec=0)) as (_, port, secrets):
        ends: dict[tuple[Scope, str], Any] = {}
        for scope in SCOPES:
            async with visiting(port, token=secrets[scope]) as visitor:
                for method in GRPC_METHODS:
                    ends[scope, method] = await outcome(visitor, method)

    for (held, method), end in ends.items():
        allowed = SCOPES.index(held) >= SCOPES.index(GRPC_METHODS[method].scope)
        assert (end == DENIED) is not allowed, (held, method, end)
        assert end != UNKNOWN


@pytest.mark.parametrize(
    "metadata",
    [
        pytest.param((), id="none"),
        pytest.param((("authorization", ""),), id="empty"),
        pytest.param((("authorization", "Bearer"),), id="only the scheme"),
        pytest.param((("authorization", "Bearer fm_wrong"),), id="wrong"),
        pytest.param((("authorization", "Basic {secret}"),), id="another scheme"),
        pytest.param((("authorization", "{secret}"),), id="no scheme"),
        pytest.param((("authorization", "Bearer {secret}x"),), id="too long"),
        pytest.param((("authorization", "Bearer {secret}"),) * 2, id="twice"),
        pytest.param((("authorization-bin", b"Bearer {secret}"),), id="binary"),
        pytest.param((("x-token", "{secret}"),), id="another field"),
    ],
)
async def test_a_token_that_is_not_presented_as_it_should_be_is_none(
    tmp_path: Path, metadata: tuple[tuple[str, Any], ...]
) -> None:
    async with (
        guarded(tmp_path) as (_, port, secrets),
        visiting(port, token=secrets["admin"]) as visitor,
    ):
        visitor.metadata = tuple(
            (
                name,
                value.replace("{secret}", secrets["admin"])
                if isinstance(value, str)
                else value.replace(b"{secret}", secrets["admin"].encode()),
            )
            for name, value in metadata
        )

        ends = [await outcome(visitor, one) for one in ("Feeds/List", "Events/Watch")]

    assert ends == [UNKNOWN, UNKNOWN]


async def test_the_scheme_is_read_in_any_case(tmp_path: Path) -> None:
    async with (
        guarded(tmp_path) as (_, port, secrets),
        visiting(port, token=secrets["read"]) as visitor,
    ):
        visitor.metadata = (("authorization", f"bEARER {secrets['read']}"),)

        assert await outcome(visitor, "Feeds/List") == (grpc.StatusCode.OK, None)


async def test_without_a_token_reflection_says_nothing_and_health_answers(tmp_path: Path) -> None:
    async with guarded(tmp_path) as (_, port, secrets):
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            async with visiting(port):
                pass
        async with visiting(port, token=secrets["read"]) as visitor:
            visitor.metadata = ()
            health = await visitor.ask("grpc.health.v1.Health/Check")

    assert (caught.value.code(), reason_of(caught.value)) == UNKNOWN
    assert health == {"status": 1}


async def test_a_token_that_expired_or_was_revoked_or_replaced_is_none(tmp_path: Path) -> None:
    async with guarded(tmp_path) as (stage, port, secrets):
        brief = await issue_token(
            "brief",
            ["read"],
            stage.services.store,
            stage.services.clock,
            expires_in=timedelta(hours=1),
        )
        ended = await issue_token("ended", ["read"], stage.services.store, stage.services.clock)
        first = await issue_token("turned", ["read"], stage.services.store, stage.services.clock)
        await revoke_token(ended.token.id, stage.services.store, stage.services.clock)
        second = await rotate_token(
            first.token.id, timedelta(0), stage.services.store, stage.services.clock
        )
        stage.later(hours=2)
        async with visiting(port, token=secrets["read"]) as visitor:
            ends = {}
            for name, one in (
                ("brief", brief),
                ("ended", ended),
                ("first", first),
                ("second", second),
            ):
                visitor.metadata = (("authorization", f"Bearer {one.secret}"),)
                ends[name] = await outcome(visitor, "Feeds/List")

    assert ends == {
        "brief": UNKNOWN,
        "ended": UNKNOWN,
        "first": UNKNOWN,
        "second": (grpc.StatusCode.OK, None),
    }


async def test_a_stream_ends_when_its_token_is_revoked(tmp_path: Path) -> None:
    async with guarded(tmp_path, grpc=GrpcConfig(recheck_sec=0.0)) as (stage, port, _):
        issued = await issue_token("passing", ["read"], stage.services.store, stage.services.clock)
        async with visiting(port, token=issued.secret) as visitor:
            call = visitor.stream("Events/Watch")
            first = told(await call.read())
            await revoke_token(issued.token.id, stage.services.store, stage.services.clock)
            await write_events(stage.services, 1)

            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await call.read()

    assert first["events"] == []
    assert (caught.value.code(), reason_of(caught.value)) == UNKNOWN


async def test_who_asks_too_often_is_told_when_to_ask_again(tmp_path: Path) -> None:
    slow = AccessConfig(requests_per_sec=0.01, burst=20)
    async with guarded(tmp_path, access=slow) as (_, port, secrets):
        async with visiting(port, token=secrets["read"]) as visitor:
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await ask_often(visitor, 20)
        async with visiting(port, token=secrets["write"]) as other:
            answer = await other.ask("Feeds/List")

    said = dict(caught.value.trailing_metadata())
    assert caught.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
    assert said["feedmill-reason"] == "rate-limited"
    assert 1 <= int(said["retry-after"]) <= 100
    assert 1 <= int(said["grpc-retry-pushback-ms"]) <= 100_000
    assert answer["items"] == []


async def test_on_loopback_nothing_is_asked_for_until_the_first_token_is_made(
    tmp_path: Path,
) -> None:
    async with (
        hang_guard(),
        opened(tmp_path) as stage,
        grpc_server(stage.services) as bound,
        visiting(bound.port) as visitor,
    ):
        before = await outcome(visitor, "Feeds/List")
        issued = await issue_token("first", ["read"], stage.services.store, stage.services.clock)
        after = await outcome(visitor, "Feeds/List")
        await revoke_token(issued.token.id, stage.services.store, stage.services.clock)
        later = await outcome(visitor, "Feeds/List")

    assert before == (grpc.StatusCode.OK, None)
    assert (after, later) == (UNKNOWN, UNKNOWN)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "mill.example"])
async def test_an_address_that_others_reach_is_not_opened_without_a_token(
    tmp_path: Path, host: str
) -> None:
    async with hang_guard(), opened(tmp_path) as stage:
        with pytest.raises(UsageError, match="no token") as caught:
            async with grpc_server(stage.services, host):
                pass

    assert "feedmill token create" in caught.value.hint


async def test_a_port_that_is_taken_is_an_error_and_not_shared(tmp_path: Path) -> None:
    async with hang_guard(), opened(tmp_path) as stage, grpc_server(stage.services) as bound:
        with pytest.raises(UsageError, match="cannot listen"):
            async with grpc_server(stage.services, port=bound.port):
                pass


async def test_metadata_over_its_limit_is_refused(tmp_path: Path) -> None:
    async with (
        guarded(tmp_path) as (_, port, secrets),
        visiting(port, token=secrets["read"]) as visitor,
    ):
        visitor.metadata = (*visitor.metadata, ("x-much", "x" * 60_000))

        code, _reason = await outcome(visitor, "Feeds/List")

    assert code == grpc.StatusCode.RESOURCE_EXHAUSTED
