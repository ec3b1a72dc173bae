"""Faults at the last moment before a transaction counts, whatever the store."""

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import pytest

from feedmill.adapters.store.postgres import moving as postgres_moving
from feedmill.adapters.store.postgres import pool
from feedmill.adapters.store.postgres.pool import Connection, Job
from feedmill.adapters.store.sqlite import moving as sqlite_moving

Fault = Callable[[], None]  # may raise


def fail_before_commits_of_moves(monkeypatch: pytest.MonkeyPatch, fault: Fault) -> None:
    """Let the fault strike when a move was written and is about to be committed.

    Other transactions of the same moment (signs of life, paces of hosts) are spared: a context
    belongs to one task on PostgreSQL, and to the one thread that writes on SQLite.
    """
    is_move = ContextVar("is_move", default=False)
    move_in_sqlite, move_in_postgres = sqlite_moving.move_feed, postgres_moving.move_feed
    transact = pool._transact

    def moved(*given: Any) -> bool:
        is_move.set(True)
        return move_in_sqlite(*given)

    async def moved_in_postgres(*given: Any) -> bool:
        is_move.set(True)
        return await move_in_postgres(*given)

    def reach(point: str) -> None:
        if point == "store-commit" and is_move.get():
            is_move.set(False)
            fault()

    async def checked(connection: Connection, job: Job[Any], level: Any, *, readonly: bool) -> Any:
        async def work(own: Connection) -> Any:
            done = await job(own)
            reach("store-commit")
            return done

        return await transact(connection, work, level, readonly=readonly)

    monkeypatch.setattr(sqlite_moving, "move_feed", moved)
    monkeypatch.setattr(postgres_moving, "move_feed", moved_in_postgres)
    monkeypatch.setattr("feedmill.adapters.store.sqlite.writer.reach", reach)
    monkeypatch.setattr(pool, "_transact", checked)
