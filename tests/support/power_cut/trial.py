"""A recorded run of the whole program, and what each power cut in it leaves to its readers."""

import asyncio
import json
import re
import shutil
from pathlib import Path
from random import Random  # noqa: TID251  # with a seed
from typing import Any, Final, NamedTuple

from tests.support.living_feeds_publisher import Press, pressing
from tests.support.power_cut.disk import Disk
from tests.support.power_cut.recording import Operation, read_recording, recorder_environment
from tests.support.run_process import Mill
from tests.support.servers.free_port import free_port
from tests.support.waiting import wait_until
from tests.support.webhook_receiver import Receiver, receiving

from feedmill.adapters.settings import load_config
from feedmill.app.services import file_sinks, open_services
from feedmill.client import Client
from feedmill.engine.deliver.to_sinks import deliver_pending
from feedmill.engine.run.services import Services
from feedmill.engine.service import queries
from feedmill.engine.service.webhooks import add_webhook
from feedmill.engine.subscribe.add_feed import subscribe_unchecked
from feedmill.errors import UnreachableError
from feedmill.publish.ndjson import ENTRY_CHANGES

FEEDS, HOSTS = 12, 6

_EVENT: Final = re.compile(rb'"seq":(\d+),"(?:event_)?id":"([^"]+)"')
_TAIL_BYTES: Final = 100  # longer than a number with its id
_CUTS_AFTER_NEWS: Final = 0.7  # of all cuts come right after a reader was told something


class Told(NamedTuple):
    """The events that readers were given before a cut: number to id, by the way they were given."""

    files: dict[int, str]
    webhook: dict[int, str]
    rest: dict[int, str]
    sockets: dict[str, bytes]  # the last bytes to each


class Recorded(NamedTuple):
    """A recorded run: the home folder before it, its path, the settings, and all operations."""

    before: Path
    home: Path
    settings: dict[str, str]
    operations: list[Operation]


async def record_run(folder: Path, *, events: int, synchronous: str) -> Recorded:
    """Poll, write files, deliver to a webhook and serve REST until readers got so many events."""
    home, before = folder / "home", folder / "before"
    mill = Mill(home, FEEDMILL_STORE_SYNCHRONOUS=synchronous, FEEDMILL_WEBHOOK_LOOK_SEC="0.05")
    async with pressing(FEEDS, HOSTS, every_sec=0.02) as press, receiving() as receiver:
        await mill.subscribe(press.addresses)
        async with open_services(load_config(None, mill.settings)) as services:
            await add_webhook(receiver.url(), services, from_seq=1)
        await asyncio.to_thread(shutil.copytree, home, before)
        mill.settings |= recorder_environment(folder, home)
        await _serve_and_read(mill, press, receiver, events)
    return Recorded(before, home, mill.settings, await asyncio.to_thread(read_recording, folder))


async def _serve_and_read(mill: Mill, press: Press, receiver: Receiver, events: int) -> None:
    port = free_port()
    seen: dict[str, int] = {"pages": 0, "stream": 0}
    role = ("serve", "--with-mill", "--port", str(port))
    async with (
        await mill.start(role=role) as running,
        Client(f"http://127.0.0.1:{port}") as client,
        asyncio.TaskGroup() as group,
    ):
        reading = (_read_pages(client, seen), _read_stream(client, seen))
        readers = [group.create_task(one) for one in reading]

        def is_enough() -> bool:
            assert running.is_alive, mill.log.decode()
            files = (mill.home / "out" / "events").glob("*.ndjson")
            is_read = min(*seen.values(), *receiver.told()[-1:] or [0]) >= events
            return is_read and any(path.stat().st_size for path in files)

        await wait_until(is_enough, f"{events} events at every reader")
        press.resting = True
        for reader in readers:
            reader.cancel()
        await running.kill()


async def _read_pages(client: Client, seen: dict[str, int]) -> None:
    while True:
        try:
            seen["pages"] = (await client.events(seen["pages"], wait_sec=5.0)).next
        except UnreachableError:
            await asyncio.sleep(0.05)


async def _read_stream(client: Client, seen: dict[str, int]) -> None:
    async for event in client.watch():
        seen["stream"] = event.seq


async def cut_and_judge(recorded: Recorded, folder: Path, cuts: int, *, seed: int = 0) -> int:
    """Cut the power so many times; how many events readers had been told at these moments."""
    news = [at for at, one in enumerate(recorded.operations) if _told_by(one)]
    chance, moments = Random(f"power cuts {seed}"), list[int]()
    for _ in range(cuts):
        is_after_news = chance.random() < _CUTS_AFTER_NEWS
        moments.append(
            chance.choice(news) + 1 if is_after_news else chance.randrange(len(recorded.operations))
        )
    disk, told, at, total = Disk(recorded.before), Told({}, {}, {}, {}), 0, 0
    for number, moment in enumerate(sorted(moments)):
        while at < moment:
            disk.apply(recorded.operations[at], recorded.home)
            _note(told, recorded.operations[at])
            at += 1
        left = folder / f"cut-{number}"
        await asyncio.to_thread(disk.cut, left, Random(f"{seed} {number}"))
        left.chmod(0o700)  # as it was
        await _judge(recorded, left, told, f"cut {number} at operation {moment}")
        total += sum(map(len, told[:3]))
        await asyncio.to_thread(shutil.rmtree, left)
    for operation in recorded.operations[at:]:
        _note(told, operation)
    assert all(told[:3]), "a way to readers was not recorded: nothing was put to the test"
    return total


async def _judge(recorded: Recorded, home: Path, told: Told, cut: str) -> None:
    """Everything that was told is in the log, and every reader goes on without a gap."""
    settings = {**recorded.settings, "FEEDMILL_HOME": str(home)}
    async with open_services(load_config(None, settings)) as services:
        log = {one.seq: one.id for one in await services.store.events(after=0, limit=1_000_000)}
        assert await services.store.problems() == (), cut
        for way in ("files", "webhook", "rest"):
            given: dict[int, str] = getattr(told, way)
            lost = {seq: id_ for seq, id_ in given.items() if log.get(seq) != id_}
            assert not lost, f"{cut}: the log has lost what it told by {way}: {lost}"
        (webhook,) = await services.store.webhooks()
        assert set(range(1, webhook.cursor + 1)) <= told.webhook.keys(), f"{cut}: webhook skipped"
        await _go_on(services, told, log, cut)


async def _go_on(services: Services, told: Told, log: dict[int, str], cut: str) -> None:
    """After the cut: one more event; the files have all, and a cursor gives what is left."""
    await subscribe_unchecked("http://127.0.1.9/after-the-cut", services)
    for sink in await file_sinks(services):
        await deliver_pending(services.store, sink)
    lines = _lines(services, "events")
    numbers = [line["seq"] for line in lines]
    assert numbers == list(range(1, len(log) + 2)), f"{cut}: the files have {numbers}"
    assert all(log[line["seq"]] == line["id"] for line in lines[:-1]), f"{cut}: other events"
    entries = [(line["seq"], line["event_id"]) for line in _lines(services, "entries")]
    changes = [(line["seq"], line["id"]) for line in lines if line["type"] in ENTRY_CHANGES]
    assert entries == changes, f"{cut}: the files of entries have {entries}, not {changes}"
    cursor = max(told.rest, default=0)
    page = await queries.events(services, after=cursor, limit=1_000_000)
    assert [one.seq for one in page.items] == list(range(cursor + 1, len(log) + 2)), cut


def _lines(services: Services, kind: str) -> list[dict[str, Any]]:
    folder = Path(services.config.store.home) / "out" / kind
    return [
        json.loads(line)
        for path in sorted(folder.glob("*.ndjson"))
        for line in path.read_bytes().splitlines()
    ]


def _told_by(operation: Operation) -> bool:
    is_file = operation.kind == "W" and operation.path.endswith(".ndjson")
    return (is_file or operation.kind == "N") and _EVENT.search(operation.data) is not None


def _note(told: Told, operation: Operation) -> None:
    """Add what an operation tells; bytes to a socket may end in the middle of an event."""
    if operation.kind == "N":
        sent = told.sockets.get(operation.path, b"") + operation.data
        is_webhook = sent.startswith(b"POST ")
        given = told.webhook if is_webhook else told.rest
        told.sockets[operation.path] = (b"POST " if is_webhook else b"") + sent[-_TAIL_BYTES:]
    elif operation.path.endswith(".ndjson"):
        sent, given = operation.data, told.files
    else:
        return
    given.update((int(seq), id_.decode()) for seq, id_ in _EVENT.findall(sent))
