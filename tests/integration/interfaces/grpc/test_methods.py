"""The gRPC door as an outside client finds it: what is there, what it answers, how it says no."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import grpc
import pytest
from tests.integration.interfaces.grpc.conftest import Serve
from tests.support.engine_harness import opened
from tests.support.feed_documents import atom, atom_entry, atom_link, numbered, paper, rss, said
from tests.support.grpc_client import PACKAGE, Visitor, reason_of, told, visiting
from tests.support.waiting import hang_guard

from feedmill.cluster.sketch import sketch
from feedmill.config import GrpcConfig
from feedmill.engine.ports.store import Store
from feedmill.errors import StoreError
from feedmill.interfaces.grpc.server import grpc_server
from feedmill.model.derived.cluster import SketchBatch, StoryText
from feedmill.model.derived.fetched import WantedFile
from feedmill.model.feed import PushSubscription
from feedmill.model.page import EntryFilter
from feedmill.model.running.job import NewJob
from feedmill_demo.server.script import document

NOT_FOUND = grpc.StatusCode.NOT_FOUND
BAD = grpc.StatusCode.INVALID_ARGUMENT


async def refused(
    visitor: Visitor, method: str, **fields: Any
) -> tuple[grpc.StatusCode, str | None]:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await visitor.ask(method, **fields)
    return caught.value.code(), reason_of(caught.value)


async def test_reflection_lists_every_service_and_its_methods(serve: Serve) -> None:
    async with serve() as (_, visitor):
        names = {
            service: sorted(visitor.method(f"{service}/List").containing_service.methods_by_name)
            for service in (
                f"{PACKAGE}.{one}" for one in ("Feeds", "Entries", "Articles", "Events", "Jobs")
            )
        }

        assert sorted(visitor.services) == [
            "feedmill.v1.Addresses",
            "feedmill.v1.Articles",
            "feedmill.v1.Clusters",
            "feedmill.v1.Cursors",
            "feedmill.v1.Entries",
            "feedmill.v1.Events",
            "feedmill.v1.Feeds",
            "feedmill.v1.Figures",
            "feedmill.v1.Hosts",
            "feedmill.v1.Jobs",
            "feedmill.v1.Media",
            "feedmill.v1.Push",
            "grpc.health.v1.Health",
            "grpc.reflection.v1alpha.ServerReflection",
        ]
        assert names["feedmill.v1.Feeds"] == [
            "Add", "CancelBackfill", "Change", "Get", "GetBackfill", "Health", "List", "Refetch",
            "Remove", "Schedule", "StartBackfill", "Stats",
        ]  # fmt: skip
        assert names["feedmill.v1.Entries"] == ["Get", "List", "Raw", "Revisions"]
        assert names["feedmill.v1.Jobs"] == ["Cancel", "Get", "List", "Retry"]
        assert names["feedmill.v1.Events"] == ["List", "Watch"]


@pytest.mark.parametrize("service", ["", "feedmill.v1.Feeds", "feedmill.v1.Events"])
async def test_the_health_service_says_that_it_serves(serve: Serve, service: str) -> None:
    async with serve() as (_, visitor):
        answer = await visitor.ask("grpc.health.v1.Health/Check", service=service)

        assert answer == {"status": 1}  # SERVING


async def test_a_subscription_is_added_changed_polled_and_given_up(serve: Serve) -> None:
    async with serve() as (stage, visitor):
        stage.publisher.script("/feed", paper(1, 2), host="127.0.0.1")
        url = stage.publisher.url("/feed")

        added = await visitor.ask("Feeds/Add", url=url, title="Mine", tags=["b", "a"], as_is=True)
        again = await visitor.ask("Feeds/Add", url=url, as_is=True)
        feed_id = added["feed"]["id"]
        changed = await visitor.ask("Feeds/Change", id=feed_id, paused=True, tags=["c"])
        resumed = await visitor.ask(
            "Feeds/Change", id=feed_id, paused=False, update_mask="paused,title,tags"
        )
        due = await visitor.ask("Feeds/Refetch", id=feed_id)
        await stage.pass_once()
        listed = await visitor.ask("Entries/List", feed_id=feed_id)
        gone = await visitor.ask("Feeds/Remove", id=feed_id)

        assert (added["created"], again["created"]) == (True, False)
        assert (added["feed"]["title"], added["feed"]["tags"]) == ("Mine", ["a", "b"])
        assert again["feed"]["id"] == feed_id
        assert (changed["paused"], changed["tags"], changed["title"]) == (True, ["c"], "Mine")
        assert (resumed["paused"], resumed["tags"], resumed["title"]) == (False, [], None)
        assert due["feed_id"] == feed_id
        assert sorted(entry["title"] for entry in listed["items"]) == ["Title 1", "Title 2"]
        assert gone == {}
        assert await refused(visitor, "Feeds/Get", id=feed_id) == (NOT_FOUND, "not-found")


async def test_a_page_with_several_feeds_is_answered_with_the_choice(serve: Serve) -> None:
    async with serve() as (stage, visitor):
        links = "".join(
            f'<link rel="alternate" type="application/rss+xml" title="{name}" href="/{name}">'
            for name in ("one", "two")
        )
        page = f"<!doctype html><html><head>{links}</head><body>Hello</body></html>".encode()
        html = (("Content-Type", "text/html"),)
        stage.publisher.script("/page", said(200, *html, body=page), host="127.0.0.1")
        stage.publisher.script("/one", paper(1), host="127.0.0.1")
        stage.publisher.script("/two", paper(2), host="127.0.0.1")
        url = stage.publisher.url("/page")

        several = await visitor.ask("Feeds/Add", url=url)
        chosen = await visitor.ask("Feeds/Add", url=url, choose=2)

        assert several["feed"] is None
        assert [found["title"] for found in several["choices"]] == ["one", "two"]
        assert chosen["feed"]["url"] == stage.publisher.url("/two")


async def test_a_secret_that_was_given_is_never_told(serve: Serve) -> None:
    async with serve() as (stage, visitor):
        wish = {
            "url": stage.publisher.url("/private"),
            "as_is": True,
            "username": "ann",
            "password": "hush-hush",
            "headers": [{"name": "X-Key", "value": "hush-hush"}],
        }

        added = await visitor.ask("Feeds/Add", **wish)
        shown = await visitor.ask("Feeds/Get", id=added["feed"]["id"])
        events = await visitor.ask("Events/List")

        assert added["feed"]["overrides"]["has_credentials"] is True
        assert added["feed"]["overrides"]["header_names"] == ["X-Key"]
        assert "hush-hush" not in f"{added}{shown}{events}"


async def test_pages_follow_each_other_by_their_cursors(serve: Serve) -> None:
    async with serve() as (stage, visitor):
        await stage.poll(await stage.add("/feed", paper(*range(1, 8))))
        seen: list[str] = []
        cursor: dict[str, str] = {}

        for _ in range(10):
            page = await visitor.ask("Entries/List", limit=3, **cursor)
            seen += [entry["entry_uid"] for entry in page["items"]]
            if page["next"] is None:
                break
            cursor = {"cursor": page["next"]}

        assert len(seen) == 7
        assert len(set(seen)) == 7


async def test_entries_are_searched(serve: Serve) -> None:
    async with serve() as (stage, visitor):
        await stage.poll(await stage.add("/feed", paper(1, 2)))

        found = await visitor.ask("Entries/List", query='"title 2"')
        newest = await visitor.ask("Entries/List", query="title", by_arrival=True)
        dated = await visitor.ask("Entries/List", query="title", by_publication=True)

        assert [one["title"] for one in found["items"]] == ["Title 2"]
        assert found["items"][0]["highlight"]["title"] == [{"text": "Title 2", "match": True}]
        assert len(newest["items"]) == len(dated["items"]) == 2


async def test_a_page_that_clients_would_not_take_is_shortened_and_nothing_is_lost(
    serve: Serve,
) -> None:
    async with serve(grpc=GrpcConfig(page_bytes=4000)) as (stage, visitor):
        await stage.poll(await stage.add("/feed", paper(*range(1, 31))))
        first = await visitor.ask("Entries/List", limit=30)
        seen = [entry["entry_uid"] for entry in first["items"]]

        while first["next"] is not None:
            first = await visitor.ask("Entries/List", limit=30, cursor=first["next"])
            seen += [entry["entry_uid"] for entry in first["items"]]

        assert len(first["items"]) < 30
        assert len(seen) == len(set(seen)) == 30


async def test_raw_bytes_come_in_parts_that_make_the_whole(serve: Serve) -> None:
    async with serve() as (stage, visitor):
        body = numbered(1, extra="<!--" + "x" * 200_000 + "-->")
        await stage.poll(await stage.add("/feed", document(body)))
        (entry,) = (await visitor.ask("Entries/List"))["items"]
        ref = entry["raw_refs"][0]

        whole = [
            told(part) async for part in visitor.stream("Entries/Raw", fetch_id=ref["fetch_id"])
        ]
        piece = [
            told(part) async for part in visitor.stream("Entries/Raw", entry_uid=entry["entry_uid"])
        ]

        assert b"".join(part["data"] for part in whole) == body
        assert whole[0]["length"] == len(body)
        assert len(whole) > 3
        assert whole[0]["fetch"]["response_headers"]
        assert (piece[0]["offset"], piece[0]["length"]) == (ref["offset"], ref["length"])
        assert b"".join(part["data"] for part in piece).startswith(b"<item>")


async def test_a_feed_that_fails_says_why_in_words(serve: Serve) -> None:
    async with serve() as (stage, visitor):
        feed = await stage.add("/feed", said(503))
        await stage.poll(feed)

        health = await visitor.ask("Feeds/Health", id=feed.id)

        assert (health["kind"], health["reason"]) == ("http", "unavailable")
        assert health["attempts"][0]["http_status"] == 503
        assert health["words"]


@pytest.mark.parametrize(
    ("method", "fields", "code", "reason"),
    [
        pytest.param("Feeds/Get", {"id": "nobody"}, NOT_FOUND, "not-found", id="no such feed"),
        pytest.param("Feeds/Health", {"id": ""}, NOT_FOUND, "not-found", id="no id"),
        pytest.param("Entries/Get", {"entry_uid": "x\x00y"}, NOT_FOUND, "not-found", id="no entry"),
        pytest.param("Entries/Revisions", {}, NOT_FOUND, "not-found", id="no uid"),
        pytest.param(
            "Entries/List", {"feed_id": "?"}, NOT_FOUND, "not-found", id="no feed of them"
        ),
        pytest.param("Entries/List", {"cursor": "???"}, BAD, "bad-cursor", id="a made-up cursor"),
        pytest.param("Feeds/List", {"cursor": "é"}, BAD, "bad-cursor", id="a foreign cursor"),
        pytest.param("Entries/List", {"text": " "}, BAD, "usage", id="an empty text"),
        pytest.param("Feeds/List", {"tag": ""}, BAD, "usage", id="an empty tag"),
        pytest.param("Events/List", {"after_seq": -1}, BAD, "usage", id="a negative number"),
        pytest.param("Events/List", {"types": ["nope"]}, BAD, "usage", id="a type that is none"),
        pytest.param(
            "Entries/List",
            {"by_publication": True, "by_arrival": True},
            BAD,
            "usage",
            id="two orders",
        ),
        pytest.param(
            "Entries/List",
            {"include_duplicates": True, "one_per_cluster": True},
            BAD,
            "usage",
            id="all and once",
        ),
        pytest.param("Clusters/List", {"min_feeds": 1}, BAD, "usage", id="a story of one feed"),
        pytest.param("Feeds/Add", {}, BAD, "usage", id="no address"),
        pytest.param("Feeds/Add", {"url": "http://10.0.0.1/"}, BAD, "private-address", id="inside"),
        pytest.param("Feeds/Add", {"url": "file:///etc/passwd"}, BAD, "malformed-url", id="a file"),
        pytest.param(
            "Feeds/Add",
            {"url": "https://a.example/", "headers": [{"name": "A", "value": "b\r\nC: d"}]},
            BAD,
            "usage",
            id="a header in a header",
        ),
        pytest.param("Feeds/Change", {"id": "x", "title": ""}, BAD, "usage", id="an empty title"),
        pytest.param(
            "Feeds/Change", {"id": "x", "update_mask": "id"}, BAD, "usage", id="what cannot change"
        ),
        pytest.param(
            "Feeds/Change", {"id": "x", "update_mask": "paused"}, BAD, "usage", id="neither nor"
        ),
    ],
)
async def test_what_cannot_be_answered_has_a_status_and_a_stable_reason(
    serve: Serve, method: str, fields: dict[str, Any], code: grpc.StatusCode, reason: str
) -> None:
    async with serve() as (stage, visitor):
        assert await refused(visitor, method, **fields) == (code, reason)
        assert (await stage.counts())["feeds"] == 0


async def test_raw_bytes_of_nothing_are_asked_for_in_vain(serve: Serve) -> None:
    async with serve() as (_, visitor):
        with pytest.raises(grpc.aio.AioRpcError) as unnamed:
            await visitor.stream("Entries/Raw").read()
        with pytest.raises(grpc.aio.AioRpcError) as unknown:
            await visitor.stream("Entries/Raw", fetch_id="../../etc/passwd").read()

        assert (unnamed.value.code(), reason_of(unnamed.value)) == (BAD, "usage")
        assert (unknown.value.code(), reason_of(unknown.value)) == (NOT_FOUND, "not-found")


async def test_a_paused_feed_is_not_refetched(serve: Serve) -> None:
    async with serve() as (stage, visitor):
        feed = await stage.add("/feed", paper(1))
        await visitor.ask("Feeds/Change", id=feed.id, paused=True)

        answer = await refused(visitor, "Feeds/Refetch", id=feed.id)

        assert answer == (grpc.StatusCode.FAILED_PRECONDITION, "paused")


async def test_bytes_that_are_no_message_are_refused(serve: Serve) -> None:
    async with serve() as (_, visitor):
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await visitor.send("Feeds/Get", b"\xff\xff\xff")

        assert (caught.value.code(), reason_of(caught.value)) == (BAD, "malformed")


async def test_a_request_over_its_limit_is_refused(serve: Serve) -> None:
    async with serve(grpc=GrpcConfig(max_request_bytes=10000)) as (_, visitor):
        code, _reason = await refused(visitor, "Feeds/Get", id="x" * 20_000)

        assert code == grpc.StatusCode.RESOURCE_EXHAUSTED


async def test_an_answer_that_takes_too_long_is_given_up(serve: Serve) -> None:
    async with serve(grpc=GrpcConfig(call_sec=0.0)) as (_, visitor):
        answer = await refused(visitor, "Feeds/List")

        assert answer == (grpc.StatusCode.DEADLINE_EXCEEDED, "timeout")


async def test_a_method_that_is_not_there_is_unimplemented(serve: Serve) -> None:
    async with serve() as (_, visitor):
        call = visitor._channel.unary_unary(f"/{PACKAGE}.Feeds/Explode")

        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await call(b"")

        assert caught.value.code() == grpc.StatusCode.UNIMPLEMENTED


class Ailing:
    """A store that has lost its log; everything else is as it was."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def last_seq(self) -> int:
        message = "/var/lib/feedmill/feedmill.db: disk I/O error"
        raise StoreError(message, reason="io-error")


async def test_a_store_that_cannot_be_read_shows_in_health_and_in_answers(tmp_path: Path) -> None:
    async with (
        hang_guard(),
        opened(tmp_path) as stage,
        grpc_server(stage.services._replace(store=Ailing(stage.services.store))) as bound,
        visiting(bound.port) as visitor,
    ):
        health = await visitor.ask("grpc.health.v1.Health/Check")
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await visitor.ask("Events/List")

    assert health == {"status": 2}  # NOT_SERVING
    assert caught.value.code() == grpc.StatusCode.UNAVAILABLE
    assert caught.value.details() == "the store is unavailable"
    assert dict(caught.value.trailing_metadata()) == {
        "feedmill-reason": "io-error",
        "retry-after": "5",
        "grpc-retry-pushback-ms": "5000",
    }


async def test_a_fault_of_our_own_tells_nothing_of_itself(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def explode(*_: object, **__: object) -> None:
        message = "/var/lib/secret"
        raise RuntimeError(message)

    async with serve() as (_, visitor):
        monkeypatch.setattr("feedmill.engine.service.queries.require_feed", explode)

        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await visitor.ask("Feeds/Health", id="x")

        assert (caught.value.code(), reason_of(caught.value)) == (
            grpc.StatusCode.INTERNAL,
            "surprise",
        )
        assert "secret" not in caught.value.details()


async def test_media_and_clusters_are_listed_shown_and_queued_again(serve: Serve) -> None:
    async with serve() as (stage, visitor):
        store = stage.services.store
        items = (
            f"<item><guid>{name}</guid><title>{name} of a long title here</title></item>"
            for name in ("one", "two")
        )
        first, second = [
            await stage.add(f"/{at}", document(rss(item))) for at, item in enumerate(items)
        ]
        await stage.pass_once()
        uids = [one.entry_uid for one in (await store.entries(EntryFilter())).items]
        wanted = WantedFile(
            media_id="m1",
            entry_uid=uids[0],
            feed_id=first.id,
            url="https://x.example/1.mp3",
            published_at=stage.clock.now(),
        )
        await store.queue_media([wanted], now=stage.clock.now())
        same = sketch(StoryText(links=("https://x.example/story",)))
        batch = SketchBatch(
            cause="1",
            at=stage.clock.now(),
            since=stage.clock.now() - timedelta(days=1),
            max_entries=9,
            sketches=dict.fromkeys(uids, same),
        )
        await store.save_sketches(batch, events=lambda _: ())

        (listed,) = (await visitor.ask("Media/List", state="queued"))["items"]
        (told_once,) = (await visitor.ask("Clusters/List"))["items"]
        shown = await visitor.ask("Clusters/Get", cluster_id=told_once["cluster_id"])

        assert (listed["media_id"], listed["url"]) == ("m1", "https://x.example/1.mp3")
        assert (await visitor.ask("Media/Get", media_id="m1"))["state"] == "queued"
        assert (await visitor.ask("Media/Retry", media_id="m1"))["state"] == "queued"
        assert told_once["feeds"] == 2
        assert {one["feed_id"] for one in shown["members"]} == {first.id, second.id}
        assert (await visitor.ask("Clusters/List", min_feeds=3))["items"] == []
        assert await refused(visitor, "Media/Get", media_id="m9") == (NOT_FOUND, "not-found")
        assert (await refused(visitor, "Media/List", state="open"))[0] == BAD


async def test_jobs_are_listed_shown_cancelled_and_queued_again(serve: Serve) -> None:
    async with serve() as (stage, visitor):
        new = NewJob(kind="walk", key="a", url="https://user:secret@archive.example/1")
        job, _ = await stage.services.store.add_job(new, now=stage.clock.now())

        listed = await visitor.ask("Jobs/List", kind="walk")
        cancelled = await visitor.ask("Jobs/Cancel", id=job.id)
        ended = await refused(visitor, "Jobs/Cancel", id=job.id)
        retried = await visitor.ask("Jobs/Retry", id=job.id)

        assert [one["url"] for one in listed["items"]] == ["https://archive.example/1"]
        assert listed["items"][0]["progress"] == {}
        assert cancelled["state"] == "cancelled"
        assert ended == (grpc.StatusCode.FAILED_PRECONDITION, "job-ended")
        assert retried["state"] == (await visitor.ask("Jobs/Get", id=job.id))["state"] == "queued"
        assert await refused(visitor, "Jobs/Get", id=99) == (NOT_FOUND, "not-found")
        assert (await refused(visitor, "Jobs/List", state="open"))[0] == BAD


async def test_archive_is_read_in_the_background_and_that_can_be_ended(serve: Serve) -> None:
    async with serve() as (stage, visitor):
        older = atom_link("prev-archive", "/archive/1")
        feed = await stage.add("/archived", document(atom(atom_entry(1), extra=older)))
        await stage.poll(feed)

        possible = await visitor.ask("Feeds/GetBackfill", id=feed.id)
        started = await visitor.ask("Feeds/StartBackfill", id=feed.id, pages=3)
        again = await visitor.ask("Feeds/GetBackfill", id=feed.id)
        ended = await visitor.ask("Feeds/CancelBackfill", id=feed.id)

        assert (possible["state"], possible["kind"]) == ("possible", "prev-archive")
        assert (started["state"], started["job"]["kind"]) == ("queued", "backfill")
        assert again["job"] == started["job"]
        assert ended["state"] == "cancelled"
        for method in ("Feeds/CancelBackfill", "Feeds/GetBackfill", "Push/Get"):
            assert (await refused(visitor, method, id="nothing"))[0] == NOT_FOUND
        assert (await refused(visitor, "Feeds/StartBackfill", id=feed.id, pages=0))[0] == BAD


async def test_push_is_shown_and_a_feed_without_a_hub_says_so(serve: Serve) -> None:
    async with serve() as (stage, visitor):
        feed = await stage.add("/plain", document(atom(atom_entry(1))))
        now = stage.clock.now()
        subscription = PushSubscription(
            token="unguessable",
            secret="signing",
            hub="https://hub.example/",
            topic=feed.url,
            created_at=now,
            feed_id=feed.id,
            state="active",
            verified_at=now,
        )
        await stage.services.store.add_push_subscription(subscription)

        hubs = await visitor.ask("Push/ListHubs")
        found = await visitor.ask("Push/Get", id=feed.id)

        assert [(one["hub"], one["active"]) for one in hubs["items"]] == [
            ("https://hub.example/", 1)
        ]
        assert found["subscriptions"][0]["topic"] == feed.url
        assert "signing" not in str(found)
        assert "unguessable" not in str(found)
        assert (await refused(visitor, "Push/Subscribe", id=feed.id))[1] == "push-off"


async def test_figures_are_those_of_rest(serve: Serve) -> None:
    async with serve() as (stage, visitor):
        feed = await stage.add("/feed", paper(1, 2), said(500))
        await stage.poll(feed)
        await stage.poll(feed)

        one = await visitor.ask("Feeds/Stats", id=feed.id, granularity="hour")
        every = await visitor.ask("Figures/Get")
        top = await visitor.ask("Figures/Top", by="errors")
        levels = await visitor.ask("Figures/ServiceLevels")
        status = await visitor.ask("Figures/Status")

        figures = one["total"]
        assert (figures["polls"], figures["entries_new"], figures["failed_host"]) == (2, 2, 1)
        assert [(f["outcome"], f["status"], f["fault"]) for f in one["failures"]] == [
            ("server-error", 500, "host")
        ]
        assert every["total"]["polls"] == 2
        assert [item["feed_id"] for item in top["items"]] == [feed.id]
        assert {level["name"] for level in levels["levels"]} >= {"failed-fetches"}
        assert status["feeds"]["backing_off"] == 1
        assert await refused(visitor, "Figures/Top", by="beauty") == (BAD, "usage")
        assert (await refused(visitor, "Figures/Get", granularity="minute"))[0] == BAD


async def test_cursors_are_listed_and_dropped_as_by_rest(serve: Serve) -> None:
    async with serve() as (stage, visitor):
        feed = await stage.add("/feed", paper(1, 2))
        await stage.poll(feed)
        await stage.services.store.set_cursor("bus:old", 1)

        listed = await visitor.ask("Cursors/List")
        await visitor.ask("Cursors/Drop", consumer="bus:old")

        (found,) = [one for one in listed["items"] if one["consumer"] == "bus:old"]
        assert (found["seq"], found["behind"] > 0) == (1, True)
        assert "bus:old" not in [
            one["consumer"] for one in (await visitor.ask("Cursors/List"))["items"]
        ]
        for consumer in ("bus:old", "webhook:1"):
            assert await refused(visitor, "Cursors/Drop", consumer=consumer) == (
                NOT_FOUND,
                "not-found",
            )


async def test_hosts_and_simulations_are_those_of_rest(serve: Serve) -> None:
    async with serve() as (stage, visitor):
        feed = await stage.add("/feed", paper(1, 2), said(429, ("Retry-After", "7200")))
        await stage.poll(feed)
        await stage.poll(feed)

        listed = await visitor.ask("Hosts/List", troubled=True)
        host = await visitor.ask("Hosts/Get", host=listed["items"][0]["host"])
        every = await visitor.ask("Figures/Simulate", policy="seed", settings=["backoff_base=3"])
        one = await visitor.ask("Figures/Simulate", feed_id=feed.id, days=2)

        assert (host["state"], host["reason"], host["feeds"]) == ("paused", "rate-limited", 1)
        assert (await visitor.ask("Hosts/List", text="nowhere"))["items"] == []
        assert every["settings"]["backoff_base"] == 3.0
        assert (one["decisions"], one["reproduced"], one["feeds"]) == (2, 2, 1)
        assert one["policies"][0]["policy"] == "recorded"
        assert await refused(visitor, "Hosts/Get", host="nowhere.example") == (
            NOT_FOUND,
            "not-found",
        )
        assert await refused(visitor, "Figures/Simulate", days=0) == (BAD, "usage")
        assert await refused(visitor, "Figures/Simulate", settings=["x=1"]) == (BAD, "usage")
        assert await refused(visitor, "Figures/Simulate", feed_id="x") == (NOT_FOUND, "not-found")
