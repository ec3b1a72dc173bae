"""The commands search and reindex, and what verify says about the index."""

import sqlite3
from contextlib import closing
from typing import Any

import pytest
from tests.support.command_line import Mill, paper

from feedmill_demo.server.script import document
from feedmill_demo.server.server import Publisher


@pytest.fixture
def feed(mill: Mill, publisher: Publisher) -> Any:
    """A subscription that was polled once."""
    target = f"/search/{mill.folder.name}"
    publisher.script(target, document(paper("Water mills of Zürich", "Wind mill"), etag='"1"'))
    added = mill.json("add", "--as-is", publisher.url(target), "--tag", "mills")
    mill.ok("sync")
    return added


def titles(page: Any) -> list[str]:
    return [item["title"] for item in page["items"]]


def test_search_lists_matches_with_what_it_found(mill: Mill, feed: Any) -> None:
    page = mill.json("search", "mill", "zurich", "--feed", feed["id"])

    assert titles(page) == ["Water mills of Zürich"]
    assert [one["text"] for one in page["items"][0]["highlight"]["title"] if one["match"]] == [
        "mills",
        "Zürich",
    ]
    assert "Zürich" in mill.ok("search", "mill -wind").text
    assert titles(mill.json("search", "mill", "-wind")) == ["Water mills of Zürich"]
    assert mill("search", "mill", "--tga", "x").status == 2
    assert len(titles(mill.json("search", "mil*", "--order", "published"))) == 2
    assert titles(mill.json("search", "mill", "--tag", "other")) == []
    assert "no entry matches" in mill.ok("search", "absent").text
    assert "nothing to search for" in mill("search", "…").err


@pytest.mark.usefixtures("feed")
def test_entries_that_are_not_indexed_are_counted_and_indexed_anew(mill: Mill) -> None:
    with closing(sqlite3.connect(mill.home / "feedmill.db")) as store:
        store.execute("DELETE FROM entry_search")
        store.commit()

    wrong = mill("verify")
    examined = mill("doctor").text
    before = mill.json("search", "mill")
    done = mill.json("reindex")
    right = mill("verify")

    assert (wrong.status, right.status) == (0, 0)
    assert "search" not in right.text
    assert "2 entries cannot be found by a search" in wrong.text
    assert "2 entries cannot be found by a search" in examined
    assert titles(before) == []
    assert done == {"entries": 2}
    assert len(titles(mill.json("search", "mill"))) == 2


@pytest.mark.usefixtures("feed")
def test_search_that_is_off_says_how_to_switch_it_on(mill: Mill) -> None:
    mill.setenv(FEEDMILL_SEARCH_ENABLED="false")

    assert "search is off" in mill("search", "mill").err
    assert "search is off" in mill("reindex").err
    assert mill("verify").status == 0
