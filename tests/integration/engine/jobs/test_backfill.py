"""Archives are walked once, page by page, on both stores, against a publisher on loopback."""

import pytest
from msgspec.structs import replace
from tests.support.engine_harness import Play, Stage
from tests.support.feed_documents import atom, atom_entry, said
from tests.support.feed_documents import atom_link as link
from tests.support.job_kinds import run_due

from feedmill.config import BackfillConfig
from feedmill.engine.jobs.backfill import KIND
from feedmill.engine.maintain.retention import purge
from feedmill.engine.service.jobs import (
    backfill_status,
    cancel_backfill,
    plan_backfill,
    start_backfill,
)
from feedmill.engine.service.queries import change_feed
from feedmill.errors import ConflictError, UsageError
from feedmill.model.feed import Feed
from feedmill.model.running.job import JobRunRecord
from feedmill.model.screening import LiveScreen
from feedmill.publish.shapes import FeedChange
from feedmill_demo.server.script import Answer, document

WORDPRESS = "<generator>https://wordpress.org/?v=6.4</generator>"


def page(*numbers: int, extra: str = "") -> Answer:
    return document(atom(*(atom_entry(number) for number in numbers), extra=extra))


async def walked(stage: Stage) -> list[JobRunRecord]:
    """Every step until nothing is due."""
    return list(await run_due(stage.services, KIND))


async def archive(
    stage: Stage, pages: int, *, per_page: int = 2, archive_backfill: bool = False
) -> Feed:
    """A polled feed with numbered archive documents, the oldest of which is 1."""
    for number in range(1, pages + 1):
        numbers = range(number * 10, number * 10 + per_page)
        older = link("prev-archive", f"/archive/{number - 1}") if number > 1 else ""
        stage.publisher.script(f"/archive/{number}", page(*numbers, extra=older), host="127.0.0.1")
    feed = await stage.add(
        "/feed",
        page(1000, 1001, extra=link("prev-archive", f"/archive/{pages}")),
        archive_backfill=archive_backfill,
    )
    await stage.pass_once()
    return feed


def test_every_page_is_read_once_and_the_schedule_stays(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feed = await archive(stage, 5)
        before = await stage.feed(feed)
        await start_backfill(before, stage.services)

        records = await walked(stage)

        after = await stage.feed(feed)
        entries = await stage.entries(feed)
        assert [one.result for one in records] == ["again"] * 5 + ["done"]
        assert records[-1].reason == "no-link"
        assert len(entries) == 12
        assert sorted(one.backfill for one in entries) == [False] * 2 + [True] * 10
        assert all(len(stage.requests(f"/archive/{number}")) == 1 for number in range(1, 6))
        assert (after.schedule, after.next_poll_at, after.validators) == (
            before.schedule,
            before.next_poll_at,
            before.validators,
        )
        events = await stage.services.store.events(after=0, limit=100)
        marked = [one.data.get("backfill") for one in events if one.type == "new_entry"]
        assert marked == [None] * 2 + [True] * 10
        status = await backfill_status(after, stage.services)
        assert status.job is not None
        assert status.job.progress == {"pages": 5, "entries": 10}

    play(story)


def test_an_archive_is_walked_once(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feed = await archive(stage, 2, archive_backfill=True)
        await walked(stage)
        stage.publish(feed, page(1002, extra=link("prev-archive", "/archive/2")))
        stage.later(hours=1)
        await stage.services.store.make_due([feed.id], stage.clock.now())
        await stage.pass_once()

        assert await walked(stage) == []
        assert len(stage.requests("/archive/2")) == 1
        assert len(await stage.entries(feed)) == 7

    play(story)


@pytest.mark.parametrize(
    ("script", "reason", "entries"),
    [
        pytest.param(
            {"/2": page(20, extra=link("next", "/3")), "/3": page(30, extra=link("next", "/2"))},
            "loop",
            2,
            id="a loop of addresses",
        ),
        pytest.param(
            {
                "/2": page(10, extra=link("prev-archive", "/3")),
                "/3": page(extra=link("prev-archive", "/4")),
                "/4": page(10, 20, extra=link("prev-archive", "/5")),
                "/5": page(30, 31),
            },
            "no-link",
            3,
            id="known and empty pages before new ones",
        ),
        pytest.param({"/2": said(404)}, "not-found", 0, id="a page that is not there"),
        pytest.param({"/2": said(410)}, "not-found", 0, id="a page that is gone"),
        pytest.param(
            {"/2": said(200, ("Content-Type", "text/html"), body=b"<html><p>x</p></html>")},
            "not-a-feed",
            0,
            id="a page that is no feed",
        ),
        pytest.param({"/2": page(20, extra=link("next", "http://127.0.0.2/3"))}, "other-host", 1, id="another host"),
    ],
)  # fmt: skip
def test_a_walk_ends(play: Play, script: dict[str, Answer], reason: str, entries: int) -> None:
    async def story(stage: Stage) -> None:
        for target, answer in script.items():
            stage.publisher.script(target, answer, host="127.0.0.1")
        feed = await stage.add("/feed", page(10, extra=link("next", "/2")))
        await stage.pass_once()
        await start_backfill(await stage.feed(feed), stage.services)

        records = await walked(stage)

        assert (records[-1].result, records[-1].reason) == ("done", reason)
        assert len(await stage.entries(feed)) == entries + 1

    play(story)


@pytest.mark.parametrize(
    ("robots", "reason", "requests"),
    [
        pytest.param(said(404), "not-found", 2, id="no rules"),
        pytest.param(
            said(200, body=b"User-agent: *\nDisallow: /*paged="), "robots", 0, id="forbidden"
        ),
    ],
)
def test_pages_of_wordpress_are_guessed_where_robots_allow(
    play: Play, robots: Answer, reason: str, requests: int
) -> None:
    async def story(stage: Stage) -> None:
        publisher = stage.publisher
        publisher.script("/robots.txt", robots, host="127.0.0.1")
        publisher.script("/feed?paged=2", page(20, extra=WORDPRESS), host="127.0.0.1")
        publisher.script("/feed?paged=3", said(404), host="127.0.0.1")
        feed = await stage.add("/feed", page(10, extra=WORDPRESS))
        await stage.pass_once()
        await start_backfill(await stage.feed(feed), stage.services)

        records = await walked(stage)

        assert records[-1].reason == reason
        asked = [number for number in (2, 3) if stage.requests(f"/feed?paged={number}")]
        assert len(asked) == requests

    play(story)


def test_guessed_pages_whose_entries_were_polled_before_are_passed(play: Play) -> None:
    async def story(stage: Stage) -> None:
        publisher = stage.publisher
        publisher.script("/robots.txt", said(404), host="127.0.0.1")
        for number in (2, 3):
            answer = page(number * 10, extra=WORDPRESS)
            publisher.script(f"/feed?paged={number}", answer, host="127.0.0.1")
        publisher.script("/feed?paged=4", said(404), host="127.0.0.1")
        feed = await stage.add("/feed", page(20, extra=WORDPRESS))
        await stage.pass_once()
        stage.publish(feed, page(10, extra=WORDPRESS))  # 20 is on page 2 now, and stored
        stage.later(days=1)
        await stage.pass_once()
        await start_backfill(await stage.feed(feed), stage.services)

        records = await walked(stage)

        assert records[-1].reason == "not-found"
        assert len(await stage.entries(feed)) == 3

    play(story)


def test_a_server_error_is_tried_again_and_the_page_is_not_lost(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feed = await archive(stage, 1)
        stage.publisher.script("/archive/1", said(500), page(10), host="127.0.0.1")
        await start_backfill(await stage.feed(feed), stage.services)

        failed = await walked(stage)
        stage.later(hours=1)
        await stage.pass_once()  # a due feed comes first
        done = await walked(stage)

        assert [one.result for one in (*failed, *done)] == ["again", "retry", "done"]
        assert len(await stage.entries(feed)) == 3

    play(story)


def test_limits_end_or_delay_a_walk(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feed = await archive(stage, 4)
        with pytest.raises(UsageError):
            await start_backfill(feed, stage.services, pages=0)
        await start_backfill(await stage.feed(feed), stage.services, pages=2)
        assert (await walked(stage))[-1].reason == "page-limit"
        limited = replace(stage.services.config, backfill=BackfillConfig(host_pages_per_day=4))
        services = stage.services._replace(config=limited)
        await start_backfill(await stage.feed(feed), services)

        steps = list(await run_due(services, KIND))

        assert len(steps) == 1  # three steps of the day were used before
        assert (await backfill_status(feed, services)).state == "queued"

    play(story)


def test_a_walk_can_be_planned_and_cancelled(play: Play) -> None:
    async def story(stage: Stage) -> None:
        fresh = await stage.add("/other", page(1))
        assert (await plan_backfill(fresh, stage.services)).reason == "never-polled"
        feed = await stage.feed(await archive(stage, 3))
        plan = await backfill_status(feed, stage.services)
        assert (plan.state, plan.kind) == ("possible", "prev-archive")
        assert (await plan_backfill(await stage.feed(fresh), stage.services)).reason == "no-link"
        with pytest.raises(ConflictError):
            await cancel_backfill(feed, stage.services)
        await start_backfill(feed, stage.services)

        cancelled = await cancel_backfill(feed, stage.services)

        assert cancelled.state == "cancelled"
        assert await walked(stage) == []

    play(story)


def test_entries_of_an_archive_are_held_by_a_live_screen(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feed = await archive(stage, 2)
        store = stage.services.store
        screen = LiveScreen(id="all", created_at=stage.clock.now(), feed_id=feed.id)
        await store.add_screen(screen)
        await start_backfill(await stage.feed(feed), stage.services)

        records = await walked(stage)
        held = (await store.held(limit=10)).items
        await store.reject_held([held[0].entry_uid])
        await start_backfill(await stage.feed(feed), stage.services)
        await walked(stage)

        assert (records[-1].reason, len(held)) == ("no-link", 4)
        assert len((await store.held(limit=10)).items) == 3  # what was dropped does not come back
        assert len(await stage.entries(feed)) == 2

    play(story)


def test_retention_keeps_what_came_from_an_archive(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feed = await archive(stage, 1)
        await start_backfill(await stage.feed(feed), stage.services)
        await walked(stage)
        stage.publish(feed, page(2000))
        stage.later(days=100)
        await stage.services.store.make_due([feed.id], stage.clock.now())
        await stage.pass_once()
        stage.later(days=100)

        await purge(stage.services)

        kept = await stage.entries(feed)
        assert sorted(one.title or "" for one in kept) == ["Title 10", "Title 11", "Title 2000"]

    play(story)


def test_a_feed_that_asks_for_its_archive_later_gets_it(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feed = await archive(stage, 2)

        await change_feed(feed.id, FeedChange(archive_backfill=True), stage.services)

        assert (await walked(stage))[-1].result == "done"
        assert len(await stage.entries(feed)) == 6

    play(story)
