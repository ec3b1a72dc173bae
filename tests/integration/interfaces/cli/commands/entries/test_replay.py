"""`feedmill replay` over history: comparison, gate, two versions, going on after a stop."""

import json
from pathlib import Path

import pytest
from tests.support.command_line import Mill, paper

from feedmill_demo.server.script import document
from feedmill_demo.server.server import Publisher


@pytest.fixture
def polled(mill: Mill, publisher: Publisher) -> str:
    """The id of a feed that was polled twice."""
    target = f"/history/{mill.folder.name}"
    publisher.script(target, document(paper("One", "Two")), document(paper("One", "Two", "Three")))
    feed = mill.json("add", "--as-is", publisher.url(target))
    mill.ok("sync")
    mill.ok("ingest-one", "--feed-id", str(feed["id"]))
    return str(feed["id"])


def _lines(mill: Mill, *arguments: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in mill.ok(*arguments, "--json").text.splitlines()]


def _changed(record: Path) -> None:
    """Make a record look as if another version had read one title and one date otherwise."""
    reading = json.loads(record.read_text("utf-8"))
    reading["reader"] = "parse-0"
    first, second = reading["entries"][:2]
    first["fields"] = [[n, "0" if n == "title" else d] for n, d in first["fields"]]
    second["fields"] = [[n, "0" if n == "published" else d] for n, d in second["fields"]]
    record.write_text(json.dumps(reading) + "\n", "utf-8")


def test_history_that_reads_alike_passes_the_gate(mill: Mill, polled: str) -> None:
    spoken = mill.ok("replay", "--all", "--history", "--gate")
    (one, total) = _lines(mill, "replay", polled, "--since", "2020-01-01")

    assert spoken.text.endswith("1 feeds, 2 documents, 3 entries: no difference\n")
    assert (one["documents"], one["differences"]) == (2, [])
    assert total == {"total": {"feeds": 1, "documents": 2, "read_entries": 3}}


def test_gate_lets_pass_only_what_is_allowed(mill: Mill, polled: str, tmp_path: Path) -> None:
    record = tmp_path / "old.ndjson"
    mill.ok("replay", polled, "--record", str(record))
    _changed(record)
    against = ("replay", polled, "--against", str(record))

    shown = mill.ok(*against)

    assert "2 differ from parse-0" in shown.text
    assert "1 dates, 1 content" in shown.text
    assert mill(*against, "--gate").status == 1
    assert mill(*against, "--gate", "--allow", "content").status == 1
    assert mill(*against, "--gate", "--allow", "content", "--allow", "dates").status == 0


def test_stopped_run_goes_on_and_drops_a_torn_line(mill: Mill, polled: str, tmp_path: Path) -> None:
    record, results = tmp_path / "old.ndjson", tmp_path / "results.ndjson"
    mill.ok("replay", polled, "--record", str(record))
    whole = record.read_bytes()
    record.write_bytes(whole[:-40])

    again = mill.json("replay", polled, "--record", str(record))
    kept = mill.json("replay", polled, "--record", str(record))
    mill.ok("replay", polled, "--resume", str(results))
    resumed = _lines(mill, "replay", polled, "--resume", str(results))

    assert record.read_bytes() == whole
    assert (again["feeds"], kept) == (1, {"recorded_before": 1})
    assert resumed == [{"total": {"feeds": 1, "documents": 2, "read_entries": 3}}]


@pytest.mark.parametrize(
    "options",
    [
        ("--write", "--history"),
        ("--record", "a.ndjson", "--gate"),
        ("--against", "missing.ndjson"),
        ("--allow", "nonsense"),
    ],
)
def test_options_that_do_not_fit_are_refused(mill: Mill, options: tuple[str, ...]) -> None:
    assert mill("replay", "--all", *options).status == 2


def test_file_of_another_kind_is_refused(mill: Mill, tmp_path: Path) -> None:
    other = tmp_path / "notes.txt"
    other.write_text("hello\n", "utf-8")

    assert mill("replay", "--all", "--against", str(other)).status == 2


def test_a_missing_record_is_named_in_one_sentence(mill: Mill, tmp_path: Path) -> None:
    missing = tmp_path / "none.ndjson"

    refused = mill("replay", "--all", "--against", str(missing))

    assert "does not exist; write it with the other version" in " ".join(refused.err.split())
