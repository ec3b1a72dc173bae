"""A damaged SQLite file: each bad row costs its feed alone, is counted, and ends no run with a traceback."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.support.command_line import Mill, paper

from feedmill_demo.server.script import document
from feedmill_demo.server.server import Publisher

DAMAGES = {
    "JSON cut off": "UPDATE feeds SET tags = '[\"a' WHERE {}",
    "JSON of another shape": "UPDATE feeds SET hints = '[1, 2, 3]' WHERE {}",
    "text that is not UTF-8": "UPDATE feeds SET title = CAST(x'ff41' AS TEXT) WHERE {}",
    "instant beyond the year 9999": "UPDATE feeds SET last_fetch_at = 9000000000000000000 WHERE {}",
    "instant before the year 1": "UPDATE feeds SET created_at = -9000000000000000000 WHERE {}",
    "endless interval": "UPDATE feeds SET interval_sec = 1e300 WHERE {}",
    "negative interval": "UPDATE feeds SET interval_sec = -9e18 WHERE {}",
}


def two_feeds(mill: Mill, publisher: Publisher) -> None:
    for path in ("/good", "/damaged"):
        publisher.script(path, document(paper("a")), document(paper("z")))
        mill.ok("add", "--as-is", publisher.url(path))
    mill.ok("sync", "--no-taps")


def damage(mill: Mill, statement: str, where: str = "url LIKE '%/damaged'") -> None:
    with closing(sqlite3.connect(mill.home / "feedmill.db")) as store, store:
        assert store.execute(statement.format(where)).rowcount == 1


@pytest.mark.parametrize("statement", DAMAGES.values(), ids=DAMAGES)
def test_sync_counts_a_feed_whose_row_cannot_be_read_and_polls_the_others(
    mill: Mill, publisher: Publisher, statement: str
) -> None:
    two_feeds(mill, publisher)
    damage(mill, statement)

    spoken = mill("sync", "--force")
    again = mill("sync", "--force", "--json")

    assert spoken.status == 1, spoken.err
    assert "1 feed checked" in spoken.text
    assert "1 updated" in spoken.text
    assert "1 error" in spoken.text
    assert "1 feed failed for a reason of feedmill's own" in spoken.err
    assert "damaged-row" in spoken.err
    assert "Traceback" not in spoken.err
    assert (again.status, again.json["faults"], again.json["feeds_checked"]) == (1, 1, 1)


@pytest.mark.parametrize("role", ["run", "worker"])
def test_role_counts_damaged_feeds_at_its_end_and_exits_with_1(
    mill: Mill, publisher: Publisher, role: str
) -> None:
    two_feeds(mill, publisher)
    damage(mill, DAMAGES["JSON cut off"])
    with closing(sqlite3.connect(mill.home / "feedmill.db")) as store, store:
        store.execute("UPDATE feed_sched SET next_run_at = 0")
        store.execute("UPDATE lanes SET claim_at = 0, next_ok_at = NULL")

    ended = mill(role, "--for", "2")

    assert ended.status == 1, ended.err
    assert "1 feed failed for a reason of feedmill's own" in ended.err
    assert "feeds: the row with id" in ended.err
    assert "Traceback" not in ended.err


def test_damaged_pages_cost_the_feeds_on_them_and_no_others(
    mill: Mill, publisher: Publisher
) -> None:
    urls = []
    for number in range(12):
        publisher.script(f"/feed-{number}", document(paper("a")), document(paper("z")))
        urls.append(publisher.url(f"/feed-{number}"))
    mill.ok("import", "--as-is", "-", stdin="\n".join(urls).encode())
    with closing(sqlite3.connect(mill.home / "feedmill.db")) as store, store:
        # Two or three on a page.
        store.execute("UPDATE feeds SET title = printf('%.*c', 1500, 'x')")
        store.execute("UPDATE feed_sched SET next_run_at = 0")
    overwrite_page(mill.home / "feedmill.db", b"xxxxxx")

    said = mill("sync", "--json")

    assert said.status == 1, said.err
    assert said.json["faults"] + said.json["feeds_checked"] == 12
    assert 1 <= said.json["faults"] <= 3
    assert said.json["errors"] >= said.json["faults"]
    assert "Traceback" not in said.err


@pytest.mark.parametrize("statement", DAMAGES.values(), ids=DAMAGES)
def test_verify_and_doctor_name_the_row_that_cannot_be_read_and_how_to_repair_it(
    mill: Mill, publisher: Publisher, statement: str
) -> None:
    two_feeds(mill, publisher)
    sound = mill.ok("verify")
    damage(mill, statement)

    found, shown = mill("verify", "--json"), mill("verify")
    examined = mill("doctor", "--json")

    assert "no problems" in sound.text
    assert (found.status, shown.status, examined.status) == (1, 1, 1)
    (problem,) = found.json["problems"]
    assert problem.startswith("feeds: the row with feed_no 2: ")
    assert "holds no valid value" in problem
    assert "feedmill restore" in found.json["repair"]
    assert problem in shown.text
    assert found.json["repair"] in shown.text
    (rows,) = (one for one in examined.json["items"] if one["name"] == "rows")
    assert not rows["ok"]
    assert problem in rows["detail"]
    assert "Traceback" not in found.err + shown.err + examined.err


def test_verify_and_doctor_end_with_1_and_no_traceback_over_a_damaged_page(
    mill: Mill, publisher: Publisher
) -> None:
    two_feeds(mill, publisher)
    with closing(sqlite3.connect(mill.home / "feedmill.db")) as store, store:
        store.execute("UPDATE feeds SET title = printf('%.*c', 1500, 'x')")
    overwrite_page(mill.home / "feedmill.db", b"xxxxxx")

    found, examined = mill("verify", "--json"), mill("doctor", "--json")

    assert (found.status, examined.status) == (1, 1)
    assert any(one.startswith("feeds: what follows its first") for one in found.json["problems"])
    assert found.json["repair"]
    assert not next(one["ok"] for one in examined.json["items"] if one["name"] == "rows")
    assert "Traceback" not in found.err + examined.err


def test_store_that_cannot_be_opened_leads_to_its_repair_and_not_to_the_same_error(
    mill: Mill, publisher: Publisher
) -> None:
    two_feeds(mill, publisher)
    (mill.home / "feedmill.db").write_bytes(b"no database at all" * 999)

    found, examined = mill("verify"), mill("doctor", "--json")

    assert found.status == 1
    assert "feedmill verify" not in found.err
    assert "docs/how-to/back-up-and-restore.md" in found.err
    failed = [one["detail"] for one in examined.json["items"] if "no database" in one["detail"]]
    assert len(failed) == 1


def overwrite_page(path: Path, text: bytes) -> None:
    """Overwrite the head of the first leaf page of a table in whose rows the text stands."""
    data = bytearray(path.read_bytes())
    size = int.from_bytes(data[16:18], "big")
    page = next(
        at
        for at in range(size, len(data), size)
        if data[at] == 0x0D and text in data[at : at + size]
    )
    data[page : page + 8] = b"\xff" * 8
    path.write_bytes(data)


def test_event_that_cannot_be_read_keeps_its_place_in_the_log(
    mill: Mill, publisher: Publisher
) -> None:
    two_feeds(mill, publisher)
    with closing(sqlite3.connect(mill.home / "feedmill.db")) as store, store:
        store.execute("UPDATE outbox SET data = '{'")
        store.execute("UPDATE outbox SET type = CAST(x'ff' AS TEXT) WHERE seq = 2")

    told = mill("sync")

    (path,) = (mill.home / "out" / "events").glob("*.ndjson")
    events = [json.loads(line) for line in path.read_bytes().splitlines()]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert events[0]["data"]["damaged"].startswith("data holds no valid value")
    assert "an event cannot be read" in told.err
    assert "Traceback" not in told.err


def test_table_that_a_command_does_not_need_may_be_damaged(
    mill: Mill, publisher: Publisher, tmp_path: Path
) -> None:
    two_feeds(mill, publisher)
    overwrite_root(mill.home / "feedmill.db", "fulltexts")

    polled = mill("sync", "--force", "--json")
    exported = mill("export", "entries", "--out", str(tmp_path / "entries.ndjson"))

    assert (polled.status, polled.json["feeds_checked"]) == (0, 2), polled.err
    assert exported.status == 0, exported.err
    assert (tmp_path / "entries.ndjson").read_bytes().count(b"\n") == 2


def test_sync_prints_its_counts_where_the_schedule_cannot_be_read(
    mill: Mill, publisher: Publisher
) -> None:
    two_feeds(mill, publisher)
    with closing(sqlite3.connect(mill.home / "feedmill.db")) as store, store:
        store.execute("UPDATE lanes SET claim_at = 0, next_ok_at = NULL")
    overwrite_root(mill.home / "feedmill.db", "lanes_by_claim_at")

    spoken, told = mill("sync"), mill("sync", "--json")

    assert (spoken.status, told.status) == (1, 1), spoken.text
    assert "0 feeds checked" in spoken.text
    assert "0 errors" not in spoken.text
    assert told.json["errors"] >= 1
    assert "Traceback" not in spoken.err + told.err


@pytest.mark.parametrize("octets", [b"\x8f\xff\xd1" * 11, bytes(33)], ids=["noise", "zeros"])
def test_damaged_owner_of_the_raw_store_stops_no_command_and_is_mended_by_adopting(
    mill: Mill, publisher: Publisher, octets: bytes
) -> None:
    two_feeds(mill, publisher)
    (mill.home / "raw" / "store-id").write_bytes(octets)

    polled = mill("sync", "--force", "--json")
    listed, checked = mill("list"), mill("verify")

    assert (polled.status, polled.json["feeds_checked"]) == (0, 2), polled.err
    assert (listed.status, checked.status) == (0, 1)
    assert "blobs adopt" in listed.err
    assert "is indexed by another store (id \ufffd" in checked.text
    mill.ok("blobs", "adopt")
    assert "no problems" in mill.ok("verify").text


def test_schedule_of_a_feed_that_is_gone_is_counted_and_stops_no_run(
    mill: Mill, publisher: Publisher
) -> None:
    two_feeds(mill, publisher)
    damage(mill, "UPDATE feed_sched SET feed_no = 7, next_run_at = 0 WHERE {}", "feed_no = 2")
    with closing(sqlite3.connect(mill.home / "feedmill.db")) as store, store:
        store.execute("UPDATE lanes SET claim_at = 0")

    polled = mill("sync", "--json")
    ended = mill("run", "--for", "1")

    assert (polled.status, polled.json["faults"]) == (1, 1), polled.err
    assert "feed_sched: the row with feed_no 7 belongs to no feed" in polled.err
    assert "Traceback" not in polled.err + ended.err
    assert ended.status == 0, ended.err  # its next attempt is an hour later


def test_event_without_data_keeps_its_place_in_the_log(mill: Mill, publisher: Publisher) -> None:
    two_feeds(mill, publisher)
    with closing(sqlite3.connect(mill.home / "feedmill.db")) as store, store:
        store.execute("PRAGMA writable_schema = on")
        store.execute(
            "UPDATE sqlite_master SET sql = replace(sql, 'NOT NULL', '') WHERE name = 'outbox'"
        )
    with closing(sqlite3.connect(mill.home / "feedmill.db")) as store, store:
        store.execute("UPDATE outbox SET data = NULL WHERE seq = 2")

    told = mill("sync")

    (path,) = (mill.home / "out" / "events").glob("*.ndjson")
    events = [json.loads(line) for line in path.read_bytes().splitlines()]
    assert events[1]["data"]["damaged"].startswith("data holds no valid value")
    assert "this is a bug" not in told.err


def test_verify_names_a_damaged_search_index_and_reindex_makes_it_anew(
    mill: Mill, publisher: Publisher
) -> None:
    two_feeds(mill, publisher)
    with closing(sqlite3.connect(mill.home / "feedmill.db")) as store, store:
        store.execute("UPDATE entry_search_index_data SET block = x'ffffffff' WHERE id > 10")

    checked, searched = mill("verify"), mill("search", "Paper")

    assert checked.status == 1, checked.text
    assert "the search index is damaged" in checked.text
    assert "`feedmill reindex` makes it anew" in checked.text
    assert searched.status == 1
    mill.ok("reindex")
    assert "no problems" in mill.ok("verify").text


def test_search_index_without_its_settings_is_called_damaged(
    mill: Mill, publisher: Publisher
) -> None:
    two_feeds(mill, publisher)
    with closing(sqlite3.connect(mill.home / "feedmill.db")) as store, store:
        store.execute("DELETE FROM entry_search_index_config")

    polled, checked = mill("sync", "--force", "--json"), mill("verify")

    assert (polled.status, polled.json["faults"], checked.status) == (1, 2, 1)
    assert "this is a fault in feedmill" not in polled.err + checked.err + checked.text
    assert "reason=corrupt" in polled.err


def overwrite_root(path: Path, name: str) -> None:
    """Overwrite the head of the first page of a table or an index."""
    with closing(sqlite3.connect(path)) as store:
        (page,) = store.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = ?", (name,)
        ).fetchone()
        (size,) = store.execute("PRAGMA page_size").fetchone()
    data = bytearray(path.read_bytes())
    data[(page - 1) * size : (page - 1) * size + 8] = b"\xff" * 8
    path.write_bytes(data)
