"""What a claim of jobs costs while one busy host has very many of them: a few steps of an index, on both stores."""

import asyncio
import json
import sqlite3
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from feedmill.adapters.store.postgres import run_query as postgres
from feedmill.adapters.store.sqlite import run_query as sqlite
from feedmill.adapters.store.sqlite.store import SqliteStore
from feedmill.adapters.store.tables.running import jobs

MANY = 20_000
KINDS = [["walk", None, None, 1], ["look", None, None, 0]]
LANE = (
    "INSERT INTO lanes (shard, {host}lane_key, owner, claim_at, gap_ms)"
    " VALUES (0, {value}'busy.example', 'somebody', 0, 0)"
)
JOBS = (
    "INSERT INTO jobs (kind, key, state, created_at, updated_at, not_before, priority, url, host, payload)"
    " SELECT 'walk', 'key-' || n, 'queued', 0, 0, n, 50, 'https://busy.example/',"
    f" CASE WHEN n > {MANY} THEN 'host-' || n ELSE 'busy.example' END, '{{{{}}}}' FROM {{numbers}}"
)
QUERIES = {"first": jobs._DUE, "elsewhere": jobs._DUE_ELSEWHERE}


@pytest.mark.parametrize("which", QUERIES)
def test_sqlite_reads_no_table_from_end_to_end(tmp_path: Path, which: str) -> None:
    async def prepare() -> None:
        await (await SqliteStore.open(tmp_path / "store.db")).close()

    asyncio.run(prepare())
    numbers = f"(WITH RECURSIVE g(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM g WHERE n < {MANY + 9}) SELECT n FROM g)"
    with sqlite3.connect(tmp_path / "store.db") as connection:
        connection.execute(LANE.format(host="", value=""))
        connection.execute(JOBS.format(numbers=numbers))
        steps = 0

        def count() -> int:
            nonlocal steps
            steps += 1
            return 0

        connection.set_progress_handler(count, 1_000)
        arguments = (json.dumps(KINDS), MANY * 2, 0, 50, json.dumps(["walk", "look"]))
        query = sqlite.translate(QUERIES[which])
        found = connection.execute(query, arguments[: 5 if which == "elsewhere" else 4]).fetchall()

    assert len(found) == (9 if which == "elsewhere" else 0)
    # Of the machine inside SQLite; more than ten times that for all rows.
    assert steps * 1_000 < MANY * 3


@pytest.mark.parametrize("which", QUERIES)
def test_postgresql_reads_no_table_from_end_to_end(emptied_dsn: str, which: str) -> None:
    async def story() -> tuple[dict[str, Any], int]:
        connection = await asyncpg.connect(emptied_dsn)
        try:
            await connection.execute(LANE.format(host="host, ", value="'busy.example', "))
            await connection.execute(JOBS.format(numbers=f"generate_series(1, {MANY + 9}) AS g(n)"))
            await connection.execute("ANALYZE jobs")
            arguments = (json.dumps(KINDS), MANY * 2, 0, 50, ["walk", "look"])[
                : 5 if which == "elsewhere" else 4
            ]
            query = postgres.translate(QUERIES[which])
            found = await connection.fetch(query, *arguments)
            plan = await connection.fetchval(
                f"EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) {query}", *arguments
            )
            return json.loads(plan)[0]["Plan"], len(found)
        finally:
            await connection.close()

    plan, found = asyncio.run(story())

    assert found == (9 if which == "elsewhere" else 0)
    assert most_rows(plan) < MANY / 10


def most_rows(plan: dict[str, Any]) -> int:
    """The rows that the busiest part of a plan has looked at."""
    own = (plan["Actual Rows"] + plan.get("Rows Removed by Filter", 0)) * plan["Actual Loops"]
    return max([int(own), *(most_rows(part) for part in plan.get("Plans", ()))])
