"""The client against a real mill: every question, and a watch that outlives its server."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

import pytest
from tests.support.engine_harness import NOON, Stage, opened
from tests.support.feed_documents import item, numbered, rss
from tests.support.sample_refreshes import new_feed
from tests.support.waiting import hang_guard, wait_until
from tests.support.warm_process import Process, start_script

from feedmill.app.services import open_services
from feedmill.client import Client, transport
from feedmill.cluster.sketch import sketch
from feedmill.config import Config, StoreConfig
from feedmill.engine.ports.store import Store
from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.engine.service.auth import issue_token
from feedmill.errors import MissingError, RefusedError, TokenError
from feedmill.interfaces.rest.server import rest_server
from feedmill.model.derived.cluster import SketchBatch, StoryText
from feedmill.model.derived.fetched import FullText
from feedmill.model.derived.search import Highlight
from feedmill.model.event import NewEvent
from feedmill.publish.shapes import FeedChange
from feedmill_demo.server.script import document

CHILD = Path(__file__).parents[3] / "tests/support/children/serve_rest.py"
ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not wait long for a server that is about to come back."""
    monkeypatch.setattr(transport, "_FIRST_WAIT_SEC", 0.05)
    monkeypatch.setattr(transport, "_LONGEST_WAIT_SEC", 0.2)


@asynccontextmanager
async def connected(home: Path) -> AsyncIterator[tuple[Stage, Client]]:
    async with (
        hang_guard(),
        opened(home) as stage,
        rest_server(stage.services, Lifecycle("the test"), port=0) as address,
        Client(address) as client,
    ):
        yield stage, client


async def test_every_question_is_answered_with_a_value(tmp_path: Path) -> None:
    async with connected(tmp_path) as (stage, client):
        stage.publisher.script("/feed", document(numbered(1, 2, 3)))
        added = await client.add(stage.publisher.url("/feed"), tags=["news"])
        assert added.created
        assert added.tags == ("news",)
        assert (await client.refetch(added.id)).feed_id == added.id
        await stage.pass_once()

        feeds = [feed.id async for feed in client.feeds(tag="news")]
        entries = [entry async for entry in client.entries(tag="news", text="title")]
        assert feeds == [added.id]
        assert sorted(entry.title or "" for entry in entries) == ["Title 1", "Title 2", "Title 3"]
        assert [e async for e in client.entries(feeds=["nobody"])] == []
        found = [e async for e in client.entries(search="title -absent", search_full_texts=True)]
        assert {e.entry_uid for e in found} == {e.entry_uid for e in entries}
        assert all(isinstance(e.highlight, Highlight) for e in found)
        assert [e async for e in client.entries(category="x")] == []
        assert [e async for e in client.entries(since=NOON.replace(year=2090))] == []
        assert (await client.feed(added.id)).stats.last_result == "same-body"
        assert (await client.feed_stats(added.id, since=NOON)).total.entries_new == 3
        assert (await client.stats(granularity="day")).total.polls == 2  # adding, and polling again
        assert [one.value for one in (await client.top("new", limit=1)).items] == [3]
        assert (await client.service_levels(day=NOON)).levels
        assert (await client.status()).feeds.feeds == 1
        assert (await client.health(added.id)).kind == "well"
        assert (await client.feed(added.id)).circuit == "closed"
        (host,) = [host async for host in client.hosts()]
        assert await client.host(host.host) == host
        assert [host async for host in client.hosts(troubled=True)] == []
        simulated = await client.simulation(policy="seed", settings=["backoff_base=3"], days=2)
        assert (simulated.decisions, simulated.reproduced) == (2, 2)

        entry = await client.entry(entries[0].entry_uid)
        assert entry == entries[0]
        assert await client.revisions(entry.entry_uid) == ()
        raw = await client.raw(entry.entry_uid)
        whole = await client.raw_document(raw.fetch_id)
        assert raw.body.startswith(b"<item>")
        assert whole.body == numbered(1, 2, 3)
        assert whole.body[raw.offset : raw.offset + len(raw.body)] == raw.body
        assert (await client.fetch(raw.fetch_id)).http_status == 200

        changed = await client.change(added.id, FeedChange(title="Mine", paused=True))
        assert (changed.title, changed.paused) == ("Mine", True)
        with pytest.raises(RefusedError) as paused:
            await client.refetch(added.id)
        assert paused.value.reason == "paused"
        await client.remove(added.id)
        with pytest.raises(MissingError):
            await client.feed(added.id)


async def test_the_one_right_address_of_a_feed_is_asked_for(tmp_path: Path) -> None:
    async with connected(tmp_path) as (stage, client):
        stage.publisher.script("/feed", document(numbered(1)))
        address = stage.publisher.url("/feed")

        found = await client.canonicalize(f"{address}?utm_source=test")

        assert found.url == address


async def test_an_address_without_a_meaning_is_refused(tmp_path: Path) -> None:
    async with connected(tmp_path) as (_, client):
        for address in ("", "ftp://example.org/feed", "http://169.254.169.254/latest"):
            with pytest.raises(RefusedError):
                await client.add(address)


async def test_entries_beyond_a_page_come_all(tmp_path: Path) -> None:
    async with connected(tmp_path) as (stage, client):
        items = (item(number) for number in range(1_234))
        feed = await stage.add("/feed", document(rss(*items)))
        await stage.poll(feed)

        uids = [entry.entry_uid async for entry in client.entries()]

        assert len(uids) == len(set(uids)) == 1_234


async def test_events_are_read_by_page_by_long_poll_and_as_they_happen(tmp_path: Path) -> None:
    async with connected(tmp_path) as (stage, client):
        feed = await stage.add("/feed", document(numbered(1, 2)))
        await stage.poll(feed)
        page = await client.events(0)
        assert [event.seq for event in page.items] == list(range(1, page.last_seq + 1))
        assert page.next == page.last_seq
        news = await client.events(0, types=["new_entry"])
        assert {event.type for event in news.items} == {"new_entry"}

        waiting = asyncio.create_task(client.events(page.next, wait_sec=20))
        stage.publish(feed, document(numbered(1, 2, 3)))
        await stage.poll(feed)
        assert [event.type for event in (await waiting).items][:1] == ["new_entry"]

        async with aclosing(client.watch(page.next)) as events:
            assert (await anext(events)).seq == page.next + 1


async def test_a_token_opens_what_its_scope_allows(tmp_path: Path) -> None:
    async with connected(tmp_path) as (stage, client):
        secret = (
            await issue_token("reader", ("read",), stage.services.store, stage.services.clock)
        ).secret
        with pytest.raises(TokenError) as nobody:
            await client.events()
        assert nobody.value.status == 401
        async with Client(str(client._transport._http.base_url), secret) as reader:
            assert (await reader.events()).items == ()
            with pytest.raises(TokenError) as narrow:
                await reader.add("https://example.org/feed")
            assert narrow.value.status == 403


async def test_the_example_prints_what_happens_and_remembers_where_it_was(tmp_path: Path) -> None:
    async with connected(tmp_path) as (stage, client):
        position = tmp_path / "position.txt"
        printed = []
        for first in (1, 4):  # the second run goes on where the first one ended
            await happen(stage.services.store, first, first + 2)
            async with example(client, position) as lines:
                printed += [(await lines.readline()).split()[0] for _ in range(3)]
                # The line is out before the position is.
                await wait_until(lambda last=first + 2: noted(position, last), "the position")  # type: ignore[misc]  # a closure over the run

        assert printed == [b"1", b"2", b"3", b"4", b"5", b"6"]


async def test_full_texts_and_clusters_are_values(tmp_path: Path) -> None:
    async with connected(tmp_path) as (stage, client):
        store, now = stage.services.store, stage.clock.now()
        for name in ("a", "b"):
            await stage.add(f"/{name}", document(rss(f"<item><guid>{name}</guid></item>")))
        await stage.pass_once()
        entries = [entry async for entry in client.entries()]
        same = sketch(StoryText(links=("https://paper.example/story",)))
        batch = SketchBatch(
            cause="1",
            at=now,
            since=min(one.first_seen for one in entries),
            max_entries=9,
            sketches={one.entry_uid: same for one in entries},
        )
        await store.save_sketches(batch, events=lambda _: ())
        text = FullText(
            entry_uid=entries[0].entry_uid,
            feed_id=entries[0].feed_id,
            url="https://paper.example/story",
            final_url="https://paper.example/story",
            fetched_at=now,
            extracted_at=now,
            state="failed",
            reason="paywall",
        )
        await store.save_full_text(text)

        (cluster,) = [one async for one in client.clusters()]
        members = (await client.cluster(cluster.cluster_id)).members
        once = [entry async for entry in client.entries(duplicates="cluster")]

        assert cluster.feeds == len(members) == 2
        assert [one.cluster_id for one in once] == [cluster.cluster_id]
        assert (await client.full_text(entries[0].entry_uid)).reason == "paywall"
        with pytest.raises(MissingError):
            await client.full_text(entries[1].entry_uid)


async def test_a_watch_outlives_kills_of_its_server_and_sees_each_event_once(
    tmp_path: Path,
) -> None:
    seen = Diary()
    config = Config(store=StoreConfig(home=str(tmp_path)))
    async with hang_guard(), open_services(config) as services:
        store = services.store
        async with served(tmp_path, 0) as (child, address):
            port = int(address.rpartition(":")[2])
            async with Client(address) as client, asyncio.TaskGroup() as group:
                watching = group.create_task(watch(client, seen, until=120))
                await happen(store, 1, 40)
                await seen.reached(40)
                child.kill()
                await child.wait()
                await happen(store, 41, 80)  # while nobody serves
                for start in (81, 101):
                    async with served(tmp_path, port) as (again, _):
                        await seen.reached(start - 1)
                        await happen(store, start, start + 19)
                        await seen.reached(start + 9)
                        again.kill()  # in the middle of telling, or after it
                async with served(tmp_path, port):
                    await watching

    assert seen.seqs == list(range(1, 121))


def noted(position: Path, seq: int) -> bool:
    return position.exists() and position.read_text() == f"{seq}\n"


class Diary:
    """The numbers of the events that were seen, and a way to wait for one."""

    def __init__(self) -> None:
        self.seqs: list[int] = []
        self._stirred = asyncio.Event()

    def note(self, seq: int) -> None:
        self.seqs.append(seq)
        self._stirred.set()

    async def reached(self, seq: int) -> None:
        while not self.seqs or self.seqs[-1] < seq:
            self._stirred.clear()
            await self._stirred.wait()


async def watch(client: Client, seen: Diary, *, until: int) -> None:
    async with aclosing(client.watch()) as events:
        async for event in events:
            seen.note(event.seq)
            if event.seq == until:
                return


async def happen(store: Store, first: int, last: int) -> None:
    """One event for each of these numbers."""
    for number in range(first, last + 1):
        new = new_feed(number)
        event = NewEvent(type="feed.added", feed_id=new.id, occurred_at=NOON)
        await store.add_feed(new, (event,))


@asynccontextmanager
async def example(client: Client, position: Path) -> AsyncIterator[asyncio.StreamReader]:
    """What examples/follow.py prints; it is ended at the end."""
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        str(ROOT / "examples" / "follow.py"),
        str(client._transport._http.base_url),
        str(position),
        stdout=asyncio.subprocess.PIPE,
    )
    assert child.stdout is not None
    try:
        yield child.stdout
    finally:
        child.kill()
        await child.wait()


@asynccontextmanager
async def served(home: Path, port: int) -> AsyncIterator[tuple[Process, str]]:
    """A mill in a process of its own; killed at the end if it still lives."""
    child = await start_script(
        CHILD, str(home), str(port), env=os.environ, stdout=asyncio.subprocess.PIPE
    )
    assert child.stdout is not None
    try:
        address = (await child.stdout.readline()).decode().strip()
        assert address
        yield child, address
    finally:
        if child.returncode is None:
            child.kill()
        await child.wait()
