"""The identity and near-duplicate fixtures of seeds 000 and 003, through every interface: an article once.

Two feeds. The first has a story three times (other markup, white space, tracking and guid), the second has it
once more under another guid; each has an article of its own. 000: one item has neither guid nor link.
"""

import hashlib
import json
import unicodedata
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import feedparser
import httpx
from tests.support.engine_harness import Stage, opened
from tests.support.feed_documents import item, rss
from tests.support.grpc_client import Visitor, visiting
from tests.support.mcp_client import Ask, agent
from tests.support.waiting import HANG_GUARD_SEC, hang_guard

from feedmill.client import Client
from feedmill.interfaces.grpc.server import grpc_server
from feedmill.interfaces.rest.server import rest_server
from feedmill.model.running.export import EXPORTS, ExportFilter, ExportName
from feedmill_demo.server.script import document

STORY = "The council met on Monday &amp; agreed on the bridge"
LINK = "https://paper.example/bridge"
DATE = "Tue, 14 Oct 2025 09:00:00 GMT"
FIRST = rss(
    item(1, guid="a", title="The  ﬁrst bridge", text=f"<p>{STORY}</p>", link=f"{LINK}?utm_source=feed", date=DATE),
    item(1, guid="b", title="The ﬁrst bridge ", text=f"<div><b>{STORY}</b></div>", link=f"{LINK}?utm_source=a", date=DATE),
    item(1, guid="c", title="The <i>ﬁrst</i> bridge", text=f"{STORY}\n", link=f"{LINK}#top", date=DATE),
    item(2, title="The mill", date=None),
    "<item><title>Neither guid nor link</title><description>Only a text.</description></item>",
)  # fmt: skip
SECOND = rss(
    item(1, guid="other", title="THE FIRST BRIDGE", text=STORY, link=f"{LINK}/", date=DATE),
    item(3, title="Another x² story", date=DATE),
)
TITLES = ["Another x² story", "Neither guid nor link", "The mill", "The ﬁrst bridge"]


class House(NamedTuple):
    stage: Stage
    http: httpx.AsyncClient
    client: Client
    visitor: Visitor
    ask: Ask


@asynccontextmanager
async def furnished(home: Path) -> AsyncIterator[House]:
    async with hang_guard(), opened(home) as stage:
        first = await stage.add("/first", document(FIRST))
        second = await stage.add("/second", document(SECOND))
        await stage.poll(first)
        stage.later(seconds=10)
        await stage.poll(second)
        async with (
            rest_server(stage.services, stage.watch(), port=0) as address,
            httpx.AsyncClient(base_url=address, trust_env=False, timeout=HANG_GUARD_SEC) as http,
            Client(address) as client,
            grpc_server(stage.services) as bound,
            visiting(bound.port) as visitor,
            agent(stage) as ask,
        ):
            yield House(stage, http, client, visitor, ask)


async def by_rest(house: House) -> list[str | None]:
    return [one["title"] for one in (await house.http.get("/entries")).json()["items"]]


async def by_ndjson(house: House) -> list[str | None]:
    answer = await house.http.get("/entries", headers={"Accept": "application/x-ndjson"})
    return [json.loads(line)["title"] for line in answer.text.splitlines()]


async def by_client(house: House) -> list[str | None]:
    return [one.title async for one in house.client.entries()]


async def by_grpc(house: House) -> list[str | None]:
    return [one["title"] for one in (await house.visitor.ask("Entries/List"))["items"]]


async def by_mcp(house: House) -> list[str | None]:
    found = await house.ask("list_entries")
    shown = {unicodedata.normalize("NFKC", title): title for title in TITLES}  # as agents get texts
    return [shown.get(one["untrusted"]["title"]) for one in found["entries"]]


async def by_atom(house: House) -> list[str | None]:
    return _parsed((await house.http.get("/collections/feed.atom")).content)


async def by_rss(house: House) -> list[str | None]:
    return _parsed((await house.http.get("/collections/feed.rss")).content)


async def by_json_feed(house: House) -> list[str | None]:
    found = (await house.http.get("/collections/feed.json")).json()
    return [one["title"] for one in found["items"]]


async def by_articles(house: House) -> list[str | None]:
    return [one["title"] for one in (await house.http.get("/articles")).json()["items"]]


def _parsed(body: bytes) -> list[str | None]:
    return [one.title for one in feedparser.parse(body).entries]


READERS = (
    by_rest,
    by_ndjson,
    by_client,
    by_grpc,
    by_mcp,
    by_atom,
    by_rss,
    by_json_feed,
    by_articles,
)


async def test_every_list_and_meta_feed_shows_each_article_once(tmp_path: Path) -> None:
    async with furnished(tmp_path) as house:
        shown = {read.__name__: sorted(map(str, await read(house))) for read in READERS}

        assert shown == {read.__name__: TITLES for read in READERS}
        found = (await house.http.get("/entries?duplicates=include")).json()["items"]
        bridges = [one for one in found if "bridge" in one["title"].lower()]
        assert len({one["article_id"] for one in bridges}) == 1
        first = [one["entry_uid"] for one in bridges if one["duplicate_of"] is None]
        assert {one["duplicate_of"] for one in bridges} == {None, *first}
        assert len(first) == 1
        _check_recipe(
            await _rows(house.stage.services.store, "entries"),
            await _rows(house.stage.services.store, "articles"),
        )


def _check_recipe(entries: list[dict[str, Any]], articles: list[dict[str, Any]]) -> None:
    """The literal recipe of 003 gives the stored hash, from exported rows alone: as readers get them."""
    links = {one["article_hash"]: one["link"] for one in articles}
    assert len(links) == len(TITLES)
    for entry in entries:
        title = unicodedata.normalize("NFKC", entry["title"]).strip().lower()
        summary = unicodedata.normalize("NFKC", entry["summary"] or "")[:100]
        link = links[entry["article_hash"]] or ""
        published = (entry["published"] or "").replace(".000000Z", "+00:00")
        undated = f"fallback:{hashlib.sha256(link.encode()).hexdigest()[:8]}"  # D11: never "now"
        recipe = f"{title}|{link}|{published or undated}|{summary}"
        assert hashlib.sha256(recipe.encode()).hexdigest() == entry["article_hash"], entry


async def _rows(store: Any, name: ExportName) -> list[dict[str, Any]]:
    batch = await store.export_batch(name, ExportFilter())
    names = [field.name for field in EXPORTS[name]]
    return [dict(zip(names, row, strict=True)) for row in batch.rows]
