"""Taking care: replay, purge, verify, doctor, settings; the demonstration; reading a file."""

import http.client
import json
import subprocess
from pathlib import Path

import pytest
from tests.support.command_line import Mill, finish, paper
from tests.support.waiting import HANG_GUARD_SEC

from feedmill_demo.server.script import document
from feedmill_demo.server.server import Publisher

ROOT = Path(__file__).parents[6]


@pytest.fixture
def polled(mill: Mill, publisher: Publisher) -> str:
    """The id of a feed that was polled once."""
    target = f"/care/{mill.folder.name}"
    publisher.script(target, document(paper("Cats &amp;amp; dogs", "Two")))
    feed = mill.json("add", "--as-is", publisher.url(target))
    mill.ok("sync")
    return str(feed["id"])


def test_a_replay_of_what_was_read_alike_changes_nothing(mill: Mill, polled: str) -> None:
    told = mill.json("replay", polled)
    spoken = mill.ok("replay", "--all")

    assert told["items"][0]["outcome"] == "read"
    assert told["items"][0]["differences"] == []
    assert "0 entries differ, 2 are unchanged" in spoken.text


def test_a_replay_needs_to_be_told_what(mill: Mill) -> None:
    assert mill("replay", "--json").status == 2


def test_feeds_that_were_never_read_cannot_be_read_again(mill: Mill) -> None:
    mill.ok("add", "--as-is", "https://one.example/feed")

    assert "1 feeds have no readable document" in mill.ok("replay", "--all").text


@pytest.mark.usefixtures("polled")
def test_purging_lets_nothing_go_that_stands_in_a_feed(mill: Mill) -> None:
    told = mill.json("purge")
    spoken = mill.ok("purge")

    assert told["entries"] == 0
    assert "0 entries" in spoken.text
    assert mill.json("stats")["entries"] == 2


@pytest.mark.usefixtures("polled")
def test_a_sound_store_verifies_and_a_damaged_one_is_told_with_1(mill: Mill) -> None:
    sound = mill.ok("verify")
    (segment,) = [path for path in (mill.home / "raw").rglob("*") if path.stat().st_size > 300]
    data = segment.read_bytes()
    segment.write_bytes(data.replace(b"Two", b"Tow"))

    damaged = mill("verify", "--json")
    spoken = mill("verify")

    assert sound.text.endswith("no problems\n")
    assert damaged.status == 1
    assert len(damaged.json["problems"]) == 1
    assert f"problem segment {segment.stem} is damaged: document " in spoken.text


def test_doctor_names_packages_that_the_settings_need(
    mill: Mill, monkeypatch: pytest.MonkeyPatch
) -> None:
    mill.setenv(FEEDMILL_FULLTEXT_TAGS="news", OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9")
    there = {one["name"]: one["ok"] for one in mill("doctor", "--json").json["items"]}
    monkeypatch.setattr("feedmill.app.doctor.find_spec", lambda _: None)

    missing = {one["name"]: one for one in mill("doctor", "--json").json["items"]}

    assert (there["full texts"], there["traces"]) == (True, True)
    assert missing["full texts"]["ok"] is False
    assert "feedmill[otel]" in missing["traces"]["detail"]


def test_the_doctor_looks_at_everything_a_run_depends_on(mill: Mill) -> None:
    told = mill("doctor", "--json")
    spoken = mill("doctor")

    checks = {check["name"]: check["ok"] for check in told.json["items"]}
    assert set(checks) == {
        "configuration", "clock", "disk", "permissions", "tls", "dns", "open files", "user agent",
    }  # fmt: skip
    assert told.status == (0 if all(checks.values()) else 1)  # DNS depends on where this runs
    assert checks["permissions"]
    assert "clock" in spoken.text


def test_settings_in_force_are_shown_and_changes_are_marked(mill: Mill) -> None:
    Path("feedmill.toml").write_text("[schedule]\nmin_interval_sec = 600\n")

    told = mill.json("config", "show")
    spoken = mill.ok("config", "show")

    assert told["schedule"]["min_interval_sec"] == 600
    assert told["store"]["home"] == str(mill.home)
    assert "min_interval_sec = 600   # changed" in spoken.text
    assert "max_interval_sec = 86400\n" in spoken.text


def test_a_home_that_is_named_brings_its_own_settings(mill: Mill) -> None:
    (mill.folder / "other").mkdir()
    (mill.folder / "other" / "feedmill.toml").write_text("[schedule]\nmin_interval_sec = 700\n")

    told = mill.json("--home", "other", "config", "show")

    assert told["schedule"]["min_interval_sec"] == 700
    assert told["store"]["home"] == "other"


def test_every_setting_is_listed_with_its_variable(mill: Mill) -> None:
    told = mill.json("config", "show", "--reference")
    spoken = mill.ok("config", "show", "--reference")

    variables = {(row["part"], row["field"]): row["variable"] for row in told["items"]}
    assert variables["normalise", "enabled"] == "NORMALIZE_ENABLED"
    assert variables["store", "home"] == "FEEDMILL_HOME"
    assert "SCHED_MIN_INTERVAL_SEC" in spoken.text


def test_the_demonstration_shows_living_feeds_and_comes_to_an_end(mill: Mill) -> None:
    def has_shown_all(out: bytes) -> bool:
        """Most of its feeds were polled, and what is fetched on request has come in."""
        log = b"".join(one.read_bytes() for one in Path("kept").glob("out/events/*.ndjson"))
        extras = (b"media.stored", b"fulltext.extracted", b"entry.clustered")
        return out.count(b"\n") > 50 and all(one in log for one in extras)

    said = mill.until(
        has_shown_all,
        *("demo", "--for", "0", "--port", "0", "--keep", "kept"),  # until a signal
    )
    mill.setenv(FEEDMILL_HOME=str(mill.folder / "kept"))

    assert said.status == 0
    assert "Serving " in said.text
    assert "console at http://127.0.0.1:" in said.err
    assert "Results per feed" in said.text
    assert "Why is" in said.text
    for words in (
        "A file of an entry is kept",
        "The full text of a page",
        "carried by several feeds",
    ):
        assert words in said.text
    assert "Next, with real feeds" in said.text
    assert mill.json("stats")["entries"] > 300
    assert mill("demo", "--keep", "kept").status == 2


def test_polling_with_a_console_answers_browsers(mill: Mill) -> None:
    process = mill.start("run", "--console", "--port", "0", "--quiet")
    assert process.stderr is not None
    line = process.stderr.readline().decode()
    host, _, port = line.removeprefix("console at http://").rstrip("/\n").partition(":")

    connection = http.client.HTTPConnection(host, int(port), timeout=HANG_GUARD_SEC)
    connection.request("GET", "/")
    answer = connection.getresponse()
    page = answer.read()
    connection.close()
    process.terminate()

    assert finish(process).status == 0
    assert answer.status == 200
    assert b"Needs attention" in page
    assert mill("run", "--port", "0").status == 2  # of a console that was not asked for


def test_the_demonstration_speaks_to_programs_too(mill: Mill) -> None:
    said = mill.until(
        lambda out: b'"fresh"' in out and b'"not-found"' in out,
        *("demo", "--for", str(HANG_GUARD_SEC), "--json"),
    )

    *refreshes, last = [json.loads(line) for line in said.out.splitlines()]
    assert {"fresh", "not-found"} <= {refresh["outcome"] for refresh in refreshes}
    assert last["counts"]["feeds"] == len(last["feeds"])


def test_a_document_is_read_and_its_repairs_are_named(mill: Mill) -> None:
    said = mill.ok("parse", "-", "--clean", stdin=b" " + paper("Cats &amp;amp; &nbsp; dogs"))
    told = mill.ok("parse", "-", "--json", stdin=paper("a"))

    assert "Cats & dogs" in said.text
    assert "mended" in said.text
    assert told.json["entries"][0]["title"]["value"] == "a"


@pytest.mark.parametrize(
    ("words", "status", "code"),
    [
        (("parse", "page.html"), 1, "html-page"),
        (("parse", "missing.xml"), 2, "unreadable-file"),
    ],
)
def test_what_is_no_feed_is_called_what_it_is(
    mill: Mill, words: tuple[str, ...], status: int, code: str
) -> None:
    Path("page.html").write_text("<!DOCTYPE html><html><title>Hello</title></html>")

    said = mill(*words, "--json")
    spoken = mill(*words)

    assert (said.status, said.error["code"]) == (status, code)
    assert spoken.status == status


def test_a_document_cannot_write_to_the_terminal(mill: Mill) -> None:
    body = b'{"version": "https://jsonfeed.org/version/1.1", "title": "x\\u001b[2J", "items": ['
    body += b'{"id": "\\u001b]0;owned\\u0007", "title": "\\u001b[31mred"}]}'

    said = mill.ok("parse", "-", stdin=body)

    assert b"\x1b" not in said.out
    assert b"\x07" not in said.out


def test_make_asks_for_the_address_that_it_needs() -> None:
    command = ["make", "-s", "ingest-one-normalized"]

    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=HANG_GUARD_SEC)

    assert said.returncode != 0
    assert said.stdout == "Provide FEED_URL=...\n"


def test_config_show_marks_only_what_was_changed(mill: Mill) -> None:
    mill.setenv(FEEDMILL_MEDIA_TAGS="podcast")

    marked = [line for line in mill.ok("config", "show").text.splitlines() if "# changed" in line]

    named = {line.partition(" = ")[0] for line in marked}
    assert named == {"allow_cidrs", "home", "min_gap_ms", "rps", "tags"}
