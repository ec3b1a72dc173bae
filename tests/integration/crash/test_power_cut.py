"""The power is cut at recorded moments of a run: what any reader was told is in the log afterwards (D37).

`make power-cuts` does the same with hundreds of cuts, for both values of `synchronous`.
"""

import asyncio
import os
import shutil
import sqlite3
from pathlib import Path

import pytest
from tests.support.power_cut.recording import compiler
from tests.support.power_cut.trial import cut_and_judge, record_run
from tests.support.sample_refreshes import new_feed

from feedmill.adapters.store.sqlite.store import SqliteStore
from feedmill.errors import StoreError
from feedmill.publish.events import event_of_new_feed


def test_events_that_a_reader_was_told_survive_a_power_cut(tmp_path: Path) -> None:
    async def story() -> int:
        recorded = await record_run(tmp_path, events=150, synchronous="normal")
        return await cut_and_judge(recorded, tmp_path, 12)

    if compiler() is None:  # the recorder cannot be built; the tests below copy files at each sync
        return

    assert asyncio.run(story()) > 150


async def test_log_is_synced_after_the_commit_and_before_events_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced = tmp_path / "synced"

    def copy(_: int) -> None:
        shutil.rmtree(synced, ignore_errors=True)
        shutil.copytree(tmp_path / "home", synced, ignore=shutil.ignore_patterns("*-shm"))

    monkeypatch.setattr(os, "fsync", copy)

    store = await SqliteStore.open(tmp_path / "home" / "store.db")
    for number in range(1, 6):
        await _add(store, number)
        told = await store.events(after=number - 1)
        assert [one.seq for one in told] == [number]
        assert _log_of(synced) == [one.id for one in await store.events(after=0)]
        assert await store.last_seq() == number
    await store.close()


async def test_reader_of_what_is_durable_syncs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await SqliteStore.open(tmp_path / "store.db")
    await _add(store, 1)
    await store.last_seq()
    monkeypatch.setattr(os, "fsync", _no_sync)

    assert len(await store.events(after=0)) == 1
    assert await store.last_seq() == 1

    await store.close()


async def test_events_are_told_after_a_failed_sync_only_once_they_are_in_the_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a failed sync the next one may succeed although nothing reached the disk."""

    store = await SqliteStore.open(tmp_path / "store.db")
    await _add(store, 1)
    with monkeypatch.context() as broken:
        broken.setattr(os, "fsync", _no_sync)
        with pytest.raises(StoreError, match="could not be synced"):
            await store.events(after=0)

    assert len(await store.events(after=0)) == 1

    (tmp_path / "copy").mkdir()
    shutil.copy(tmp_path / "store.db", tmp_path / "copy")  # without its write-ahead log
    assert len(_log_of(tmp_path / "copy")) == 1
    await store.close()


async def _add(store: SqliteStore, number: int) -> None:
    new = new_feed(number)
    await store.add_feed(new, [event_of_new_feed(new)])


def _no_sync(_: int) -> None:
    raise OSError(5, "Input/output error")


def _log_of(folder: Path) -> list[str]:
    connection = sqlite3.connect(folder / "store.db")
    try:
        return [id_ for (id_,) in connection.execute("SELECT id FROM outbox ORDER BY seq")]
    finally:
        connection.close()
