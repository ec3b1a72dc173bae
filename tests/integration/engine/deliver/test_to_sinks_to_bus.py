"""From the log to a bus and back to a bus that lost something; buses that go away and return."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from tests.support.bus_clients import jetstream, nats_client, redis_client
from tests.support.bus_readers import NatsReader, Reader, RedisReader, feeds, numbers
from tests.support.buses_under_test import BusBench, kafka_bench, redis_bench
from tests.support.relay_harness import happen, opened, relaying
from tests.support.sample_refreshes import NOON, an_entry, new_feed, poll
from tests.support.servers.nats import NatsServer
from tests.support.servers.valkey import ValkeyServer
from tests.support.waiting import HANG_GUARD_SEC, run, wait_for_answer, wait_until

from feedmill.app.services import make_bus
from feedmill.config import BusConfig, Config, RunConfig
from feedmill.engine.deliver.to_sinks import relay_after, relay_pending
from feedmill.engine.ports.entries import NewestEvent
from feedmill.engine.run.services import Services
from feedmill.errors import ConflictError, FeedmillError
from feedmill.model.event import Event, Relayed


async def relayed(services: Services) -> int:
    """Relay what waits, once."""
    bus = make_bus(services.config)
    try:
        return await relay_pending(services.store, bus, services.config.bus)
    finally:
        await bus.close()


async def refilled(services: Services, after: int) -> int:
    """Refill from a number."""
    bus = make_bus(services.config)
    try:
        return await relay_after(services.store, bus, after, services.config.bus)
    finally:
        await bus.close()


class Kept:
    """A bus that keeps what it is given."""

    name = "kept"

    def __init__(self) -> None:
        self.events: list[Event] = []

    async def deliver(self, events: Sequence[Event]) -> None:
        self.events += events

    async def newest(self) -> NewestEvent | None:
        return None

    async def close(self) -> None:
        """Nothing is open."""


@pytest.mark.parametrize(("max_event_bytes", "omitted"), [(900_000, None), (9_000, "too-large")])
async def test_a_full_payload_carries_whole_entries_that_fit_a_message(
    tmp_path: Path, max_event_bytes: int, omitted: str | None
) -> None:
    config = Config(bus=BusConfig(payload="full", max_event_bytes=max_event_bytes))
    async with opened(tmp_path, config) as services:
        feed, _ = await services.store.add_feed(new_feed(1))
        entry = an_entry("a", "x" * 2_000)
        await poll(services.store, feed, 1, [entry], at=NOON)
        bus = Kept()

        await relay_pending(services.store, bus, services.config.bus)

        (new,) = (one for one in bus.events if one.type == "new_entry")
        data = json.loads(msgspec.json.encode(new.data))
        assert data.get("entry_omitted") == omitted
        assert (data["entry"] or {}).get("summary") == (None if omitted else entry.summary)


async def test_a_relay_hands_over_what_is_there_and_what_comes(
    bench: BusBench, tmp_path: Path
) -> None:
    async with opened(tmp_path, bench.config(window=30)) as services:
        name = make_bus(services.config).name
        await happen(services, 100)
        async with relaying(services) as relay:
            await relay.caught_up(name)
            await happen(services, 50)
            await relay.caught_up(name)
        found = await bench.reader.read(bench.stream)

        assert sorted(numbers(found)) == list(range(1, 151))
        assert all(seen == sorted(seen) for seen in feeds(found).values())
        assert sum(one.events for one in relay.told) == 150
        assert max(one.events for one in relay.told) <= 30
        assert relay.troubles == []


async def test_what_happens_before_the_end_of_a_run_is_still_relayed(
    exact: BusBench, tmp_path: Path
) -> None:
    async with opened(tmp_path, exact.config()) as services:
        async with relaying(services) as relay:
            await relay.caught_up(make_bus(services.config).name)
            await happen(services, 20)
        found = await exact.reader.read(exact.stream)

        assert numbers(found) == list(range(1, 21))


async def test_a_refill_gives_what_is_missing_and_nothing_twice(
    exact: BusBench, tmp_path: Path
) -> None:
    async with opened(tmp_path, exact.config()) as services:
        await happen(services, 60)
        given = [await relayed(services), await refilled(services, 10), await relayed(services)]
        found = await exact.reader.read(exact.stream)

        assert given == [60, 0, 0]
        assert numbers(found) == list(range(1, 61))


async def test_a_refill_of_kafka_repeats_from_that_number_on(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    bench = kafka_bench(tmp_path, request)

    async with opened(tmp_path, bench.config()) as services:
        await happen(services, 30)
        given = [await relayed(services), await refilled(services, 20), await relayed(services)]
        found = await bench.reader.read(bench.stream)

        assert given == [30, 10, 0]
        assert sorted(numbers(found)) == sorted([*range(1, 31), *range(21, 31)])


async def test_a_stream_that_was_deleted_is_made_and_filled_from_the_start(
    exact: BusBench, tmp_path: Path
) -> None:
    async with opened(tmp_path, exact.config()) as services:
        await happen(services, 40)
        await relayed(services)
        await _delete(exact)
        await happen(services, 5)
        given = await relayed(services)
        found = await exact.reader.read(exact.stream)

        assert given == 45
        assert numbers(found) == list(range(1, 46))


async def test_a_stream_that_somebody_emptied_goes_on_where_it_was(
    exact: BusBench, tmp_path: Path
) -> None:
    async with opened(tmp_path, exact.config()) as services:
        await happen(services, 40)
        await relayed(services)
        await _empty(exact)
        await happen(services, 5)
        given = await relayed(services)
        found = await exact.reader.read(exact.stream)

        assert given == 5
        assert numbers(found) == [41, 42, 43, 44, 45]


async def test_a_bus_that_lost_its_end_is_given_it_again(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    bench = redis_bench(tmp_path, request)

    async with opened(tmp_path, bench.config()) as services:
        told: list[Relayed] = []
        await happen(services, 40)
        early = await services.store.events(after=0, limit=25)
        await relayed(services)
        await _delete(bench)
        bus = make_bus(services.config)
        await bus.deliver(early)  # as an older copy of the file would have it
        await relay_pending(services.store, bus, services.config.bus, listeners=(told.append,))
        await bus.close()
        found = await bench.reader.read(bench.stream)

        assert numbers(found) == list(range(1, 41))
        assert [one.lost for one in told] == [15, 0]


async def test_a_cursor_that_was_lost_repeats_nothing(exact: BusBench, tmp_path: Path) -> None:
    async with opened(tmp_path, exact.config()) as services:
        await happen(services, 40)
        await relayed(services)
        await services.store.set_cursor(make_bus(services.config).name, 0)
        again = await relayed(services)

        assert again == 0
        assert await services.store.cursor(make_bus(services.config).name) == 40


@pytest.mark.parametrize("own_events", [3, 30])  # fewer than the stranger has, or more
async def test_the_stream_of_another_mill_is_left_alone(
    exact: BusBench, tmp_path: Path, own_events: int
) -> None:
    async with opened(tmp_path / "other", exact.config()) as other:
        await happen(other, 10)
        await relayed(other)
    async with opened(tmp_path / "own", exact.config()) as services:
        await happen(services, own_events)
        with pytest.raises(ConflictError) as caught:
            await relayed(services)
    found = await exact.reader.read(exact.stream)

    assert caught.value.reason == "another-log"
    assert len(found) == 10


def test_nats_that_is_restarted_in_the_middle_is_waited_for() -> None:
    _restarted(NatsServer(), NatsReader)


def test_valkey_that_is_killed_in_the_middle_is_waited_for() -> None:
    _restarted(ValkeyServer(fsync="always"), RedisReader)


def _restarted(
    server: NatsServer | ValkeyServer, reader: type[NatsReader] | type[RedisReader]
) -> None:
    with server:
        asyncio.run(asyncio.wait_for(_restart_story(server, reader(server)), HANG_GUARD_SEC))  # type: ignore[arg-type]  # each with its own


async def _restart_story(server: NatsServer | ValkeyServer, reader: Reader) -> None:
    """Kill the server under way, let events happen meanwhile, and start it again."""
    config = Config(bus=BusConfig(url=server.url, window=20, timeout_sec=5.0))
    async with opened(server.folder / "mill", config) as services:
        name = make_bus(services.config).name
        await happen(services, 1_500)
        async with relaying(services) as relay:
            await wait_for_answer(
                lambda: services.store.cursor(name), lambda seq: seq > 200, "200 events on the bus"
            )
            server.kill()
            await happen(services, 100)
            await wait_until(lambda: bool(relay.troubles), "a word about the bus")
            server.start()
            await relay.caught_up(name)
        found = await reader.read("feedmill")

    assert numbers(found) == list(range(1, 1_601))
    assert set(relay.troubles) == {"unreachable"}
    assert relay.recoveries == 1


def test_a_refused_bus_ends_the_relay_because_waiting_would_hide_it(tmp_path: Path) -> None:
    who = 'authorization { user: "mill", password: "right" }'

    async def story() -> None:
        config = Config(bus=BusConfig(url=server.url))
        async with opened(tmp_path, config) as services:
            with pytest.raises(FeedmillError) as caught:
                async with relaying(services) as relay:
                    await relay.caught_up("never")

            assert caught.value.reason == "refused"

    with NatsServer(extra=who) as server:
        run(story())


async def test_a_relay_whose_bus_hangs_ends_with_its_run(tmp_path: Path) -> None:
    called = asyncio.Event()

    async def say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        called.set()
        await reader.read()
        writer.close()

    server = await asyncio.start_server(say_nothing, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    bus = BusConfig(url=f"nats://127.0.0.1:{port}", timeout_sec=600.0)
    config = Config(bus=bus, run=RunConfig(drain_sec=0.1))
    async with server, opened(tmp_path, config) as services:
        async with relaying(services) as relay:
            await called.wait()
        assert relay.told == []


async def _delete(bench: BusBench) -> None:
    if bench.url.startswith("nats"):
        await _nats_delete(bench)
        return
    client = redis_client(bench.url)
    await client.delete(bench.stream)
    await client.aclose()


async def _empty(bench: BusBench) -> None:
    if bench.url.startswith("nats"):
        server = await nats_client(bench.url)
        await jetstream(server).purge_stream(bench.stream)
        await server.close()
        return
    client = redis_client(bench.url)
    await client.xtrim(bench.stream, maxlen=0, approximate=False)
    await client.aclose()


async def _nats_delete(bench: BusBench) -> None:
    client = await nats_client(bench.url)
    await jetstream(client).delete_stream(bench.stream)
    await client.close()
