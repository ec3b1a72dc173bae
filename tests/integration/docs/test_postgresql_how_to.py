"""The how-to about PostgreSQL: every query on the page is one that this schema answers."""

import re
from pathlib import Path

import asyncpg

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "postgresql.md"
QUERIES = re.findall(r"^```sql\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)


async def test_every_query_of_the_page_is_answered(migrated_dsn: str) -> None:
    connection = await asyncpg.connect(migrated_dsn)
    for query in QUERIES:
        assert await connection.fetch(query) is not None
    await connection.close()


def test_the_page_shows_the_partitions_and_the_end_of_the_log() -> None:
    assert len(QUERIES) >= 9
    assert any("pg_inherits" in query for query in QUERIES)
    assert any("log_head" in query for query in QUERIES)
