"""What only many writers can break: tickets, webhooks, tokens, questions, moves and merges."""

import asyncio
from datetime import timedelta
from subprocess import PIPE

import pytest
from msgspec.structs import replace
from tests.support.postgres_contention import Held, stores, until_it_waits
from tests.support.sample_refreshes import (
    DAY,
    HOUR,
    NOON,
    a_refresh,
    an_entry,
    new_feed,
    poll,
    read,
)
from tests.support.waiting import HANG_GUARD_SEC, hang_guard
from tests.support.warm_process import start_child

from feedmill.adapters.store.postgres.store import PostgresStore
from feedmill.adapters.store.tables.contents.held_entries import spend_ticket
from feedmill.adapters.store.tables.running.webhooks import (
    add_webhook,
    lease_webhooks,
    settle_webhook,
)
from feedmill.adapters.store.tables.subscriptions.merge_feeds import merge_feeds
from feedmill.adapters.store.tables.subscriptions.moves import move_feed
from feedmill.model.candidate import Question
from feedmill.model.event import NewEvent
from feedmill.model.feed import Feed, ImportedOutline, Move
from feedmill.model.page import EntryFilter
from feedmill.model.running.webhook import Settlement, Token, Webhook
from feedmill.model.screening import HeldEntry

QUESTION = Question(
    code="q", window_id="w", file_digest="d" * 64, candidate_ids=(1, 2), asked_by="me",
    asked_at=NOON, expires_at=NOON + HOUR,
)  # fmt: skip
HOOK = Webhook(id="hook", url="https://ear.example/", created_at=NOON, secrets=())
TOKEN = Token(id="t", name="me", scopes=("read",), created_at=NOON)


async def a_ticket(store: PostgresStore, number: int = 0) -> str:
    sha256 = f"{number:064x}"
    asked = replace(QUESTION, code=f"q{number}", candidate_ids=(number,))
    await store.ask_question(asked)
    yes = replace(
        asked, state="confirmed", answered_by="you", answered_at=NOON, ticket_expires_at=NOON + HOUR
    )
    assert await store.answer_question(yes, ticket_sha256=sha256)
    return sha256


async def a_feed(store: PostgresStore, number: int, host: str | None = None) -> Feed:
    return (await store.add_feed(new_feed(number, host=host)))[0]


def a_move(feed: Feed, to_url: str) -> Move:
    return Move(
        from_url=feed.url, to_url=to_url, source="redirect", proof="redirect", moved_at=NOON
    )


class TestOnce:
    async def test_a_ticket_is_spent_once_by_two_connections(self, emptied_dsn: str) -> None:
        async with stores(emptied_dsn, 2) as (one, two):
            ticket = await a_ticket(one)
            first = await Held(
                one.database, lambda c: one.queries.run(c, spend_ticket(ticket, NOON))
            ).worked()
            second = asyncio.create_task(two.spend_ticket(ticket, NOON))

            await until_it_waits(one.database, second)
            await first.commit()

            assert (await first.task, await second) == (True, False)

    async def test_a_ticket_whose_spending_was_taken_back_can_be_spent(
        self, emptied_dsn: str
    ) -> None:
        async with stores(emptied_dsn, 2) as (one, two):
            ticket = await a_ticket(one)
            first = await Held(
                one.database, lambda c: one.queries.run(c, spend_ticket(ticket, NOON))
            ).worked()
            second = asyncio.create_task(two.spend_ticket(ticket, NOON))

            await until_it_waits(one.database, second)
            await first.roll_back()

            assert await second

    def test_processes_share_tickets_and_webhooks_without_one_in_two_hands(
        self, emptied_dsn: str
    ) -> None:
        tickets, webhooks = 40, 8

        async def prepare() -> None:
            async with stores(emptied_dsn) as (store,):
                for number in range(tickets):
                    await a_ticket(store, number)
                for number in range(webhooks):
                    await store.add_webhook(replace(HOOK, id=f"hook{number}"))

        asyncio.run(prepare())
        workers = [
            start_child("spend_tickets_postgres", emptied_dsn, name, str(tickets), stdin=PIPE)
            for name in ("one", "two", "three")
        ]
        for worker in workers:
            assert worker.stdout is not None
            assert worker.stdout.readline() == "ready\n"
        said = [worker.communicate("go\n", timeout=HANG_GUARD_SEC)[0] for worker in workers]

        spent = [number for line in said for number in line.partition("/")[0].split()]
        held = [name for line in said for name in line.partition("/")[2].split()]
        assert sorted(map(int, spent)) == list(range(tickets))
        assert sorted(held) == [f"hook{number}" for number in range(webhooks)]

    async def test_two_who_ask_the_same_at_once_ask_one_question(self, emptied_dsn: str) -> None:
        async with stores(emptied_dsn, 2) as (one, two):
            asked = [replace(QUESTION, code=f"q{number}") for number in range(10)]

            found = await asyncio.gather(
                *((one, two)[n % 2].ask_question(q) for n, q in enumerate(asked))
            )

            assert len({question.code for question in found}) == 1
            assert len(await one.questions(NOON)) == 1

    async def test_rotations_at_once_leave_one_secret_without_an_end(
        self, emptied_dsn: str
    ) -> None:
        async with stores(emptied_dsn, 2) as (one, two):
            await one.add_token(TOKEN, "a0" + "0" * 62)

            await asyncio.gather(
                *(
                    (one, two)[n % 2].rotate_token("t", f"a{n:063x}", old_until=NOON + HOUR)
                    for n in range(1, 9)
                )
            )

            secrets = await one.token_secrets("a")
            assert [secret.valid_until for secret in secrets].count(None) == 1
            assert len(secrets) == 2


class TestWebhooks:
    async def test_of_two_that_hold_at_once_each_webhook_is_one_owners(
        self, emptied_dsn: str
    ) -> None:
        async with stores(emptied_dsn, 2) as (one, two):
            for number in range(5):
                await one.add_webhook(replace(HOOK, id=f"hook{number}"))
            until = NOON + timedelta(minutes=1)
            first = await Held(
                one.database,
                lambda c: one.queries.run(c, lease_webhooks("one", now=NOON, until=until)),
            ).worked()
            second = asyncio.create_task(two.lease_webhooks("two", now=NOON, until=until))

            await until_it_waits(one.database, second)
            await first.commit()

            assert await second == frozenset()
            assert len(await two.lease_webhooks("two", now=until, until=until + HOUR)) == 5

    async def test_a_settlement_that_waited_for_another_sees_what_it_did(
        self, emptied_dsn: str
    ) -> None:
        async with stores(emptied_dsn, 2) as (one, two):
            await one.add_webhook(HOOK, after=0)
            done = Settlement(webhook_id="hook", after=0, upto=3, at=NOON, result="delivered")
            first = await Held(
                one.database, lambda c: one.queries.run(c, settle_webhook(done))
            ).worked()
            second = asyncio.create_task(two.settle_webhook(replace(done, upto=9)))

            await until_it_waits(one.database, second)
            await first.commit()

            assert (await first.task, await second) == (True, False)
            hook = await one.webhook("hook")
            assert hook is not None
            assert hook.cursor == 3

    async def test_tags_of_a_feed_whose_end_has_no_number_yet_are_known(
        self, emptied_dsn: str
    ) -> None:
        async with stores(emptied_dsn, 2) as (one, two):
            feed = await a_feed(one, 1)
            holding = await Held(
                two.database, lambda c: two.queries.run(c, add_webhook(HOOK, after=0))
            ).worked()  # an older transaction: numbers wait for it
            end = NewEvent(
                type="feed.removed", feed_id=feed.id, occurred_at=NOON,
                data={"tags": ["gone"]},
            )  # fmt: skip
            await one.remove_feed(feed.id, [end])

            assert await one.events(after=0) == ()
            assert await one.feed_tags([feed.id]) == {feed.id: ("gone",)}
            await holding.commit()


class TestMoves:
    async def test_of_two_feeds_that_move_to_one_address_one_gets_it(
        self, emptied_dsn: str
    ) -> None:
        async with stores(emptied_dsn, 2) as (one, two):
            feeds = [await a_feed(one, 1), await a_feed(one, 2)]
            there = "https://new.example/feed"
            first = await Held(
                one.database,
                lambda c: one.queries.run(c, move_feed(feeds[0].id, a_move(feeds[0], there))),
            ).worked()
            second = asyncio.create_task(two.move_feed(feeds[1].id, a_move(feeds[1], there)))

            await until_it_waits(one.database, second)
            await first.commit()

            assert (await first.task, await second) == (True, False)
            assert await two.moves(feeds[1].id) == ()

    async def test_feeds_that_change_places_with_claims_under_way_end_well(
        self, emptied_dsn: str
    ) -> None:
        """Every order of locks is the same: lanes, then feeds; nobody waits in a circle for long."""

        async def wander(store: PostgresStore, feed: Feed, hosts: list[str]) -> None:
            for host in hosts:
                there = f"https://{host}/{feed.id}"
                assert await store.move_feed(feed.id, a_move(feed, there))
                feed = replace(feed, url=there)

        async with stores(emptied_dsn, 2) as (one, two):
            hosts = [f"place{n}.example" for n in range(4)]
            feeds = [await a_feed(one, n, host=hosts[n % 4]) for n in range(8)]
            async with hang_guard(), asyncio.TaskGroup() as group:
                for n, feed in enumerate(feeds):
                    way = [*hosts[n % 4 + 1 :], *hosts[: n % 4]]
                    group.create_task(wander((one, two)[n % 2], feed, way))
                for n in range(6):
                    group.create_task(
                        (one, two)[n % 2].claim(
                            f"owner{n}", now=NOON + HOUR, lease_sec=60, max_lanes=2, max_feeds=9
                        )
                    )

            assert all([len(await one.moves(feed.id)) == 3 for feed in feeds])


class TestMerges:
    async def test_two_merges_of_the_same_feeds_in_two_directions_are_one(
        self, emptied_dsn: str
    ) -> None:
        async with stores(emptied_dsn, 2) as (one, two):
            a, b = await a_feed(one, 1), await a_feed(one, 2)
            await poll(one, a, 1, [an_entry("x"), an_entry("y")], at=NOON)
            await poll(one, b, 1, [an_entry("y"), an_entry("z")], at=NOON)
            first = await Held(
                one.database, lambda c: one.queries.run(c, merge_feeds(a.id, b.id, at=NOON))
            ).worked()
            second = asyncio.create_task(two.merge_feeds(b.id, a.id, at=NOON))

            await until_it_waits(one.database, second)
            await first.commit()

            assert await first.task is not None
            assert await second is None
            assert len((await one.feeds()).items) == 1
            assert len((await one.entries(EntryFilter())).items) == 3

    async def test_a_refresh_that_commits_meanwhile_waits_and_is_not_lost_halfway(
        self, emptied_dsn: str
    ) -> None:
        async with stores(emptied_dsn, 2) as (one, two):
            loser, winner = await a_feed(one, 1), await a_feed(one, 2)
            late = a_refresh(loser, 1, at=NOON, changes=await read(two, loser, [an_entry("late")]))
            first = await Held(
                one.database,
                lambda c: one.queries.run(c, merge_feeds(loser.id, winner.id, at=NOON)),
            ).worked()
            second = asyncio.create_task(two.commit(late))

            await until_it_waits(one.database, second)
            await first.commit()

            assert (await second).fenced
            assert (await one.entries(EntryFilter())).items == ()

    async def test_fetches_of_one_instant_and_entries_that_wait_in_both_are_kept_apart(
        self, emptied_dsn: str
    ) -> None:
        async with stores(emptied_dsn) as (store,):
            loser, winner = await a_feed(store, 1), await a_feed(store, 2)
            for feed in (loser, winner):
                for run in range(3):
                    at = NOON + timedelta(microseconds=run)
                    refresh = a_refresh(feed, run, at=at)
                    waits = _waiting(feed, "both"), _waiting(feed, feed.id)
                    await store.commit(replace(refresh, held=waits if run == 0 else ()))

            counts = await store.merge_feeds(loser.id, winner.id, at=NOON)

            assert counts is not None
            assert counts.fetches == 3
            fetches = (await store.fetches(winner.id)).items
            later = sorted(one.scheduled_at - NOON for one in fetches)
            assert later == [timedelta(microseconds=n) for n in range(6)]
            uids = {one.entry_uid for one in (await store.held()).items}
            assert uids == {"both", loser.id, winner.id}

    async def test_many_entries_are_merged_by_few_statements(self, emptied_dsn: str) -> None:
        async with stores(emptied_dsn) as (store,):
            loser, winner = await a_feed(store, 1), await a_feed(store, 2)
            theirs = [an_entry(f"e{n}", "old") for n in range(400)]
            ours = [an_entry(f"e{n}", "new") for n in range(200, 600)]
            await poll(store, loser, 1, theirs, at=NOON)
            await poll(store, winner, 1, ours, at=NOON + HOUR)

            counts = await store.merge_feeds(loser.id, winner.id, at=NOON + DAY)

            assert counts is not None
            assert (counts.entries, counts.folded) == (200, 200)
            page = await store.entries(EntryFilter(), limit=1000)
            assert len(page.items) == 600
            twins = [entry for entry in page.items if entry.revisions]
            assert len(twins) == 200
            (state,) = await store.revisions(twins[0].entry_uid)
            assert (state.summary, twins[0].summary) == ("old", "new")


class TestStrangeTexts:
    async def test_a_nul_becomes_a_replacement_character_wherever_it_stands(
        self, emptied_dsn: str
    ) -> None:
        async with stores(emptied_dsn) as (store,):
            line = ImportedOutline(url="https://a/\x00", outcome="failed", at=NOON, detail="\x00")
            await store.save_imported("list", [line, line])
            await store.add_webhook(replace(HOOK, tag="\x00"))
            await store.ask_question(replace(QUESTION, asked_by="a\x00b"))
            await store.add_token(replace(TOKEN, name="\x00"), "f" * 64)
            feed = await a_feed(store, 1)
            waits = replace(_waiting(feed, "uid"), title="a\x00b")
            await store.commit(replace(a_refresh(feed, 1, at=NOON), held=(waits,)))

            (kept,) = await store.imported("list")
            assert (kept.url, kept.detail) == ("https://a/\ufffd", "\ufffd")
            assert (await store.webhooks())[0].tag == "\ufffd"
            assert (await store.questions(NOON))[0].asked_by == "a\ufffdb"
            assert (await store.tokens())[0].name == "\ufffd"
            assert (await store.held()).items[0].title == "a\ufffdb"
            assert await store.webhook("\x00") is None
            assert await store.question("\x00") is None
            assert not await store.remove_screen("\x00")

    @pytest.mark.parametrize("after", ["99999999999999999999", "no number", "-1"])
    async def test_a_cursor_of_what_waits_that_nobody_gave_begins_somewhere(
        self, emptied_dsn: str, after: str
    ) -> None:
        async with stores(emptied_dsn) as (store,):
            assert (await store.held(after=after)).items == ()


def _waiting(feed: Feed, uid: str) -> HeldEntry:
    return HeldEntry(
        feed_id=feed.id, entry_uid=uid, dedupe_key="k", content_hash="c", held_at=NOON,
        fetch_id="f", body_sha256="b" * 64,
    )  # fmt: skip
