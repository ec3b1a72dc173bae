"""Which files are wanted: opt-in, rules, types, sizes, versions, the newest entries."""

from datetime import UTC, datetime

import pytest
from msgspec.structs import replace
from tests.support.sample_refreshes import an_entry, new_feed

from feedmill.adapters.store.tables.codec import feed_of_new
from feedmill.config import IdentifyConfig, MediaConfig
from feedmill.identify.keys import identify
from feedmill.media.select import download_job, media_id, rules_of, select_files
from feedmill.model.derived.fetched import MediaRules
from feedmill.model.entry import EntryEnclosure
from feedmill.model.event import StoredEntry
from feedmill.model.feed import Feed, FeedOverrides
from feedmill.model.identity import Added, Change, FeedIdentity
from feedmill.schedule.follow_up import media_jobs, select_job, wants_media

CONFIG = MediaConfig(tags=("podcast",))
RULES = MediaRules(types=("audio/*", "video/mp4"), max_bytes=1_000, newest=0)


def feed_with(*, tags: tuple[str, ...] = (), **own: object) -> Feed:
    overrides = replace(FeedOverrides(), **own)
    return replace(feed_of_new(new_feed()), tags=tags, overrides=overrides)


def entry_with(*files: EntryEnclosure, day: int = 1, dated: bool = True) -> StoredEntry:
    at = datetime(2026, 1, day, tzinfo=UTC)
    return StoredEntry(
        entry_uid=f"e{day}",
        feed_id="f",
        first_seen=at,
        last_seen=at,
        seen_count=1,
        content_hash="h",
        dedupe_key="d",
        match_confidence="guid",
        enclosures=files,
        published_effective=at if dated else None,
    )


def file(name: str = "a.mp3", kind: str | None = "audio/mpeg", **more: object) -> EntryEnclosure:
    return replace(EntryEnclosure(url=f"https://cdn.example/{name}", type=kind), **more)


@pytest.mark.parametrize(("tags", "own", "wanted"), [
    pytest.param((), None, False, id="nobody asked"),
    pytest.param(("podcast",), None, True, id="by tag"),
    pytest.param((), True, True, id="by the feed"),
    pytest.param(("podcast",), False, False, id="feed opted out"),
])  # fmt: skip
def test_feed_opts_in_itself_or_by_tag(
    tags: tuple[str, ...], *, own: bool | None, wanted: bool
) -> None:
    assert wants_media(feed_with(tags=tags, media=own), CONFIG) is wanted


def test_rules_of_a_feed_come_before_those_of_the_settings() -> None:
    feed = feed_with(media_types=("video/*",), media_newest=3, media_max_bytes=10**15)

    assert rules_of(feed, CONFIG) == MediaRules(
        types=("video/*",), max_bytes=CONFIG.max_file_bytes, newest=3
    )
    assert rules_of(feed_with(), CONFIG).newest == CONFIG.newest
    assert rules_of(feed_with(media_max_bytes=5), CONFIG).max_bytes == 5


def added(*files: EntryEnclosure) -> Change:
    entry = replace(an_entry("a"), enclosures=files)
    (seen,) = identify((entry,), FeedIdentity(feed_id="f", feed_key="k"), IdentifyConfig())
    return Added(seen=seen, entry_uid="a", new_keys=(), article="new")


def test_document_with_new_files_queues_one_selection() -> None:
    feed = feed_with(media=True)

    assert media_jobs((added(), added(file())), feed, CONFIG) == (select_job(feed.id),)
    assert media_jobs((added(),), feed, CONFIG) == ()
    assert media_jobs((added(file()),), feed_with(), CONFIG) == ()


@pytest.mark.parametrize(("given", "wanted"), [
    pytest.param(file(), True, id="wanted type"),
    pytest.param(file(kind="image/png"), False, id="another type"),
    pytest.param(file(kind=None), True, id="no type, by its ending"),
    pytest.param(file(kind="application/octet-stream"), True, id="a type that says nothing"),
    pytest.param(file("page", kind=None), False, id="nothing suggests a type"),
    pytest.param(file(length=1_000), True, id="as large as allowed"),
    pytest.param(file(length=1_001), False, id="too large by its own word"),
    pytest.param(replace(file(), url="ftp://cdn.example/a.mp3"), False, id="no web address"),
])  # fmt: skip
def test_file_is_wanted_by_type_and_size(given: EntryEnclosure, *, wanted: bool) -> None:
    assert bool(select_files([entry_with(given)], RULES)) is wanted


def test_one_version_of_the_main_file_is_chosen_and_other_files_come_too() -> None:
    main, opus = file("a.mp4", "video/mp4"), file("a.opus", "audio/opus", alternate=True)
    entry = entry_with(main, file("b.mp3"), opus, file("c.gif", "image/gif"))

    chosen = select_files([entry], RULES)

    assert [one.url.rpartition("/")[2] for one in chosen] == ["a.opus", "b.mp3"]


def test_publisher_s_choice_wins_among_equals() -> None:
    entry = entry_with(file("a.mp3"), file("b.mp3", alternate=True))

    assert [one.url[-5:] for one in select_files([entry], RULES)] == ["a.mp3"]


def test_only_the_newest_entries_with_a_file_are_wanted() -> None:
    entries = [entry_with(file(f"{day}.mp3"), day=day) for day in (1, 3, 2)]
    entries.append(entry_with(day=9))
    entries.append(entry_with(file("5.mp3"), day=5, dated=False))  # by when it was seen

    chosen = select_files(entries, replace(RULES, newest=2))

    assert [one.entry_uid for one in chosen] == ["e5", "e3"]
    assert chosen[0].published_at == entries[-1].first_seen
    assert len(select_files(entries, RULES)) == 4


def test_jobs_name_feed_and_file() -> None:
    (wanted,) = select_files([entry_with(file())], RULES)

    job = download_job(wanted)
    forced = download_job(wanted, forced=True)

    assert (job.kind, job.key, job.url) == ("media", wanted.media_id, wanted.url)
    assert (job.payload, forced.payload) == ({}, {"forced": True})
    assert (select_job("f").kind, select_job("f").url) == ("media-select", None)
    assert wanted.media_id == media_id("e1", "https://cdn.example/a.mp3")
