"""How every command behaves: exit codes, errors, pipes, signals, colour, a home in trouble."""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import click
import pytest
from tests.support.command_line import COMMAND, Mill, finish, paper
from tests.support.feed_documents import item, rss
from tests.support.terminal import at_terminal
from tests.support.waiting import HANG_GUARD_SEC, block_until

from feedmill.interfaces.cli.main import COMMANDS, FIRST_DAY, ROOMS, cli
from feedmill_demo.server.script import Answer, document, no_answer
from feedmill_demo.server.server import Publisher

SLOW_TO_LOAD = (
    "lxml",
    "rich",
    "pycurl",
    "sqlite3",
    "asyncio",
    "msgspec",
    "feedmill.app.services",
    "feedmill.app.settings",
)


def test_on_a_narrow_terminal_names_can_be_read_and_uids_copied(
    mill: Mill, publisher: Publisher
) -> None:
    publisher.script("/narrow", document(rss(item(1))))
    url = publisher.url("/narrow")
    mill.ok("add", "--as-is", url)
    mill.ok("sync", "--feed", url)
    uid = mill.json("entries", "--feed", url)["items"][0]["entry_uid"]

    listed = at_terminal("list", COLUMNS="80", NO_COLOR="1")[1]
    shown = at_terminal("entries", "--feed", url, COLUMNS="80", NO_COLOR="1")[1]

    assert "Paper" in listed
    assert "http" not in listed
    assert [line.strip() for line in shown.splitlines()][-1] == uid


def test_help_is_shown_without_loading_what_commands_need() -> None:
    code = (
        "import sys\nfrom feedmill.interfaces.cli.main import cli\n"
        "try:\n    cli.main(['--help'])\nexcept SystemExit:\n    pass\n"
        f"print('LOADED', [name for name in {SLOW_TO_LOAD!r} if name in sys.modules])"
    )

    said = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        timeout=HANG_GUARD_SEC,
    )

    assert "LOADED []" in said.stdout
    assert all(f"  {name} " in said.stdout for name in COMMANDS)


def test_package_can_be_run_as_a_module() -> None:
    said = subprocess.run(
        [sys.executable, "-m", "feedmill", "nonsense"],
        capture_output=True,
        text=True,
        check=False,
        timeout=HANG_GUARD_SEC,
    )

    assert (said.returncode, said.stderr.splitlines()[0]) == (
        2,
        "Usage: feedmill [OPTIONS] COMMAND [ARGS]...",
    )


# What reading the store does without: each of these takes 5 to 100 ms to import.
NOT_FOR_READING = (
    "rich", "structlog", "prometheus_client", "pycurl", "lxml", "nh3", "puremagic", "litestar", "grpc", "mcp",
    "asyncpg", "onnxruntime", "opentelemetry", "feedmill_demo", "feedmill.parse.document",
    "feedmill.normalise.entry", "feedmill.adapters.http.fetcher", "feedmill.app.screeners",
    "feedmill.engine.documents.read_document", "feedmill.engine.documents.fetch_document", "feedmill.engine.jobs.websub", "feedmill.publish.metafeeds", "feedmill.search.tokens", "feedmill.canonicalise.policies", "feedmill.cluster.sketch",
)  # fmt: skip


def test_commands_that_read_the_store_start_without_what_polls_and_serves(
    mill: Mill, publisher: Publisher
) -> None:
    publisher.script("/light", document(rss(item(1))))
    url = publisher.url("/light")
    mill.ok("add", "--as-is", url)
    mill.ok("sync")
    words = (
        ["list"],
        ["entries"],
        ["status"],
        ["show", url],
        ["list", "--json"],
        ["top"],
        ["hosts"],
    )
    code = (
        "import sys\nfrom feedmill.interfaces.cli.main import cli\n"
        f"for words in {words!r}:\n    cli.main(words, standalone_mode=False)\n"
        f"print('LOADED', [name for name in {NOT_FOR_READING!r} if name in sys.modules])"
    )

    said = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        timeout=HANG_GUARD_SEC,
    )

    assert "LOADED []" in said.stdout


def test_help_begins_with_the_ten_commands_of_the_first_day(mill: Mill) -> None:
    text = mill.ok("--help").text

    listed = [line.split()[0] for line in text[text.index("The first day:") :].splitlines()[1:11]]
    assert listed == list(FIRST_DAY)
    names = [name for _, commands in ROOMS.values() for name in commands]
    assert len(names) == len(set(names))
    assert sorted(names) == sorted(COMMANDS)


def test_a_command_that_does_not_exist_is_told_its_neighbours(mill: Mill) -> None:
    assert "Did you mean entry or entries?" in mill("entrys").err
    assert "Did you mean" not in mill("nonsense").err


def test_a_defect_of_ours_is_told_without_a_traceback(
    mill: Mill, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        message = "no such luck"
        raise RuntimeError(message)

    monkeypatch.setattr(cli, "invoke", broken)

    said = mill("list")

    assert (said.status, said.out) == (1, b"")
    assert "RuntimeError: no such luck" in said.err
    assert "Traceback" not in said.err
    assert "feedmill -vv" in said.err


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself_and_speaks_json(mill: Mill, name: str) -> None:
    command = cli.get_command(click.Context(cli), name)
    parts = (
        command.list_commands(click.Context(command)) if isinstance(command, click.Group) else ()
    )

    ways: list[tuple[str, ...]] = [(name, part) for part in parts] or [(name,)]

    said = [mill.ok(*words, "--help").text for words in ways]

    assert all("--json" in text for text in said)


def test_the_version_is_said(mill: Mill) -> None:
    assert mill.ok("--version").text.startswith("feedmill 0.")


@pytest.mark.parametrize(
    "words", [("nonsense",), ("list", "--nonsense"), ("add",), ("--config", "missing.toml", "list")]
)
def test_wrong_usage_exits_with_2_in_words_and_in_json(mill: Mill, words: tuple[str, ...]) -> None:
    spoken = mill(*words)
    said = mill(*words, "--json")

    assert (spoken.status, spoken.out) == (2, b"")
    assert "Usage" in spoken.err
    assert (said.status, said.out) == (2, b"")
    assert said.error["code"] == "usage"
    assert "--help" in said.error["hint"]


def test_bad_settings_are_all_reported_at_once_and_exit_with_2(mill: Mill) -> None:
    Path("feedmill.toml").write_text("[fetch]\ntimeout_ms = 'soon'\n[nowhere]\na = 1\n")
    mill.setenv(HOST_RPS="fast", FEEDMILL_LOG="loud")

    spoken = mill("list")
    said = mill("list", "--json")

    for name in ("timeout_ms", "nowhere", "HOST_RPS", "FEEDMILL_LOG"):
        assert name in spoken.err
        assert name in said.error["message"]
    assert (spoken.status, said.status, said.error["code"]) == (2, 2, "config")


def test_a_reader_that_has_seen_enough_is_no_failure(mill: Mill) -> None:
    mill.ok(
        "import", "--as-is", "-", stdin=b"".join(b"https://f%d.example/\n" % n for n in range(900))
    )

    for words in (("list", "--limit", "900"), ("list", "--limit", "900", "--json"), ("export",)):
        process = mill.start(*words)
        assert process.stdout is not None
        process.stdout.read(10)
        process.stdout.close()
        process.stdout = None
        said = finish(process)
        assert (said.status, said.err) == (0, "")


def test_events_into_a_closed_pipe_end_the_run_without_a_word(mill: Mill) -> None:
    mill.ok("add", "--as-is", "https://one.example/feed")
    mill.setenv(FEEDMILL_EGRESS_ALLOW_CIDRS="")

    process = mill.start("run", "--stdout")
    assert process.stdout is not None
    process.stdout.close()
    process.stdout = None
    said = finish(process)

    assert (said.status, said.err) == (0, "")


def test_sigterm_drains_a_run_and_what_was_under_way_is_kept(
    mill: Mill, publisher: Publisher
) -> None:
    publisher.script("/drained", Answer(body=paper("a"), delay_sec=0.5))
    publisher.script("/quick", document(paper("b")))
    mill.ok("add", "--as-is", publisher.url("/quick"), publisher.url("/drained", host="127.0.1.2"))

    process = mill.start("run", "--json")
    assert process.stdout is not None
    process.stdout.readline()  # the quick one
    block_until(lambda: bool(publisher.requests_to("/drained")), "the other one under way")
    process.terminate()
    said = finish(process)

    assert said.status == 0
    assert b"drained" in said.out
    assert mill.json("stats")["entries"] == 2


def test_a_host_that_never_answers_does_not_hold_up_the_end(
    mill: Mill, publisher: Publisher
) -> None:
    mill.setenv(FEEDMILL_RUN_DRAIN_SEC="4")  # twice this and four seconds are the limit of a stop
    publisher.script("/silent", no_answer())
    publisher.script("/lively", document(paper("b")))
    mill.ok("add", "--as-is", publisher.url("/lively"), publisher.url("/silent", host="127.0.1.3"))

    process = mill.start("run", "--json")
    assert process.stdout is not None
    process.stdout.readline()
    process.terminate()

    assert process.wait(HANG_GUARD_SEC) == 0
    finish(process)


@pytest.mark.parametrize("words", [("run",), ("sync",), ("demo", "--json")])
def test_ctrl_c_ends_with_130(mill: Mill, publisher: Publisher, words: tuple[str, ...]) -> None:
    publisher.script("/interrupted", document(paper("a")))
    publisher.script("/waiting", no_answer())  # a sync would not end by itself
    mill.ok(
        "add", "--as-is", publisher.url("/interrupted"), publisher.url("/waiting", host="127.0.1.4")
    )

    process = mill.start("-v", *words, FEEDMILL_LOG="info", FEEDMILL_RUN_DRAIN_SEC="4")
    if words[0] == "demo":
        assert process.stdout is not None
        process.stdout.readline()
    else:
        assert process.stderr is not None
        while b"refreshed" not in process.stderr.readline():
            assert process.poll() is None
    process.send_signal(signal.SIGINT)
    said = finish(process)

    assert said.status == 130
    assert "interrupted" in said.err
    assert "Traceback" not in said.err


def test_colour_is_for_terminals_and_not_where_no_color_is_set(
    mill: Mill, publisher: Publisher
) -> None:
    publisher.script("/coloured", Answer(status=404))
    mill.ok("add", "--as-is", publisher.url("/coloured"), "--title", "Painted")

    status, painted = at_terminal("sync")
    _, plain = at_terminal("sync", "--force", NO_COLOR="1")
    _, table = at_terminal("list")
    piped = mill("sync", "--force")

    assert status == 1
    assert "\x1b[31m" in painted
    assert "\x1b[31m" not in plain
    assert "Painted" in table
    assert b"\x1b" not in piped.out


def test_progress_is_shown_on_a_terminal_only(mill: Mill) -> None:
    Path("list.txt").write_text("".join(f"https://f{n}.example/\n" for n in range(50)))

    _, shown = at_terminal("import", "--as-is", str(mill.folder / "list.txt"))
    piped = mill.ok("import", "--as-is", "list.txt")

    assert "importing" in shown
    assert piped.err == ""


def test_json_on_a_terminal_is_still_json(mill: Mill) -> None:
    mill.ok("init")

    _, shown = at_terminal("stats", "--json")

    assert shown.startswith("{\r\n")


@pytest.mark.parametrize("as_json", [False, True])
def test_a_home_that_cannot_be_made_is_a_clear_error(mill: Mill, *, as_json: bool) -> None:
    Path("file").write_text("")
    words = ("--home", "file/home", "list", *(["--json"] if as_json else []))

    said = mill(*words)

    assert (said.status, said.out) == (1, b"")
    assert "--home" in said.err
    if as_json:
        assert said.error["code"] == "cannot-open"


def test_a_database_of_a_newer_feedmill_is_refused(mill: Mill) -> None:
    mill.ok("init")
    with sqlite3.connect(mill.home / "feedmill.db") as database:
        database.execute("INSERT INTO schema_versions VALUES (999, 'later', '')")
    database.close()

    said = mill("list", "--json")

    assert (said.status, said.error["code"]) == (1, "newer-schema")
    assert "newer" in said.error["message"]


def test_a_file_that_is_no_database_is_refused_and_left_alone(mill: Mill) -> None:
    mill.home.mkdir()
    (mill.home / "feedmill.db").write_text("not a database " * 100)

    said = mill("list", "--json")

    assert (said.status, said.error["code"]) == (1, "corrupt")
    assert (mill.home / "feedmill.db").read_text().startswith("not a database")


def test_a_home_that_was_taken_away_is_made_again(mill: Mill) -> None:
    mill.ok("add", "--as-is", "https://one.example/feed")
    shutil.rmtree(mill.home)

    assert mill.json("list")["items"] == []


def test_a_full_disk_is_a_clear_error_and_nothing_is_half_written(
    mill: Mill, publisher: Publisher
) -> None:
    body = paper(*(f"{n} " + "x" * 900 for n in range(500)))
    publisher.script("/large", document(body))
    mill.ok("add", "--as-is", publisher.url("/large"))
    # A limit on the size of files says the same to a program as a disk that is full.
    limited = (
        "import resource, signal, sys; from feedmill.interfaces.cli.main import main;"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000)); main()"
    )

    said = subprocess.run(
        [sys.executable, "-c", limited, "sync", "--json"],
        capture_output=True,
        text=True,
        cwd=mill.folder,
        timeout=HANG_GUARD_SEC,
    )

    assert said.returncode == 1
    assert "Traceback" not in said.stderr
    assert '"error"' in said.stderr
    assert mill.json("stats")["entries"] == 0
    assert mill.json("sync", "--force")["new"] == 500


def test_output_that_cannot_be_written_is_one_clear_error(mill: Mill) -> None:
    mill.ok("list")

    with Path("/dev/full").open("wb") as full:
        ended = subprocess.run([COMMAND, "list"], stdout=full, stderr=subprocess.PIPE, check=False)

    assert ended.returncode == 1
    assert ended.stderr.decode() == "feedmill: No space left on device\n"


def test_closed_output_is_no_error(mill: Mill) -> None:
    mill.ok("list")

    ended = subprocess.run(
        ["/bin/sh", "-c", '"$@" >&- ', "sh", COMMAND, "list"], stderr=subprocess.PIPE, check=False
    )

    assert (ended.returncode, ended.stderr) == (0, b"")


def test_a_terminal_that_is_not_utf_8_shows_what_it_can(mill: Mill) -> None:
    mill.ok("add", "--as-is", "https://one.example/feed", "--title", "Zürich – 新聞")

    said = subprocess.run(
        [COMMAND, "list"],
        env=os.environ | {"PYTHONIOENCODING": "latin-1"},
        capture_output=True,
        timeout=HANG_GUARD_SEC,
        check=True,
    )

    assert b"Z\xfcrich \\u2013 \\u65b0\\u805e" in said.stdout
    assert said.stderr == b""
