"""A raw store is swept only under the index that knows it; any other index is told how to adopt it (D36)."""

import asyncio
import shutil
import signal
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import TypeVar

import pytest
from msgspec.structs import replace
from tests.integration.engine.maintain.test_retention import document
from tests.support.store_transfer import carried, command

from feedmill.adapters.blobs.bucket.bucket import OWNER_KEY
from feedmill.adapters.blobs.disk.folder import OWNER_NAME
from feedmill.app.doctor import run_doctor
from feedmill.app.services import DATABASE_NAME, open_services
from feedmill.config import BlobsConfig, Config, RetentionConfig, StoreConfig
from feedmill.engine.documents.raw_documents import load_body
from feedmill.engine.maintain.raw_store import (
    AdoptResult,
    adopt_blobs,
    check_raw_owner,
    delete_moved,
    move_blobs,
)
from feedmill.engine.maintain.retention import purge, verify_integrity
from feedmill.engine.poll.ingest_one import ingest_document
from feedmill.engine.run.services import Services
from feedmill.engine.service.status import status
from feedmill.engine.subscribe.add_feed import subscribe_unchecked
from feedmill.errors import BlobError, ConflictError
from feedmill.model.feed import BlobRef
from feedmill.model.fetch import RawDocument

T = TypeVar("T")
VERSIONS = 4


@pytest.fixture(params=["disk", "bucket"])
def config(request: pytest.FixtureRequest, tmp_path: Path) -> Config:
    """A home on SQLite whose segments could be swept at once."""
    home = tmp_path / "home"
    url = f"file://{tmp_path}/bucket" if request.param == "bucket" else None
    return Config(
        store=StoreConfig(home=str(home), segment_grace_sec=0.0, pack_bytes=10**9),
        blobs=BlobsConfig(url=url, linger_ms=0),
    )


def within(config: Config, story: Callable[[Services], Awaitable[T]]) -> T:
    """Run a story on services that are opened as a command opens them."""

    async def tell() -> T:
        async with open_services(config, schema="apply") as services:
            return await story(services)

    return asyncio.run(tell())


async def ingest(services: Services, first: int = 0, versions: int = VERSIONS) -> None:
    feed = (await subscribe_unchecked("https://example.com/feed", services)).feed
    for version in range(first, first + versions):
        current = await services.store.feed(feed.id)
        assert current is not None
        await ingest_document(RawDocument(body=document(version)), current, services)
        await services.blobs.seal()


async def segment_names(services: Services) -> list[str]:
    return [one.name for one in await services.blobs.segments()]


async def tidy_twice(services: Services) -> list[str]:
    await purge(services)
    await purge(services)
    return await segment_names(services)


async def problems(services: Services) -> list[str]:
    found = await verify_integrity(services.store, services.blobs, before=services.clock.now())
    told: list[str] = found["problems"]
    return told


async def adopt(services: Services) -> AdoptResult:
    return await adopt_blobs(services.store, services.blobs, services.clock)


def marker(config: Config) -> Path:
    if config.blobs.url is None:
        return Path(config.store.home) / "raw" / OWNER_NAME
    return Path(config.blobs.url.removeprefix("file://")) / OWNER_KEY


def with_store(config: Config, url: str) -> Config:
    return replace(config, store=replace(config.store, url=url))


def test_fresh_postgresql_over_an_existing_home_sweeps_nothing_and_says_so(
    config: Config, migrated_dsn: str, capsys: pytest.CaptureFixture[str]
) -> None:
    within(config, ingest)
    before = within(config, segment_names)
    fresh = with_store(config, migrated_dsn)
    capsys.readouterr()

    after = within(fresh, tidy_twice)

    told = capsys.readouterr()
    said = told.out + told.err
    assert after == before
    assert "another store" in said
    assert "feedmill store migrate" in said
    assert "feedmill blobs adopt" in said
    assert "feedmill restore" in said
    assert any("another store" in one for one in within(fresh, problems))
    checks = {one["name"]: one for one in asyncio.run(run_doctor(fresh))}
    assert not checks["raw index"]["ok"]
    assert "another store" in within(fresh, status).advice[0]


def test_doctor_says_that_segments_are_gone_with_their_documents(config: Config) -> None:
    async def drop_one(services: Services) -> None:
        await ingest(services)
        await services.blobs.drop(min(await segment_names(services)))

    within(config, drop_one)

    checks = {one["name"]: one for one in asyncio.run(run_doctor(config))}
    assert not checks["raw index"]["ok"]
    assert "1 segment of the raw store" in checks["raw index"]["detail"]
    assert "feedmill verify" in checks["raw index"]["detail"]
    found = within(config, lambda services: verify_integrity(services.store, services.blobs))
    assert "put its segments back" in found["repair"]


def test_fresh_index_that_has_polled_sweeps_nothing_of_the_old_one(
    config: Config, migrated_dsn: str
) -> None:
    within(config, ingest)
    before = within(config, segment_names)
    fresh = with_store(config, migrated_dsn)

    async def poll_and_tidy(services: Services) -> list[str]:
        await ingest(services, first=100)
        return await tidy_twice(services)

    assert set(before) < set(within(fresh, poll_and_tidy))


def test_lost_database_sweeps_nothing_and_adopting_makes_every_document_readable(
    config: Config,
) -> None:
    within(config, ingest)
    before = within(config, segment_names)
    for file in Path(config.store.home).glob(f"{DATABASE_NAME}*"):
        file.unlink()
    if config.blobs.url is None:
        checks = {one["name"]: one for one in asyncio.run(run_doctor(config))}
        assert not checks["raw index"]["ok"]
        assert "feedmill restore" in checks["raw index"]["detail"]

    assert within(config, tidy_twice) == before
    result = within(config, adopt)

    assert (result.documents, result.indexed, result.problems) == (VERSIONS, VERSIONS, ())
    assert within(config, tidy_twice) == before
    assert within(config, problems) == []
    assert within(config, adopt).indexed == 0

    async def read_all(services: Services) -> list[bytes]:
        refs = await services.store.blobs()
        return [await load_body(ref.sha256, services.store, services.blobs) for ref in refs]

    assert sorted(within(config, read_all)) == sorted(map(document, range(VERSIONS)))


def test_adopted_documents_go_by_age(config: Config) -> None:
    within(config, ingest)
    (Path(config.store.home) / DATABASE_NAME).unlink()
    within(config, adopt)

    gone = within(replace(config, retention=RetentionConfig(raw_keep_days=0)), purge)

    assert (gone["documents"], gone["segments"]) == (VERSIONS, VERSIONS)


def test_full_disk_on_which_nothing_can_be_packed_is_swept(config: Config) -> None:
    config = replace(
        config,
        store=replace(config.store, pack_bytes=1),
        retention=RetentionConfig(raw_keep_last=1),
    )
    within(config, ingest)

    async def tidy(services: Services) -> int:
        async def reencode(_: object) -> tuple[BlobRef, ...]:
            reason = "disk-full"
            raise BlobError(reason, "no space is left")

        services.blobs.reencode = reencode  # type: ignore[assignment, method-assign]
        with pytest.raises(BlobError):
            await purge(services)
        return len(await services.blobs.segments())

    assert within(config, tidy) == 1


def test_backup_that_is_older_than_the_segments_keeps_them(config: Config) -> None:
    home = Path(config.store.home)
    within(config, ingest)
    shutil.copy(home / DATABASE_NAME, home.parent / "backup.db")

    async def go_on(services: Services) -> list[str]:
        await ingest(services, first=VERSIONS)
        return await segment_names(services)

    before = within(config, go_on)
    for file in home.glob(f"{DATABASE_NAME}*"):
        file.unlink()
    shutil.copy(home.parent / "backup.db", home / DATABASE_NAME)

    assert any("no index knows" in one for one in within(config, problems))
    assert within(config, tidy_twice) == before  # they are this store's own: indexed again
    assert within(config, problems) == []
    assert within(config, adopt).documents == 2 * VERSIONS


def test_backup_from_before_packing_finds_its_documents_in_the_packed_segment(
    config: Config,
) -> None:
    home = Path(config.store.home)
    within(config, ingest)
    shutil.copy(home / DATABASE_NAME, home.parent / "backup.db")
    packing = replace(config, store=replace(config.store, pack_bytes=30_000))
    assert len(within(packing, tidy_twice)) == 1
    for file in home.glob(f"{DATABASE_NAME}*"):
        file.unlink()
    shutil.copy(home.parent / "backup.db", home / DATABASE_NAME)

    assert len(within(config, tidy_twice)) == 1
    assert within(config, adopt).moved == VERSIONS
    assert within(config, problems) == []


def test_two_homes_on_one_raw_store_delete_nothing_of_each_other(
    config: Config, tmp_path: Path
) -> None:
    url = config.blobs.url or f"file://{tmp_path}/shared"
    one = replace(config, blobs=replace(config.blobs, url=url))
    two = replace(one, store=replace(one.store, home=str(tmp_path / "second")))
    within(one, ingest)
    within(two, lambda services: ingest(services, first=50))
    before = within(one, segment_names)

    assert within(two, tidy_twice) == before
    assert within(one, tidy_twice) == before
    assert any("another store" in problem for problem in within(two, problems))


def test_home_of_an_earlier_version_is_claimed_when_its_index_knows_the_segments(
    config: Config, capsys: pytest.CaptureFixture[str]
) -> None:
    within(config, ingest)
    marker(config).unlink()
    _forget_place(config)
    capsys.readouterr()

    owner = within(config, lambda services: check_raw_owner(services.store, services.blobs))

    assert owner.is_ours
    assert marker(config).exists()
    assert capsys.readouterr().out == ""


def test_home_of_an_earlier_version_with_another_index_is_not_claimed(config: Config) -> None:
    within(config, ingest)
    before = within(config, segment_names)
    marker(config).unlink()
    (Path(config.store.home) / DATABASE_NAME).unlink()

    assert within(config, tidy_twice) == before
    assert not marker(config).exists()


def test_index_that_was_emptied_condemns_nothing(config: Config) -> None:
    within(config, ingest)
    before = within(config, segment_names)
    with closing(sqlite3.connect(Path(config.store.home) / DATABASE_NAME)) as database, database:
        database.execute("DELETE FROM blobs")

    assert within(config, tidy_twice) == before


def test_moved_store_owns_the_raw_documents_and_the_old_one_deletes_nothing(
    tmp_path: Path, migrated_dsn: str
) -> None:
    config = Config(store=StoreConfig(home=str(tmp_path / "home"), segment_grace_sec=0.0))
    within(config, ingest)
    before = within(config, segment_names)

    asyncio.run(carried(tmp_path / "home", migrated_dsn))

    moved = with_store(config, migrated_dsn)
    assert within(moved, tidy_twice) == before
    assert within(moved, problems) == []
    strict = replace(config, retention=RetentionConfig(raw_keep_last=1))
    assert within(strict, tidy_twice) == before
    assert any("another store" in problem for problem in within(config, problems))


def test_documents_are_not_moved_into_a_raw_store_of_another_store(
    config: Config, tmp_path: Path
) -> None:
    other = replace(config, store=replace(config.store, home=str(tmp_path / "other")))
    url = f"file://{tmp_path}/shared"
    within(replace(other, blobs=replace(config.blobs, url=url)), ingest)
    within(config, ingest)

    async def move(services: Services) -> None:
        async with open_services(replace(config, blobs=replace(config.blobs, url=url))) as shared:
            with pytest.raises(ConflictError) as refused:
                await move_blobs(services.blobs, shared.blobs, services.store)
            assert refused.value.reason == "other-store"

    within(config, move)


def test_old_raw_store_with_documents_that_no_index_knows_is_not_emptied(
    config: Config, tmp_path: Path
) -> None:
    within(config, ingest)
    target = replace(config, blobs=replace(config.blobs, url=f"file://{tmp_path}/target"))

    async def move(services: Services) -> None:
        lost = await services.blobs.put(b"lost", sha256="a" * 64)
        await services.blobs.seal()
        async with open_services(target) as there:
            moved = await move_blobs(services.blobs, there.blobs, services.store)
            with pytest.raises(ConflictError) as refused:
                await delete_moved(services.blobs, there.blobs, services.store, moved)
        assert refused.value.reason == "not-indexed"
        assert lost.segment in await segment_names(services)

    within(config, move)


def test_adoption_that_is_killed_is_finished_by_the_next_one(tmp_path: Path) -> None:
    config = Config(store=StoreConfig(home=str(tmp_path / "home"), segment_grace_sec=0.0))
    within(config, ingest)
    home = Path(config.store.home)
    (home / DATABASE_NAME).unlink()
    within(config, segment_names)

    killed, _, _ = command("blobs", "adopt", home=home, FEEDMILL_FAILPOINT="store-commit@3")
    done, out, err = command("blobs", "adopt", home=home)

    assert killed == -signal.SIGKILL
    assert done == 0, err
    assert f"{VERSIONS} documents" in out
    assert within(config, problems) == []


def _forget_place(config: Config) -> None:
    with closing(sqlite3.connect(Path(config.store.home) / DATABASE_NAME)) as database, database:
        database.execute("DELETE FROM store_identity")
