"""The commands top and status, and the figures of show."""

import pytest
from tests.support.command_line import Mill, paper

from feedmill_demo.server.script import Answer, document
from feedmill_demo.server.server import Publisher


@pytest.fixture
def polled(mill: Mill, publisher: Publisher) -> list[str]:
    """The ids of a feed with two entries and of one that is not there, polled once."""
    found = []
    for name, answer in {
        "good": document(paper("One", "Two")),
        "bad": Answer(status=404),
    }.items():
        target = f"/figures/{mill.folder.name}/{name}"
        publisher.script(target, answer)
        found.append(str(mill.json("add", "--as-is", publisher.url(target))["id"]))
    mill.ok("sync")
    return found


def test_top_ranks_feeds(mill: Mill, polled: list[str]) -> None:
    good, bad = polled

    by_new = mill.json("top")
    by_errors = mill.json("top", "--by", "errors", "--days", "7")

    assert [(one["feed_id"], one["value"]) for one in by_new["items"]] == [(good, 2)]
    assert [one["feed_id"] for one in by_errors["items"]] == [bad]
    assert "2\t1\t0\t2" in mill.ok("top").text
    assert "no feed has any saved" in mill.ok("top", "--by", "saved").text


def test_top_refuses_an_order_that_does_not_exist(mill: Mill) -> None:
    assert mill("top", "--by", "beauty").status == 2


def test_status_shows_the_whole_engine(mill: Mill, polled: list[str]) -> None:
    shown = mill.ok("status").text
    told = mill.json("status")

    assert told["feeds"]["feeds"] == len(polled)
    assert "2: 1 active, 1 backing off" in shown
    assert "2 polls: 1 changed, 0 not modified, 1 failed (0 ours, 1 theirs, 0 host)" in shown
    assert "1 × not-found 404 at 127.0.0.1" in shown
    assert "met    0 of 1 polls failed through our own fault" in shown
    assert "database" in shown


def test_status_of_an_empty_home_says_how_to_begin(mill: Mill) -> None:
    assert "feedmill add URL" in mill.ok("status").text


def test_show_has_the_figures_of_the_feed(mill: Mill, polled: list[str]) -> None:
    told = mill.json("show", polled[1])
    shown = mill.ok("show", polled[1]).text

    assert told["figures"]["total"]["failed_theirs"] == 1
    assert "1 × not-found 404 (theirs)" in shown
