"""The command export with a table: every format, read back by other programs' libraries."""

import asyncio
import csv
import errno
import json
import sqlite3
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from msgspec.structs import replace
from tests.support.command_line import Mill, paper
from warcio.archiveiterator import ArchiveIterator

from feedmill.adapters.exports import plain
from feedmill.adapters.exports.warc import WarcWriter
from feedmill.app import exports
from feedmill.model.running.export import EXPORTS, ExportPosition
from feedmill_demo.server.script import document
from feedmill_demo.server.server import Publisher

TITLES = ("Water mill", "Wind, mill", 'A "quoted" line')


@pytest.fixture
def feed(mill: Mill, publisher: Publisher) -> Any:
    """A feed with three entries that was polled four times: 200, 304, the same body, another body."""
    target = f"/exported/{mill.folder.name}"
    same = document(paper(*TITLES[:2]), etag='"1"', codings=("gzip",))
    again = replace(same, conditional=False)
    publisher.script(target, same, same, again, document(paper(*TITLES), etag='"2"'))
    added = mill.json("add", "--as-is", publisher.url(target), "--tag", "mills")
    for _ in range(4):
        mill.ok("sync", "--force")
    return added


def read_ndjson(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def read_csv(path: Path) -> list[dict[str, Any]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def read_parquet(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pyarrow.parquet.read_table(path).to_pylist()
    return found


def read_sqlite(path: Path) -> list[dict[str, Any]]:
    connection = sqlite3.connect(path)
    connection.row_factory = sqlite3.Row
    try:
        return [dict(row) for row in connection.execute("SELECT * FROM entries_view")]
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("form", "read"),
    [
        ("ndjson", read_ndjson),
        ("csv", read_csv),
        ("parquet", read_parquet),
        ("sqlite", read_sqlite),
    ],
)
def test_entries_are_exported_with_all_fields(mill: Mill, feed: Any, form: str, read: Any) -> None:
    path = mill.folder / f"entries.{form}"

    said = mill.json("export", "entries", "--format", form, "--out", str(path))

    rows = read(path)
    assert said["rows"] == len(rows) == 3
    assert {row["title"] for row in rows} == set(TITLES)
    assert {row["feed_url"] for row in rows} == {feed["url"]}
    for row in rows:
        assert list(row) == [field.name for field in EXPORTS["entries"]]


@pytest.mark.usefixtures("feed")
def test_lists_and_times_have_types_in_parquet(mill: Mill) -> None:
    path = mill.folder / "feeds.parquet"

    mill.ok("export", "feeds", "--format", "parquet", "--out", str(path))

    (row,) = read_parquet(path)
    assert row["tags"] == ["mills"]
    assert row["created_at"].utcoffset().total_seconds() == 0
    assert row["paused"] is False


@pytest.mark.usefixtures("feed")
def test_a_question_to_the_views_has_one_answer_in_the_live_store_and_in_every_sqlite_file(
    mill: Mill,
) -> None:
    exported, snapshot = mill.folder / "entries.db", mill.folder / "snapshot.db"
    mill.ok("export", "entries", "--format", "sqlite", "--out", str(exported))
    mill.ok("export", "snapshot", "--out", str(snapshot))

    for view, order in (
        ("entries_view", "entry_uid"),
        ("entry_categories_view", "entry_uid, position"),
        ("entry_authors_view", "entry_uid, position"),
        ("entry_enclosures_view", "entry_uid, position"),
    ):
        with sqlite3.connect(exported) as connection:
            cursor = connection.execute(f"SELECT * FROM {view} ORDER BY {order}")
            names = ", ".join(column[0] for column in cursor.description)
            rows = cursor.fetchall()
        for path in (mill.home / "feedmill.db", snapshot):
            with sqlite3.connect(path) as connection:
                question = f"SELECT {names} FROM {view} ORDER BY {order}"
                assert connection.execute(question).fetchall() == rows, (path, view)
    assert snapshot.stat().st_mode & 0o077 == 0


def test_warc_holds_requests_responses_and_revisits(mill: Mill, feed: Any) -> None:
    path = mill.folder / "fetches.warc.gz"

    mill.ok("export", "fetches", "--format", "warc", "--out", str(path))

    records = []
    with path.open("rb") as file:
        for record in ArchiveIterator(file, check_digests="raise"):
            head = record.rec_headers
            body = record.content_stream().read()
            records.append((record.rec_type, head, record.http_headers, body))
    kinds = [kind for kind, *_ in records]
    assert kinds == ["warcinfo", *("response", "request", *("revisit", "request") * 2), "response", "request"]  # fmt: skip
    assert records[1][3] == paper(*TITLES[:2])
    assert records[1][2].get_header("X-Orig-Content-Encoding") == "gzip"
    assert records[7][3] == paper(*TITLES)
    profiles = [head.get_header("WARC-Profile") for kind, head, *_ in records if kind == "revisit"]
    assert [one.rpartition("/")[2] for one in profiles] == [
        "server-not-modified",
        "identical-payload-digest",
    ]
    for kind, head, *_ in records:
        if kind == "revisit":
            assert head.get_header("WARC-Refers-To") == records[1][1].get_header("WARC-Record-ID")
        if kind in ("response", "revisit", "request"):
            assert head.get_header("WARC-Target-URI") == feed["url"]
    assert records[2][2].protocol == "GET"
    assert records[2][2].statusline == f"/exported/{mill.folder.name} HTTP/1.1"
    names = [name.lower() for name, _ in records[2][2].headers]
    assert names.count("host") == 1
    assert "" not in names  # what would be left of :version


def test_warc_holds_the_request_that_the_response_answered(tmp_path: Path) -> None:
    # A redirect led there, or it is a page of the archive of the feed.
    sent = '[[":version","HTTP/1.1"],["Host","new.example:8080"],["Accept","*/*"]]'
    fetch = {
        **dict.fromkeys(field.name for field in EXPORTS["fetches"]),
        "feed_id": "a-feed",
        "url": "https://old.example/feed",
        "final_url": "https://new.example:8080/page?n=2",
        "fetched_at": "2026-03-01T12:30:00.000000Z",
        "http_status": 200,
        "body_sha256": "0" * 64,
        "request_headers": sent,
        "response_headers": "[]",
    }

    async def body(_: str) -> bytes:
        return b"<rss/>"

    writer = WarcWriter(tmp_path / "one.warc.gz", EXPORTS["fetches"], body)
    asyncio.run(writer.write([tuple(fetch.values())]))
    writer.close()

    with (tmp_path / "one.warc.gz").open("rb") as file:
        (request,) = [one for one in ArchiveIterator(file) if one.rec_type == "request"]
    assert request.rec_headers.get_header("WARC-Target-URI") == fetch["final_url"]
    assert request.http_headers.statusline == "/page?n=2 HTTP/1.1"
    assert request.http_headers.headers == [("Host", "new.example:8080"), ("Accept", "*/*")]


@pytest.mark.parametrize("form", ["ndjson", "csv", "sqlite", "warc"])
def test_an_interrupted_export_is_continued_where_it_ended(
    mill: Mill, feed: Any, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, path = mill.folder / "whole", mill.folder / "cut"
    options = ("export", "fetches", "--format", form, "--feed", feed["id"])
    monkeypatch.setattr("feedmill.engine.service.documents._FIRST_ROWS", 1)
    monkeypatch.setattr("feedmill.engine.service.documents._MAX_ROWS", 1)
    mill.ok(*options, "--out", str(whole))
    save, saved = exports._save, []

    def interrupted(to: Path, state: Any) -> None:
        save(to, state)
        saved.append(state)
        if len(saved) == 2:
            with to.open("ab") as file:  # a batch that was half written when the power went
                file.write(b"half a line" if form != "sqlite" else b"")
            raise KeyboardInterrupt

    monkeypatch.setattr(exports, "_save", interrupted)
    assert mill(*options, "--out", str(path)).status == 130
    monkeypatch.setattr(exports, "_save", save)

    said = mill.json(*options, "--out", str(path), "--resume")

    assert said["rows"] == 4
    if form in ("ndjson", "csv"):
        assert path.read_bytes() == whole.read_bytes()
    elif form == "sqlite":
        with sqlite3.connect(path) as one, sqlite3.connect(whole) as other:
            question = "SELECT * FROM fetches ORDER BY fetch_id"
            assert one.execute(question).fetchall() == other.execute(question).fetchall()
    else:
        with path.open("rb") as file:
            found = list(ArchiveIterator(file, check_digests="raise"))
        assert sum(record.rec_type == "request" for record in found) == 4


@pytest.mark.parametrize("form", ["ndjson", "csv", "sqlite", "warc"])
def test_an_export_that_was_begun_anew_forgets_how_far_the_last_one_came(
    mill: Mill, feed: Any, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = mill.folder / "anew"
    options = ("export", "fetches", "--format", form, "--feed", feed["id"], "--out", str(path))
    mill.ok(*options)
    save = exports._save

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(exports, "_save", killed)
    assert mill(*options).status == 130
    monkeypatch.setattr(exports, "_save", save)
    if form == "sqlite":  # nothing of its first batch was committed
        with sqlite3.connect(path) as database:
            database.execute("DELETE FROM fetches")
    else:
        path.write_bytes(path.read_bytes()[:100])

    said = mill.json(*options, "--resume")

    assert said["rows"] == 4
    if form == "sqlite":
        with sqlite3.connect(path) as database:
            assert database.execute("SELECT count(*) FROM fetches").fetchone() == (4,)


def test_a_later_export_continues_a_complete_file_with_what_is_new(
    mill: Mill, publisher: Publisher
) -> None:
    target = f"/growing/{mill.folder.name}"
    publisher.script(target, document(paper("one")), document(paper("one", "two")))
    mill.ok("add", "--as-is", publisher.url(target))
    path = mill.folder / "entries.ndjson"
    mill.ok("sync", "--force")
    first = mill.json("export", "entries", "--out", str(path), "--resume")
    mill.ok("sync", "--force")

    second = mill.json("export", "entries", "--out", str(path), "--resume")

    assert (first["rows"], second["rows"]) == (1, 2)
    assert [row["title"] for row in read_ndjson(path)] == ["one", "two"]
    rest = mill.ok("export", "entries", "--after", first["cursor"]).text
    assert [json.loads(line)["title"] for line in rest.splitlines()] == ["two"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--format", "csv"), "--format is for a table"),
        (("entries", "--format", "parquet"), "parquet needs a file"),
        (("entries", "--resume"), "--resume needs a file"),
        (("entries", "--json"), "--json needs a file"),
        (("snapshot",), "a snapshot needs a file"),
        (("entries", "--format", "warc", "--out", "x"), "use `feedmill export fetches`"),
        (("entries", "--since", "yesterdayish"), "is not a time"),
        (("entries", "--after", "nonsense"), "is no cursor"),
        (("nothing",), "is not one of"),
    ],
)
def test_wrong_usage_of_export_exits_with_2(mill: Mill, words: tuple[str, ...], said: str) -> None:
    found = mill("export", *words)

    assert found.status == 2
    assert said in found.err


def test_a_list_with_secrets_is_for_its_owner_alone_and_goes_through_no_link(mill: Mill) -> None:
    mill.ok("add", "--as-is", "http://127.0.0.1/feed?token=hidden")
    target = mill.folder / "of-another-user"
    target.write_text("kept")
    Path("linked.opml.part").symlink_to(target)

    mill.ok("export", "--with-secrets", "--out", "backup.opml")
    mill.ok("export", "--with-secrets", "--out", "linked.opml")

    assert "token=hidden" in Path("backup.opml").read_text()
    assert Path("backup.opml").stat().st_mode & 0o077 == 0
    assert Path("linked.opml").stat().st_mode & 0o077 == 0
    assert target.read_text() == "kept"


@pytest.mark.parametrize("form", ["ndjson", "csv", "parquet", "sqlite"])
def test_a_file_that_cannot_be_written_is_named(mill: Mill, form: str) -> None:
    said = mill("export", "feeds", "--format", form, "--out", "missing/folder/file")

    assert said.status == 1
    assert said.err == "feedmill: missing/folder/file: No such file or directory\n"


def test_resuming_another_export_or_a_parquet_file_is_refused(mill: Mill) -> None:
    mill.ok("export", "entries", "--out", "x")
    mill.ok("export", "feeds", "--format", "parquet", "--out", "y")
    Path("z.cursor").write_text("{")

    other = mill("export", "feeds", "--out", "x", "--resume")
    parquet = mill("export", "feeds", "--format", "parquet", "--out", "y", "--resume")
    damaged = mill("export", "feeds", "--out", "z", "--resume")
    Path("x").unlink()
    gone = mill("export", "entries", "--out", "x", "--resume")

    assert "with other options" in other.err
    assert "cannot be continued" in parquet.err
    assert "is damaged" in damaged.err
    assert "is shorter than" in gone.err
    assert {one.status for one in (other, parquet, damaged, gone)} == {2}
    assert ExportPosition().rows == 0


def test_snapshot_that_fails_leaves_the_one_before(
    mill: Mill, monkeypatch: pytest.MonkeyPatch
) -> None:
    mill.ok("init")
    snapshot = mill.folder / "snapshots" / "feedmill.db"
    snapshot.parent.mkdir()
    mill.ok("export", "snapshot", "--out", str(snapshot))
    before = snapshot.read_bytes()

    def fill_the_disk(_: Path, target: Path) -> None:
        target.write_bytes(b"half")
        target.with_name(f"{target.name}-journal").write_bytes(b"")
        raise OSError(errno.ENOSPC, "database or disk is full", str(target))

    monkeypatch.setattr(plain, "copy_database", fill_the_disk)
    failed = mill("export", "snapshot", "--out", str(snapshot), "--json")

    assert (failed.status, failed.error["code"]) == (1, "io-error")
    assert "disk is full" in failed.error["message"]
    assert snapshot.read_bytes() == before
    assert list(snapshot.parent.iterdir()) == [snapshot]


def test_copy_of_a_damaged_database_is_an_error_of_its_file(tmp_path: Path) -> None:
    (tmp_path / "damaged.db").write_bytes(b"no database at all" * 1_000)

    with pytest.raises(OSError, match="not a database"):
        plain.copy_database(tmp_path / "damaged.db", tmp_path / "copy.db")
