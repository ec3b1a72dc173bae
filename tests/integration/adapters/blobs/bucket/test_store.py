"""The raw store on object storage: what only it does, on a real S3 server."""

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from subprocess import PIPE
from typing import IO

import msgspec
import obstore
import pytest
from obstore.store import MemoryStore, ObjectStore
from tests.support.blob_stores import (
    SOON,
    StillClock,
    bucket_url,
    digest_of,
    keep,
    noise,
    point_to,
    successions,
    versions,
)
from tests.support.children.write_disk_blobs import body_of
from tests.support.servers.seaweedfs import S3Server
from tests.support.waiting import run
from tests.support.warm_process import WarmPopen

from feedmill.adapters.blobs.bucket.address import open_object_store
from feedmill.adapters.blobs.bucket.bucket import BEHIND_BYTES, Bucket, segment_key
from feedmill.adapters.blobs.bucket.store import BucketBlobs
from feedmill.adapters.clock import SystemClock
from feedmill.adapters.store.sqlite.store import SqliteStore
from feedmill.config import BlobsConfig, Config, StoreConfig
from feedmill.engine.maintain.retention import sweep_raw
from feedmill.engine.run.lifecycle import is_transient
from feedmill.errors import BlobError
from feedmill.model.feed import BlobRef

_CHILD = Path(__file__).parents[5] / "tests/support/children/write_bucket_blobs.py"
_IMPATIENT = BlobsConfig(linger_ms=0, retry_sec=0.2, timeout_ms=500, connect_timeout_ms=200)


@pytest.fixture
def url(s3_server: S3Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """A prefix for this test alone; the environment leads there."""
    point_to(s3_server, monkeypatch)
    return bucket_url(tmp_path)


@contextmanager
def writing(url: str, failpoint: str = "") -> Iterator[IO[bytes]]:
    """What another process has told; it is killed at the end."""
    environment = os.environ | {"FEEDMILL_FAILPOINT": failpoint}
    with WarmPopen([_CHILD, url, "victim"], stdout=PIPE, env=environment) as child:
        assert child.stdout is not None
        try:
            yield child.stdout
        finally:
            child.kill()


def objects(store: ObjectStore) -> list[str]:
    return sorted(found["path"] for chunk in obstore.list(store) for found in chunk)


def at(url: str, config: BlobsConfig = SOON, clock: StillClock | None = None) -> BucketBlobs:
    return BucketBlobs.at(url, clock or StillClock(), StoreConfig(), config)


@pytest.mark.parametrize("acknowledged", [1, 40, 250])
async def test_whatever_was_acknowledged_before_a_kill_is_read_by_other_machines(
    url: str, acknowledged: int
) -> None:
    with writing(url) as output:
        lines = [output.readline() for _ in range(acknowledged)]
    pairs = [msgspec.json.decode(line, type=tuple[int, BlobRef]) for line in lines]

    blobs = at(url)
    for number, ref in pairs:
        assert await blobs.get(ref) == body_of("victim", number)
    problems = await blobs.verify([ref for _, ref in pairs])
    assert {problem.fault for problem in problems} <= {"orphan"}
    await blobs.close()


async def test_segment_whose_writer_died_before_the_commit_is_swept_once_its_bodies_are_elsewhere(
    url: str, tmp_path: Path
) -> None:
    clock, config = StillClock(), Config(store=StoreConfig(segment_grace_sec=600))
    store = await SqliteStore.open(tmp_path / "mill.db")
    blobs = BucketBlobs.at(url, clock, config.store, SOON)
    await blobs.set_owner((await store.store_identity()).id)
    with writing(url, "blob-synced@1") as output:
        assert output.read() == b""  # dead before anybody was told
    (orphan,) = await blobs.segments()

    assert await sweep_raw(store, blobs) == 0
    clock.advance(1200)
    assert await sweep_raw(store, blobs) == 0  # the only copy: nothing says that it may go

    refs = [
        await blobs.put(body_of("again", number), sha256=one.sha256)
        for number, one in enumerate(await blobs.contents(orphan.name))
    ]
    await store.adopt_blobs(refs, now=clock.now())
    assert await sweep_raw(store, blobs) == 0
    clock.advance(600)
    assert await sweep_raw(store, blobs) == 1
    assert orphan.name not in [one.name for one in await blobs.segments()]
    await blobs.close()
    await store.close()


def test_puts_wait_for_a_server_that_restarts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async def story(server: S3Server) -> None:
        blobs = at(bucket_url(tmp_path))
        (before,) = await keep(blobs, [b"before"])
        server.stop()
        waiting = [asyncio.create_task(keep(blobs, [noise(500, f"{n}")])) for n in range(5)]
        reading = asyncio.create_task(blobs.get(before))
        await asyncio.to_thread(server.start)

        refs = [ref for task in waiting for ref in await task]
        assert await reading == b"before"
        assert [await blobs.get(ref) for ref in refs] == [noise(500, f"{n}") for n in range(5)]
        await blobs.close()

    with S3Server() as server:
        point_to(server, monkeypatch)
        run(story(server))


async def test_a_server_that_stays_away_is_a_trouble_that_may_pass(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    blobs = at(url)
    (ref,) = await keep(blobs, [b"body"])
    await blobs.close()
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    away = at(url, _IMPATIENT)

    for attempt in (
        keep(away, [b"x"]),
        away.get(ref),
        away.segments(),
        away.sweep(ref.segment, []),
        away.drop(ref.segment),
        away.check(),
    ):
        with pytest.raises(BlobError, match="does not answer") as caught:
            await attempt
        assert caught.value.reason == "unreachable"
        assert is_transient(caught.value)
    await away.close()


@pytest.mark.parametrize("attempt", ["put", "get", "list", "delete", "check"])
async def test_wrong_credentials_are_said_with_the_way_out_and_without_the_secret(
    url: str, monkeypatch: pytest.MonkeyPatch, attempt: str
) -> None:
    blobs = at(url)
    (ref,) = await keep(blobs, [b"body"])
    await blobs.close()
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "sesame-open")
    wrong = at(url)
    attempts = {
        "put": lambda: keep(wrong, [b"x"]),
        "get": lambda: wrong.get(ref),
        "list": wrong.segments,
        "delete": lambda: wrong.drop(ref.segment),
        "check": wrong.check,
    }

    with pytest.raises(BlobError) as caught:
        await attempts[attempt]()

    assert caught.value.reason == "denied"
    assert not is_transient(caught.value)
    assert url in str(caught.value)
    assert "AWS_SECRET_ACCESS_KEY" in str(caught.value)
    assert "sesame" not in str(caught.value)
    await wrong.close()


@pytest.mark.usefixtures("url")
@pytest.mark.parametrize("bucket", ["no-such-bucket", "x"])
async def test_a_bucket_that_is_not_there_is_said_with_the_way_out(bucket: str) -> None:
    blobs = at(f"s3://{bucket}/prefix")
    ref = BlobRef(
        sha256=digest_of(b""), segment="0000", offset=0, length=112, coding="raw", raw_length=0
    )

    for attempt in (blobs.check(), blobs.segments(), blobs.get(ref)):
        with pytest.raises(BlobError, match="create it") as caught:
            await attempt
        assert caught.value.reason == "cannot-open"
        assert bucket in str(caught.value)
    await blobs.close()


class RepeatingClock(StillClock):
    """A clock whose ids are given out before, by somebody else."""

    def __init__(self, names: list[str]) -> None:
        super().__init__()
        self._names = names

    def new_id(self) -> str:
        """One of those, then fresh ones."""
        return self._names.pop(0) if self._names else super().new_id()


async def test_a_name_that_is_taken_is_given_up_and_what_lies_there_stays(url: str) -> None:
    first = at(url)
    (theirs,) = await keep(first, [b"theirs"])
    second = at(url, clock=RepeatingClock([theirs.segment]))
    (ours,) = await keep(second, [b"ours"])

    assert ours.segment != theirs.segment
    assert await second.get(theirs) == b"theirs"
    assert await first.get(ours) == b"ours"
    unlucky = at(url, clock=RepeatingClock([theirs.segment] * 3))
    with pytest.raises(BlobError) as caught:
        await keep(unlucky, [b"unlucky"])
    assert caught.value.reason == "taken"
    for blobs in (first, second, unlucky):
        await blobs.close()


def test_a_put_whose_answer_was_lost_is_recognised_when_it_is_repeated(url: str) -> None:
    bucket, name = Bucket(open_object_store(url, SOON), url), SystemClock().new_id()

    assert bucket.create(name, b"the same")
    assert bucket.create(name, b"the same")
    assert not bucket.create(name, b"something else")
    with pytest.raises(BlobError) as caught:
        bucket.adopt(name, b"something else")
    assert caught.value.reason == "taken"


def test_an_object_that_vanishes_while_it_is_compared_is_no_success(url: str) -> None:
    bucket = Bucket(open_object_store(url, SOON), url)

    assert bucket._whole("segments/undated/0000.seg") is None


def test_two_who_condemn_at_the_same_moment_leave_one_note(url: str) -> None:
    bucket, name, now = (
        Bucket(open_object_store(url, SOON), url),
        SystemClock().new_id(),
        StillClock().now(),
    )
    bucket.create(name, b"x")

    bucket.mark_for_deletion(name, now)
    bucket.mark_for_deletion(name, now)

    assert bucket.marked_at(name) == now
    assert len(objects(open_object_store(url, SOON))) == 2


async def test_puts_of_one_moment_share_one_object_and_large_ones_are_split(url: str) -> None:
    small = at(url, BlobsConfig(linger_ms=20))
    refs = await keep(small, [noise(100, f"{n}") for n in range(200)])
    await small.close()
    large = at(url, BlobsConfig(linger_ms=20, batch_bytes=50_000))
    more = await keep(large, [noise(10_000, f"{n}") for n in range(20)])
    await large.close()

    assert len({ref.segment for ref in refs}) == 1
    assert len({ref.segment for ref in more}) == 4


async def test_every_altered_object_is_found(url: str) -> None:
    blobs = at(url)
    sound, rotten, cut, gone = [(await keep(blobs, [noise(900, f"{n}")]))[0] for n in range(4)]
    store = open_object_store(url, SOON)
    data = bytearray(obstore.get(store, segment_key(rotten.segment)).bytes())
    data[500] ^= 1
    obstore.put(store, segment_key(rotten.segment), bytes(data))
    obstore.put(
        store,
        segment_key(cut.segment),
        bytes(obstore.get(store, segment_key(cut.segment)).bytes())[:300],
    )
    obstore.delete(store, segment_key(gone.segment))

    problems = await blobs.verify([sound, rotten, cut, gone])
    assert {(one.fault, one.sha256) for one in problems} == {
        ("damaged", rotten.sha256),
        ("damaged", cut.sha256),
        ("missing", gone.sha256),
    }
    with pytest.raises(BlobError, match="altered"):
        await blobs.get(rotten)
    assert await blobs.get(sound) == noise(900, "0")
    await blobs.close()


async def test_things_under_the_prefix_that_are_not_ours_are_named(url: str) -> None:
    store = open_object_store(url, SOON)
    strange = [
        "notes.txt",
        "segments/2026/01/01/0000.seg",  # of another day than its name says
        "condemned/0000/never",
        "condemned/0000",
    ]
    for key in strange:
        obstore.put(store, key, b"hello")
    blobs = at(url)
    (ref,) = await keep(blobs, [b"ours"])

    problems = await blobs.verify([ref])
    assert [(one.fault, one.segment) for one in problems] == [
        ("foreign", key) for key in sorted(strange)
    ]
    assert [one.name for one in await blobs.segments()] == [ref.segment]
    await blobs.close()


async def test_a_body_costs_its_own_range_and_a_chain_one_request_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[int] = []
    get_range = obstore.get_range

    def counted(store: ObjectStore, path: str, *, start: int, length: int) -> obstore.Bytes:
        asked.append(length)
        return get_range(store, path, start=start, length=length)

    blobs = BucketBlobs(MemoryStore(), "memory://", StillClock(), None, SOON)
    ballast = [noise(400_000, f"{n}") for n in range(10)]
    chain = versions("chain", 15)
    refs = await keep(blobs, [*ballast, *chain])
    by_hash = {ref.sha256: ref for ref in refs}
    plan: list[tuple[BlobRef, str | None]] = [(ref, None) for ref in refs[:10]]
    plan += [(by_hash[digest_of(body)], before) for body, before in successions([chain])]
    packed = await blobs.reencode(plan)
    (segment,) = [one for one in await blobs.segments() if one.packed]
    monkeypatch.setattr(obstore, "get_range", counted)

    assert await blobs.get(packed[3]) == ballast[3]
    assert asked == [packed[3].length]
    asked.clear()
    assert await blobs.get(packed[-1]) == chain[-1]
    assert asked == [packed[-1].length, BEHIND_BYTES]
    assert sum(asked) < segment.size_bytes / 2
    await blobs.close()


async def test_a_pointer_that_returns_is_noticed_by_whoever_sweeps_next(url: str) -> None:
    clock = StillClock()
    one, other = (
        BucketBlobs.at(url, clock, StoreConfig(segment_grace_sec=600), SOON) for _ in range(2)
    )
    (ref,) = await keep(one, [b"back again"])
    assert await one.sweep(ref.segment, []) == "condemned"
    assert await other.sweep(ref.segment, []) == "condemned"
    await other.segments()
    clock.advance(600)
    assert await one.sweep(ref.segment, [ref]) == "rewrite"

    assert await other.sweep(ref.segment, []) == "condemned"  # its listing is out of date
    assert await one.get(ref) == b"back again"
    await one.close()
    await other.close()


def test_condemning_what_another_has_dropped_leaves_nothing_behind(url: str) -> None:
    bucket = Bucket(open_object_store(url, SOON), url)

    bucket.mark_for_deletion("0000", StillClock().now())

    assert objects(open_object_store(url, SOON)) == []


async def test_a_body_is_put_again_when_its_segment_may_be_swept(url: str) -> None:
    clock = StillClock()
    blobs = BucketBlobs.at(url, clock, StoreConfig(segment_grace_sec=600), SOON)
    (first,) = await keep(blobs, [b"body"])
    clock.advance(299)
    (soon,) = await keep(blobs, [b"body"])
    clock.advance(1)
    (late,) = await keep(blobs, [b"body"])
    await blobs.drop(late.segment)
    (dropped,) = await keep(blobs, [b"body"])

    assert soon == first
    assert len({ref.segment for ref in (first, late, dropped)}) == 3
    await blobs.close()


async def test_small_segments_that_cannot_be_fetched_do_not_hold_up_the_others(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("feedmill.adapters.blobs.bucket.store._NEAR_BYTES", 5_000)  # for eight
    blobs = at(url)
    bodies = [b"body %02d " % number * 50 for number in range(20)]
    kept = [(await keep(blobs, [body]))[0] for body in bodies]
    for ref in kept[::2]:
        await blobs.drop(ref.segment)

    packed = await blobs.reencode([(ref, None) for ref in kept])

    assert [ref.sha256 for ref in packed] == [ref.sha256 for ref in kept[1::2]]
    assert [await blobs.get(ref) for ref in packed] == bodies[1::2]
    await blobs.close()


def test_a_segment_lies_under_the_day_of_its_name() -> None:
    clock = SystemClock()
    name = clock.new_id()

    days = {
        (clock.now() - timedelta(minutes=minutes)).strftime("segments/%Y/%m/%d/")
        for minutes in (0, 1)
    }

    assert segment_key(name).removesuffix(f"{name}.seg") in days
    assert segment_key("0000") == "segments/undated/0000.seg"
    assert segment_key("f" * 32) == f"segments/undated/{'f' * 32}.seg"
    with pytest.raises(BlobError):
        segment_key("../../etc/passwd")
