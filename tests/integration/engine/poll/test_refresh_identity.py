"""Who an entry is, through real polls: the identity table of the standards notes, D7 to D13."""

from datetime import timedelta

import pytest
from tests.support.engine_harness import Play, Stage, titles
from tests.support.feed_documents import ATOM, atom, atom_entry, item, numbered, paper, rss

from feedmill.engine.maintain.retention import purge
from feedmill.engine.service import queries
from feedmill.publish.events import FLOOD
from feedmill_demo.server.script import Answer, document, redirect

_LINK = "https://paper.example/one"


async def _kinds(stage: Stage) -> list[str]:
    """The log after the subscriptions."""
    return [event.type for event in await stage.events() if event.type != "feed.added"]


async def _told(stage: Stage, *documents: bytes) -> list[str]:
    """One feed serves these documents, one after the other; what the log says of each later one."""
    feed = await stage.add("/feed", *(document(body) for body in documents))
    await stage.poll(feed)
    before = len(await _kinds(stage))
    await stage.poll(feed, times=len(documents) - 1)
    return (await _kinds(stage))[before:]


# The table, row by row.


@pytest.mark.parametrize("again", [(0, 1), (1, 0)], ids=["in order", "reversed"])
def test_one_guid_with_two_links_is_two_entries_for_good(
    play: Play, again: tuple[int, int]
) -> None:
    items = (item(1, guid="urn:same"), item(2, guid="urn:same"), item(3))

    async def story(stage: Stage) -> None:
        first, second = rss(*items), rss(*(items[place] for place in again), item(3), item(4))

        told = await _told(stage, first, second, first)

        assert told == ["new_entry"]
        assert titles(await stage.entries()) == ["Title 1", "Title 2", "Title 3", "Title 4"]

    play(story)


def test_a_new_guid_under_the_old_link_is_the_same_entry_without_news(play: Play) -> None:
    async def story(stage: Stage) -> None:
        told = await _told(stage, rss(item(1, guid="a")), rss(item(1, guid="b")))

        assert told == []
        (entry,) = await stage.entries()
        assert (entry.guid, entry.seen_count, entry.revisions) == ("b", 2, 0)

    play(story)


def test_either_guid_finds_the_entry_afterwards(play: Play) -> None:
    async def story(stage: Stage) -> None:
        told = await _told(
            stage,
            rss(item(1, guid="a")),
            rss(item(1, guid="b")),
            rss(item(1, guid="a", link="https://paper.example/moved")),
        )

        assert told == ["entry.updated"]
        assert len(await stage.entries()) == 1

    play(story)


def test_a_new_guid_under_the_old_link_with_a_new_text_is_one_update(play: Play) -> None:
    async def story(stage: Stage) -> None:
        told = await _told(stage, rss(item(1, guid="a")), rss(item(1, guid="b", text="Other.")))

        assert told == ["entry.updated"]
        (entry,) = await stage.entries()
        assert (entry.summary, entry.revisions) == ("Other.", 1)

    play(story)


def test_a_link_blog_has_several_entries_under_one_link(play: Play) -> None:
    async def story(stage: Stage) -> None:
        items = [item(n, link=_LINK) for n in (1, 2, 3)]

        told = await _told(stage, rss(*items), rss(item(4, link=_LINK), *items))

        assert told == ["new_entry"]
        assert len(await stage.entries()) == 4

    play(story)


@pytest.mark.parametrize(
    "other",
    [
        "https://paper.example/?p=1",
        "http://www.paper.example/?p=1",
        "https://www.paper.example/?p=1",
    ],
)
def test_a_guid_may_change_its_scheme_and_www(play: Play, other: str) -> None:
    async def story(stage: Stage) -> None:
        first = rss(item(1, guid="http://paper.example/?p=1", link=None))

        told = await _told(stage, first, rss(item(1, guid=other, link=None)))

        assert "new_entry" not in told  # the link follows the guid: that may be an update
        assert len(await stage.entries()) == 1

    play(story)


@pytest.mark.parametrize("blank", [" ", "\n\t "])
def test_a_blank_guid_is_none_at_all(play: Play, blank: str) -> None:
    async def story(stage: Stage) -> None:
        items = [item(n, guid=blank) for n in (1, 2)]

        told = await _told(stage, rss(*items), rss(item(3, guid=blank), *items))

        assert told == ["new_entry"]
        assert [entry.guid for entry in await stage.entries()] == [None] * 3

    play(story)


@pytest.mark.parametrize("constant", ["0", "1", "false", "https://paper.example/"])
def test_a_guid_on_every_item_says_nothing(play: Play, constant: str) -> None:
    async def story(stage: Stage) -> None:
        items = [item(n, guid=constant) for n in (1, 2, 3, 4)]

        told = await _told(stage, rss(*items), rss(item(5, guid=constant), *items))

        assert told == ["new_entry"]
        assert len(await stage.entries()) == 5
        page = await stage.services.store.feeds()
        assert page.items[0].ignored_guids == (constant,)

    play(story)


def test_the_same_guid_in_two_feeds_is_two_entries(play: Play) -> None:
    async def story(stage: Stage) -> None:
        for name in ("a", "b"):
            link = f"https://{name}.example/1"
            body = rss(item(1, guid="1", link=link, title=f"Of {name}"))
            feed = await stage.add(f"/{name}", document(body))
            await stage.poll(feed, times=2)

        entries = await stage.entries()
        assert titles(entries) == ["Of a", "Of b"]
        assert len({entry.entry_uid for entry in entries}) == 2
        assert [entry.revisions for entry in entries] == [0, 0]

    play(story)


@pytest.mark.parametrize("pair", [("urn:A", "urn:a"), ("urn:%7e", "urn:%7E"), ("a~b", "a%7Eb")])
def test_guids_that_differ_in_case_or_escapes_are_different(
    play: Play, pair: tuple[str, str]
) -> None:
    async def story(stage: Stage) -> None:
        one, other = (item(n, guid=guid, link=None) for n, guid in enumerate(pair))

        told = await _told(stage, rss(one), rss(other, one))

        assert told == ["new_entry"]

    play(story)


def test_without_guid_and_link_the_words_identify(play: Play) -> None:
    async def story(stage: Stage) -> None:
        bare = [item(n, guid=None, link=None, date=None) for n in (1, 2)]

        told = await _told(stage, rss(*bare), rss(*bare, extra="<ttl>60</ttl>"))

        assert told == []
        entries = await stage.entries()
        assert [entry.match_confidence for entry in entries] == ["low", "low"]
        assert [(entry.published, entry.published_source) for entry in entries] == [
            (None, "first_seen")
        ] * 2
        assert {entry.published_effective for entry in entries} == {entries[0].first_seen}

    play(story)


def test_an_item_that_comes_back_after_its_time_is_not_new(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", paper(1, 2), paper(2), paper(2, 3), paper(1, 2, 3))
        await stage.poll(feed, times=2)
        stage.later(days=31)
        await stage.poll(feed)
        news = [event.data["title"] for event in await stage.events("new_entry")]
        gone = await purge(stage.services)
        left = titles(await stage.entries())

        await stage.poll(feed)

        assert (gone["entries"], left) == (1, ["Title 2", "Title 3"])
        assert titles(await stage.entries()) == ["Title 1", "Title 2", "Title 3"]
        assert news == ["Title 1", "Title 2", "Title 3"]
        kept = [event.data["title"] for event in await stage.events("new_entry")]
        assert "Title 1" not in kept  # its first event has expired, and there is no second
        (back,) = await stage.events("entry.updated")
        assert back.data["restored"] is True

    play(story)


@pytest.mark.parametrize("validator", ['"a"', None], ids=["304", "same body"])
def test_entries_of_the_last_document_never_expire(play: Play, validator: str | None) -> None:
    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", document(numbered(1, 2), etag=validator))
        await stage.poll(feed)
        stage.later(days=40)
        await stage.poll(feed)
        stage.later(days=20)

        gone = await purge(stage.services)

        assert gone["entries"] == 0
        entries = await stage.entries()
        assert {entry.seen_count for entry in entries} == {2}
        assert {entry.last_seen - entry.first_seen for entry in entries} == {
            timedelta(days=40, seconds=1)
        }
        stage.later(days=365)
        assert (await purge(stage.services))["entries"] == 0

    play(story)


def test_a_feed_that_moves_keeps_its_entries(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feed = await stage.add("/old", paper(1, 2))
        await stage.poll(feed)
        stage.publisher.script("/new", paper(1, 2, 3))
        stage.publish(feed, redirect("/new", 301))

        after = await stage.poll(feed)

        assert after.move is not None
        assert {entry.feed_id for entry in await stage.entries()} == {feed.id}
        assert len(await stage.events("new_entry")) == 3
        assert await stage.services.store.find_feed((stage.publisher.url("/new"),)) == after

    play(story)


def _atom(*numbers: int, extra: str = "") -> Answer:
    return document(atom(*(atom_entry(n) for n in numbers), extra=extra), ATOM)


@pytest.mark.parametrize("between", [(), ((2,),)], ids=["at once", "after it had left"])
def test_a_tombstone_marks_and_does_not_erase(
    play: Play, between: tuple[tuple[int, ...], ...]
) -> None:
    async def story(stage: Stage) -> None:
        grave = (
            '<at:deleted-entry ref="urn:item:1" when="2025-10-14T10:00:00Z">'
            "<at:comment>Wrong.</at:comment></at:deleted-entry>"
        )
        answers = (_atom(1, 2), *(_atom(*numbers) for numbers in between), _atom(2, extra=grave))
        feed = await stage.add("/feed", *answers)

        await stage.poll(feed, times=len(answers) + 1)

        assert titles(await stage.entries(feed)) == ["Title 2"]
        marked = await stage.entries(feed, include_removed=True)
        assert titles(marked) == ["Title 1", "Title 2"]
        (told,) = await stage.events("entry.removed")
        assert (told.data["reason"], told.data["comment"]) == ("tombstone", "Wrong.")

    play(story)


@pytest.mark.parametrize("between", [(), ((2,),)], ids=["at once", "after it had left"])
def test_what_a_complete_feed_lacks_is_removed_and_comes_back(
    play: Play, between: tuple[tuple[int, ...], ...]
) -> None:
    async def story(stage: Stage) -> None:
        complete = document(numbered(2, extra="<fh:complete/>"))
        answers = (paper(1, 2), *(paper(*numbers) for numbers in between), complete)
        feed = await stage.add("/feed", *answers)
        await stage.poll(feed, times=len(answers))
        removed = [event.data["reason"] for event in await stage.events("entry.removed")]
        left = titles(await stage.entries(feed))

        stage.publish(feed, document(numbered(1, 2, extra="<fh:complete/>")))
        await stage.poll(feed)

        assert (removed, left) == (["absent"], ["Title 2"])
        assert titles(await stage.entries(feed)) == ["Title 1", "Title 2"]
        (back,) = await stage.events("entry.updated")
        assert back.data["restored"] is True
        assert len(await stage.events("new_entry")) == 2

    play(story)


def test_an_empty_complete_document_empties_nothing(play: Play) -> None:
    async def story(stage: Stage) -> None:
        empty = document(rss(extra="<fh:complete/>"))
        feed = await stage.add("/feed", paper(1, 2), empty)

        await stage.poll(feed, times=2)

        assert len(await stage.entries(feed)) == 2

    play(story)


def test_a_rewritten_history_raises_one_alarm_and_keeps_what_was(play: Play) -> None:
    async def story(stage: Stage) -> None:
        numbers = range(1, 13)
        rewritten = rss(*(item(n, text=f"Buy pills {n}.") for n in numbers))
        feed = await stage.add("/feed", paper(*numbers), document(rewritten))
        await stage.poll(feed, times=2)

        (alarm,) = await stage.events("history.rewritten")
        before, after = (fetch.fetch_id for fetch in await stage.fetches(feed))
        assert alarm.data == {
            "revised": 12,
            "fetch_id": after,
            "previous_fetch_id": before,
            "told_one_by_one": True,
        }
        assert len(await stage.events("entry.updated")) == 12
        assert len(await stage.events("new_entry")) == 12
        entry = (await stage.entries(feed))[0]
        (kept,) = await stage.services.store.revisions(entry.entry_uid)
        assert kept.summary is not None
        assert kept.summary.startswith("Text of")

    play(story)


def test_a_flood_of_rewritten_entries_is_one_event(play: Play) -> None:
    async def story(stage: Stage) -> None:
        numbers = range(1, FLOOD + 2)
        rewritten = rss(*(item(n, text=f"Buy pills {n}.") for n in numbers))
        feed = await stage.add("/feed", paper(*numbers), document(rewritten))
        await stage.poll(feed)
        before = len(await stage.events())

        await stage.poll(feed)

        (alarm,) = (await stage.events())[before:]
        assert alarm.type == "history.rewritten"
        assert (alarm.data["revised"], alarm.data["told_one_by_one"]) == (FLOOD + 1, False)
        assert {entry.revisions for entry in await stage.entries(feed)} == {1}

    play(story)


# Re-keys, edits, articles.


def test_a_mass_rekey_is_one_event_and_no_news(play: Play) -> None:
    async def story(stage: Stage) -> None:
        def keyed(scheme: str, *more: int) -> bytes:
            return rss(*(item(n, guid=f"{scheme}:{n}") for n in (*more, 1, 2, 3, 4, 5)))

        told = await _told(stage, keyed("old"), keyed("new"), keyed("new", 6), keyed("old"))

        assert told == ["feed.rekeyed", "new_entry"]
        (event,) = await stage.events("feed.rekeyed")
        assert event.data["entries"] == 5

    play(story)


@pytest.mark.parametrize(
    "documents",
    [
        pytest.param([(6, 6), (7, 6), (9, 6), (9, 6), (20, 6)], id="a few items"),
        pytest.param([(100, 100), (101, 100), (102, 100), (103, 100)], id="very many items"),
        pytest.param([(n, n) for n in range(4, 14)], id="a document that grows"),
    ],
)
def test_guids_that_number_the_items_of_each_document_identify_none(
    play: Play, documents: list[tuple[int, int]]
) -> None:
    """The newest item is always number 1, so each new entry gives all entries other numbers."""

    async def story(stage: Stage) -> None:
        numbers = [range(newest, newest - count, -1) for newest, count in documents]

        told = await _told(stage, *[rss(*_numbered(those)) for those in numbers])

        seen = {number for those in numbers for number in those}
        assert told == ["new_entry"] * (len(seen) - len(numbers[0]))
        assert {*titles(await stage.entries())} == {f"Title {n}" for n in seen}
        (feed,) = (await stage.services.store.feeds()).items
        health = await queries.health(feed.id, stage.services)
        assert health.volatile_fields == ("guid",)

    play(story)


def test_an_edited_title_among_numbered_items_is_an_update(play: Play) -> None:
    async def story(stage: Stage) -> None:
        first, second = _numbered(range(5, 0, -1)), _numbered(range(6, 1, -1))
        second[2] = item(4, guid="3", title="Edited")

        told = await _told(stage, rss(*first), rss(*second))

        assert sorted(told) == ["entry.updated", "new_entry"]
        assert len(await stage.entries()) == 6

    play(story)


def _numbered(numbers: range) -> list[str]:
    return [item(number, guid=f"{place}") for place, number in enumerate(numbers, 1)]


@pytest.mark.parametrize("host", ["http://paper.example", "https://new.example"])
def test_items_without_guids_survive_links_that_all_change(play: Play, host: str) -> None:
    async def story(stage: Stage) -> None:
        def linked(begin: str, *numbers: int) -> bytes:
            return rss(*(item(n, guid=None, link=f"{begin}/{n}") for n in numbers))

        told = await _told(
            stage,
            linked("https://paper.example", 1, 2, 3, 4),
            linked(host, 1, 2, 3, 4),
            linked(host, 5, 1, 2, 3, 4),
        )

        assert told == ["feed.rekeyed", "new_entry"]

    play(story)


def test_an_edit_keeps_the_row_and_gains_a_revision(play: Play) -> None:
    async def story(stage: Stage) -> None:
        edited = rss(item(1, text="Better."), item(2))
        told = await _told(stage, numbered(1, 2), edited, edited, edited)

        assert told == ["entry.updated"]
        entry = next(one for one in await stage.entries() if one.title == "Title 1")
        assert (entry.summary, entry.revisions, entry.seen_count) == ("Better.", 1, 4)
        assert entry.last_seen - entry.first_seen == timedelta(seconds=3)
        (revision,) = await stage.services.store.revisions(entry.entry_uid)
        assert revision.summary == "Text of 1."
        assert "summary" in revision.changed
        (event,) = await stage.events("entry.updated")
        assert event.entry_uid == entry.entry_uid
        assert event.data["changed"] == list(revision.changed)

    play(story)


def test_the_same_article_in_two_feeds_is_two_entries_and_one_article(play: Play) -> None:
    async def story(stage: Stage) -> None:
        for name in ("a", "b"):
            feed = await stage.add(f"/{name}", document(rss(item(1, guid=f"{name}:1"))))
            await stage.poll(feed)

        assert len(await stage.entries()) == 2
        counts = await stage.counts()
        assert (counts["entries"], counts["articles"]) == (2, 1)
        news = await stage.events("new_entry")
        assert [event.data["duplicate_article"] for event in news] == [False, True]

    play(story)


def test_syncing_again_inserts_nothing_and_touches_everything(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feeds = [await stage.add(f"/{n}", paper(n, n + 10, n + 20)) for n in range(5)]
        await stage.poll(*feeds)
        first, log = await stage.counts(), await stage.events()

        for feed in feeds:  # other bytes, the same entries
            number = int(feed.url.rpartition("/")[2])
            stage.publish(feed, document(numbered(number, number + 10, number + 20) + b"<!-- -->"))
        await stage.poll(*feeds)

        again = await stage.counts()
        assert {k: again[k] for k in ("entries", "articles", "revisions", "identities")} == {
            k: first[k] for k in ("entries", "articles", "revisions", "identities")
        }
        assert await stage.events() == log
        assert {fetch.fetch.outcome for fetch in stage.done[5:]} == {"fresh"}
        assert {entry.last_seen for entry in await stage.entries()} == {stage.clock.now()}

    play(story)


# Where a feed says it lives (D6); adopting comes later.


def test_a_new_feed_url_in_the_document_is_counted(play: Play) -> None:
    async def story(stage: Stage) -> None:
        new = "https://elsewhere.example/feed"
        extra = f"<itunes:new-feed-url>{new}</itunes:new-feed-url>"
        moving = document(numbered(1, extra=extra), etag='"a"')
        feed = await stage.add("/feed", moving)

        after = await stage.poll(feed, times=3)

        assert after.move is not None
        assert (after.move.url, after.move.source) == (new, "itunes:new-feed-url")
        assert after.move.sightings == 3
        stage.publish(feed, document(numbered(1, 2)))
        assert (await stage.poll(feed)).move is None

    play(story)


def test_a_self_link_counts_when_it_changes_and_not_because_it_differs(play: Play) -> None:
    async def story(stage: Stage) -> None:
        def at(host: str, *numbers: int) -> Answer:
            link = f'<atom:link rel="self" href="https://{host}.example/feed"/>'
            return document(numbered(*numbers, extra=link))

        feed = await stage.add("/feed", at("cdn", 1), at("new", 1), at("new", 1, 2), at("cdn", 1))

        moves = [(await stage.poll(feed)).move for _ in range(4)]

        assert moves[0] is None
        assert moves[1] is not None
        assert moves[2] is not None
        assert (moves[1].url, moves[1].source) == ("https://new.example/feed", "self")
        assert (moves[1].sightings, moves[2].sightings) == (1, 2)
        assert moves[3] is None

    play(story)


# Fields that the publisher changes with every request (17.5).


def _counted(request: int, text: str = "Text", guid: str = "") -> bytes:
    """Three items, each with a counter, and a channel that is built for every request."""
    items = (
        item(
            number,
            text=f"{text} of item, read {request * number + 7} times.",
            guid=guid and f"{guid}-{number}",
        )
        for number in (1, 2, 3)
    )
    return rss(
        *items, extra=f"<lastBuildDate>Mon, 01 Jun 2026 12:00:{request:02} GMT</lastBuildDate>"
    )


def test_counters_are_told_three_times_and_then_no_more(play: Play) -> None:
    async def story(stage: Stage) -> None:
        told = await _told(stage, *(_counted(request) for request in range(12)))

        assert [one for one in told if one == "entry.updated"] == ["entry.updated"] * 9
        entries = await stage.entries()
        assert all(entry.revisions == 3 for entry in entries)
        assert "read 40 times" in (entries[-1].summary or "")  # what is stored is the newest
        (feed,) = (await stage.services.store.feeds()).items
        health = await queries.health(feed.id, stage.services)
        assert health.volatile_fields == ("summary",)
        assert any(
            "changes the summary of entries with every request" in one for one in health.words
        )

    play(story)


def test_an_edit_beside_a_counter_is_told(play: Play) -> None:
    async def story(stage: Stage) -> None:
        before = [_counted(request) for request in range(6)]
        feed = await stage.add("/feed", *map(document, (*before, _counted(7, "Another text"))))
        await stage.poll(feed, times=len(before))
        known = len(await _kinds(stage))

        await stage.poll(feed)

        assert (await _kinds(stage))[known:].count("entry.updated") == 3

    play(story)


def test_guids_of_the_request_end_as_no_identity(play: Play) -> None:
    async def story(stage: Stage) -> None:
        documents = (
            rss(*(item(number, guid=f"r{request}-{number}") for number in range(1, 7)))
            for request in range(10)
        )

        told = await _told(stage, *documents)

        assert told == ["feed.rekeyed"] * 3
        assert len(await stage.entries()) == 6

    play(story)
