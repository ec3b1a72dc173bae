"""Full texts from the poll to the stored text: politeness, credentials, failures, replay; on both stores."""

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace
from tests.support.engine_harness import Play, Stage
from tests.support.feed_documents import rss, said
from tests.support.job_kinds import run_due
from tests.support.web_pages import extracting_here, page, served

from feedmill.config import FullTextConfig
from feedmill.engine.jobs.fulltext import KIND
from feedmill.engine.service import full_texts
from feedmill.errors import NotFoundError
from feedmill.extract import VERSION
from feedmill.model.derived.fetched import FullText
from feedmill.model.page import EntryFilter
from feedmill.model.running.job import JobFilter, JobRunRecord
from feedmill_demo.server.script import Answer, document

ALLOW = Answer(status=404)
ON = FullTextConfig(tags=("news",), deadline_sec=120.0)


def feed_of(
    stage: Stage, *numbers: int, text: str = "In short.", host: str = "127.0.0.1"
) -> Answer:
    items = [
        f"<item><guid>{n}</guid><title>Story {n}</title><description>{text}</description>"
        f"<link>{stage.publisher.url(f'/story/{n}', host=host)}</link></item>"
        for n in numbers
    ]
    return document(rss(*items))


async def texts(stage: Stage) -> dict[str, FullText]:
    found = (await stage.services.store.full_texts()).items
    return {one.url.rpartition("/")[2]: one for one in found}


async def polled(stage: Stage, *numbers: int, **overrides: Any) -> Sequence[JobRunRecord]:
    """A feed with these entries, polled, and the jobs that follow."""
    if "full_text" not in overrides:
        overrides["full_text"] = True
    await stage.add("/feed", feed_of(stage, *numbers), **overrides)
    await stage.pass_once()
    return await run_due(extracting_here(stage.services), KIND)


def test_pages_of_new_entries_are_fetched_and_extracted(play: Play) -> None:
    async def story(stage: Stage) -> None:
        stage.publisher.script("/robots.txt", ALLOW, host="127.0.0.1")
        for number in (1, 2):
            stage.publisher.script(f"/story/{number}", served(page(number)), host="127.0.0.1")

        records = await polled(stage, 1, 2)

        found = await texts(stage)
        assert [one.result for one in records] == ["done", "done"]
        assert (found["1"].state, found["1"].language) == ("extracted", "en")
        assert "The end of story 1" in (found["1"].html or "")
        assert "onclick" not in (found["1"].html or "")
        assert found["1"].version == VERSION
        assert len(stage.requests("/robots.txt")) == 1
        assert "text/html" in (stage.requests("/story/1")[0].header("accept") or "")
        told = await stage.events("fulltext.extracted")
        assert {event.entry_uid for event in told} == {one.entry_uid for one in found.values()}
        assert await stage.services.store.problems() == ()

    play(story, fulltext=ON)


@pytest.mark.parametrize(("tags", "own", "wanted"), [
    pytest.param((), None, 0, id="nobody asked"),
    pytest.param(("news",), None, 1, id="by tag"),
    pytest.param(("news",), False, 0, id="feed opted out"),
])  # fmt: skip
def test_only_feeds_that_opted_in_are_fetched(
    play: Play, tags: tuple[str, ...], *, own: bool | None, wanted: int
) -> None:
    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", feed_of(stage, 1), full_text=own)
        await stage.services.store.change_feed(replace(feed, tags=tags))
        await stage.pass_once()

        assert len((await stage.services.store.jobs(JobFilter(kind="fulltext"))).items) == wanted

    play(story, fulltext=ON)


def test_robots_txt_forbids_the_page_and_the_feed_stays_as_it_is(play: Play) -> None:
    async def story(stage: Stage) -> None:
        rules = Answer(
            headers=(("Content-Type", "text/plain"),), body=b"User-agent: *\nDisallow: /story"
        )
        stage.publisher.script("/robots.txt", rules, host="127.0.0.1")

        await polled(stage, 1)

        (found,) = (await texts(stage)).values()
        assert (found.state, found.reason) == ("failed", "robots")
        assert stage.requests("/story/1") == ()
        (event,) = await stage.events("fulltext.failed")
        assert event.data["reason"] == "robots"

    play(story, fulltext=ON)


def test_crawl_delay_of_robots_txt_lies_between_two_pages(play: Play) -> None:
    async def story(stage: Stage) -> None:
        rules = Answer(
            headers=(("Content-Type", "text/plain"),), body=b"User-agent: *\nCrawl-delay: 20"
        )
        stage.publisher.script("/robots.txt", rules, host="127.0.0.1")
        for number in (1, 2):
            stage.publisher.script(f"/story/{number}", served(page(number)), host="127.0.0.1")

        first = await polled(stage, 1, 2)
        stage.later(seconds=21)
        second = await run_due(extracting_here(stage.services), KIND)

        assert [(one.result, one.reason) for one in first] == [
            ("done", "extracted"),
            ("later", "crawl-delay"),
        ]
        assert [one.result for one in second] == ["done"]

    play(story, fulltext=ON)


@pytest.mark.parametrize(
    ("answer", "reason", "detail"),
    [
        pytest.param(said(404), "unreachable", "not-found", id="gone"),
        pytest.param(served(page(1, words=30)), "too-short", "words", id="a notice"),
        pytest.param(
            served(page(1, words=120, head='<script>{"isAccessibleForFree": false}</script>')),
            "paywall",
            "words",
            id="paywall",
        ),
        pytest.param(served(b"%PDF-1.7 x", "application/pdf"), "not-html", "pdf", id="a PDF"),
    ],
)
def test_page_without_a_full_text_keeps_the_feeds_content(
    play: Play, answer: Answer, reason: str, detail: str
) -> None:
    async def story(stage: Stage) -> None:
        stage.publisher.script("/robots.txt", ALLOW, host="127.0.0.1")
        stage.publisher.script("/story/1", answer, host="127.0.0.1")

        await polled(stage, 1)

        (found,) = (await texts(stage)).values()
        assert (found.state, found.reason, found.html) == ("failed", reason, None)
        assert detail in found.detail
        (entry,) = await stage.entries()
        shown = await full_texts.entry_with_full_text(entry.entry_uid, stage.services)
        assert (shown["full_text"], shown["summary"]) == (None, "In short.")

    play(story, fulltext=ON)


def test_server_error_is_tried_again_and_given_up_after_three(play: Play) -> None:
    async def story(stage: Stage) -> None:
        stage.publisher.script("/robots.txt", ALLOW, host="127.0.0.1")
        stage.publisher.script("/story/1", said(500), host="127.0.0.1")

        results = [one.result for one in await polled(stage, 1)]
        for _ in range(4):
            stage.later(hours=12)
            await stage.pass_once()
            results += [one.result for one in await run_due(extracting_here(stage.services), KIND)]

        (found,) = (await texts(stage)).values()
        assert results == ["retry", "retry", "done"]
        assert (found.reason, found.detail.partition(":")[0]) == ("unreachable", "server-error")

    play(story, fulltext=ON)


def test_credentials_of_the_feed_go_to_its_own_host_only(play: Play) -> None:
    async def story(stage: Stage) -> None:
        for host in ("127.0.0.1", "127.0.1.1"):
            stage.publisher.script("/robots.txt", ALLOW, host=host)
            stage.publisher.script("/story/1", served(page(1)), host=host)
        own: dict[str, Any] = {"full_text": True, "username": "ada", "password": "secret"}
        await stage.add("/near", feed_of(stage, 1), **own)
        await stage.add("/far", feed_of(stage, 1, host="127.0.1.1"), **own)
        await stage.pass_once()
        await run_due(extracting_here(stage.services), KIND)

        asked = {
            (one.header("host") or "").partition(":")[0]: one.header("authorization")
            for one in stage.requests("/story/1")
        }
        assert asked["127.0.0.1"] is not None
        assert asked["127.0.1.1"] is None

    play(story, fulltext=ON, addresses=2)


def test_stored_pages_are_extracted_again_by_another_rule(play: Play) -> None:
    async def story(stage: Stage) -> None:
        stage.publisher.script("/robots.txt", ALLOW, host="127.0.0.1")
        aside = page(1).replace(
            "<footer>",
            "<div id='own'>" + "<p>Mine alone, word by word.</p>" * 30 + "</div><footer>",
        )
        stage.publisher.script("/story/1", served(aside), host="127.0.0.1")
        await polled(stage, 1)
        (before,) = (await texts(stage)).values()
        feed = await stage.services.store.feed(before.feed_id)
        assert feed is not None
        own = replace(feed.overrides, full_text_selector="#own")
        await stage.services.store.change_feed(replace(feed, overrides=own))

        nothing = await full_texts.replay_pages(extracting_here(stage.services), VERSION)
        done = await full_texts.replay_pages(
            extracting_here(stage.services), VERSION, everything=True
        )

        (after,) = (await texts(stage)).values()
        assert (nothing.pages, nothing.current) == (0, 1)
        assert (done.pages, done.changed) == (1, 1)
        assert after.extractor == "selector"
        assert "Mine alone" in (after.html or "")
        assert len(stage.requests("/story/1")) == 1

    play(story, fulltext=ON)


def test_entries_and_metafeeds_carry_the_full_text_on_request(play: Play) -> None:
    async def story(stage: Stage) -> None:
        stage.publisher.script("/robots.txt", ALLOW, host="127.0.0.1")
        stage.publisher.script("/story/1", served(page(1)), host="127.0.0.1")
        await polled(stage, 1)
        (entry,) = await stage.entries()

        listed = await full_texts.entries_with_full_text(EntryFilter(), stage.services)
        (whole,) = await full_texts.with_full_content((entry,), stage.services)

        assert b"The end of story 1" in bytes(listed.items[0])
        assert "The end of story 1" in (whole.content or "")
        with pytest.raises(NotFoundError):
            await full_texts.get_full_text("nobody", stage.services)

    play(story, fulltext=ON)


def test_pages_are_fetched_on_request_although_nobody_opted_in(play: Play) -> None:
    async def story(stage: Stage) -> None:
        stage.publisher.script("/robots.txt", ALLOW, host="127.0.0.1")
        stage.publisher.script("/story/1", served(page(1)), host="127.0.0.1")
        await polled(stage, 1, full_text=None)
        (entry,) = await stage.entries()
        with pytest.raises(NotFoundError, match="was not fetched"):
            await full_texts.get_full_text(entry.entry_uid, stage.services)

        for feed_id in (None, entry.feed_id):
            uids = () if feed_id else (entry.entry_uid,)
            queued = await full_texts.queue_pages(stage.services, entry_uids=uids, feed_id=feed_id)
            await run_due(extracting_here(stage.services), KIND)
            assert queued == [entry.entry_uid]

        assert len(stage.requests("/story/1")) == 2
        found = await full_texts.get_full_text(entry.entry_uid, stage.services)
        assert found.state == "extracted"

    play(story)


def test_job_of_an_entry_that_is_gone_ends_quietly(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", feed_of(stage, 1), full_text=True)
        await stage.pass_once()
        await stage.services.store.change_feed(
            replace(await stage.feed(feed), overrides=replace(feed.overrides, full_text=False))
        )

        records = await run_due(extracting_here(stage.services), KIND)

        assert [(one.result, one.reason) for one in records] == [("done", "not-wanted")]
        assert await texts(stage) == {}

    play(story, fulltext=ON)
