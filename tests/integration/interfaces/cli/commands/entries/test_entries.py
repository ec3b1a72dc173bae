"""The commands entries, entry, raw, explain and stats."""

from typing import Any

import pytest
from tests.support.command_line import Mill, paper

from feedmill_demo.server.script import document
from feedmill_demo.server.server import Publisher

ITEMS = (
    b"<item><guid>1</guid><link>https://p.example/1</link><title>Grain prices</title>"
    b"<category>economy</category><pubDate>Tue, 14 Oct 2025 09:00:00 GMT</pubDate></item>"
)


@pytest.fixture
def feed(mill: Mill, publisher: Publisher) -> Any:
    """A subscription that was polled once, with three entries."""
    target = f"/looking/{mill.folder.name}"
    body = paper("Water mill", "Wind mill").replace(b"<item>", ITEMS + b"<item>", 1)
    publisher.script(target, document(body.replace(b"<guid>1</guid><link>https://paper", b"<guid>0</guid><link>https://paper"), etag='"1"'))  # fmt: skip
    added = mill.json("add", "--as-is", publisher.url(target), "--tag", "mills")
    mill.ok("sync")
    return added


def titles(page: Any) -> set[str]:
    return {item["title"] for item in page["items"]}


def test_entries_are_listed_with_the_names_of_the_specification(mill: Mill, feed: Any) -> None:
    page = mill.json("entries")

    entry = next(item for item in page["items"] if item["title"] == "Grain prices")
    assert titles(page) == {"Grain prices", "Water mill", "Wind mill"}
    assert entry["feed_id"] == feed["id"]
    assert entry["published"] == "2025-10-14T09:00:00Z"
    assert {"entry_uid", "canonical_link", "summary", "content", "authors", "first_seen",
            "last_seen", "seen_count", "raw_refs", "content_hash"} <= set(entry)  # fmt: skip


@pytest.mark.parametrize(
    ("options", "found"),
    [
        (("--text", "wat"), {"Water mill"}),
        (("--category", "economy"), {"Grain prices"}),
        (("--tag", "mills"), {"Grain prices", "Water mill", "Wind mill"}),
        (("--tag", "other"), set()),
        (("--since", "2020-01-01"), {"Grain prices", "Water mill", "Wind mill"}),
        (("--until", "2020-01-01"), set()),
        (("--published-until", "2025-10-15"), {"Grain prices"}),
        (("--published-since", "2025-10-15"), {"Water mill", "Wind mill"}),
        (("--enclosures",), set()),
        (("--author", "Nobody"), set()),
    ],
)
def test_entries_are_filtered(
    mill: Mill,
    feed: Any,
    options: tuple[str, ...],
    found: set[str],
) -> None:
    assert titles(mill.json("entries", "--feed", feed["id"], *options)) == found


def test_entries_are_read_page_by_page(mill: Mill, feed: Any) -> None:
    first = mill.json("entries", "--feed", feed["url"], "--limit", "2")
    second = mill.json("entries", "--feed", feed["url"], "--limit", "2", "--after", first["next"])

    assert (len(first["items"]), len(second["items"]), second["next"]) == (2, 1, None)
    assert titles(first) | titles(second) == {"Grain prices", "Water mill", "Wind mill"}


def test_entries_are_listed_the_newest_first_or_the_oldest(mill: Mill, feed: Any) -> None:
    newest = mill.json("entries")["items"]
    oldest = mill.json("entries", "--oldest-first")["items"]

    assert newest[-1]["title"] == oldest[0]["title"] == "Grain prices"
    assert newest == oldest[::-1]
    assert {one["feed_url"] for one in newest} == {feed["url"]}
    arrived = mill.json("entries", "--order", "first-seen", "--limit", "1")
    assert arrived["next"].count(".") == 2


def test_an_article_of_two_feeds_is_listed_once(
    mill: Mill, feed: Any, publisher: Publisher
) -> None:
    target = f"/mirror/{mill.folder.name}"
    item = b"<rss version='2.0'><channel><title>Mirror</title>" + ITEMS + b"</channel></rss>"
    publisher.script(target, document(item))
    mill.json("add", "--as-is", publisher.url(target))
    mill.ok("sync")

    shown, every = mill.json("entries")["items"], mill.json("entries", "--duplicates")["items"]

    assert (len(shown), len(every)) == (3, 4)
    (copy,) = (one for one in every if one["duplicate_of"] is not None)
    assert copy["feed_title"] == "Mirror"
    (first,) = (one for one in shown if one["title"] == "Grain prices")
    assert (first["entry_uid"], first["feed_id"]) == (copy["duplicate_of"], feed["id"])
    assert first["article_id"] == copy["article_id"]
    articles = mill.json("articles")["items"]
    assert min((one["title"], one["entries"]) for one in articles) == ("Grain prices", 2)
    said = mill.ok("articles", "--limit", "2")
    assert (len(said.text.splitlines()), said.err[:19]) == (2, "next page: --after ")


@pytest.mark.usefixtures("feed")
def test_entries_for_people_have_one_line_each_and_the_way_to_the_next_page(mill: Mill) -> None:
    said = mill.ok("entries", "--limit", "2")

    lines = said.text.splitlines()
    assert len(lines) == 2
    assert all(line.count("\t") == 4 for line in lines)
    assert said.err.startswith("next page: --after ")


@pytest.mark.parametrize(
    "options", [("--since", "yesteryear"), ("--limit", "-1"), ("--limit", "many")]
)
def test_a_filter_that_makes_no_sense_is_refused(mill: Mill, options: tuple[str, ...]) -> None:
    said = mill("entries", *options, "--json")

    assert (said.status, said.error["code"]) == (2, "usage")


def test_no_entries_is_said_in_words_and_as_an_empty_list(mill: Mill) -> None:
    assert "feedmill sync" in mill.ok("entries").text
    assert mill.json("entries") == {"items": [], "next": None}


def test_an_entry_that_changed_shows_its_earlier_states(mill: Mill, publisher: Publisher) -> None:
    target = "/revised"
    publisher.script(target, document(paper("Before")), document(paper("After")))
    mill.ok("add", "--as-is", publisher.url(target))
    mill.ok("sync")
    mill.ok("sync", "--force")
    uid = mill.json("entries")["items"][0]["entry_uid"]

    plain = mill.json("entry", uid)
    full = mill.json("entry", uid, "--revisions")
    spoken = mill.ok("entry", uid, "--revisions")

    assert (plain["title"], plain["revisions"]) == ("After", 1)
    assert "history" not in plain
    assert [one["title"] for one in full["history"]] == ["Before"]
    assert "After" in spoken.text
    assert "revision 1" in spoken.text


def test_the_raw_slice_of_an_entry_is_exactly_what_was_published(mill: Mill, feed: Any) -> None:
    page = mill.json("entries", "--feed", feed["id"], "--category", "economy")
    entry = page["items"][0]

    piece = mill.ok("raw", entry["entry_uid"])

    assert piece.out == ITEMS


def test_the_raw_body_of_a_fetch_is_exactly_what_was_served(
    mill: Mill, publisher: Publisher
) -> None:
    body = paper("a \u4e2d\u6587 b")
    publisher.script("/exact", document(body))
    mill.ok("add", "--as-is", publisher.url("/exact"))
    mill.ok("sync")
    fetch_id = mill.json("entries")["items"][0]["raw_refs"][0]["fetch_id"]

    said = mill.ok("raw", fetch_id)
    told = mill.json("raw", fetch_id)
    spoken = mill.ok("raw", fetch_id, "--headers")

    assert said.out == body
    assert (told["http_status"], told["content_length"]) == (200, len(body))
    assert ["Content-Length", str(len(body))] in told["response_headers"]
    assert "User-Agent: feedmill/" in spoken.text


@pytest.mark.parametrize("words", [("entry", "nothing"), ("raw", "nothing")])
def test_what_is_not_there_is_a_no(mill: Mill, words: tuple[str, ...]) -> None:
    said = mill(*words, "--json")

    assert (said.status, said.error["code"]) == (1, "not-found")


def test_a_schedule_is_explained_in_sentences(mill: Mill, feed: Any) -> None:
    mill.ok("sync", "--force")

    told = mill.json("explain", feed["id"], "--history", "5")
    spoken = mill.ok("explain", feed["url"])

    assert [one["reason"] for one in told["items"]] == ["not-modified", "new-entries"]
    assert told["items"][1]["interval_before_sec"] == 900
    assert told["items"][1]["words"][0].startswith("The feed was polled at")
    assert "The next poll is due at" in spoken.text


def test_a_paused_feed_is_explained_as_paused(mill: Mill, feed: Any) -> None:
    mill.ok("pause", feed["id"])

    told = mill.json("explain", feed["id"])

    assert told["items"][0]["words"][-1].startswith("The feed is paused")


def test_a_feed_that_was_never_polled_says_when_it_will_be(mill: Mill) -> None:
    mill.ok("add", "--as-is", "https://one.example/feed")
    due = mill.ok("explain", "https://one.example/feed").text
    mill.ok("pause", "https://one.example/feed")
    paused = mill.ok("explain", "https://one.example/feed").text

    assert "not polled yet\n  The next poll is due now." in due
    assert "not polled yet\n  The feed is paused" in paused


@pytest.mark.usefixtures("feed")
def test_what_there_is_is_counted(mill: Mill) -> None:
    told = mill.json("stats")
    spoken = mill.ok("stats")

    assert (told["feeds"], told["entries"], told["fetches"], told["events"]) == (1, 3, 1, 4)
    assert "entries" in spoken.text
