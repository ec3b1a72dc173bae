"""The log of events on PostgreSQL: numbers without gaps, for as many writers and readers as there are."""

import asyncio
import subprocess
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial

import pytest
from tests.support.children.write_and_read_log_postgres import (
    events_of,
    is_rolled_back,
    read,
    write,
)
from tests.support.servers.postgres import PostgresServer
from tests.support.waiting import HANG_GUARD_SEC, hang_guard
from tests.support.warm_process import start_child

from feedmill.adapters.store.check_rows import postgres_problems
from feedmill.adapters.store.postgres.event_log import (
    NUMBERING_BATCH,
    PostgresEventLog,
    append,
    number_batch,
)
from feedmill.adapters.store.postgres.lanes import LaneSettings
from feedmill.adapters.store.postgres.pool import Database, PgConnection
from feedmill.adapters.store.postgres.run_query import QueryRunner
from feedmill.adapters.store.tables.running.workers import cursor, set_cursor
from feedmill.engine.run.lifecycle import is_transient
from feedmill.errors import StoreError

WRITERS = [f"writer{number}" for number in range(6)]
TRANSACTIONS = 200
NAIVE = "CREATE TABLE naive_log (no bigint GENERATED ALWAYS AS IDENTITY, feed_id text, number int)"

Told = tuple[int, str, int, int]


QUERIES = QueryRunner(LaneSettings())


@asynccontextmanager
async def opened(dsn: str, connections: int = 3) -> AsyncIterator[Database]:
    database = await Database.open(dsn, connections=connections, timeout_sec=30.0)
    try:
        yield database
    finally:
        await database.close()


async def problems_of(database: Database) -> tuple[str, ...]:
    return await database.look(lambda c: QUERIES.run(c, postgres_problems()))


async def tell(database: Database, writer: str, *numbers: int) -> None:
    """One transaction of two events each."""
    for one in numbers:
        events, cause = events_of(writer, one), f"{writer}/{one}"
        await database.write(partial(append, events=events, cause=cause))


async def execute(database: Database, *statements: str) -> None:
    """In one transaction."""

    async def job(connection: PgConnection) -> None:
        for statement in statements:
            await connection.execute(statement)

    await database.write(job)


def committed(writers: Sequence[str], transactions: int) -> set[tuple[str, int, int]]:
    return {
        (writer, one, part)
        for writer in writers
        for one in range(transactions)
        if not is_rolled_back(one)
        for part in range(2)
    }


def assert_whole(told: Sequence[Told], expected: set[tuple[str, int, int]]) -> None:
    """Everything once, numbered from 1 without gaps, each writer's in the order of its commits."""
    assert [one[0] for one in told] == list(range(1, len(told) + 1))
    assert len(told) == len(expected)
    assert {one[1:] for one in told} == expected
    for writer in {one[1] for one in told}:
        own = [one[2:] for one in told if one[1] == writer]
        assert own == sorted(own)


class TestManyWriters:
    async def test_no_reader_misses_an_event_where_a_naive_cursor_does(
        self, migrated_dsn: str
    ) -> None:
        async def follow(database: Database, done: asyncio.Event) -> list[Told]:
            """A consumer with a cursor; like every other, it numbers what it finds waiting."""
            log, told = PostgresEventLog(database), list[Told]()
            while not done.is_set():
                told += await read(log, len(told), limit=37)
                await asyncio.sleep(0.002)
            return told

        async def follow_naively(database: Database, done: asyncio.Event) -> int:
            """The same by the number that an insert draws; how many it came to see."""
            last, count, ended = 0, 0, False
            while not ended:
                ended = done.is_set()  # then this look is the last, and sees everything there is
                rows = await database.read(partial(_naive_page, after=last))
                last, count = rows[-1] if rows else last, count + len(rows)
                await asyncio.sleep(0.002)
            return count

        async with opened(migrated_dsn, 16) as database:
            await execute(database, NAIVE)
            done = asyncio.Event()
            readers = [asyncio.create_task(follow(database, done)) for _ in range(4)]
            naive = asyncio.create_task(follow_naively(database, done))
            async with hang_guard():
                await asyncio.gather(*(write(database, one, TRANSACTIONS) for one in WRITERS))
                done.set()
                logs = await asyncio.gather(*readers)
            await PostgresEventLog(database).number()
            expected = committed(WRITERS, TRANSACTIONS)
            everything = await read(PostgresEventLog(database), 0, limit=1_000)

            assert_whole(everything, expected)
            for told in logs:
                assert told == everything[: len(told)]  # what was read is never told otherwise
                rest = await read(PostgresEventLog(database), len(told), limit=37)
                assert told + rest == everything
            assert await naive < len(expected) // 2  # two events to a transaction
            assert await problems_of(database) == ()

    def test_several_processes_write_and_read_one_log(self, migrated_dsn: str) -> None:
        asyncio.run(_prepare_naive(migrated_dsn))
        child = "write_and_read_log_postgres"
        workers = [start_child(child, migrated_dsn, one, "60") for one in WRITERS[:3]]
        said = [worker.communicate(timeout=HANG_GUARD_SEC)[0] for worker in workers]

        async def story() -> None:
            async with opened(migrated_dsn) as database:
                told = await read(PostgresEventLog(database), 0, limit=1_000)
                assert_whole(told, committed(WRITERS[:3], 60))
                for text in said:
                    lines = [line.split() for line in text.splitlines()]
                    seen = [(int(seq), who, int(n), int(at)) for seq, who, n, at in lines]
                    assert seen == told[: len(seen)]

        assert [worker.returncode for worker in workers] == [0, 0, 0]
        asyncio.run(story())


async def _naive_page(connection: PgConnection, *, after: int) -> list[int]:
    rows = await connection.fetch("SELECT no FROM naive_log WHERE no > $1 ORDER BY no", after)
    return [row[0] for row in rows]


async def _prepare_naive(dsn: str) -> None:
    async with opened(dsn) as database:
        await execute(database, NAIVE)


class TestNumbers:
    async def test_an_event_gets_no_number_while_an_older_transaction_is_open(
        self, emptied_dsn: str
    ) -> None:
        async with opened(emptied_dsn) as database:
            log = PostgresEventLog(database)
            opening, closing = asyncio.Event(), asyncio.Event()

            async def linger(connection: PgConnection) -> None:
                await append(connection, events_of("slow", 1), "slow")
                opening.set()
                await closing.wait()

            slow = asyncio.create_task(database.write(linger))
            await opening.wait()
            await tell(database, "quick", 1)

            assert await log.events(0, 10) == ()
            assert await log.last_seq() == 0
            (problem,) = await problems_of(database)
            assert problem.startswith("2 events have waited for a number")

            closing.set()
            await slow
            told = await read(log, 0, limit=10)
            assert [one[:2] for one in told] == [
                (1, "slow"), (2, "slow"), (3, "quick"), (4, "quick"),
            ]  # fmt: skip
            assert await problems_of(database) == ()

    async def test_who_finds_somebody_else_numbering_goes_on_without_waiting(
        self, emptied_dsn: str
    ) -> None:
        async with opened(emptied_dsn) as database:
            await tell(database, "a", 1)
            locked, ready = asyncio.Event(), asyncio.Event()

            async def hold(connection: PgConnection) -> int:
                await connection.execute("SELECT 1 FROM log_head FOR UPDATE")
                locked.set()
                await ready.wait()
                return await number_batch(connection)

            holder = asyncio.create_task(database.write(hold))
            await locked.wait()
            async with hang_guard():
                assert await PostgresEventLog(database).events(0, 10) == ()

            ready.set()
            assert await holder == 2
            assert len(await PostgresEventLog(database).events(0, 10)) == 2

    async def test_a_long_queue_gets_its_numbers_in_bites_that_may_cut_a_transaction(
        self, emptied_dsn: str
    ) -> None:
        async with opened(emptied_dsn) as database:
            events = events_of("a", 1) * (NUMBERING_BATCH // 2 + 50)
            for cause in "xyz":
                await database.write(partial(append, events=events, cause=cause))

            assert await database.write(number_batch) == NUMBERING_BATCH
            assert await PostgresEventLog(database).last_seq() == 3 * len(events)
            assert await PostgresEventLog(database).last_seq() == 3 * len(events)
            assert await problems_of(database) == ()

    async def test_numbers_are_on_the_disk_before_they_are_visible_whatever_the_server_is_set_to(
        self, emptied_dsn: str
    ) -> None:
        async def setting_while_numbering(connection: PgConnection) -> tuple[str, str]:
            before = await connection.fetchval("SHOW synchronous_commit")
            assert await number_batch(connection) == 2
            return before, await connection.fetchval("SHOW synchronous_commit")

        async with opened(emptied_dsn) as database:
            await tell(database, "a", 1)

            assert await database.write(setting_while_numbering) == ("off", "on")

            after = await database.read(lambda c: c.fetchval("SHOW synchronous_commit"))
            assert after == "off"  # for this transaction only

    async def test_a_full_page_does_not_wait_for_numbers(self, emptied_dsn: str) -> None:
        async with opened(emptied_dsn) as database:
            await tell(database, "a", 1)
            await PostgresEventLog(database).number()
            await tell(database, "a", 2)

            assert [one.seq for one in await PostgresEventLog(database).events(0, 2)] == [1, 2]
            assert await database.read(lambda c: c.fetchval("SELECT seq FROM log_head")) == 2
            assert [one.seq for one in await PostgresEventLog(database).events(0, 3)] == [1, 2, 3]

    async def test_looking_begins_behind_what_was_taken(self, emptied_dsn: str) -> None:
        async with opened(emptied_dsn) as database:
            log = PostgresEventLog(database)
            horizons = []
            horizon = "SELECT horizon::text::bigint FROM log_head"
            for at in range(3):
                await tell(database, "a", at)
                await log.number()
                horizons.append(await database.read(lambda c: c.fetchval(horizon)))

            assert horizons == sorted(set(horizons))

            events = events_of("b", 1) * (NUMBERING_BATCH // 2)  # one bite to the last event
            await database.write(partial(append, events=events, cause="b"))
            written = "SELECT max(tx::text::bigint) FROM outbox"
            last = await database.read(lambda c: c.fetchval(written))
            await log.number()
            assert await database.read(lambda c: c.fetchval(horizon)) > last

    async def test_a_hole_in_the_log_is_told(self, emptied_dsn: str) -> None:
        async with opened(emptied_dsn) as database:
            await tell(database, "a", 1, 2)
            await PostgresEventLog(database).number()
            await execute(database, "DELETE FROM events WHERE seq = 2")
            assert await problems_of(database) == ("1 events are missing from the log",)

    async def test_a_cursor_moves_both_ways(self, emptied_dsn: str) -> None:
        async with opened(emptied_dsn) as database:
            assert await database.read(lambda c: QUERIES.run(c, cursor("tap"))) == 0
            for seq in (7, 3):
                moved = partial(set_cursor, "tap", seq)
                await database.write(lambda c, moved=moved: QUERIES.run(c, moved()))  # type: ignore[misc]
                assert await database.read(lambda c: QUERIES.run(c, cursor("tap"))) == seq


class TestAnotherServersNumbers:
    """A dump carries the transaction numbers of the server that it was taken from."""

    async def test_events_and_a_horizon_of_the_future_are_numbered_first(
        self, emptied_dsn: str
    ) -> None:
        async with opened(emptied_dsn) as database:
            await tell(database, "old", 1, 2)
            await execute(
                database,
                "UPDATE outbox SET tx = (tx::text::bigint + 1000000)::text::xid8",
                "UPDATE log_head SET horizon = '900000'",
            )
            log = PostgresEventLog(database)
            await tell(database, "new", 1)

            told = await read(log, 0, limit=10)

            assert [one[1] for one in told] == ["old"] * 4 + ["new"] * 2
            await tell(database, "new", 2)
            assert len(await read(log, 0, limit=10)) == 8

    async def test_a_process_that_was_there_before_the_restore_notices_too(
        self, emptied_dsn: str
    ) -> None:
        async with opened(emptied_dsn) as database:
            log = PostgresEventLog(database)
            assert await log.events(0, 10) == ()
            await tell(database, "old", 1)
            await execute(database, "UPDATE outbox SET tx = '90000000'")

            assert len(await log.events(0, 10)) == 2

    async def test_events_below_a_horizon_that_time_has_caught_up_with_are_found(
        self, emptied_dsn: str
    ) -> None:
        async with opened(emptied_dsn) as database:
            await tell(database, "old", 1)
            await execute(
                database, "UPDATE log_head SET horizon = pg_snapshot_xmin(pg_current_snapshot())"
            )

            assert len(await PostgresEventLog(database).events(0, 10)) == 2

    def test_a_restored_dump_goes_on_where_it_was(
        self, postgres: PostgresServer, emptied_dsn: str
    ) -> None:
        burn = (
            "DO $$ BEGIN FOR i IN 1..3000 LOOP"
            " PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$"
        )

        async def before() -> None:
            async with opened(emptied_dsn) as database:
                await database.read(lambda c: c.execute(burn))
                await tell(database, "old", 1)
                await PostgresEventLog(database).number()
                await tell(database, "old", 2)

        async def after(dsn: str) -> None:
            async with opened(dsn) as database:
                await tell(database, "new", 1)
                told = await read(PostgresEventLog(database), 0, limit=10)
                assert [one[:2] for one in told] == list(
                    enumerate(["old"] * 4 + ["new"] * 2, start=1)
                )
                assert await problems_of(database) == ()

        asyncio.run(before())
        with PostgresServer(durable=False) as server:
            dsn = server.create_database()
            dump = subprocess.run(
                [postgres.bin_dir / "pg_dump", "--no-owner", emptied_dsn],
                stdout=subprocess.PIPE, check=True, timeout=HANG_GUARD_SEC,
            )  # fmt: skip
            subprocess.run(
                [postgres.bin_dir / "psql", "-Xq", "-v", "ON_ERROR_STOP=1", dsn],
                input=dump.stdout, stdout=subprocess.DEVNULL, check=True, timeout=HANG_GUARD_SEC,
            )  # fmt: skip
            asyncio.run(after(dsn))


class TestRestoredUnderARunningProcess:
    """A backup that is put back, or an asynchronous standby that is promoted, while readers are connected."""

    async def test_process_that_told_more_says_so_before_it_gives_a_number_again(
        self, postgres: PostgresServer, migrated_dsn: str
    ) -> None:
        async with opened(migrated_dsn) as database:
            log = PostgresEventLog(database)
            await tell(database, "kept", 1)
            await log.events(0, 10)
        backup = postgres.create_database(template=name_of(migrated_dsn))
        async with opened(migrated_dsn) as database:
            log = PostgresEventLog(database)
            await tell(database, "lost", 1, 2)
            assert (await log.events(0, 10))[-1].seq == 6
            put_back(postgres, backup, migrated_dsn)
            await tell(database, "new", 1)

            coming = await log.events(6, 10)

            assert [event.seq for event in coming] == [1_000_006, 1_000_007, 1_000_008]
            assert coming[0].type == "log.rewound"
            assert coming[0].data == {"delivered_seq": 6, "log_ended_at": 2}
            assert await log.events(2, 10) == coming
            assert await problems_of(database) == ()

    @pytest.mark.parametrize(
        "state",
        [
            pytest.param("DROP TABLE log_head, events", id="its tables are dropped"),
            pytest.param("DELETE FROM log_head", id="its rows are not there yet"),
        ],
    )
    async def test_look_during_a_restore_is_worth_another(
        self, migrated_dsn: str, state: str
    ) -> None:
        async with opened(migrated_dsn) as database:
            log = PostgresEventLog(database)
            await tell(database, "kept", 1)
            await log.events(0, 10)
            await database.write(lambda c: c.execute(state))

            with pytest.raises(StoreError) as caught:
                await log.last_seq()

            assert (caught.value.reason, is_transient(caught.value)) == ("no-schema", True)

    async def test_write_before_the_keys_are_restored_is_worth_another(
        self, migrated_dsn: str
    ) -> None:
        async with opened(migrated_dsn) as database:
            without_key = "ALTER TABLE leases DROP CONSTRAINT leases_pkey"
            await database.write(lambda c: c.execute(without_key))

            with pytest.raises(StoreError) as caught:
                await database.write(
                    lambda c: c.execute(
                        "INSERT INTO leases (name, owner, until) VALUES ('a', 'b', 1)"
                        " ON CONFLICT (name) DO NOTHING"
                    )
                )

            assert is_transient(caught.value)

    async def test_process_that_saw_the_end_of_the_log_says_so(
        self, postgres: PostgresServer, migrated_dsn: str
    ) -> None:
        backup = postgres.create_database(template=name_of(migrated_dsn))
        async with opened(migrated_dsn) as database:
            log = PostgresEventLog(database)
            await tell(database, "lost", 1, 2)
            assert await log.last_seq() == 4
            put_back(postgres, backup, migrated_dsn)

            assert await log.last_seq() == 1_000_004
            assert [event.type for event in await log.events(0, 10)] == ["log.rewound"]

    async def test_other_events_under_numbers_that_were_told_are_noticed_once(
        self, postgres: PostgresServer, migrated_dsn: str
    ) -> None:
        backup = postgres.create_database(template=name_of(migrated_dsn))
        async with opened(migrated_dsn) as database:
            log = PostgresEventLog(database)
            await tell(database, "lost", 1)
            await log.events(0, 10)
            put_back(postgres, backup, migrated_dsn)
            async with opened(migrated_dsn) as another:  # which has told nothing before
                await tell(another, "new", 1, 2)
                assert await PostgresEventLog(another).last_seq() == 4

            coming = await log.events(2, 10)

            assert [event.seq for event in coming] == [3, 4, 1_000_004]
            assert coming[-1].type == "log.rewound"
            assert await log.events(0, 1) == await log.events(0, 1)
            assert await log.last_seq() == 1_000_004


def name_of(dsn: str) -> str:
    return dsn.rpartition("/")[2]


def put_back(postgres: PostgresServer, backup: str, dsn: str) -> None:
    """The backup takes the place of the database, under the processes that are connected."""
    postgres.drop_database(dsn)
    postgres.run_sql(f"ALTER DATABASE {name_of(backup)} RENAME TO {name_of(dsn)}")
