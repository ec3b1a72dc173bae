"""`feedmill blobs migrate`: from disk to a bucket and back, killed on the way, on a real S3 server."""

import asyncio
import os
import signal
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from subprocess import PIPE
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner
from tests.support.blob_stores import (
    StillClock,
    bucket_url,
    in_bucket,
    keep,
    names_in,
    opened,
    point_to,
)
from tests.support.command_line import COMMAND, finish
from tests.support.servers.seaweedfs import S3Server
from tests.support.waiting import run
from tests.support.warm_process import WarmPopen

from feedmill.adapters.blobs.disk.folder import OWNER_NAME
from feedmill.adapters.store.sqlite.store import SqliteStore
from feedmill.app.doctor import run_doctor
from feedmill.app.services import open_services
from feedmill.config import BlobsConfig, Config, StoreConfig
from feedmill.engine.documents.raw_documents import load_body
from feedmill.engine.maintain.raw_store import delete_moved, move_blobs
from feedmill.engine.maintain.retention import pack_raw
from feedmill.engine.poll.ingest_one import ingest_document
from feedmill.engine.ports.store import Store
from feedmill.engine.subscribe.add_feed import subscribe_unchecked
from feedmill.errors import ConflictError
from feedmill.interfaces.cli.main import cli
from feedmill.model.candidate import CollectedDocument
from feedmill.model.feed import BlobRef
from feedmill.model.fetch import RawDocument

_DOCUMENTS = 12
_SEGMENTS = 10  # four of the documents are packed into two


class Home:
    """A mill's home folder with documents in it, and the command line on it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.raw = folder / "home", folder / "home" / "raw"
        self.url = bucket_url(folder)

    def config(self) -> Config:
        return Config(store=StoreConfig(home=str(self.folder), pack_bytes=2_000))

    async def fill(self) -> None:
        """Versions of one feed, packed and not, in several segments."""
        async with open_services(self.config()) as services:
            feed = (await subscribe_unchecked("https://example.com/feed", services)).feed
            for version in range(_DOCUMENTS):
                current = await services.store.feed(feed.id)
                assert current is not None
                await ingest_document(RawDocument(body=document(version)), current, services)
                await services.blobs.seal()
                if version == 3:
                    await pack_raw(services.store, services.blobs, services.config.store.pack_bytes)

    async def check(self) -> None:
        """Every document is where the settings say."""
        async with open_services(self.config()) as services:
            for version in range(_DOCUMENTS):
                digest = sha256(document(version)).hexdigest()
                assert await load_body(digest, services.store, services.blobs) == document(version)

    def command(self, *words: str, url: str = "", failpoint: str = "") -> tuple[int, Any]:
        """A command of its own process: its exit code and what it said in JSON."""
        environment = os.environ | {"FEEDMILL_HOME": str(self.folder)}
        environment |= {"FEEDMILL_BLOBS_URL": url} if url else {}
        environment |= {"FEEDMILL_FAILPOINT": failpoint} if failpoint else {}
        command = [str(COMMAND), *words, "--json"]
        said = finish(WarmPopen(command, env=environment, stdout=PIPE, stderr=PIPE))
        return said.status, msgspec.json.decode(said.out or said.err or "null")


def document(version: int) -> bytes:
    items = b"".join(
        b"<item><guid>%d</guid><title>Item %d</title></item>" % (number, number)
        for number in range(version, version + 30)
    )
    return b"<rss version='2.0'><channel><title>T</title>" + items + b"</channel></rss>"


@pytest.fixture
def home(s3_server: S3Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Home:
    point_to(s3_server, monkeypatch)
    made = Home(tmp_path)
    run(made.fill())
    return made


async def index(store: Store, ref: BlobRef) -> None:
    """Let the index know a body."""
    document = CollectedDocument(
        source=0,
        url="https://example.com/",
        final_url="https://example.com/",
        fetched_at=StillClock().now(),
        body_sha256=ref.sha256,
        fetch_id="f",
    )
    await store.save_collected(document, ref)


def segments_in(folder: Path) -> list[str]:
    return [name for name in names_in(folder) if name.endswith(".seg")]


def test_documents_go_to_a_bucket_and_back_through_kills_on_the_way(home: Home) -> None:
    """kill -9 in the middle of both ways; the index is right in both places at every moment."""
    code, _ = home.command("blobs", "migrate", home.url, failpoint="blob-write@8")
    assert code == -signal.SIGKILL
    run(home.check())
    code, said = home.command("blobs", "migrate", home.url)
    assert code == 0
    assert said["to"] == home.url
    assert said["carried"]["documents"] == _DOCUMENTS
    assert 1 <= said["carried"]["segments"] < _SEGMENTS  # some were over when the eighth began
    assert said["carried"]["problems"] == []
    code, said = home.command("blobs", "migrate", home.url)
    assert (code, said["carried"]["segments"]) == (0, 0)
    run(home.check())  # still on disk, too

    code, said = home.command("blobs", "migrate", "local", home.url, "--drop-old")
    assert (code, said["error"]["code"]) == (1, "in-use")
    code, said = home.command("blobs", "migrate", "local", home.url, "--drop-old", url=home.url)
    assert code == 0
    assert said["carried"]["dropped"] >= _SEGMENTS
    assert names_in(home.raw) == [OWNER_NAME]
    assert home.command("verify", url=home.url)[0] == 0

    failpoint = "blob-written@2"
    code, _ = home.command("blobs", "migrate", "local", url=home.url, failpoint=failpoint)
    assert code == -signal.SIGKILL
    assert any(name.endswith(".part") for name in names_in(home.raw))
    code, said = home.command("blobs", "migrate", "local", url=home.url)
    assert (code, said["carried"]["problems"]) == (0, [])
    assert home.command("blobs", "migrate", home.url, "local", "--drop-old")[0] == 0
    run(home.check())
    code, said = home.command("verify")
    assert (code, said["documents"]) == (0, _DOCUMENTS)
    assert all(name.endswith(".seg") for name in names_in(home.raw) if name != OWNER_NAME)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["local"], "already"),
        (["local:{home}", "local"], "already"),
        (["s3://bucket/prefix", "s3://bucket/prefix/"], "already"),
        (["a", "b", "c"], "[FROM] TO"),
        ([], "[FROM] TO"),
        (["ftp://somewhere"], "is not supported"),
        (["s3://key:sesame@bucket"], "variables"),
    ],
)
def test_a_move_that_makes_no_sense_is_refused(
    tmp_path: Path, words: Sequence[str], told: str
) -> None:
    spelled = [word.format(home=tmp_path) for word in words]

    said = CliRunner().invoke(cli, ["--home", str(tmp_path), "blobs", "migrate", *spelled])

    assert said.exit_code in (1, 2)
    assert told in said.output
    assert "sesame" not in said.output


def test_people_are_told_what_comes_next(home: Home) -> None:
    environment = os.environ | {"FEEDMILL_HOME": str(home.folder)}
    command = [str(COMMAND), "blobs", "migrate", home.url]

    said = finish(WarmPopen(command, env=environment, stdout=PIPE, stderr=PIPE))

    assert said.status == 0
    assert f"all of {_DOCUMENTS} documents are in {home.url}" in said.text
    assert f"FEEDMILL_BLOBS_URL={home.url}" in said.text


def test_damage_on_the_old_side_is_told_and_nothing_is_deleted(home: Home) -> None:
    path = home.raw / segments_in(home.raw)[-1]
    data = bytearray(path.read_bytes())
    data[300] ^= 1
    path.write_bytes(data)

    code, said = home.command("blobs", "migrate", "local", home.url, "--drop-old", url=home.url)

    assert code == 1
    assert [one["fault"] for one in said["carried"]["problems"]] == ["damaged"]
    assert path.exists()


def test_the_doctor_looks_at_the_bucket(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    async def nothing_else(*_: object, **__: object) -> tuple[()]:
        return ()

    async def seen(url: str | None) -> dict[str, Any]:
        checks = await run_doctor(Config(blobs=BlobsConfig(url=url)))
        return {check["name"]: check for check in checks}

    async def story() -> None:
        sound, missing = await seen(home.url), await seen("s3://no-such-bucket")

        assert sound["raw store"]["ok"]
        assert not missing["raw store"]["ok"]
        assert "create it" in missing["raw store"]["detail"]
        assert "raw store" not in await seen(None)

    monkeypatch.setattr("feedmill.adapters.doctor.run_checks", nothing_else)
    run(story())


async def test_a_mill_that_still_writes_is_told_apart_from_one_that_has_stopped(home: Home) -> None:
    store = await SqliteStore.open(home.folder / "feedmill.db")
    path = home.folder.parent
    async with opened(home.raw) as source, opened(path, opener=in_bucket) as target:
        async with opened(home.raw) as mill:  # its segment is open as long as it lives
            (ref,) = await keep(mill, [b"just now"])
            await index(store, ref)
            with pytest.raises(ConflictError) as caught:
                await move_blobs(source, target, store)
            assert caught.value.reason == "in-use"
            done = len(await target.segments())
            assert done == _SEGMENTS

        carried = await move_blobs(source, target, store)
        assert (carried.segments, carried.problems) == (1, ())
        assert await target.get(ref) == b"just now"
        async with opened(home.raw) as mill:
            await keep(mill, [b"once more"])
            with pytest.raises(ConflictError):
                await delete_moved(source, target, store, carried)
            assert len(segments_in(home.raw)) > done
    await store.close()


async def test_a_segment_that_is_packed_while_it_is_carried_follows_in_its_new_shape(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = home.folder.parent
    async with open_services(home.config()) as services, opened(path, opener=in_bucket) as target:
        old = [one.name for one in await services.blobs.segments() if not one.packed]
        read_segment, packing = services.blobs.read_segment, asyncio.Lock()

        async def pack_first(name: str) -> bytes:
            async with packing:
                await pack_raw(services.store, services.blobs, services.config.store.pack_bytes)
                while old:
                    await services.blobs.drop(old.pop())
            return await read_segment(name)

        monkeypatch.setattr(services.blobs, "read_segment", pack_first)
        carried = await move_blobs(services.blobs, target, services.store)

        assert carried.problems == ()
        for ref in await services.store.blobs():
            assert ref.segment.endswith("-packed")
            assert await target.get(ref)


async def test_a_pointer_into_nothing_is_named(home: Home) -> None:
    path = home.folder.parent
    async with open_services(home.config()) as services, opened(path, opener=in_bucket) as target:
        (lost, *_) = await services.store.blobs()
        await services.blobs.drop(lost.segment)

        carried = await move_blobs(services.blobs, target, services.store)

        assert {(one.fault, one.segment) for one in carried.problems} == {("missing", lost.segment)}


async def test_a_segment_of_another_length_over_there_is_named_and_left_alone(home: Home) -> None:
    path = home.folder.parent
    async with open_services(home.config()) as services, opened(path, opener=in_bucket) as target:
        (first, *_) = await services.store.blobs()
        await target.write_segment(first.segment, b"something else")

        carried = await move_blobs(services.blobs, target, services.store)

        assert [(one.fault, one.segment) for one in carried.problems] == [
            ("damaged", first.segment)
        ]
        assert await target.read_segment(first.segment) == b"something else"
