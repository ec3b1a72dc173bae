"""Each thing that happened to a feed is one event with what a reader needs to know."""

from datetime import timedelta
from typing import Literal

import pytest
from msgspec.structs import replace
from tests.support.sample_refreshes import IDENTIFY, NOON, an_entry, new_feed

from feedmill.identify.keys import identify
from feedmill.model.derived.cluster import ClusterChange
from feedmill.model.derived.fetched import FullText, MediaItem
from feedmill.model.event import NewEvent
from feedmill.model.feed import Feed, HostPace, MergedFeed, Move
from feedmill.model.identity import (
    Added,
    Change,
    Changes,
    ChangeSummary,
    FeedIdentity,
    Identified,
    IdentityKey,
    KnownEntry,
    Rekeyed,
    Remap,
    Removed,
    Revised,
    UnchangedEntry,
)
from feedmill.model.parsed import Slice
from feedmill.model.schedule import ErrorBudget, ScheduleState
from feedmill.publish.events import (
    FLOOD,
    event_of_full_text,
    event_of_held_move,
    event_of_host,
    event_of_media,
    event_of_merge,
    event_of_move,
    event_of_new_feed,
    event_of_quota,
    event_of_removed_feed,
    event_of_rewound_log,
    event_of_state,
    event_of_undone_merge,
    events_of_changes,
    events_of_clusters,
    is_rewound_untold,
)

FEED = Feed(
    id="f",
    url="https://paper.example/feed",
    feed_key="https://paper.example/feed",
    created_at=NOON,
    next_poll_at=NOON,
    schedule=ScheduleState(interval_sec=900),
)
KNOWN = KnownEntry(entry_id=1, entry_uid="known", feed_id="f")
MOVE = Move(
    from_url="https://paper.example/feed",
    to_url="https://paper.example/new",
    source="redirect",
    proof="content",
    moved_at=NOON,
)


def seen(name: str, piece: Slice | None = None) -> Identified:
    """An entry of a document; with a slice, as a feed in XML has it."""
    entry = replace(an_entry(name), slice=piece)
    return identify([entry], FeedIdentity(feed_id="f", feed_key=FEED.feed_key), IDENTIFY)[0]


def told(
    *changes: Change,
    removed: tuple[Removed, ...] = (),
    summary: ChangeSummary = ChangeSummary(),  # noqa: B008  # frozen
) -> list[NewEvent]:
    """The events of a document that changed this."""
    return list(
        events_of_changes(
            Changes(changes=changes, summary=summary),
            removed,
            feed=FEED,
            fetch_id="fetch",
            now=NOON,
            previous_fetch_id="before",
        )
    )


def added(article: Literal["new", "duplicate"] = "new", piece: Slice | None = None) -> Added:
    return Added(seen=seen("a", piece), entry_uid="uid", new_keys=(), article=article)


def revised() -> Revised:
    return Revised(
        known=KNOWN,
        seen=seen("a"),
        matched_by="guid",
        changed=("title",),
        new_keys=(),
        article="same",
    )


@pytest.mark.parametrize("article", ["new", "duplicate"])
def test_added_entry_says_whether_its_article_is_known_from_another_source(
    article: Literal["new", "duplicate"],
) -> None:
    (event,) = told(added(article))

    assert (event.type, event.feed_id, event.entry_uid) == ("new_entry", "f", "uid")
    assert event.data["title"] == "About a"
    assert event.data["duplicate_article"] == (article == "duplicate")


@pytest.mark.parametrize(
    ("piece", "reference"),
    [
        (None, {"fetch_id": "fetch", "offset": None, "length": None}),
        (
            Slice(offset=7, length=9, digest="d"),
            {"fetch_id": "fetch", "offset": 7, "length": 9},
        ),
    ],
)
def test_added_entry_points_at_its_bytes_in_the_raw_document(
    piece: Slice | None, reference: dict[str, object]
) -> None:
    (event,) = told(added(piece=piece))

    assert event.data["raw_refs"] == [reference]


def test_revised_entry_names_the_fields_that_changed() -> None:
    (event,) = told(revised())

    assert (event.type, event.entry_uid) == ("entry.updated", "known")
    assert (event.data["changed"], event.data["restored"]) == (["title"], False)


def test_touched_entry_is_no_event() -> None:
    assert told(UnchangedEntry(known=KNOWN, matched_by="guid")) == []


def test_new_guids_for_a_whole_feed_are_one_event() -> None:
    key = IdentityKey(type="guid", value="g")

    (event,) = told(Rekeyed(feed_id="f", remaps=(Remap(entry_id=1, new=key),) * 3))

    assert (event.type, event.data) == ("feed.rekeyed", {"entries": 3, "fetch_id": "fetch"})


def test_removed_entry_comes_with_its_reason() -> None:
    (event,) = told(removed=(Removed(known=KNOWN, reason="tombstone", comment="withdrawn"),))

    assert (event.type, event.entry_uid) == ("entry.removed", "known")
    assert (event.data["reason"], event.data["comment"]) == ("tombstone", "withdrawn")


@pytest.mark.parametrize(
    ("count", "types"),
    [
        pytest.param(FLOOD, ["entry.updated", "history.rewritten"], id="each revision is told"),
        pytest.param(FLOOD + 1, ["history.rewritten"], id="one event stands for a flood"),
    ],
)
def test_rewritten_history_is_told_with_the_fetch_before_it(count: int, types: list[str]) -> None:
    events = told(revised(), summary=ChangeSummary(revised=count, history_rewritten=True))

    assert [event.type for event in events] == types
    assert events[-1].data == {
        "revised": count,
        "fetch_id": "fetch",
        "previous_fetch_id": "before",
        "told_one_by_one": len(types) == 2,
    }


def test_change_of_health_is_an_event_and_no_change_is_none() -> None:
    failing = replace(
        FEED,
        schedule=replace(FEED.schedule, health="suspect"),
        last_result="timeout",
        last_detail="after 30 s",
    )

    (event,) = event_of_state(FEED, failing, now=NOON)

    assert event.type == "feed.state"
    assert event.data == {
        "before": "active",
        "after": "suspect",
        "reason": "timeout",
        "detail": "after 30 s",
        "circuit_before": "closed",
        "circuit": "closed",
    }
    assert event_of_state(failing, failing, now=NOON) == ()


def test_a_circuit_that_opens_or_closes_is_an_event() -> None:
    errors = ErrorBudget(spent=0.5, opened_at=NOON)
    tripped = replace(FEED, schedule=replace(FEED.schedule, errors=errors))

    (opened,) = event_of_state(FEED, tripped, now=NOON)
    (closed,) = event_of_state(tripped, FEED, now=NOON)

    assert (opened.data["before"], opened.data["after"]) == ("active", "active")
    assert (opened.data["circuit"], closed.data["circuit"]) == ("open", "closed")


def test_subscription_and_its_end_name_address_and_tags() -> None:
    new = new_feed(1)

    start, end = event_of_new_feed(new), event_of_removed_feed(FEED, now=NOON)

    assert (start.type, start.data["url"], start.data["tags"]) == (
        "feed.added",
        new.url,
        list(new.tags),
    )
    assert (end.type, end.data["url"], end.occurred_at) == ("feed.removed", FEED.url, NOON)


def test_move_and_its_undoing_are_told_at_their_own_moments() -> None:
    later = NOON + timedelta(days=1)

    made = event_of_move(FEED, MOVE)
    undone = event_of_move(FEED, replace(MOVE, undone_at=later))

    assert (made.type, made.occurred_at, made.data["undone"]) == ("feed.moved", NOON, False)
    assert (undone.occurred_at, undone.data["undone"]) == (later, True)


def test_move_that_is_held_back_says_why() -> None:
    event = event_of_held_move(FEED, MOVE.to_url, "other-feed", now=NOON)

    assert event.type == "feed.move_held"
    assert event.data == {"url": FEED.url, "to_url": MOVE.to_url, "reason": "other-feed"}


def test_merge_belongs_to_the_feed_that_stays() -> None:
    other = replace(FEED, id="g", url="https://paper.example/g")

    event = event_of_merge(other, FEED, MOVE.proof, now=NOON)

    assert (event.type, event.feed_id) == ("feed.merged", "f")
    assert (event.data["from"], event.data["into"]) == ("g", "f")


def test_undone_merge_belongs_to_the_feed_that_gave_the_other_back() -> None:
    merged = MergedFeed(
        feed_id="g",
        url="https://paper.example/g?token=secret",
        title=None,
        into_id="f",
        into_url=FEED.url,
        merged_at=NOON,
    )

    event = event_of_undone_merge(merged, FEED, now=NOON)

    assert (event.type, event.feed_id) == ("feed.unmerged", "f")
    assert (event.data["from"], event.data["into"], event.data["proof"]) == ("f", "g", "undone")
    assert "secret" not in event.data["into_url"]


@pytest.mark.parametrize(
    ("id_there", "last", "rewound_at", "untold"),
    [
        pytest.param("told", 9, 0, False, id="the log has it"),
        pytest.param("other", 9, 0, True, id="the log has another event there"),
        pytest.param("other", 9, 8, False, id="the log has another event there and said so"),
        pytest.param("other", 9, 3, True, id="it said so about an earlier time"),
        pytest.param(None, 4, 0, True, id="the log ends before it"),
        pytest.param(None, 9, 0, False, id="retention took it"),
    ],
)
def test_log_that_went_back_is_told_once(
    id_there: str | None, last: int, rewound_at: int, *, untold: bool
) -> None:
    assert untold == is_rewound_untold(
        5, "told", id_there=id_there, last=last, rewound_at=rewound_at
    )


def test_event_of_a_log_that_went_back_says_what_was_told_and_where_the_log_ended() -> None:
    event = event_of_rewound_log(5, 3, now=NOON)

    assert (event.type, event.feed_id) == ("log.rewound", "")
    assert event.data == {"delivered_seq": 5, "log_ended_at": 3}


def test_the_state_of_a_host_is_told_with_its_reason_and_its_canary() -> None:
    pace = HostPace(gap_ms=1, failing_with="timeout", canary="f", next_ok_at=NOON)

    failing = event_of_host("a.example", "well", "incident", pace, now=NOON)
    well = event_of_host("a.example", "incident", "well", HostPace(gap_ms=1), now=NOON)

    assert (failing.data["reason"], failing.data["canary"]) == ("timeout", "f")
    assert failing.data["until"] is not None
    assert (well.data["until"], well.data["canary"]) == (None, None)


def test_a_full_text_is_told_or_why_there_is_none() -> None:
    found = FullText(
        entry_uid="e",
        feed_id="f",
        url="https://paper.example/1",
        final_url="https://paper.example/1",
        fetched_at=NOON,
        extracted_at=NOON,
        state="extracted",
        words=9,
    )

    told = event_of_full_text(found)
    failed = event_of_full_text(replace(found, state="failed", reason="too-short"))

    assert (told.type, told.data["words"]) == ("fulltext.extracted", 9)
    assert (failed.type, failed.data["reason"]) == ("fulltext.failed", "too-short")


def test_file_of_an_entry_is_told_with_its_digest_or_its_reason() -> None:
    item = MediaItem(
        media_id="m",
        entry_uid="e",
        feed_id="f",
        url="https://a.example/1.mp3?token=x",
        published_at=NOON,
        queued_at=NOON,
        state="stored",
        sha256="ab",
        size_bytes=9,
    )

    stored = event_of_media(item, at=NOON)
    failed = event_of_media(replace(item, state="failed", reason="quota"), at=NOON)

    assert (stored.type, stored.data["sha256"], stored.data["size_bytes"]) == (
        "media.stored",
        "ab",
        9,
    )
    assert stored.data["url"] == "https://a.example/1.mp3?token=***"
    assert (failed.type, failed.data["reason"]) == ("media.failed", "quota")


def test_entries_that_wait_for_a_quota_are_counted() -> None:
    event = event_of_quota("f", "entries-per-day", now=NOON, waiting=7)

    assert (event.type, event.feed_id) == ("feed.quota", "f")
    assert event.data == {"reason": "entries-per-day", "waiting": 7}


def test_an_entry_that_joins_a_story_names_it_and_the_one_it_left() -> None:
    change = ClusterChange(
        entry_uid="e", feed_id="f", cluster_id="new", previous="old", feeds=3, evidence=("link",)
    )

    (event,) = events_of_clusters([change], NOON)

    assert (event.type, event.entry_uid) == ("entry.clustered", "e")
    assert (event.data["cluster_id"], event.data["previous"]) == ("new", "old")
    assert event.data["evidence"] == ("link",)
