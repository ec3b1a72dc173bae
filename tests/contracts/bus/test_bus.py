"""What each bus promises beyond the contract of sinks: no repetitions, order, CloudEvents, reasons."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import trustme
from tests.support.bus_clients import jetstream, nats_client, redis_client
from tests.support.bus_readers import numbers
from tests.support.buses_under_test import BusBench, kafka_bench, nats_bench, redis_bench
from tests.support.cloudevents_checker import event_of
from tests.support.servers.nats import NatsServer
from tests.support.servers.valkey import ValkeyServer
from tests.support.sinks_under_test import event, events
from tests.support.waiting import HANG_GUARD_SEC

from feedmill.app.services import make_bus
from feedmill.config import BusConfig, Config
from feedmill.engine.ports.entries import Bus, NewestEvent
from feedmill.errors import SinkError
from feedmill.model.event import Event


def deliver(bus: Bus, *several: Sequence[Event]) -> None:
    async def story() -> None:
        try:
            for some in several:
                await bus.deliver(some)
        finally:
            await bus.close()

    asyncio.run(story())


def reason_of(bus: Bus) -> SinkError:
    with pytest.raises(SinkError) as caught:
        deliver(bus, events(1, 1))
    return caught.value


def test_what_is_delivered_again_is_not_stored_again(exact: BusBench) -> None:
    deliver(exact.open(), events(1, 3), events(2, 4))
    deliver(exact.open(), events(1, 6))

    assert numbers(exact.messages()) == [1, 2, 3, 4, 5, 6]


def test_kafka_repeats_what_is_delivered_again_under_the_same_ids(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    bench = kafka_bench(tmp_path, request)
    deliver(bench.open(), events(1, 3))
    deliver(bench.open(), events(2, 4))

    ids = [message.headers["ce_id"] for message in bench.messages()]
    assert numbers(bench.messages()) == [1, 2, 3, 2, 3, 4]
    assert list(dict.fromkeys(ids)) == [f"event-{seq}" for seq in range(1, 5)]


@pytest.mark.parametrize("mode", ["binary", "structured"])
def test_each_message_is_a_cloudevent_in_either_mode(bench: BusBench, mode: str) -> None:
    told = event(7, title="Zwölf % \u4e2d\u6587", nothing=None)

    deliver(bench.open(content_mode=mode), (told,))

    (message,) = bench.messages()
    found = event_of(message)
    media_type = (
        "application/json" if mode == "binary" else "application/cloudevents+json; charset=UTF-8"
    )
    assert message.headers["content-type"] == media_type
    assert (found["id"], found["type"]) == ("event-7", "feedmill.new_entry")
    assert found["subject"] == "uid-7"
    assert found["time"] == "2025-10-14T12:00:07Z"
    assert found["data"] == {"title": "Zwölf % \u4e2d\u6587", "nothing": None}


def test_data_that_is_too_large_stays_in_the_log_and_holds_nobody_up(bench: BusBench) -> None:
    large = event(2, text="x" * 1_000)

    deliver(bench.open(max_event_bytes=500), (event(1), large, event(3)))

    found = [event_of(message) for message in bench.messages()]
    assert [one.get("dataref") for one in found] == [None, "/events?after=1&limit=1", None]
    assert ["data" in one for one in found] == [True, False, True]


def test_a_bus_knows_its_newest_event(exact: BusBench) -> None:
    async def story() -> list[Any]:
        bus = exact.open()
        try:
            empty = await bus.newest()
            await bus.deliver(events(1, 3))
            return [empty, await bus.newest()]
        finally:
            await bus.close()

    empty, full = asyncio.run(story())

    assert (empty.seq, empty.id) == (0, None)
    assert (full.seq, full.id) == (3, "event-3")


def test_a_subject_of_nats_has_type_and_feed_as_one_token_each(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    bench = nats_bench(tmp_path, request)
    odd = Event(
        seq=1, id="e", type="entry.updated", feed_id="a.b *>ü", occurred_at=event(1).occurred_at
    )

    deliver(bench.open(), (odd,))

    (message,) = bench.messages()
    assert message.where == f"{bench.stream}.events.entry-updated.a%2Eb%20%2A%3E%C3%BC"
    assert message.headers["Nats-Msg-Id"] == message.headers["ce-id"] == "e"


def test_nats_refuses_repetitions_also_after_its_window_of_duplicates(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    bench = nats_bench(tmp_path, request)
    deliver(bench.open(duplicate_window_sec=0.1), events(1, 4))

    asyncio.run(asyncio.wait_for(_until_forgotten(bench), HANG_GUARD_SEC))
    deliver(bench.open(), events(2, 6))

    assert numbers(bench.messages()) == [1, 2, 3, 4, 5, 6]


async def _until_forgotten(bench: BusBench) -> None:
    """Wait until the server takes an id again that it had later than ours, on a stream beside."""
    aside = f"{bench.stream}-aside"
    client = await nats_client(bench.url)
    try:
        stream = jetstream(client)
        await stream.add_stream(name=aside, subjects=[aside], duplicate_window=0.1)
        mark = {"Nats-Msg-Id": "x"}
        await stream.publish(aside, headers=mark)
        while (await stream.publish(aside, headers=mark)).duplicate:
            await client.flush()
    finally:
        await client.close()


def test_a_message_that_nats_refuses_takes_those_behind_it_along(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    bench = nats_bench(tmp_path, request)

    async def story() -> None:
        bus = bench.open()
        client = await nats_client(bench.url)
        try:
            await bus.deliver(events(1, 3))
            stranger = {"Nats-Msg-Id": "of a stranger"}
            await jetstream(client).publish(f"{bench.stream}.events.x.y", headers=stranger)
            with pytest.raises(SinkError):
                await bus.deliver(events(4, 9))
            await bus.deliver(events(4, 9))
        finally:
            await client.close()
            await bus.close()

    asyncio.run(story())

    own = [message for message in bench.messages() if "ce-id" in message.headers]
    assert numbers(own) == list(range(1, 10))


def test_a_stream_of_redis_that_lost_events_takes_none_that_come_after_the_hole(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    bench = redis_bench(tmp_path, request)

    async def story() -> None:
        bus = bench.open()
        client = redis_client(bench.url)
        try:
            await bus.deliver(events(1, 5))
            await client.delete(bench.stream)  # as after a crash without fsync: only three are left
            other = bench.open()
            await other.deliver(events(1, 3))
            await other.close()
            with pytest.raises(SinkError) as caught:
                await bus.deliver(events(6, 8))
            found = await bus.newest()
            await bus.deliver(events(4, 8))
        finally:
            await client.aclose()
            await bus.close()
        assert caught.value.reason == "busy"
        assert found is not None
        assert found.seq == 3

    asyncio.run(story())

    assert numbers(bench.messages()) == list(range(1, 9))


def test_a_stream_of_redis_that_was_deleted_is_filled_from_its_first_event(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    bench = redis_bench(tmp_path, request)

    async def story() -> None:
        bus = bench.open()
        client = redis_client(bench.url)
        try:
            await bus.deliver(events(1, 5))
            await client.delete(bench.stream)  # while the relay has a connection, as docs advise
            with pytest.raises(SinkError) as caught:
                await bus.deliver(events(6, 8))
            found = await bus.newest()
            await bus.deliver(events(1, 8))
        finally:
            await client.aclose()
            await bus.close()
        assert caught.value.reason == "busy"
        assert found == NewestEvent(seq=0)

    asyncio.run(story())

    assert numbers(bench.messages()) == list(range(1, 9))


def test_a_stream_of_redis_is_cut_to_its_length(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    bench = redis_bench(tmp_path, request)

    deliver(bench.open(max_events=100), events(1, 900))

    kept = numbers(bench.messages())
    assert kept[-1] == 900
    assert 100 <= len(kept) < 400  # about: whole nodes are dropped


@pytest.mark.parametrize("kind", ["nats", "redis", "kafka"])
def test_a_bus_that_nobody_answers_at_is_unreachable(kind: str, unused_port: int) -> None:
    config = BusConfig(url=f"{kind}://who:secret@127.0.0.1:{unused_port}", timeout_sec=1.0)

    problem = reason_of(make_bus(Config(bus=config)))

    assert problem.reason == "unreachable"
    assert f"127.0.0.1:{unused_port}" in str(problem)
    assert "secret" not in str(problem)


def test_nats_with_a_wrong_password_is_no_reason_to_wait() -> None:
    who = 'authorization { user: "mill", password: "right" }'
    with NatsServer(extra=who) as server:
        good = server.url.replace("//", "//mill:right@")
        deliver(make_bus(Config(bus=BusConfig(url=good))), events(1, 1))
        problem = reason_of(make_bus(Config(bus=BusConfig(url=good.replace("right", "wrong")))))

    assert problem.reason == "refused"
    assert "wrong" not in str(problem)


def test_nats_is_spoken_to_in_secret_when_the_address_says_so(tmp_path: Path) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    own = authority.issue_cert("127.0.0.1")
    own.private_key_and_cert_chain_pem.write_to_path(tmp_path / "own.pem")
    sealed = f'tls {{ cert_file: "{tmp_path}/own.pem", key_file: "{tmp_path}/own.pem" }}'
    with NatsServer(extra=sealed) as server:
        url = server.url.replace("nats://", "tls://")
        trusted = BusConfig(url=url, ca_file=str(tmp_path / "ca.pem"))
        deliver(make_bus(Config(bus=trusted)), events(1, 1))
        problem = reason_of(make_bus(Config(bus=BusConfig(url=url))))

    assert problem.reason == "unreachable"
    assert "certificate" in str(problem).lower()


def test_valkey_with_a_wrong_password_is_no_reason_to_wait(valkey_server: ValkeyServer) -> None:
    async def let_in() -> None:
        client = redis_client(valkey_server.url)
        await client.acl_setuser(
            "mill", enabled=True, passwords=["+right"], keys=["*"], commands=["+@all"]
        )
        await client.aclose()

    asyncio.run(let_in())
    good = valkey_server.url.replace("//", "//mill:right@")
    own = BusConfig(url=good, stream="let-in")

    deliver(make_bus(Config(bus=own)), events(1, 1))
    bad = BusConfig(url=good.replace("right", "wrong"), stream="let-in")
    problem = reason_of(make_bus(Config(bus=bad)))

    assert problem.reason == "refused"
    assert "wrong" not in str(problem)


def test_replicas_that_are_not_there_are_waited_for_and_missed(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    bench = redis_bench(tmp_path, request)

    problem = reason_of(bench.open(replicas=2, timeout_sec=2.0))

    assert problem.reason == "too-slow"


def test_a_key_of_another_kind_is_refused(valkey_server: ValkeyServer) -> None:
    async def in_the_way() -> None:
        client = redis_client(valkey_server.url)
        await client.set("in-the-way", "text")
        await client.aclose()

    asyncio.run(in_the_way())
    bus = make_bus(Config(bus=BusConfig(url=valkey_server.url, stream="in-the-way")))

    assert reason_of(bus).reason == "refused"


def test_a_stream_of_nats_is_made_with_what_the_settings_say(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    bench = nats_bench(tmp_path, request)

    deliver(bench.open(max_age_days=2.0, duplicate_window_sec=30.0), events(1, 1))

    async def look() -> Any:
        client = await nats_client(bench.url)
        try:
            return (await jetstream(client).stream_info(bench.stream)).config
        finally:
            await client.close()

    made = asyncio.run(look())
    assert (made.max_age, made.duplicate_window, made.num_replicas) == (172_800.0, 30.0, 1)
    assert made.subjects == [f"{bench.stream}.events.>"]
