"""Archive documents of our own feeds: complete, stable, and walked by a feedmill that subscribes (RFC 5005 §4)."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import feedparser
import httpx
import pytest
from tests.support.engine_harness import Stage, opened
from tests.support.feed_documents import ATOM, atom, atom_entry
from tests.support.feed_validation import complaints
from tests.support.job_kinds import run_due
from tests.support.waiting import HANG_GUARD_SEC, hang_guard

from feedmill.config import MetaFeedConfig
from feedmill.engine.jobs.backfill import KIND
from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.engine.service.jobs import start_backfill
from feedmill.engine.subscribe.add_feed import subscribe_unchecked
from feedmill.interfaces.rest.server import rest_server
from feedmill.model.feed import Feed
from feedmill_demo.server.script import document

FINAL = "private, max-age=86400, immutable"
# How long after the last ones entries come in, in hours, and how many: months, days and one busy minute.
ARRIVALS = ((0, 2), (24 * 40, 1), (24, 2), (1, 4), (0.02, 5), (24 * 30, 1), (2, 2), (1, 1))
TOTAL = sum(count for _, count in ARRIVALS)

Story = Callable[[Stage, Feed, httpx.AsyncClient], Awaitable[None]]


@pytest.fixture
def told(tmp_path: Path, store_url: str | None) -> Callable[[Story], None]:
    """A mill with pages of three, whose one feed has grown over three months."""

    def run(story: Story) -> None:
        async def whole() -> None:
            config = MetaFeedConfig(page_entries=3)
            async with (
                hang_guard(),
                opened(tmp_path / "own", store_url=store_url, metafeed=config) as stage,
            ):
                feed = await stage.add("/feed", document(atom()))
                await arrive(stage, feed)
                async with (
                    rest_server(stage.services, Lifecycle("the test"), port=0) as address,
                    httpx.AsyncClient(
                        base_url=address, trust_env=False, timeout=HANG_GUARD_SEC
                    ) as http,
                ):
                    await story(stage, feed, http)

        asyncio.run(whole())

    return run


async def arrive(stage: Stage, feed: Feed) -> None:
    number = 0
    for hours, count in ARRIVALS:
        stage.later(hours=hours)
        entries = [atom_entry(number + at) for at in range(1, count + 1)]
        number += count
        stage.publish(feed, document(atom(*entries), ATOM))
        await stage.poll(feed)


def links(answer: httpx.Response) -> dict[str, str]:
    return {link["rel"]: link["url"] for link in answer.links.values()}


def titles(answer: httpx.Response, kind: str = "atom") -> list[str]:
    if kind == "json":
        return [one["title"] for one in answer.json()["items"]]
    return [entry.title for entry in feedparser.parse(answer.content).entries]


async def walk(http: httpx.AsyncClient, address: str) -> list[httpx.Response]:
    """The current document, and the archive documents behind it."""
    pages = [await http.get(address)]
    while (older := links(pages[-1]).get("prev-archive")) is not None:
        pages.append(await http.get(older))
        assert pages[-1].status_code == 200, pages[-1].text
    return pages


@pytest.mark.parametrize("kind", ["atom", "rss", "json"])
def test_current_document_and_its_archives_hold_every_entry(
    told: Callable[[Story], None], kind: str
) -> None:
    async def story(_: Stage, feed: Feed, http: httpx.AsyncClient) -> None:
        current, *archives = await walk(http, f"/feeds/{feed.id}/feed.{kind}")

        old = [title for page in archives for title in titles(page, kind)]
        assert len(old) == len(set(old))
        assert {*titles(current, kind), *old} == {f"Title {n}" for n in range(1, TOTAL + 1)}
        assert [page.url.params["archive"] for page in archives] == [
            *("2025-12-24T13", "2025-11-24T13:01", "2025-11-24T13:00", "2025-11-24T12"),
            *("2025-11-23", "2025-10"),
        ]
        for page in archives:
            assert complaints(page.content, kind) == []
            assert links(page)["current"] == links(current)["self"]
            assert not {"first", "next", "prev", "hub"} & links(page).keys()
        newer = [links(page).get("next-archive") for page in archives]
        assert newer == [None, *(links(page)["self"] for page in archives[:-1])]
        assert [page.headers["cache-control"] == FINAL for page in archives] == [
            one is not None for one in newer
        ]
        if kind != "json":
            assert all(b"archive xmlns:fh" in page.content for page in archives)
            assert b"archive xmlns:fh" not in current.content

    told(story)


def test_archive_documents_stay_as_they_are_when_entries_come_and_lose_only_what_is_removed(
    told: Callable[[Story], None],
) -> None:
    async def story(stage: Stage, feed: Feed, http: httpx.AsyncClient) -> None:
        before = (await walk(http, f"/feeds/{feed.id}/feed.atom"))[2:]
        stage.later(hours=30)
        grave = '<at:deleted-entry ref="urn:item:9" when="2026-01-10T00:00:00Z"/>'
        new = atom(*(atom_entry(100 + n) for n in range(5)), extra=grave)
        stage.publish(feed, document(new, ATOM))
        await stage.poll(feed)

        again = [await http.get(str(page.url)) for page in before]
        whole = await walk(http, f"/feeds/{feed.id}/feed.atom")

        for old, now in zip(before, again, strict=True):
            assert titles(now) == [title for title in titles(old) if title != "Title 9"]
            assert (now.content == old.content) is ("Title 9" not in titles(old))
        seen = {title for page in whole for title in titles(page)}
        assert seen == {f"Title {n}" for n in (*range(1, TOTAL + 1), *range(100, 105)) if n != 9}

    told(story)


def test_period_that_is_none_or_too_long_is_refused(told: Callable[[Story], None]) -> None:
    async def story(stage: Stage, feed: Feed, http: httpx.AsyncClient) -> None:
        wrong = await http.get(f"/feeds/{feed.id}/feed.atom?archive=2026-13")
        many = atom(*(atom_entry(n) for n in range(1_000, 1_201)))
        stage.publish(feed, document(many, ATOM))
        await stage.poll(feed)
        year = stage.clock.now().year
        large = await http.get(f"/feeds/{feed.id}/feed.atom?archive={year}")
        whole = await walk(http, f"/feeds/{feed.id}/feed.atom")

        assert (wrong.status_code, wrong.json()["type"].rpartition("/")[2]) == (
            400,
            "bad-parameter",
        )
        assert (large.status_code, large.json()["type"].rpartition("/")[2]) == (404, "not-found")
        assert len({title for page in whole for title in titles(page)}) == TOTAL + 201

    told(story)


def test_feedmill_that_subscribes_to_feedmill_gets_every_entry_once(
    told: Callable[[Story], None], tmp_path: Path
) -> None:
    async def story(stage: Stage, feed: Feed, http: httpx.AsyncClient) -> None:
        url = str(http.base_url.join(f"/feeds/{feed.id}/feed.atom"))
        async with opened(tmp_path / "reader", clock=stage.clock) as reader:
            own = (await subscribe_unchecked(url, reader.services)).feed
            await reader.poll(own)
            await start_backfill(await reader.feed(own), reader.services)

            records = await run_due(reader.services, KIND)

            assert records[-1].reason == "no-link"
            found = [entry.title for entry in await reader.entries(own)]
            assert sorted(found, key=str) == sorted(f"Title {n}" for n in range(1, TOTAL + 1))
            marked = [entry.backfill for entry in await reader.entries(own)]
            assert marked.count(False) == 3

    told(story)
