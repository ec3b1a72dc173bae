"""One document at a time: ingest-one's counters (003), replay, and the publisher's own bytes."""

import json

import pytest
from msgspec.structs import replace
from tests.support.engine_harness import Play, Stage
from tests.support.feed_documents import item, numbered, paper, rss, said

from feedmill.config import NormaliseConfig
from feedmill.engine.documents import read_document
from feedmill.engine.documents.raw_documents import load_body
from feedmill.engine.poll.ingest_one import Ingested, ingest_document, ingest_feed
from feedmill.engine.poll.replay import replay
from feedmill.model.fetch import RawDocument
from feedmill.observe import log
from feedmill_demo.server.script import document

_STORY = "The council met on Monday & agreed on the bridge"
_LINK = "https://paper.example/bridge"

# 003: three that differ in punctuation, markup and tracking only, one of its own, one attack.
_NEAR_DUPLICATES = rss(
    item(
        1,
        guid="a",
        title="The  bridge",
        text=f"<p>{_STORY}</p>",
        link=f"{_LINK}?utm_source=feed",
        date=None,
    ),
    item(
        1,
        guid="b",
        title="The bridge ",
        text=f"<div><b>{_STORY}</b></div>",
        link=f"{_LINK}?utm_source=a",
        date=None,
    ),
    item(
        1,
        guid="c",
        title="The&#32;bridge",
        text=f"{_STORY}\n",
        link=_LINK,
        date=None,
    ),
    item(2, title="The mill"),
    item(3, title="Sale", text='<script>steal(1)</script><img src=x onerror="steal(2)">Cheap.'),
)


def _shown(result: Ingested) -> tuple[int, int, int, int, int]:
    return (result.parsed, result.inserted, result.updated, result.skipped, result.errors)


def test_near_duplicates_become_one_article_and_again_none(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", document(_NEAR_DUPLICATES))

        first = await ingest_feed(feed, stage.services)
        stage.later(seconds=1)
        again = await ingest_feed(await stage.feed(feed), stage.services)
        stage.publish(feed, document(_NEAR_DUPLICATES + b"<!-- other bytes -->"))
        stage.later(seconds=1)
        other = await ingest_feed(await stage.feed(feed), stage.services)

        assert _shown(first) == (5, 3, 0, 2, 0)
        assert first.normalized_modified_count > 0
        assert (await stage.counts())["articles"] == 3
        assert _shown(again) == (5, 0, 0, 5, 0)
        assert _shown(other) == (5, 0, 0, 5, 0)
        stored = str(await stage.entries(feed))
        assert "steal" not in stored
        assert "onerror" not in stored

    play(story)


def test_a_feed_with_validators_is_asked_conditionally(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", paper(1, 2, etag='"a"'))

        first = await ingest_feed(feed, stage.services)
        stage.later(seconds=1)
        again = await ingest_feed(await stage.feed(feed), stage.services)
        plain = replace(
            stage.services.config, normalise=replace(stage.config.normalise, enabled=False)
        )
        stage.later(seconds=1)
        other = await ingest_feed(await stage.feed(feed), stage.services._replace(config=plain))

        assert [one.header("if-none-match") for one in stage.requests()] == [None, '"a"', None]
        assert (_shown(first), first.outcome) == ((2, 2, 0, 0, 0), "fresh")
        assert (_shown(again), again.outcome) == ((2, 0, 0, 2, 0), "unchanged")
        assert other.outcome == "fresh"  # texts as published are another reading

    play(story)


def test_entries_are_logged_with_counts_and_suspicious_content_with_kinds_never_with_texts(
    play: Play, capsys: pytest.CaptureFixture[str]
) -> None:
    log.set_up("debug", as_json=True)

    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", document(_NEAR_DUPLICATES))
        await ingest_feed(feed, stage.services)

    try:
        play(story)
    finally:
        log.set_up("warning")

    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines() if line[:1] == "{"]
    entries = [line for line in lines if line["event"] == "entry"]
    assert [one["change"] for one in entries] == ["new"] * 5
    assert sum(one["modified_fields"] > 0 for one in entries) > 0
    (security,) = (line for line in lines if line["component"] == "security")
    assert (security["entries"], security["script"], security["event_handler"]) == (1, 1, 1)
    assert "steal" not in json.dumps(lines)


def test_a_file_is_counted_the_same_way(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed")
        file = RawDocument(body=numbered(1, 2, 3), url=None)

        first = await ingest_document(file, feed, stage.services)
        stage.later(seconds=1)
        again = await ingest_document(file, await stage.feed(feed), stage.services)
        edited = RawDocument(body=rss(item(1, text="New."), item(2), item(4)), url=None)
        stage.later(seconds=1)
        third = await ingest_document(edited, await stage.feed(feed), stage.services)

        assert _shown(first) == (3, 3, 0, 0, 0)
        assert _shown(again) == (3, 0, 0, 3, 0)
        assert _shown(third) == (3, 1, 1, 1, 0)
        assert stage.publisher.requests == ()

    play(story)


def test_a_document_from_elsewhere_is_not_covered_by_the_servers_validators(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", paper(1, etag='"a"'))
        after = await stage.poll(feed)
        stage.later(seconds=1)

        await ingest_document(RawDocument(body=numbered(7), url=None), after, stage.services)
        await stage.poll(feed)

        assert stage.requests()[1].header("if-none-match") is None
        assert await stage.outcome(feed) == "fresh"

    play(story)


def test_what_is_no_feed_is_one_error_with_its_name(play: Play) -> None:
    async def story(stage: Stage) -> None:
        page = b"<!doctype html><html><head><title>Hi</title></head><body>Hi</body></html>"
        feed = await stage.add("/feed", said(500), paper(1))

        fetched = await ingest_feed(feed, stage.services)
        stage.later(seconds=1)
        read = await ingest_document(RawDocument(body=page, url=None), feed, stage.services)

        assert (fetched.errors, fetched.outcome) == (1, "server-error")
        assert (read.errors, read.inserted) == (1, 0)
        assert read.outcome

    play(story)


def test_replaying_with_the_same_reader_shows_no_difference(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", document(_NEAR_DUPLICATES))
        after = await stage.poll(feed)
        told, entries = await stage.events(), await stage.entries()

        shown = await replay(after, stage.services)
        stage.later(seconds=1)
        written = await replay(after, stage.services, write=True)

        assert (shown.outcome, shown.differences, shown.unchanged) == ("read", (), 5)
        assert written.differences == ()
        assert await stage.events() == told
        now = await stage.entries()
        assert [one.content_hash for one in now] == [one.content_hash for one in entries]

    play(story)


def test_another_reader_shows_its_difference_before_it_writes(
    play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Our own progress is no news of the publisher's: the rows change, nothing is announced."""

    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", paper(1, 2), paper(1, 2, 3))
        after = await stage.poll(feed)
        told = await stage.events()
        monkeypatch.setattr(read_document, "READER", "parse-2.normalise-3")
        await stage.reopen(normalise=NormaliseConfig(summary_max_chars=6))

        shown = await replay(after, stage.services)
        untouched = [entry.summary for entry in await stage.entries()]
        stage.later(seconds=1)
        written = await replay(after, stage.services, write=True)

        assert [one.kind for one in shown.differences] == ["reread", "reread"]
        assert all("summary" in one.changed for one in shown.differences)
        assert untouched == ["Text of 1.", "Text of 2."]
        assert written.written
        cut = [entry.summary for entry in await stage.entries()]
        assert cut != untouched
        assert all(summary is not None and len(summary) <= 6 for summary in cut)
        assert await stage.events() == told
        assert (await stage.feed(feed)).reader_version == "parse-2.normalise-3"
        assert (await replay(await stage.feed(feed), stage.services)).differences == ()

    play(story)


def test_a_feed_without_a_document_has_nothing_to_replay(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", said(404))
        after = await stage.poll(feed)

        assert (await replay(after, stage.services)).outcome == "no-raw-document"

    play(story)


def test_the_raw_slice_of_an_entry_is_the_publishers_own_text(play: Play) -> None:
    async def story(stage: Stage) -> None:
        items = [item(n, text=f"<i>ünïcode</i> {n}") for n in (1, 2, 3)]
        body = rss(*items).replace(b'encoding="utf-8"', b'encoding="iso-8859-1"')
        served = body.decode().encode("iso-8859-1")
        answer = document(served, "application/rss+xml", codings=("gzip",))
        feed = await stage.add("/feed", answer)

        await stage.poll(feed)

        for entry in await stage.entries(feed):
            (ref,) = entry.raw_refs
            fetch = await stage.services.store.fetch(ref.fetch_id)
            assert fetch is not None
            assert fetch.body_sha256 is not None
            raw = await load_body(fetch.body_sha256, stage.services.store, stage.services.blobs)
            assert raw == served
            assert ref.offset is not None
            assert ref.length is not None
            piece = raw[ref.offset : ref.offset + ref.length].decode("iso-8859-1")
            assert piece in items
            assert f"<title>{entry.title}</title>" in piece

    play(story)
