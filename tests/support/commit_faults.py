"""Faults at the last moment before a transaction counts, whatever the store."""

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import pytest

from feedmill.adapters.store.postgres import pool
from feedmill.adapters.store.postgres.pool import ConnectionJob, PgConnection
from feedmill.adapters.store.sql_store import SqlStore, write
from feedmill.adapters.store.statements import Query
from feedmill.adapters.store.tables.subscriptions import moves

Fault = Callable[[], None]  # may raise


def fail_before_commits_of_moves(monkeypatch: pytest.MonkeyPatch, fault: Fault) -> None:
    """Let the fault strike when a move was written and is about to be committed.

    Other transactions of the same moment (signs of life, paces of hosts) are spared: a context
    belongs to one task on PostgreSQL, and to the one thread that writes on SQLite.
    """
    is_move = ContextVar("is_move", default=False)
    move_feed, transact = moves.move_feed, pool._transact

    def moved(*given: Any) -> Query[bool]:
        is_move.set(True)  # a query runs inside its transaction
        return (yield from move_feed(*given))

    def reach(point: str) -> None:
        if point == "store-commit" and is_move.get():
            is_move.set(False)
            fault()

    async def checked(
        connection: PgConnection, job: ConnectionJob[Any], level: Any, *, readonly: bool
    ) -> Any:
        async def work(own: PgConnection) -> Any:
            done = await job(own)
            reach("store-commit")
            return done

        return await transact(connection, work, level, readonly=readonly)

    monkeypatch.setattr(SqlStore, "move_feed", write(moved))
    monkeypatch.setattr("feedmill.adapters.store.sqlite.writer.reach", reach)
    monkeypatch.setattr(pool, "_transact", checked)
