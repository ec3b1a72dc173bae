"""`feedmill diff` and `feedmill fixture`: output, exit status, files that a test can load."""

from pathlib import Path

from tests.support.command_line import ITEM, Mill, PublisherBeside
from tests.support.parser_fixtures import fixture_folders, load_fixture, understood_today

from feedmill_demo.server.script import document


def rss(*items: str) -> bytes:
    return f"<rss version='2.0'><channel><title>P</title>{''.join(items)}</channel></rss>".encode()


def test_diff_shows_what_changed_and_exits_like_diff(mill: Mill, beside: PublisherBeside) -> None:
    before = rss(ITEM.format("a", "Old title"), ITEM.format("b", "Stays"))
    after = rss(
        ITEM.format("c", "Brand new"), ITEM.format("a", "New title"), ITEM.format("b", "Stays")
    )
    beside.publisher.script("/diff", document(before), document(after), host="127.0.0.1")
    url = beside.publisher.url("/diff")
    mill.ok("add", "--as-is", url)
    mill.ok("sync")
    alone = mill("diff", url)
    mill.ok("sync", "--feed", url)

    shown, data = mill("diff", url), mill("diff", url, "--json")

    assert (alone.status, shown.status, data.status) == (2, 1, 1)
    assert "fewer than two" in alone.err
    assert "added    Brand new" in shown.text
    assert "changed  New title" in shown.text
    assert "    - Old title" in shown.text
    assert "1 entry unchanged" in shown.text
    ids = data.json["before"], data.json["after"]
    assert mill("diff", ids[0], ids[0]).status == 0
    assert mill("diff", *ids, "--json").json == data.json
    assert mill("diff", ids[0], "nobody").status == 2
    assert mill("diff", "a", "b", "c").status == 2


def test_fixture_is_loaded_by_a_regression_test(
    mill: Mill, beside: PublisherBeside, tmp_path: Path
) -> None:
    body = rss(ITEM.format("a", "Fish & chips"))
    beside.publisher.script("/fixture", document(body), host="127.0.0.1")
    url = beside.publisher.url("/fixture")
    mill.ok("add", "--as-is", url)
    mill.ok("sync")

    written = mill.json("fixture", url, "--out", str(tmp_path / "cases"))

    (folder,) = fixture_folders(tmp_path / "cases")
    assert str(folder) == written["folder"]
    fixture = load_fixture(folder)
    assert fixture.body == body
    assert fixture.fetch.repairs == ("stray-ampersands",)
    assert understood_today(fixture) == fixture.understood
