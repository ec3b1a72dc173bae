"""A mill that has lived: every kind of row in its store, most of them made by polling."""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace
from tests.support.engine_harness import PLAIN, Stage, opened
from tests.support.feed_documents import ATOM, atom, atom_entry, numbered, paper, said
from tests.support.sample_refreshes import an_entry, blob_ref, new_feed, poll

from feedmill.adapters.store.postgres.parameters import clean_value
from feedmill.cluster.sketch import sketch
from feedmill.config import Config, StoreConfig
from feedmill.engine.maintain.retention import purge
from feedmill.engine.moves.follow import move_feed
from feedmill.engine.ports.store import Store
from feedmill.model.candidate import CollectedDocument, Question
from feedmill.model.derived.cluster import SketchBatch, StoryText
from feedmill.model.derived.fetched import FullText, MediaFilter, WantedFile
from feedmill.model.entry import Author, Entry
from feedmill.model.feed import Feed, ImportedOutline, PushSubscription
from feedmill.model.page import EntryFilter
from feedmill.model.running.job import JobFilter, JobLimit, NewJob
from feedmill.model.running.webhook import DeadLetter, Settlement, Token, Webhook, WebhookSecret
from feedmill.model.screening import LiveScreen, Topic, TopicSet
from feedmill.publish.events import events_of_clusters
from feedmill_demo.server.script import document

NUL, REPLACED = "\x00", "\ufffd"
HOOK = "hook-1"
SECRET = "a1" * 32
GRAVE = (
    '<at:deleted-entry ref="urn:item:1" when="2025-10-14T10:00:00Z">'
    "<at:comment>Wrong.</at:comment></at:deleted-entry>"
)


def copy_of(home: Path, folder: Path) -> Path:
    """The home folder again, to be changed by one test."""
    return Path(shutil.copytree(home, folder / "home"))


def database(home: Path) -> str:
    """The store of a home folder as the command names it."""
    return f"sqlite:{home / 'feedmill.db'}"


def config_of(home: Path, url: str | None = None) -> Config:
    """Settings of a mill on that folder."""
    return replace(PLAIN, store=StoreConfig(home=str(home), url=url))


@contextmanager
def by_hand(home: Path) -> Iterator[sqlite3.Connection]:
    """The old store in the hands of somebody with a shell, written and closed at the end."""
    with closing(sqlite3.connect(home / "feedmill.db")) as connection, connection:
        yield connection


async def live(stage: Stage) -> Feed:
    """Let the mill live; the feed that answers 304 at the end."""
    steady = await stage.add("/feed", *_editions(), host="127.0.0.1")
    await stage.poll(steady, times=5)
    await _polled(stage)
    await _odd(stage.services.store)
    await _held(stage)
    await _kept(stage.services.store, stage)
    return await stage.feed(steady)


async def make_home(home: Path) -> None:
    """A home folder of a mill that has lived and was stopped."""
    async with opened(home, addresses=2) as stage:
        await live(stage)


def odd_entry(name: str, guid: str) -> Entry:
    """An entry with a NUL in its texts and in what becomes JSON."""
    return replace(
        an_entry(name),
        guid=guid,
        title=f"Título{NUL} 漢字 🦉 {name}",
        authors=(Author(name=f"Ada{NUL}"),),
        categories=("news", f"c{NUL}"),
    )


async def everything(store: Store) -> dict[str, Any]:
    """Whatever the port gives, as PostgreSQL could hold it."""
    feeds = (await store.feeds(limit=1000)).items
    entries = (await store.entries(EntryFilter(include_removed=True), limit=10_000)).items
    told: dict[str, Any] = {
        "feeds": feeds,
        "entries": entries,
        "texts": [
            msgspec.json.decode(text)
            for text in (await store.entry_texts(EntryFilter(), limit=10_000)).items
        ],
        "revisions": [await store.revisions(entry.entry_uid) for entry in entries],
        "articles": (await store.article_page(limit=10_000)).items,
        "events": await store.events(after=0, limit=100_000),
        "last_seq": await store.last_seq(),
        "cursors": [await store.cursor(name) for name in ("ndjson", "reader", f"webhook:{HOOK}")],
        "counts": await store.counts(),
        "blobs": sorted(await store.blobs(), key=lambda ref: ref.sha256),
        "next": await store.next_due_at(),
        "problems": await store.problems(),
        "secrets": await store.token_secrets(SECRET[:8]),
        "tokens": await store.tokens(),
        "webhooks": await store.webhooks(),
        "letters": (await store.dead_letters(HOOK)).items,
        "screens": await store.screens(),
        "held": (await store.held(limit=1000)).items,
        "question": await store.question("K7QM3XPD"),
        "imported": await store.imported("list"),
        "full texts": (await store.full_texts(limit=1000)).items,
        "media": (await store.media_items(MediaFilter(), limit=1000)).items,
        "media files": await store.media_files(),
        "clusters": (await store.clusters(limit=1000)).items,
        "jobs": [replace(one, owner=None) for one in (await store.jobs(JobFilter())).items],
        "push": await store.push_subscriptions(),
        "tags": await store.feed_tags([feed.id for feed in feeds]),
        "of": [await _of_feed(store, feed) for feed in feeds],
    }
    return {name: clean_value(_plain(value)) for name, value in told.items()}


async def _of_feed(store: Store, feed: Feed) -> dict[str, Any]:
    living = await store.unremoved_entries(feed.id)
    keys = [key for row in living for key in row.keys]
    known = await store.known(feed.id, keys, ())
    return {
        "aliases": await store.aliases(feed.id),
        "moves": await store.moves(feed.id),
        "fetches": (await store.fetches(feed.id, limit=1000)).items,
        "decisions": await store.decisions(feed.id, 1000),
        "living": _keys_sorted(living),
        "known": _keys_sorted(known),
        "document": _keys_sorted(await store.current_document(feed.id)),
        "arrivals": await store.arrival_times(feed.id),
        "pace": await store.host_pace(feed.url),
        "standing": await store.live_screen_state(feed.id),
    }


def _keys_sorted(rows: Any) -> list[Any]:
    return [
        replace(row, keys=tuple(sorted(row.keys, key=lambda key: (key.type, key.value))))
        for row in sorted(rows, key=lambda row: row.entry_id)
    ]


def _plain(value: Any) -> Any:
    return msgspec.to_builtins(value)


def _editions() -> tuple[Any, ...]:
    """New items, an item that says something else, an item that leaves, then 304s."""
    changed = numbered(1, 2).replace(b"Text of 2.", "Texte corrigé — 訂正".encode())
    return (
        paper(1, 2, etag='"1"'),
        document(changed, etag='"2"'),
        paper(2, 3, etag='"3"', last_modified="Tue, 14 Oct 2025 09:00:00 GMT"),
    )


async def _polled(stage: Stage) -> None:
    """A removal, a merge, a move, a failure, a host that asks for patience, and what time takes."""
    graves = (
        document(atom(atom_entry(1), atom_entry(2)), ATOM),
        document(atom(atom_entry(2), extra=GRAVE), ATOM),
    )
    removing = await stage.add("/removing", *graves)
    one = await stage.add("/one", paper(11, 12))
    two = await stage.add("/two", paper(11, 12, 13))
    old = await stage.add("/old", paper(21))
    stage.publisher.script("/new", paper(21))
    failing = await stage.add("/failing", said(500))
    slowed = await stage.add("/slow", said(429, ("Retry-After", "3600")), host="127.0.1.1")
    await stage.services.store.change_feed(replace(two, tags=("news", "Füße", "z")))
    await stage.poll(removing, one, two, old, failing, slowed, times=2)
    assert (await move_feed(await stage.feed(one), two.url, stage.services)).outcome == "merged"
    moved = await move_feed(await stage.feed(old), stage.publisher.url("/new"), stage.services)
    assert moved.outcome == "moved"
    expiring = await stage.add("/expiring", paper(31, 32), paper(32))
    await stage.poll(expiring, times=2)
    stage.later(days=31)
    assert (await purge(stage.services))["entries"] > 0
    await stage.poll(two, failing, expiring)
    twin = await stage.add("/twin", paper(41))
    await stage.services.store.hide_merged(twin.id, two.id, at=stage.services.clock.now())


async def _odd(store: Store) -> None:
    """Texts and keys with a NUL in them."""
    feed, _ = await store.add_feed(new_feed(7))
    at = feed.created_at + timedelta(hours=1)
    entries = [odd_entry("b", f"guid{NUL}1"), an_entry("c"), odd_entry("d", f"guid{NUL}2")]
    await poll(store, feed, 1, entries, at=at)


async def _held(stage: Stage) -> None:
    """A feed whose new entries wait for somebody."""
    feed = await stage.add("/held", paper(41, 42))
    screen = LiveScreen(
        id="screen-1",
        created_at=stage.clock.now(),
        feed_id=feed.id,
        keep_at=None,
        method="lexical",
        topics=TopicSet(name="own", topics=(Topic(id="lca", name="LCA"),), version="1"),
    )
    await stage.services.store.add_screen(screen)
    await stage.poll(feed)
    held = (await stage.services.store.held(limit=10)).items
    assert len(held) == 2
    await stage.services.store.reject_held([held[0].entry_uid])


async def _kept(store: Store, stage: Stage) -> None:
    """Tokens, webhooks with a dead letter, a question, a list, a collected document, cursors."""
    now = stage.clock.now()
    token = Token(id="token-1", name="reader", scopes=("read",), created_at=now)
    await store.add_token(token, SECRET)
    await store.touch_token(token.id, now)
    secrets = (WebhookSecret(value="whsec_x"),)
    hook = Webhook(id=HOOK, url="https://r.example/h", created_at=now, secrets=secrets)
    await store.add_webhook(hook, after=1)
    events = await store.events(after=1, limit=2)
    letter = DeadLetter(
        id="letter-1",
        webhook_id=HOOK,
        events=events,
        reason="server-error",
        attempts=20,
        died_at=now,
    )
    dead = Settlement(webhook_id=HOOK, after=1, upto=3, at=now, result="dead", letter=letter)
    assert await store.settle_webhook(dead)
    question = Question(
        code="K7QM3XPD",
        window_id="0123456789abcdef",
        file_digest="d1" * 32,
        candidate_ids=(3, 7),
        asked_by="a program",
        asked_at=now,
        expires_at=now + timedelta(days=1),
    )
    await store.ask_question(question)
    line = ImportedOutline(url="https://a.example/ü", outcome="added", at=now, feed_id="f1")
    await store.save_imported("list", [line])
    collected = CollectedDocument(
        source=0,
        fetch_id="collected-1",
        url="https://c.example/",
        final_url="https://c.example/",
        fetched_at=now,
        body_sha256=blob_ref("collected").sha256,
        content_type="text/xml",
    )
    await store.save_collected(collected, blob_ref("collected"))
    (entry,) = (await store.entries(EntryFilter(), limit=1)).items
    text = FullText(
        entry_uid=entry.entry_uid,
        feed_id=entry.feed_id,
        url="https://a.example/1",
        final_url="https://a.example/1",
        fetched_at=now,
        extracted_at=now,
        state="extracted",
        body_sha256=blob_ref("page").sha256,
        html="<p>x\0</p>",
        words=1,
    )
    assert await store.save_full_text(text, blob=blob_ref("page"))
    wanted = WantedFile(
        media_id="m1",
        entry_uid=entry.entry_uid,
        feed_id=entry.feed_id,
        url="https://a.example/1.mp3",
        published_at=now,
    )
    await store.queue_media([wanted], now=now)
    file = await store.media_item("m1")
    assert file is not None
    assert await store.begin_media_file(SECRET, 9, now=now)
    kept = replace(file, state="stored", sha256=SECRET, size_bytes=9, ended_at=now, detail="x\0")
    assert await store.save_media(kept, names=("Show/1.mp3",))
    two = (await store.entries(EntryFilter(), limit=1000)).items
    pair = {one.feed_id: one.entry_uid for one in two}
    story = sketch(StoryText(links=("https://a.example/story",)))
    batch = SketchBatch(
        cause="1", at=now, since=min(one.first_seen for one in two), max_entries=9,
        sketches=dict.fromkeys(list(pair.values())[:2], story),
    )  # fmt: skip
    assert await store.save_sketches(batch, events=partial(events_of_clusters, now=now))
    walk = NewJob(
        kind="walk", key="nul\0", url="https://a.example/1", payload={"x": "\0"}, keep=True
    )
    await store.add_job(walk, now=now)
    limits = (JobLimit(kind="walk", host_steps=9, day_steps=9),)
    until = now + timedelta(minutes=1)
    (claim,) = await store.claim_jobs("gone", limits, now=now, until=until, max_jobs=1)
    assert claim.lane is not None
    await store.release(claim.lane, claim.lane.pace, now=now)
    found = [blob_ref(name * 64, segment=f"segment-{name}") for name in "ef"]
    await store.adopt_blobs(found, now=now)
    await store.delete_blobs([found[1].sha256])
    pushed = PushSubscription(
        token="t", feed_id=None, hub="https://h.example/", topic="\0", secret="s", created_at=now
    )
    await store.add_push_subscription(pushed)
    await store.set_cursor("ndjson", 4)
    await store.set_cursor("reader", 2)
