"""`feedmill simulate`: table, JSON and plot, over the store and over a file of series."""

import json
from pathlib import Path

from tests.support.command_line import Mill, paper

from feedmill_demo.server.script import document
from feedmill_demo.server.server import Publisher


def test_one_feed_and_the_whole_store_are_simulated_from_the_record(
    mill: Mill, publisher: Publisher, tmp_path: Path
) -> None:
    publisher.script("/feed", document(paper("1")), document(paper("1", "2")))
    added = mill.json("add", "--as-is", publisher.url("/feed"))
    mill.ok("sync")
    plot = tmp_path / "feed.svg"

    one = mill.ok("simulate", added["id"], "--set", "price_sec=900", "--plot", str(plot))
    whole = mill.json("simulate", "--all", "--policy", "seed")

    assert "recorded decisions were reproduced exactly" in one.text
    assert plot.read_text().startswith("<svg")
    assert whole["settings"] == {"policy": "seed"}
    assert [line["policy"] for line in whole["policies"]] == ["recorded", "seed"]
    assert whole["decisions"] == whole["reproduced"] == 1


def test_a_file_of_series_needs_no_store(mill: Mill, tmp_path: Path) -> None:
    start = 1_760_000_000
    rows = [
        {"id": name, "times": [start + 3_600 * n for n in range(-9, 99)], "start": start}
        | {"end": start + 345_600, "window": 10, "ttl_sec": None, "cls": "hourly"}
        for name in "ab"
    ]
    file, plot = tmp_path / "series.json", tmp_path / "plot.svg"
    file.write_text(json.dumps({"about": "test", "series": rows}))

    shown = mill.ok("simulate", "--series", str(file), "--plot", str(plot))
    told = mill.json("simulate", "--series", str(file), "--set", "price_sec=60")

    assert "2 series" in shown.text
    assert "mean delay" in plot.read_text()
    assert (told["feeds"], told["decisions"]) == (2, 0)
    assert not (mill.home / "feedmill.db").exists()


def test_what_to_simulate_has_to_be_said_once_and_settings_have_to_exist(mill: Mill) -> None:
    assert mill("simulate").status == 2
    assert mill("simulate", "--all", "feed").status == 2
    mill.ok("init")
    wrong = mill("simulate", "--all", "--set", "price=1", "--json")
    assert wrong.status == 2
    assert "price_sec" in wrong.error["message"]
    assert "Nothing to simulate" in mill.ok("simulate", "--all").text
