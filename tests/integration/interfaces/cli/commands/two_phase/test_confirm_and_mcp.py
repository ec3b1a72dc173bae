"""The person's side: `feedmill confirm` on a real terminal, and the processes of `feedmill mcp`."""

import asyncio
import getpass
import json
import os
import re
import signal
from collections.abc import Callable
from pathlib import Path
from subprocess import PIPE
from typing import Any

import httpx2
import pytest
from tests.support.engine_harness import opened
from tests.support.mcp_client import (
    COMMAND,
    agent_over_stdio,
    collected,
    publish,
    surroundings,
)
from tests.support.terminal import at_terminal
from tests.support.waiting import HANG_GUARD_SEC
from tests.support.warm_process import WarmPopen

from feedmill.app.services import open_services
from feedmill.config import Config, StoreConfig
from feedmill.engine.run.services import Services
from feedmill.engine.two_phase import confirmation
from feedmill.engine.two_phase.candidates import window_between
from feedmill.engine.two_phase.collect_window import collect_window, source_from_address
from feedmill.engine.two_phase.sidecar_files import WindowLibrary

TICKET = re.compile(r"^ +((?:[A-Z2-7]{5}-){4}[A-Z2-7]{5})\s*$", re.MULTILINE)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder that every command of the test has."""
    for name, value in surroundings(tmp_path / "home").items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("NO_COLOR", "1")
    return tmp_path / "home"


def at_the_terminal(*words: str, typed: str) -> str:
    """What a person sees who runs the command in a terminal and types that."""
    status, seen = at_terminal(*words, typed=typed)
    assert status == 0, seen
    return seen


def in_pipes(*words: str) -> tuple[int, str, str]:
    process = WarmPopen([COMMAND, *words], stdin=PIPE, stdout=PIPE, stderr=PIPE)
    out, err = process.communicate(b"y\n", HANG_GUARD_SEC)
    return process.returncode, out.decode(), err.decode()


def in_world(home: Path, story: Callable[[Services], Any]) -> Any:
    async def told() -> Any:
        async with open_services(Config(store=StoreConfig(home=str(home)))) as services:
            return await story(services)

    return asyncio.run(told())


async def test_a_person_at_a_terminal_confirms_and_the_agent_inserts_with_the_ticket(
    home: Path,
) -> None:
    async with opened(home.parent / "elsewhere") as stage, agent_over_stdio(home) as ask:
        window = await collected(ask, publish(stage))
        chosen = {"window_id": window["window_id"], "candidate_ids": [1, 2]}
        asked = await ask("confirm", **chosen)
        status, listed, _ = await asyncio.to_thread(in_pipes, "confirm", "--list", "--json")
        piped = await asyncio.to_thread(in_pipes, "confirm", "--code", asked["question"])
        seen = await asyncio.to_thread(
            at_the_terminal, "confirm", "--code", asked["question"].lower(), typed="y\n"
        )
        (ticket,) = TICKET.findall(seen.replace("\r", ""))

        done = await ask("insert_selected", **chosen, ticket=ticket)

        assert asked["status"] == "pending"
        (waiting,) = json.loads(listed)["items"]
        assert (status, waiting["code"]) == (0, asked["question"])
        assert [one["candidate_id"] for one in waiting["candidates"]] == [1, 2]
        assert "ticket" not in {key for key, value in waiting.items() if value}
        assert piped[0] == 1
        assert "not a terminal: only a person at a terminal can confirm" in piped[2]
        assert TICKET.search(piped[1]) is None
        assert all(one["title"] in " ".join(seen.split()) for one in waiting["candidates"])
        assert (done["new"], done["confirmed_by"]) == (2, getpass.getuser())


def test_a_no_at_the_terminal_closes_the_question(home: Path) -> None:
    async def ask(services: Services) -> str:
        async with opened(home.parent / "elsewhere") as stage:
            window = window_between("2025-10-13", "2025-10-13", now=services.clock.now())
            sources = [await source_from_address(publish(stage), stage.services)]
            kept = await WindowLibrary(services.config).save(
                await collect_window(sources, window, stage.services)
            )
        asked = await confirmation.ask_confirmation(
            kept.id,
            kept.file.digest,
            [3],
            services.store,
            services.clock,
            services.config.mcp,
            asked_by="an\x1b[31m agent",
        )
        return asked.code

    async def state(services: Services) -> Any:
        return await confirmation.get_question(code, services.store)

    code = in_world(home, ask)

    seen = at_the_terminal("confirm", typed="n\n")
    again = at_the_terminal("confirm", typed="y\n")
    late = in_pipes("confirm", "--code", code, "--json")

    assert "declined" in seen
    assert "an [31m agent" in seen
    assert "no open questions" in again
    assert in_world(home, state).state == "declined"
    assert json.loads(late[2])["error"]["code"] == "not-open"


def test_a_question_whose_window_is_gone_cannot_be_confirmed(home: Path) -> None:
    async def ask(services: Services) -> str:
        asked = await confirmation.ask_confirmation(
            "0" * 16,
            "0" * 64,
            [1],
            services.store,
            services.clock,
            services.config.mcp,
            asked_by="an agent",
        )
        return asked.code

    code = in_world(home, ask)

    seen = at_the_terminal("confirm", "--code", code, typed="y\n")

    assert "cannot be confirmed" in seen
    assert TICKET.search(seen) is None


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda one: one.name)
def test_the_http_door_says_where_it_is_and_leaves_when_it_is_told(
    home: Path, number: signal.Signals
) -> None:
    assert not home.exists()
    with WarmPopen(
        [COMMAND, "mcp", "--http", "127.0.0.1:0", "--json"], stdout=PIPE, stderr=PIPE
    ) as door:
        assert door.stdout is not None
        place = json.loads(door.stdout.readline())["mcp"]
        door.send_signal(number)
        _, err = door.communicate(timeout=HANG_GUARD_SEC)

    assert re.fullmatch(r"http://127\.0\.0\.1:[0-9]+/mcp", place)
    assert door.returncode == (130 if number == signal.SIGINT else 0), err


def test_a_session_that_only_waits_does_not_hold_up_the_end(home: Path) -> None:
    assert not home.exists()
    with WarmPopen(
        [COMMAND, "mcp", "--http", "127.0.0.1:0", "--json"],
        stdout=PIPE,
        stderr=PIPE,
        # Far longer than the test waits: only a stream that was ended lets the door leave.
        env=os.environ | {"FEEDMILL_RUN_DRAIN_SEC": "600"},
    ) as door:
        assert door.stdout is not None
        place = json.loads(door.stdout.readline())["mcp"]
        accepting = {"Accept": "application/json, text/event-stream"}
        with httpx2.Client(headers=accepting, timeout=HANG_GUARD_SEC) as wire:
            hello = wire.post(place, json=HELLO)
            session = {"Mcp-Session-Id": hello.headers["Mcp-Session-Id"]}
            with wire.stream("GET", place, headers=session, timeout=HANG_GUARD_SEC) as waiting:
                assert waiting.status_code == 200
                door.send_signal(signal.SIGINT)
                _, err = door.communicate(timeout=HANG_GUARD_SEC)

    assert door.returncode == 130
    assert json.loads(err)["error"]["code"] == "interrupted"


HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "a test", "version": "1"},
    },
}


@pytest.mark.parametrize("end", ["SIGTERM", "SIGINT", "closed"])
def test_over_standard_streams_it_leaves_on_a_signal_and_when_the_stream_ends(
    home: Path, end: str
) -> None:
    assert not home.exists()
    with WarmPopen([COMMAND, "mcp"], stdin=PIPE, stdout=PIPE, stderr=PIPE) as door:
        assert door.stdin is not None
        assert door.stdout is not None
        door.stdin.write(json.dumps(HELLO).encode() + b"\n")
        door.stdin.flush()
        answer = json.loads(door.stdout.readline())
        if end == "closed":
            door.stdin.close()
        else:
            door.send_signal(signal.Signals[end])
        status = door.wait(HANG_GUARD_SEC)

    assert answer["result"]["serverInfo"]["name"] == "feedmill"
    assert status == (130 if end == "SIGINT" else 0)


def test_a_place_without_a_port_is_wrong_usage() -> None:
    status, _, err = in_pipes("mcp", "--http", "localhost")

    assert status == 2
    assert "has no port" in err
