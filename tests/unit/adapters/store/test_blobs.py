"""The index of the raw store: how its long queries are planned."""

import sqlite3
from contextlib import closing

from feedmill.adapters.store.migrate import migrate
from feedmill.adapters.store.sqlite.run_query import translate
from feedmill.adapters.store.tables.running import blobs


def test_chains_of_bodies_are_not_scanned_once_for_each_body() -> None:
    """SQLite did so when the bodies were a table of their own: 20,000 of them took a minute."""
    with closing(sqlite3.connect(":memory:")) as connection:
        migrate(connection)

        plan = connection.execute(f"EXPLAIN QUERY PLAN {translate(blobs._CHAINS)}", ("[]",))

        assert any("SEARCH b USING PRIMARY KEY (sha256=?)" in step[3] for step in list(plan)[-4:])
