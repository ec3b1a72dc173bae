"""Who may come in over HTTP: this machine, or a token of the right scope, and no page of others."""

import asyncio
from pathlib import Path

import httpx2
import pytest
from tests.support.engine_harness import opened
from tests.support.mcp_client import ASK_CLIENT, Person, agent, collected, publish
from tests.support.waiting import HANG_GUARD_SEC, hang_guard

from feedmill.config import AccessConfig, ServeConfig
from feedmill.engine.service.auth import issue_token, revoke_token
from feedmill.errors import UsageError
from feedmill.interfaces.mcp.server import mcp_http_server

PING = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
ACCEPT = {"Accept": "application/json, text/event-stream"}

# headers, status, code
STRANGERS = [
    ({"Host": "evil.example"}, 421, "bad-host"),
    ({"Host": ""}, 421, "bad-host"),
    ({"Origin": "https://evil.example"}, 403, "cross-origin"),
    ({"Origin": "null"}, 403, "cross-origin"),
]


async def test_requests_for_other_hosts_and_of_other_origins_are_refused(tmp_path: Path) -> None:
    async with (
        opened(tmp_path, mcp=ASK_CLIENT) as stage,
        mcp_http_server(stage.services, "127.0.0.1", 0) as url,
        httpx2.AsyncClient(headers=ACCEPT, timeout=HANG_GUARD_SEC) as wire,
    ):
        for headers, status, code in STRANGERS:
            answer = await wire.post(url, json=PING, headers=headers)
            assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)


async def test_a_name_that_the_owner_listed_is_answered(tmp_path: Path) -> None:
    async with (
        opened(tmp_path, serve=ServeConfig(hosts=("mill.example",))) as stage,
        mcp_http_server(stage.services, "127.0.0.1", 0) as url,
        httpx2.AsyncClient(headers=ACCEPT, timeout=HANG_GUARD_SEC) as wire,
    ):
        answer = await wire.post(url, json=PING, headers={"Host": "mill.example"})

        assert answer.status_code not in (403, 421)


async def test_the_first_token_closes_the_door_to_those_without_one(tmp_path: Path) -> None:
    async with (
        opened(tmp_path, mcp=ASK_CLIENT) as stage,
        mcp_http_server(stage.services, "127.0.0.1", 0) as url,
        httpx2.AsyncClient(headers=ACCEPT, timeout=HANG_GUARD_SEC) as wire,
    ):
        token = await issue_token("an agent", ["read"], stage.services.store, stage.services.clock)
        good = {"Authorization": f"Bearer {token.secret}"}
        without = await wire.post(url, json=PING)
        wrong = await wire.post(url, json=PING, headers={"Authorization": "Bearer fm_wrong"})
        right = await wire.post(url, json=PING, headers=good)
        await revoke_token(token.token.id, stage.services.store, stage.services.clock)
        revoked = await wire.post(url, json=PING, headers=good)

        assert [one.status_code for one in (without, wrong, revoked)] == [401, 401, 401]
        assert without.headers["www-authenticate"] == "Bearer"
        assert right.status_code != 401


async def test_a_token_that_may_read_can_look_and_do_nothing_else(tmp_path: Path) -> None:
    async with opened(tmp_path, mcp=ASK_CLIENT) as stage:
        async with agent(stage) as ask:
            window = (await collected(ask, publish(stage)))["window_id"]
        token = (
            await issue_token("a reader", ["read"], stage.services.store, stage.services.clock)
        ).secret
        person = Person()
        async with agent(stage, person, token=token) as ask:
            chosen = {"window_id": window, "candidate_ids": [1]}
            judged = {"candidate_id": 1, "decision": "keep", "reason": "It is good."}
            refused = [
                await ask.refusal("collect_window", last_days=1),
                await ask.refusal("screen", window_id=window),
                await ask.refusal("record_decisions", window_id=window, decisions=[judged]),
                await ask.refusal("confirm", **chosen),
                await ask.refusal("insert_selected", **chosen, ticket="x"),
            ]

            assert [words.partition(":")[0] for words in refused] == ["forbidden"] * 5
            assert person.questions == []
            assert (await ask("list_candidates", window_id=window))["total"] == 3


async def test_a_token_that_may_write_can_go_all_the_way(tmp_path: Path) -> None:
    async with opened(tmp_path, mcp=ASK_CLIENT) as stage:
        token = (
            await issue_token("a helper", ["write"], stage.services.store, stage.services.clock)
        ).secret
        async with agent(stage, Person(), token=token) as ask:
            window = (await collected(ask, publish(stage)))["window_id"]
            chosen = {"window_id": window, "candidate_ids": [1]}
            ticket = (await ask("confirm", **chosen))["ticket"]

            done = await ask("insert_selected", **chosen, ticket=ticket)

            assert done["new"] == 1
            assert done["confirmed_by"] == "through the MCP client with the token a helper"


async def test_who_asks_too_often_is_told_when_to_come_back(tmp_path: Path) -> None:
    slow = AccessConfig(requests_per_sec=0.001, burst=1)
    async with (
        opened(tmp_path, access=slow) as stage,
        mcp_http_server(stage.services, "127.0.0.1", 0) as url,
        httpx2.AsyncClient(headers=ACCEPT, timeout=HANG_GUARD_SEC) as wire,
    ):
        await wire.post(url, json=PING)
        answer = await wire.post(url, json=PING)

        assert answer.status_code == 429
        assert int(answer.headers["retry-after"]) >= 1


HALVES = [
    b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n",
    (
        b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        b"Accept: application/json, text/event-stream\r\nContent-Length: 100\r\n\r\n{"
    ),
    b"",
]


@pytest.mark.parametrize("half", HALVES, ids=["half a head", "half a body", "nothing"])
async def test_a_request_that_never_ends_is_ended(tmp_path: Path, half: bytes) -> None:
    hasty = ServeConfig(header_timeout_sec=0.2, body_timeout_sec=0.2, keep_alive_sec=1.0)
    async with (
        opened(tmp_path, serve=hasty) as stage,
        mcp_http_server(stage.services, "127.0.0.1", 0) as url,
    ):
        port = int(url.removesuffix("/mcp").rpartition(":")[2])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(half)
        async with hang_guard():
            try:
                answer = await reader.read()
            except ConnectionResetError:
                answer = b""
        writer.close()

        assert b"200 OK" not in answer


async def test_slow_second_head_on_kept_alive_connection_is_closed(tmp_path: Path) -> None:
    # The first head has to be read within the limit on a busy machine too.
    hasty = ServeConfig(header_timeout_sec=1.0, keep_alive_sec=600.0)
    async with (
        opened(tmp_path, serve=hasty) as stage,
        mcp_http_server(stage.services, "127.0.0.1", 0) as url,
    ):
        port = int(url.removesuffix("/mcp").rpartition(":")[2])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        async with hang_guard():
            writer.write(b"GET /nothing HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            await reader.readexactly(int(head.partition(b"content-length: ")[2].split()[0]))
            writer.write(b"GET /nothing HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ")
            try:
                rest = await reader.read()
            except ConnectionResetError:
                rest = b""
        writer.close()

        assert b"connection: close" not in head
        assert rest == b""


async def test_an_address_that_others_reach_needs_a_token_first(tmp_path: Path) -> None:
    async with opened(tmp_path, mcp=ASK_CLIENT) as stage:
        with pytest.raises(UsageError, match="no token yet"):
            async with mcp_http_server(stage.services, "0.0.0.0", 0):
                pass


async def test_a_place_that_is_taken_is_said_to_be(tmp_path: Path) -> None:
    async with (
        opened(tmp_path, mcp=ASK_CLIENT) as stage,
        mcp_http_server(stage.services, "127.0.0.1", 0) as url,
    ):
        port = int(url.removesuffix("/mcp").rpartition(":")[2])
        with pytest.raises(UsageError, match="cannot listen"):
            async with mcp_http_server(stage.services, "127.0.0.1", port):
                pass
