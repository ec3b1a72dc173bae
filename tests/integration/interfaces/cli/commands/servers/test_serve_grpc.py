"""`feedmill serve --grpc`: both doors in a process of their own, its end, and its sudden end."""

import asyncio
import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from subprocess import PIPE, Popen

import grpc
from tests.integration.interfaces.grpc.test_event_stream import numbers, write_events
from tests.support.command_line import COMMAND
from tests.support.engine_harness import opened
from tests.support.grpc_client import Said, reason_of, told, visiting
from tests.support.waiting import HANG_GUARD_SEC, hang_guard
from tests.support.warm_process import WarmPopen

KILLS = 3


@contextmanager
def serving(home: Path, port: int = 0) -> Iterator[tuple[Popen[bytes], int]]:
    """The command at work, and the port of its gRPC door."""
    words = ["serve", "--port", "0", "--grpc", str(port), "--json"]
    process = WarmPopen(
        [COMMAND, *words], env={**os.environ, "FEEDMILL_HOME": str(home)}, stdout=PIPE
    )
    assert process.stdout is not None
    try:
        places = json.loads(process.stdout.readline())
        yield process, int(places["grpc"].rpartition(":")[2])
    finally:
        process.kill()
        process.wait(HANG_GUARD_SEC)
        process.stdout.close()


def test_a_signal_closes_the_door_politely(tmp_path: Path) -> None:
    async def story(process: Popen[bytes], port: int) -> grpc.aio.AioRpcError:
        async with hang_guard(), visiting(port) as visitor:
            call = visitor.stream("Events/Watch")
            assert told(await call.read()) == {"events": [], "next": 0}
            process.send_signal(signal.SIGTERM)
            try:
                await call.read()
            except grpc.aio.AioRpcError as problem:
                return problem
        raise AssertionError

    with serving(tmp_path) as (process, port):
        problem = asyncio.run(story(process, port))
        status = process.wait(HANG_GUARD_SEC)

    assert (problem.code(), reason_of(problem)) == (grpc.StatusCode.UNAVAILABLE, "shutting-down")
    assert status == 0


def test_a_watcher_sees_each_event_once_although_the_server_is_killed(tmp_path: Path) -> None:
    events: list[Said] = []

    async def story() -> int:
        async with hang_guard(), opened(tmp_path) as stage:
            done = asyncio.Event()

            async def write() -> None:
                while not done.is_set():
                    await write_events(stage.services, 5)
                    await asyncio.sleep(0.005)

            async with asyncio.TaskGroup() as group:
                group.create_task(write())
                place = 0
                for _ in range(KILLS):
                    place = await watch(tmp_path, place, events, until=place + 50)
                done.set()
            last = await stage.services.store.last_seq()
            await watch(tmp_path, place, events, until=last)
            return last

    last = asyncio.run(story())

    assert last > KILLS * 50
    assert numbers(events) == list(range(1, last + 1))


async def watch(home: Path, place: int, events: list[Said], *, until: int) -> int:
    """Watch a server of its own; once the number is reached it is killed. Where to go on."""
    server = serving(home)
    process, port = await asyncio.to_thread(server.__enter__)
    try:
        async with visiting(port) as visitor:
            call = visitor.stream("Events/Watch", after_seq=place)
            with suppress(grpc.aio.AioRpcError):  # the stream breaks off
                while True:
                    reply = told(await call.read())
                    events += reply["events"]
                    place = reply["next"]
                    if place >= until:
                        process.kill()
            assert await call.code() == grpc.StatusCode.UNAVAILABLE
    finally:
        await asyncio.to_thread(server.__exit__, None, None, None)
    return place
