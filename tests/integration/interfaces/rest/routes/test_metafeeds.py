"""Meta-feeds over HTTP: a real server, real entries, and readers that we did not write."""

import json
import re
from base64 import b64encode
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import feedparser
import httpx
import pytest
from msgspec.structs import replace
from tests.support.engine_harness import Stage, opened
from tests.support.feed_documents import item, numbered, rss
from tests.support.feed_validation import complaints, strict_tree
from tests.support.waiting import HANG_GUARD_SEC, hang_guard

from feedmill.config import MetaFeedConfig
from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.engine.service.auth import issue_token
from feedmill.interfaces.rest.server import rest_server
from feedmill.model.feed import Feed
from feedmill_demo.server.script import document

A = "{http://www.w3.org/2005/Atom}"
KINDS = ("atom", "rss", "json")
TYPES = {
    "atom": "application/atom+xml; charset=utf-8",
    "rss": "application/rss+xml; charset=utf-8",
    "json": "application/feed+json",
}
in_every_format = pytest.mark.parametrize("kind", KINDS)

Mill = Callable[..., AbstractAsyncContextManager[tuple[Stage, Feed, httpx.AsyncClient]]]


@pytest.fixture
def mill(tmp_path: Path) -> Mill:
    """A mill with one feed of twelve entries, tagged news, and its door open."""

    @asynccontextmanager
    async def opening(**parts: Any) -> AsyncIterator[tuple[Stage, Feed, httpx.AsyncClient]]:
        async with hang_guard(), opened(tmp_path, **parts) as stage:
            feed = await stage.add("/feed", document(numbered(*range(1, 13))))
            feed = await stage.poll(feed)
            await stage.services.store.change_feed(feed_with_tags(feed))
            async with (
                rest_server(stage.services, Lifecycle("the test"), port=0) as address,
                httpx.AsyncClient(
                    base_url=address, trust_env=False, timeout=HANG_GUARD_SEC
                ) as http,
            ):
                yield stage, feed, http

    return opening


def feed_with_tags(feed: Feed) -> Feed:
    return replace(feed, tags=("news", "späte Post"))


def links(answer: httpx.Response) -> dict[str, str]:
    return {link["rel"]: link["url"] for link in answer.links.values()}


def titles(answer: httpx.Response, kind: str) -> list[str]:
    if kind == "json":
        return [one["title"] for one in answer.json()["items"]]
    return [entry.title for entry in feedparser.parse(answer.content).entries]


@in_every_format
async def test_every_address_gives_a_valid_feed(mill: Mill, kind: str) -> None:
    async with mill() as (_, feed, http):
        for path in (
            f"/collections/feed.{kind}",
            f"/collections/feed.{kind}?tag=news&feed={feed.id}&q=Title&limit=5&since=2020-01-01",
            f"/feeds/{feed.id}/feed.{kind}",
            f"/tags/news/feed.{kind}",
            f"/tags/sp%C3%A4te%20Post/feed.{kind}",
            f"/tags/nothing/feed.{kind}",
        ):
            answer = await http.get(path)

            assert answer.status_code == 200, answer.text
            assert answer.headers["content-type"] == TYPES[kind]
            assert answer.headers["cache-control"] == "private, max-age=300"
            assert complaints(answer.content, kind) == []
            own = links(answer)["self"]
            assert own.startswith(str(http.base_url).rstrip("/"))
            assert (await http.get(own)).content == answer.content


@in_every_format
async def test_following_next_shows_every_entry_once_and_prev_leads_back(
    mill: Mill, kind: str
) -> None:
    async with mill() as (_, __, http):
        address: str | None = f"/tags/news/feed.{kind}?limit=5"
        pages: list[httpx.Response] = []
        while address is not None:
            pages.append(await http.get(address))
            address = links(pages[-1]).get("next")

        seen = [title for page in pages for title in titles(page, kind)]
        assert seen == [f"Title {number}" for number in range(12, 0, -1)]
        assert [len(titles(page, kind)) for page in pages] == [5, 5, 2]
        back = await http.get(links(pages[2])["prev"])
        assert titles(back, kind) == titles(pages[1], kind)
        front = await http.get(links(back)["prev"])
        assert titles(front, kind) == titles(pages[0], kind)
        assert "prev" not in links(front)
        assert {links(page)["first"] for page in pages} == {links(pages[0])["self"]}


async def test_the_links_of_the_document_are_those_of_the_answer(mill: Mill) -> None:
    async with mill() as (_, __, http):
        first = await http.get("/collections/feed.atom?limit=4")
        answer = await http.get(links(first)["next"])

        said = {
            link.get("rel"): link.get("href")
            for link in strict_tree(answer.content).findall(f"{A}link")
        }
        told_by_header = links(answer)
        assert said["self"] == told_by_header["self"]
        assert said["next"] == told_by_header["next"]
        assert said["previous"] == told_by_header["prev"]
        assert said["first"] == told_by_header["first"]
        assert json.loads((await http.get("/collections/feed.json?limit=4")).content)["next_url"]


@in_every_format
async def test_a_reader_that_has_the_page_gets_no_body_until_it_changes(
    mill: Mill, kind: str
) -> None:
    async with mill() as (stage, feed, http):
        path = f"/feeds/{feed.id}/feed.{kind}"
        first = await http.get(path)
        by_tag = {"If-None-Match": f'"other", W/{first.headers["etag"]}'}
        by_date = {"If-Modified-Since": first.headers["last-modified"]}

        stage.later(hours=1)
        for known in (by_tag, by_date, {"If-None-Match": "*"}):
            answer = await http.get(path, headers=known)
            assert (answer.status_code, answer.content) == (304, b"")
            assert answer.headers["etag"] == first.headers["etag"]
            assert answer.headers["last-modified"] == first.headers["last-modified"]
            assert "link" in answer.headers
        stale = {"If-None-Match": '"other"'} | by_date  # the tag decides when both are there
        assert (await http.get(path, headers=stale)).status_code == 200

        stage.publish(feed, document(numbered(*range(1, 14))))
        await stage.poll(feed)
        for known in (by_tag, by_date):
            answer = await http.get(path, headers=known)
            assert answer.status_code == 200
            assert titles(answer, kind)[0] == "Title 13"
            assert answer.headers["last-modified"] != first.headers["last-modified"]


async def test_head_is_as_get_without_the_body(mill: Mill) -> None:
    async with mill() as (_, __, http):
        get, head = await http.get("/tags/news/feed.rss"), await http.head("/tags/news/feed.rss")

        same = ("etag", "link", "content-type", "content-length", "cache-control", "last-modified")
        assert head.content == b""
        assert [head.headers[name] for name in same] == [get.headers[name] for name in same]


async def test_a_limit_is_clamped(mill: Mill) -> None:
    async with mill() as (_, __, http):
        for query, count in (("limit=0", 1), ("limit=-5", 1), ("limit=9999", 12), ("", 12)):
            answer = await http.get(f"/collections/feed.json?{query}")

            assert len(answer.json()["items"]) == count


PROBLEMS = (
    ("/feeds/nobody/feed.atom", 404, "not-found"),
    ("/collections/feed.opml", 404, "no-such-route"),
    ("/collections/feed.atom?cursor=zzz", 400, "bad-cursor"),
    ("/collections/feed.atom?cursor=", 400, "bad-cursor"),
    ("/collections/feed.atom?limit=many", 400, "bad-parameter"),
    ("/collections/feed.atom?since=yesterdayish", 400, "bad-parameter"),
    (f"/collections/feed.rss?{'&'.join(f'feed={n}' for n in range(600))}", 400, "bad-parameter"),
    (f"/tags/{'x' * 101}/feed.atom", 400, "bad-parameter"),
    ("/tags/a/b/feed.atom", 404, "no-such-route"),
    ("/feeds/..%2f..%2fetc/feed.atom", 404, "no-such-route"),
)


async def test_what_has_no_meaning_is_a_problem(mill: Mill) -> None:
    async with mill() as (_, __, http):
        for path, status, code in PROBLEMS:
            answer = await http.get(path)

            assert (answer.status_code, answer.json()["type"]) == (status, f"/problems/{code}")
            assert answer.headers["content-type"] == "application/problem+json"


HOSTILE_NAMES = (
    "a%0d%0aSet-Cookie:%20x=y",
    "%22%3E%3Cscript%3E",
    "%00%01",
    "]]%3E",
    "%ff%fe",
    "a%3E;rel=evil",
)


@in_every_format
async def test_a_hostile_name_of_a_collection_stays_inside_its_address(
    mill: Mill, kind: str
) -> None:
    async with mill() as (_, __, http):
        for tag in HOSTILE_NAMES:
            for path in (f"/tags/{tag}/feed.{kind}", f"/collections/feed.{kind}?tag={tag}"):
                answer = await http.get(path)

                assert answer.status_code == 200
                assert complaints(answer.content, kind) == []
                assert set(links(answer)) == {"self", "first"}
                assert "set-cookie" not in answer.headers
                assert re.fullmatch(r"[\x21-\x7e ]+", answer.headers["link"])


async def test_a_hostile_publisher_reaches_no_reader(mill: Mill) -> None:
    async with mill() as (stage, feed, http):
        evil = "]]>\x0b<script>__xss(1)</script><img src=x onerror=__xss(2)>"
        stage.publish(
            feed,
            document(
                rss(
                    item(99, title=evil.replace("\x0b", ""), text=evil.replace("\x0b", "")),
                    item(98, link="javascript:__xss(3)", title="&lt;script&gt;"),
                )
            ),
        )
        await stage.poll(feed)

        for kind in KINDS:
            answer = await http.get(f"/feeds/{feed.id}/feed.{kind}?limit=2")

            assert complaints(answer.content, kind) == []
            for trace in (b"__xss(1)", b"onerror", b"javascript:"):
                assert trace not in answer.content


async def test_with_a_token_readers_need_one_as_bearer_or_as_a_password(mill: Mill) -> None:
    async with mill() as (stage, _, http):
        secret = (
            await issue_token("reader", ("read",), stage.services.store, stage.services.clock)
        ).secret
        path = "/tags/news/feed.atom"
        pair = b64encode(f"anybody:{secret}".encode()).decode()
        good = ({"Authorization": f"Bearer {secret}"}, {"Authorization": f"Basic {pair}"})
        bad: tuple[dict[str, str], ...]
        bad = ({}, {"Authorization": "Basic !!!"}, {"Authorization": "Bearer fm_wrong"})

        for headers in good:
            assert (await http.get(path, headers=headers)).status_code == 200
        for headers in bad:
            answer = await http.get(path, headers=headers)
            assert answer.status_code == 401
            assert "Basic realm=" in answer.headers["www-authenticate"]
            assert "Bearer realm=" in answer.headers["www-authenticate"]
        assert (await http.get(f"{path}?token={secret}")).status_code == 401
        # Basic is for readers of feeds only.
        elsewhere = await http.get("/entries", headers={"Authorization": f"Basic {pair}"})
        assert elsewhere.status_code == 401


async def test_a_mill_behind_a_proxy_names_the_address_and_the_hub_that_it_is_told(
    mill: Mill,
) -> None:
    async with mill(
        metafeed=MetaFeedConfig(
            base_url="https://mill.example/m/", hub_url="https://hub.example/", max_age_sec=9
        )
    ) as (_, __, http):
        answer = await http.get("/tags/news/feed.atom?limit=3")

        assert links(answer)["self"] == "https://mill.example/m/tags/news/feed.atom?limit=3"
        assert links(answer)["hub"] == "https://hub.example/"
        assert len(titles(answer, "atom")) == 3
        assert answer.headers["cache-control"] == "private, max-age=9"


async def test_the_document_of_the_door_describes_these_addresses(mill: Mill) -> None:
    async with mill() as (_, __, http):
        paths = (await http.get("/openapi.json")).json()["paths"]

        for kind in KINDS:
            operation = paths[f"/collections/feed.{kind}"]["get"]
            names = {one["name"] for one in operation["parameters"]}
            filters = {"feed", "tag", "category", "q", "since", "until"}
            assert filters | {"archive", "cursor", "duplicates", "full_text", "limit"} == names
            assert operation["security"] == [{"token": []}, {"reader": []}]
            assert {"200", "304", "400", "401", "404"} <= set(operation["responses"])
            assert f"/feeds/{{feed_id}}/feed.{kind}" in paths
            assert f"/tags/{{tag}}/feed.{kind}" in paths
