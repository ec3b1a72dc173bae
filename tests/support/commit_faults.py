"""Faults at the last moment before a transaction counts, whatever the store."""

from collections.abc import Callable
from typing import Any

import pytest

from feedmill.adapters.store.postgres import pool
from feedmill.adapters.store.postgres.pool import Connection, Job

Fault = Callable[[str], None]  # is told "store-commit" before every commit, and may raise


def fail_before_commits(monkeypatch: pytest.MonkeyPatch, fault: Fault) -> None:
    """Let the fault strike on SQLite and on PostgreSQL alike."""
    transact = pool._transact

    async def checked(connection: Connection, job: Job[Any], level: Any, *, readonly: bool) -> Any:
        async def work(own: Connection) -> Any:
            done = await job(own)
            if not readonly:
                fault("store-commit")
            return done

        return await transact(connection, work, level, readonly=readonly)

    monkeypatch.setattr("feedmill.adapters.store.sqlite.writer.reach", fault)
    monkeypatch.setattr(pool, "_transact", checked)
