"""Polling from the command line: once, for ever, one document, and without a store."""

import json
import sqlite3
import urllib.request
from contextlib import closing
from pathlib import Path

import pytest
from tests.support.command_line import Mill, PublisherBeside, finish, paper
from tests.support.servers.free_port import free_port
from tests.support.terminal import at_terminal
from tests.support.waiting import HANG_GUARD_SEC

from feedmill_demo.server.script import Answer, document
from feedmill_demo.server.server import Publisher

DIRTY = paper("Cats &amp;amp; &lt;b&gt;dogs&lt;/b&gt;", "&lt;script&gt;x()&lt;/script&gt;Two")


def test_a_whole_village_is_polled_and_polled_again_without_new_entries(
    mill: Mill, beside: PublisherBeside
) -> None:
    addresses = "\n".join(beside.village.addresses().values())
    mill.ok("import", "--as-is", "-", stdin=addresses.encode())

    first = mill.json("sync")
    again = mill.json("sync", "--force")

    assert first["feeds_checked"] == len(addresses.splitlines())
    assert first["new"] > 500
    assert again["new"] < first["new"] / 5  # the village lives: a few are really new
    reasons = {failure["reason"] for failure in first["failures"]}
    assert {"not-found", "gone", "html-page", "login-page", "bot-wall"} <= reasons
    assert mill.json("verify")["problems"] == []


def test_syncing_the_same_document_again_inserts_nothing_and_touches_last_seen(
    mill: Mill, publisher: Publisher
) -> None:
    publisher.script("/same", document(paper("a", "b")))
    mill.ok("add", "--as-is", publisher.url("/same"))

    first = mill.json("sync")
    before = mill.json("entries")["items"]
    again = mill.json("sync", "--force")
    after = mill.json("entries")["items"]

    assert (first["new"], again["new"], again["feeds_nochange"]) == (2, 0, 1)
    assert all(b["last_seen"] < a["last_seen"] for b, a in zip(before, after, strict=True))
    assert [one["entry_uid"] for one in before] == [one["entry_uid"] for one in after]


def test_tokens_in_addresses_of_feeds_are_in_no_output(mill: Mill, publisher: Publisher) -> None:
    publisher.script("/gone", Answer(status=404))
    address = publisher.url("/gone?token=t0ken")
    other = publisher.url("/other?token=t0ken")

    said = [
        mill("add", "--as-is", address),
        mill("sync", "--force", "--json"),
        mill("add", "--as-is", other),
        mill.until(lambda out: b"other" in out, "run"),
        mill("list"),
    ]

    assert "t0ken" not in "".join(one.text + one.err for one in said)
    assert said[1].json["failures"][0]["url"] == publisher.url("/gone?token=***")


def test_what_is_not_due_is_left_alone_and_the_next_moment_is_named(
    mill: Mill, publisher: Publisher
) -> None:
    publisher.script("/not-due", document(paper("a")))
    mill.ok("add", "--as-is", publisher.url("/not-due"))
    mill.ok("sync")

    spoken = mill.ok("sync")

    assert "nothing is due before" in spoken.text
    assert len(publisher.requests_to("/not-due")) == 1


def test_a_named_feed_is_polled_now_and_no_other(mill: Mill, publisher: Publisher) -> None:
    for path in ("/named", "/unnamed"):
        publisher.script(path, document(paper("a")))
        mill.ok("add", "--as-is", publisher.url(path))

    once = mill.json("sync", "--feed", publisher.url("/named"))
    twice = mill.json("sync", "--feed", publisher.url("/named"), "--force")

    assert (once["feeds_checked"], twice["feeds_checked"]) == (1, 1)
    assert publisher.requests_to("/unnamed") == ()
    assert mill.json("sync")["feeds_checked"] == 1


def test_a_forced_poll_waits_for_the_gap_of_its_host(mill: Mill, publisher: Publisher) -> None:
    mill.setenv(FEEDMILL_HOST_MIN_GAP_MS="400")
    publisher.script("/gap", document(paper("a")))
    mill.ok("add", "--as-is", publisher.url("/gap"))

    for _ in range(2):
        assert mill.json("sync", "--force")["feeds_checked"] == 1

    first, second = publisher.requests_to("/gap")
    assert second.offset_sec - first.offset_sec >= 0.4


def test_a_sync_in_which_everything_fails_exits_with_1_and_says_why(
    mill: Mill, publisher: Publisher
) -> None:
    publisher.script("/missing", Answer(status=404))
    mill.ok("add", "--as-is", publisher.url("/missing"))

    said = mill("sync", "--json")
    spoken = mill("sync", "--force")

    failure = said.json["failures"][0]
    assert said.status == 1
    assert (failure["reason"], failure["http_status"]) == ("not-found", 404)
    assert spoken.status == 1
    assert "not-found" in spoken.text
    assert "next poll in" in spoken.text


def test_damaged_row_costs_its_feed_is_counted_and_ends_with_1_without_a_traceback(
    mill: Mill, publisher: Publisher
) -> None:
    for path in ("/good", "/damaged"):
        publisher.script(path, document(paper("a")), document(paper("z")))
        mill.ok("add", "--as-is", publisher.url(path))
    mill.ok("sync")
    with closing(sqlite3.connect(mill.home / "feedmill.db")) as store, store:
        store.execute(
            "UPDATE entries SET guid = CAST(x'ff41' AS TEXT) WHERE feed_no ="
            " (SELECT feed_no FROM feeds WHERE url LIKE '%/damaged')"
        )

    spoken = mill("sync", "--force")

    assert spoken.status == 1
    assert "1 updated" in spoken.text  # of the other feed
    assert "1 error" in spoken.text
    assert "1 feed failed for a reason of feedmill's own" in spoken.err
    assert "damaged-row" in spoken.err
    assert "Traceback" not in spoken.err


def test_open_private_networks_and_a_limit_beyond_the_parser_are_announced_when_fetching(
    mill: Mill,
) -> None:
    mill.setenv(FEEDMILL_LOG="warning", MAX_XML_DEPTH="300")

    fetching = mill.ok("sync")
    looking = mill.ok("list")

    assert "max_xml_depth is above the limit of the XML parser, which applies" in fetching.err
    assert "feeds may be fetched from private networks" in fetching.err
    assert "127.0.0.0/8" in fetching.err
    assert looking.err == ""


def test_events_are_written_to_the_file_of_their_day(mill: Mill, publisher: Publisher) -> None:
    publisher.script("/taps", document(paper("a", "b")))
    mill.ok("add", "--as-is", publisher.url("/taps"))
    mill.setenv(FEEDMILL_STORE_RAW_COPIES="true")

    mill.ok("sync", "--no-taps")
    assert not (mill.home / "out").exists()
    mill.ok("sync", "--force")
    mill.ok("sync", "--force")

    (path,) = (mill.home / "out" / "events").glob("*.ndjson")
    events = [json.loads(line) for line in path.read_bytes().splitlines()]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    new = [event["data"] for event in events if event["type"] == "new_entry"]
    assert len(new) == 2
    assert {"entry_uid", "feed_id", "published", "canonical_link", "raw_refs"} <= set(new[0])
    (whole,) = (mill.home / "out" / "entries").glob("*.ndjson")
    entries = [json.loads(line) for line in whole.read_bytes().splitlines()]
    assert [(one["change"], one["title"]) for one in entries] == [("new", "a"), ("new", "b")]
    assert entries[0]["feed_url"] == publisher.url("/taps")
    (copy,) = (mill.home / "out" / "raw" / path.stem).glob("*.blob")
    assert copy.read_bytes() == paper("a", "b")
    assert copy.stem == new[0]["raw_refs"][0]["fetch_id"]


def test_without_a_store_named_addresses_are_polled_in_memory_and_nothing_is_claimed(
    mill: Mill, publisher: Publisher
) -> None:
    publisher.script("/memory", document(paper("a", "b")))
    mill.home.write_text("a file where the folder should be")

    said = mill("sync", "--json", "--feed", publisher.url("/memory"))
    spoken = mill("sync", "--feed", publisher.url("/memory"))

    assert (said.status, said.json["new"], said.json["persisted"]) == (0, 2, False)
    assert {one["title"] for one in said.json["entries"]} == {"a", "b"}
    assert "NOTHING is kept" in said.err
    assert "nothing was kept" in spoken.text
    assert mill.home.read_text() == "a file where the folder should be"


def test_without_a_store_and_without_addresses_there_is_nothing_to_do(mill: Mill) -> None:
    mill.home.write_text("a file where the folder should be")

    said = mill("sync", "--json")

    assert said.status == 1
    assert said.error["code"] == "cannot-open"
    assert "--feed" in said.error["hint"]


def test_one_feed_is_ingested_by_its_address_and_again_inserts_nothing(
    mill: Mill, publisher: Publisher
) -> None:
    publisher.script("/one", document(DIRTY))

    first = mill.json("ingest-one", "--feed-url", publisher.url("/one"))
    again = mill.json("ingest-one", "--feed-url", publisher.url("/one"))

    counters = ("parsed", "inserted", "updated", "skipped", "errors")
    assert [first[name] for name in counters] == [2, 2, 0, 0, 0]
    assert first["normalized_modified_count"] == 2
    assert [again[name] for name in counters] == [2, 0, 0, 2, 0]


def test_one_subscription_is_ingested_by_its_id(mill: Mill, publisher: Publisher) -> None:
    publisher.script("/by-id", document(paper("a")))
    feed = mill.json("add", "--as-is", publisher.url("/by-id"))

    spoken = mill.ok("ingest-one", "--feed-id", feed["id"])

    assert spoken.text.startswith("Feed ingestion completed: 1 parsed, 1 inserted")


@pytest.mark.parametrize("source", ["a file.xml", "-"])
def test_a_file_is_ingested_as_a_feed_of_its_own_that_is_never_polled(
    mill: Mill, source: str
) -> None:
    Path("a file.xml").write_bytes(paper("a"))

    first = mill.ok("ingest-one", "--file", source, "--json", stdin=paper("a")).json
    again = mill.ok("ingest-one", "--file", source, "--json", stdin=paper("a")).json

    assert (first["inserted"], again["inserted"], again["skipped"]) == (1, 0, 1)
    assert mill.json("list")["items"][0]["paused"]
    assert mill.json("sync", "--force")["feeds_checked"] == 0


def test_without_normalising_texts_stay_as_published_and_html_is_sanitised_all_the_same(
    mill: Mill,
) -> None:
    body = DIRTY.replace(
        b"</guid>",
        b"</guid><description>&lt;i&gt;x&lt;/i&gt;&lt;script&gt;y&lt;/script&gt;</description>",
    )
    Path("dirty.xml").write_bytes(body)

    mill.ok("ingest-one", "--file", "dirty.xml", "--no-normalize")
    published = mill.json("entries")["items"]
    mill.ok("ingest-one", "--file", "dirty.xml")
    clean = mill.json("entries")["items"]

    assert {one["title"] for one in published} == {
        "Cats &amp; <b>dogs</b>",
        "<script>x()</script>Two",
    }
    assert {one["content"] for one in published} == {"<i>x</i>"}
    assert {one["title"] for one in clean} == {"Cats & dogs", "Two"}


def test_what_is_no_feed_is_counted_as_an_error_and_named(mill: Mill) -> None:
    Path("page.txt").write_text("just words")

    said = mill("ingest-one", "--file", "page.txt", "--json")
    spoken = mill("ingest-one", "--file", "page.txt")

    assert said.status == 1
    assert (said.json["errors"], said.json["outcome"]) == (1, "not-a-feed")
    assert "1 errors" in spoken.text
    assert "not-a-feed" in spoken.err


@pytest.mark.parametrize(
    "options", [(), ("--file", "a", "--feed-id", "b"), ("--file", "not-there.xml")]
)
def test_exactly_one_source_has_to_be_given_and_to_exist(
    mill: Mill, options: tuple[str, ...]
) -> None:
    said = mill("ingest-one", *options, "--json")

    assert (said.status, said.error["code"]) == (2, "usage")


def test_a_run_polls_what_is_due_and_stops_when_its_time_is_up(
    mill: Mill, publisher: Publisher
) -> None:
    publisher.script("/run", document(paper("a", title="Run Paper")))
    mill.ok("add", "--as-is", publisher.url("/run"))

    said = mill.ok("run", "--for", "2")

    assert "Run Paper" in said.text
    assert "next in" in said.text
    assert "new-entries" in said.text
    assert mill.json("stats")["entries"] == 1


def test_a_run_at_a_terminal_says_what_it_waits_for(mill: Mill, publisher: Publisher) -> None:
    def start() -> str:
        return at_terminal("--home", str(mill.home), "run", "--for", "0.1")[1]

    publisher.script("/run", document(paper("a")))
    empty = start()
    mill.ok("add", publisher.url("/run"))
    waiting = start()
    mill.ok("pause", publisher.url("/run"))
    paused = start()

    assert "every feed is paused: feedmill resume FEED" in paused
    assert "no feeds yet: feedmill add URL" in empty
    assert "polling 1 feed, the next in " in waiting


def test_a_run_tells_programs_of_each_refresh_on_one_line(mill: Mill, publisher: Publisher) -> None:
    publisher.script("/run-json", document(paper("a")))
    mill.ok("add", "--as-is", publisher.url("/run-json"))

    said = mill.until(bool, "run", "--json")

    (line,) = said.out.splitlines()
    refresh = json.loads(line)
    assert (refresh["outcome"], refresh["entries_new"]) == ("fresh", 1)
    assert refresh["reason"] == "new-entries"


def test_a_run_prints_events_and_the_next_one_goes_on_where_it_ended(
    mill: Mill, publisher: Publisher
) -> None:
    publisher.script("/run-events", document(paper("a")))
    mill.ok("add", "--as-is", publisher.url("/run-events"))

    first = mill.until(lambda out: out.count(b"\n") == 2, "run", "--stdout", "--no-taps")
    publisher.script("/run-events", document(paper("a", "b")))
    mill.ok("sync", "--force", "--no-taps")
    second = mill.until(bool, "run", "--stdout", "--no-taps")

    events = [json.loads(line) for line in (first.out + second.out).splitlines()]
    assert [event["type"] for event in events] == ["feed.added", "new_entry", "new_entry"]
    assert [event["seq"] for event in events] == [1, 2, 3]
    assert (first.status, second.status) == (0, 0)
    assert not (mill.home / "out").exists()


def test_a_run_cannot_print_events_and_refreshes_at_once(mill: Mill) -> None:
    said = mill("run", "--stdout", "--json")

    assert (said.status, said.error["code"]) == (2, "usage")


def test_a_quiet_run_prints_nothing(mill: Mill, publisher: Publisher) -> None:
    publisher.script("/quiet", document(paper("a")))
    mill.ok("add", "--as-is", publisher.url("/quiet"))

    assert mill.ok("run", "--for", "0.3", "--quiet").out == b""


def test_the_counters_of_a_run_move(mill: Mill, publisher: Publisher) -> None:
    publisher.script("/counted", document(paper("a", "b")))
    publisher.script("/uncounted", Answer(status=503))
    mill.ok("add", "--as-is", publisher.url("/counted"), publisher.url("/uncounted"))
    port = free_port()

    process = mill.start("run", "--metrics-port", str(port), "--json")
    try:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(2)]  # both feeds were polled
        with urllib.request.urlopen(
            f"http://127.0.0.1:{port}/metrics", timeout=HANG_GUARD_SEC
        ) as answer:
            page = answer.read().decode()
    finally:
        process.terminate()
        said = finish(process)

    assert said.status == 0
    assert {json.loads(line)["outcome"] for line in lines} == {"fresh", "unavailable"}
    for line in (
        'feedmill_fetches_total{fault="none",outcome="fresh"} 1.0',
        'feedmill_fetches_total{fault="host",outcome="unavailable"} 1.0',
        'feedmill_entries_total{change="new"} 2.0',
        'feedmill_http_statuses_total{status="503"} 1.0',
        'feedmill_decisions_total{reason="new-entries"} 1.0',
        'feedmill_health_changes_total{health="backing-off"} 1.0',
        'feedmill_stored{kind="feeds"} 2.0',
        'feedmill_feeds{state="feeds"} 2.0',
    ):
        assert line in page


def test_a_port_that_is_taken_is_a_clear_error(mill: Mill, publisher: Publisher) -> None:
    said = mill("run", "--for", "300", "--metrics-port", str(publisher.port), "--json")

    assert (said.status, said.error["code"]) == (2, "usage")
    assert str(publisher.port) in said.error["message"]


def test_the_log_has_one_wide_line_per_refresh_with_the_decision_and_its_reason(
    mill: Mill, publisher: Publisher
) -> None:
    publisher.script("/logged", document(paper("a")))
    mill.ok("add", "--as-is", publisher.url("/logged"))
    mill.setenv(FEEDMILL_LOG="info", FEEDMILL_LOG_JSON="1")

    said = mill.ok("sync", "--json")

    lines = [json.loads(line) for line in said.err.splitlines()]
    (refreshed,) = [line for line in lines if line["event"] == "refreshed"]
    assert refreshed["decision_reason"] == "new-entries"
    assert (refreshed["outcome"], refreshed["http_status"], refreshed["new"]) == ("fresh", 200, 1)
    assert refreshed["interval_before"] == 900
    assert refreshed["interval_after"] == 675


def test_a_feed_cannot_forge_a_line_of_the_log_or_of_the_terminal(
    mill: Mill, publisher: Publisher
) -> None:
    evil = "Evil&#10;level=error event=forged \u202e\u2028 &#x1b;[31mred"
    page = f"<html><title>{evil}</title><form><input type=password></form></html>"
    publisher.script(
        "/evil-page", Answer(body=page.encode(), headers=(("Content-Type", "text/html"),))
    )
    publisher.script("/evil-feed", document(paper("a", title=evil)))
    mill.ok("add", "--as-is", publisher.url("/evil-page"), publisher.url("/evil-feed"))
    mill.setenv(FEEDMILL_LOG="info")

    said = mill("sync")
    shown = [mill(*words) for words in (("list",), ("run", "--for", "0.1"))]

    logged = [line for line in said.err.splitlines() if "event=refreshed" in line]
    assert len(logged) == 2
    assert not any(line.startswith("level=error") for line in said.err.splitlines())
    for text in (said.err, said.text, *(one.text for one in shown)):
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert "\u2028" not in text
