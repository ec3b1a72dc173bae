"""One contract for two doors: REST and gRPC answer the same question with the same data.

Each row is one question, asked once by plain HTTP and once by a client that knows gRPC from
reflection only. What has to be equal is everything: every field of every item and every cursor.
"""

import asyncio
import http.client
import json
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import asynccontextmanager
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple

import grpc
import pytest
from msgspec.structs import replace
from tests.support.engine_harness import Stage, opened
from tests.support.feed_documents import atom, atom_entry, item, paper, rss, said
from tests.support.grpc_client import Visitor, reason_of, told, visiting
from tests.support.waiting import HANG_GUARD_SEC

from feedmill.canonicalise.urls import split_url
from feedmill.config import AccessConfig
from feedmill.interfaces.grpc.server import grpc_server
from feedmill.interfaces.rest.server import rest_server
from feedmill_demo.server.script import document

HINTED = (
    "<ttl>60</ttl><skipHours><hour>3</hour></skipHours><skipDays><day>Sunday</day></skipDays>"
    '<atom:link rel="hub" href="https://hub.example/"/>'
)
RICH = (
    "<item><title>Läß &amp; Ünïcode 漢字 \N{GRINNING FACE}</title><link>https://paper.example/r?a=1</link>"
    "<guid>rich-1</guid><author>ann@paper.example (Ann)</author><category>News</category>"
    '<category>Tech</category><enclosure url="https://paper.example/a.mp3" length="5" type="audio/mpeg"/>'
    "<description>&lt;p&gt;Text &lt;script&gt;x()&lt;/script&gt;&lt;/p&gt;</description>"
    "<pubDate>Mon, 13 Oct 2025 08:00:00.5 GMT</pubDate></item>"
)


class House(NamedTuple):
    """A mill with something of everything, and both its doors."""

    stage: Stage
    visitor: Visitor
    address: str
    names: dict[str, str]  # what stands for {…} in a question


Ask = Callable[[Callable[[House], Coroutine[Any, Any, None]]], None]


class Question(NamedTuple):
    """The same question for both doors."""

    path: str
    method: str
    fields: dict[str, Any] = {}  # noqa: RUF012  # read only
    body: dict[str, Any] | None = None
    verb: str = "GET"


QUESTIONS = {
    "all feeds": Question("/feeds", "Feeds/List"),
    "some feeds": Question("/feeds?limit=2", "Feeds/List", {"limit": 2}),
    "feeds of a tag": Question("/feeds?tag=news", "Feeds/List", {"tag": "news"}),
    "feeds of no tag": Question("/feeds?tag=none", "Feeds/List", {"tag": "none"}),
    "a page too large": Question("/feeds?limit=99999", "Feeds/List", {"limit": 99_999}),
    "a page too small": Question("/feeds?limit=-1", "Feeds/List", {"limit": -1}),
    "a feed": Question("/feeds/{rich}", "Feeds/Get", {"id": "{rich}"}),
    "a feed that fails": Question("/feeds/{broken}", "Feeds/Get", {"id": "{broken}"}),
    "its schedule": Question("/feeds/{rich}/schedule", "Feeds/Schedule", {"id": "{rich}"}),
    "one decision": Question(
        "/feeds/{rich}/schedule?limit=1", "Feeds/Schedule", {"id": "{rich}", "limit": 1}
    ),
    "the schedule of one that fails": Question(
        "/feeds/{broken}/schedule", "Feeds/Schedule", {"id": "{broken}"}
    ),
    "its health": Question("/feeds/{rich}/health", "Feeds/Health", {"id": "{rich}"}),
    "the health of one that fails": Question(
        "/feeds/{broken}/health", "Feeds/Health", {"id": "{broken}"}
    ),
    "the health of one that cannot be read": Question(
        "/feeds/{torn}/health", "Feeds/Health", {"id": "{torn}"}
    ),
    "its archive": Question("/feeds/{rich}/backfill", "Feeds/GetBackfill", {"id": "{rich}"}),
    "its hubs": Question("/feeds/{rich}/push", "Push/Get", {"id": "{rich}"}),
    "all entries": Question("/entries", "Entries/List"),
    "some entries": Question("/entries?limit=3", "Entries/List", {"limit": 3}),
    "entries after a cursor": Question(
        "/entries?limit=3&cursor={cursor}", "Entries/List", {"limit": 3, "cursor": "{cursor}"}
    ),
    "entries of a feed": Question("/feeds/{rich}/entries", "Entries/List", {"feed_id": "{rich}"}),
    "entries of feeds": Question(
        "/entries?feed={rich}&feed={plain}", "Entries/List", {"feed_ids": ["{rich}", "{plain}"]}
    ),
    "entries of a tag": Question("/entries?tag=news", "Entries/List", {"tag": "news"}),
    "entries of a category": Question(
        "/entries?category=Tech", "Entries/List", {"category": "Tech"}
    ),
    "entries by a word": Question("/entries?text=titl", "Entries/List", {"text": "titl"}),
    "entries since": Question(
        "/entries?since=2025-10-14T12:00:02Z", "Entries/List", {"since": "2025-10-14T12:00:02Z"}
    ),
    "entries until": Question(
        "/entries?until=2025-10-14T12:00:02Z", "Entries/List", {"until": "2025-10-14T12:00:02Z"}
    ),
    "an entry": Question("/entries/{entry}", "Entries/Get", {"entry_uid": "{entry}"}),
    "its revisions": Question(
        "/entries/{revised}/revisions", "Entries/Revisions", {"entry_uid": "{revised}"}
    ),
    "no revisions": Question(
        "/entries/{entry}/revisions", "Entries/Revisions", {"entry_uid": "{entry}"}
    ),
    "articles": Question("/articles", "Articles/List"),
    "some articles": Question("/articles?limit=2", "Articles/List", {"limit": 2}),
    "all events": Question("/events", "Events/List"),
    "some events": Question("/events?after=2&limit=3", "Events/List", {"after_seq": 2, "limit": 3}),
    "events of types": Question(
        "/events?types=feed.state,entry.updated",
        "Events/List",
        {"types": ["feed.state", "entry.updated"]},
    ),
    "events of a feed": Question("/events?feed={rich}", "Events/List", {"feed_ids": ["{rich}"]}),
    "the one right address": Question(
        "/canonicalize", "Addresses/Canonicalize", {"url": "{url}"}, {"url": "{url}"}, "POST"
    ),
    "a change": Question(
        "/feeds/{spare}", "Feeds/Change", {"id": "{spare}", "title": "T"}, {"title": "T"}, "PATCH"
    ),
    "a change back": Question(
        "/feeds/{spare}",
        "Feeds/Change",
        {"id": "{spare}", "update_mask": "title,tags,maxIntervalSec"},
        {"title": None, "tags": [], "max_interval_sec": None},
        "PATCH",
    ),
    "a nudge": Question("/feeds/{spare}/refetch", "Feeds/Refetch", {"id": "{spare}"}, {}, "POST"),
}

WRONG = {
    "events of the future": Question("/events?after=9999", "Events/List", {"after_seq": 9999}),
    "no such feed": Question("/feeds/nobody", "Feeds/Get", {"id": "nobody"}),
    "no health of it": Question("/feeds/nobody/health", "Feeds/Health", {"id": "nobody"}),
    "no such entry": Question("/entries/nothing", "Entries/Get", {"entry_uid": "nothing"}),
    "a made-up cursor": Question("/entries?cursor=abc", "Entries/List", {"cursor": "abc"}),
    "an address inside": Question(
        "/feeds", "Feeds/Add", {"url": "http://10.0.0.1/"}, {"url": "http://10.0.0.1/"}, "POST"
    ),
    "no address": Question("/feeds", "Feeds/Add", {"url": "::"}, {"url": "::"}, "POST"),
    "no feed there": Question(
        "/feeds", "Feeds/Add", {"url": "{nowhere}"}, {"url": "{nowhere}"}, "POST"
    ),
}


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    """Run a story in the one house of this file; it stands in a thread of its own."""
    standing: Future[tuple[House, asyncio.AbstractEventLoop, asyncio.Event]] = Future()

    async def stand() -> None:
        try:
            async with housed(tmp_path_factory.mktemp("house")) as house:
                end = asyncio.Event()
                standing.set_result((house, asyncio.get_running_loop(), end))
                await end.wait()
        except Exception as problem:
            if standing.done():
                raise
            standing.set_exception(problem)

    thread = Thread(target=asyncio.run, args=(stand(),))
    thread.start()
    house, loop, end = standing.result(HANG_GUARD_SEC)

    def run(story: Callable[[House], Coroutine[Any, Any, None]]) -> None:
        asyncio.run_coroutine_threadsafe(story(house), loop).result(HANG_GUARD_SEC)

    yield run
    loop.call_soon_threadsafe(end.set)
    thread.join(HANG_GUARD_SEC)


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS)
def test_both_doors_answer_alike(ask: Ask, question: Question) -> None:
    async def story(house: House) -> None:
        status, by_rest = await over_http(house, question)
        by_grpc = await house.visitor.ask(question.method, **filled(house, question.fields))

        assert status in (200, 202)
        assert bare(by_grpc) == bare(by_rest)
        assert bare(by_grpc) or question.path.endswith(("none", "revisions"))

    ask(story)


@pytest.mark.parametrize("question", WRONG.values(), ids=WRONG)
def test_both_doors_say_no_for_the_same_reason(ask: Ask, question: Question) -> None:
    async def story(house: House) -> None:
        status, problem = await over_http(house, question)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await house.visitor.ask(question.method, **filled(house, question.fields))

        assert 400 <= status < 500
        assert reason_of(caught.value) == problem["reason"]
        assert caught.value.details() == problem["detail"]

    ask(story)


def test_both_doors_give_the_same_bytes(ask: Ask) -> None:
    async def story(house: House) -> None:
        uid, fetch_id = house.names["entry"], house.names["fetch"]
        piece = await fetched(house, f"/entries/{uid}/raw")
        whole = await fetched(house, f"/raw/{fetch_id}")
        _, facts = await over_http(house, Question(f"/raw/{fetch_id}/headers", ""))
        parts = [told(one) async for one in house.visitor.stream("Entries/Raw", entry_uid=uid)]
        all_parts = [
            told(one) async for one in house.visitor.stream("Entries/Raw", fetch_id=fetch_id)
        ]

        assert b"".join(part["data"] for part in parts) == piece
        assert b"".join(part["data"] for part in all_parts) == whole
        assert piece in whole
        assert bare(all_parts[0]["fetch"]) == bare(facts)

    ask(story)


def test_a_subscription_is_the_same_by_either_door(ask: Ask) -> None:
    async def story(house: House) -> None:
        wish = {"url": house.names["fresh"], "title": "Mine", "tags": ["x"]}
        added = await house.visitor.ask("Feeds/Add", **wish)
        question = Question("/feeds", "", body=wish, verb="POST")
        status, known = await over_http(house, question)

        assert added["created"] is True
        assert status == 200
        assert bare({**added["feed"], "created": False}) == bare(known)

    ask(story)


@asynccontextmanager
async def housed(home: Path) -> AsyncIterator[House]:
    """The mill behind both doors; its clock stands still, so both look at the same moment."""
    async with opened(home, access=AccessConfig(requests_per_sec=0)) as stage:
        names = await furnish(stage)
        async with (
            grpc_server(stage.services) as bound,
            visiting(bound.port) as visitor,
            rest_server(stage.services, stage.watch(), port=0) as address,
        ):
            page = await visitor.ask("Entries/List", limit=3)
            yield House(stage, visitor, address, {**names, "cursor": page["next"]})


async def furnish(stage: Stage) -> dict[str, str]:
    """Feeds of several kinds with some history, and the names of things in it."""
    rich = await stage.add("/rich", document(rss(item(1), RICH, extra=HINTED), etag='"1"'))
    plain = await stage.add("/plain", document(atom(atom_entry(7), atom_entry(8))))
    broken = await stage.add("/broken", said(503, ("Retry-After", "600")))
    torn = await stage.add("/torn", document(b"<rss><channel><item><title>Cut</ti"))
    spare = await stage.add("/spare", paper(9))
    tagged = await stage.feed(rich)
    await stage.services.store.change_feed(replace(tagged, tags=("news",)))
    await stage.poll(rich, plain, broken, torn)
    stage.publish(rich, document(rss(item(1, text="Another text."), RICH, item(2), extra=HINTED)))
    await stage.poll(rich, plain, broken, times=2)
    stage.publisher.script("/fresh", paper(4), host="127.0.0.1")
    entries = await stage.entries(rich)
    by_title = {entry.title: entry for entry in entries}
    revised, unrevised = by_title["Title 1"], by_title["Title 2"]
    return {
        "rich": rich.id,
        "plain": plain.id,
        "broken": broken.id,
        "torn": torn.id,
        "spare": spare.id,
        "entry": unrevised.entry_uid,
        "revised": revised.entry_uid,
        "fetch": unrevised.raw_refs[0].fetch_id,
        "url": stage.publisher.url("/plain"),
        "fresh": stage.publisher.url("/fresh"),
        "nowhere": stage.publisher.url("/nowhere"),
    }


async def over_http(house: House, question: Question) -> tuple[int, Any]:
    """Status and document of a request by a plain client."""
    body = None if question.body is None else json.dumps(filled(house, question.body)).encode()
    path = question.path.format(**house.names)
    status, data = await asyncio.to_thread(_request, house.address, question.verb, path, body)
    return status, json.loads(data)


async def fetched(house: House, path: str) -> bytes:
    """The bytes at a path."""
    status, data = await asyncio.to_thread(_request, house.address, "GET", path, None)
    assert status == 200
    return data


def filled(house: House, fields: Any) -> Any:
    """The fields with the names of this house in them."""
    if isinstance(fields, str):
        return fields.format(**house.names)
    if isinstance(fields, dict):
        return {key: filled(house, value) for key, value in fields.items()}
    return [filled(house, one) for one in fields] if isinstance(fields, list) else fields


def bare(value: Any) -> Any:
    """Without what one wire can say and the other cannot: null, and the emptiness of a list."""
    if isinstance(value, list):
        return [bare(one) for one in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {"name", "value"}:
        return [value["name"], value["value"]]
    kept = ((key, bare(one)) for key, one in value.items())
    return {key: one for key, one in kept if one is not None and one != [] and one != {}}


def _request(address: str, verb: str, path: str, body: bytes | None) -> tuple[int, bytes]:
    parts = split_url(address)
    client = http.client.HTTPConnection(parts.host, int(parts.port), timeout=HANG_GUARD_SEC)
    headers = {} if body is None else {"Content-Type": "application/json"}
    client.request(verb, path, body=body, headers=headers)
    response = client.getresponse()
    data = response.read()
    client.close()
    return response.status, data
