"""Moving a feed by hand, looking at where it may go, and taking it back."""

from typing import Any

import pytest
from tests.support.command_line import Mill, paper

from feedmill_demo.server.script import document, redirect
from feedmill_demo.server.server import Publisher


@pytest.fixture
def base(mill: Mill, publisher: Publisher) -> str:
    """The start of this test's own addresses."""
    return publisher.url(f"/moving/{mill.folder.name}")


@pytest.fixture
def feed(mill: Mill, publisher: Publisher, base: str) -> Any:
    """A feed that was polled once, with a twin, a stranger and another subscription beside it."""
    path = base.removeprefix(publisher.url(""))
    body = document(paper("Water", "Wind"))
    for name in ("here", "twin", "other"):
        publisher.script(f"{path}/{name}", body)
    publisher.script(f"{path}/stranger", document(paper("Sun", "Moon").replace(b"<guid>", b"<guid>x")
                                                   .replace(b"example/", b"example/x/")))  # fmt: skip
    publisher.script(f"{path}/away", redirect(f"{path}/twin"))
    added = mill.json("add", "--as-is", f"{base}/here")
    mill.ok("sync")
    return added


def test_a_feed_that_never_moved_says_where_it_lives(mill: Mill, feed: Any) -> None:
    said = mill.ok("move", feed["id"])

    assert said.text == f"The address is {feed['url']}.\n"
    shape = mill.json("move", feed["id"])
    assert shape == {"feed_id": feed["id"], "url": feed["url"], "candidate": None, "moves": []}


def test_a_feed_moves_with_a_proof_and_back_again(mill: Mill, feed: Any, base: str) -> None:
    moved = mill.ok("move", feed["id"], f"{base}/twin")
    assert moved.text == f"moved to {base}/twin\n"
    assert mill.json("show", feed["id"])["url"] == f"{base}/twin"

    undone = mill.ok("move", feed["id"], "--undo")

    assert undone.text == f"back at {base}/here\n"
    (move,) = mill.json("move", feed["id"])["moves"]
    assert (move["source"], move["proof"]) == ("manual", "content")
    assert move["undone_at"] is not None
    assert "undone" in mill.ok("move", feed["id"]).text
    again = mill("move", feed["id"], "--undo", "--json")
    assert (again.status, again.error["code"]) == (1, "not-found")


def test_a_stranger_needs_force(mill: Mill, feed: Any, base: str) -> None:
    refused = mill("move", feed["id"], f"{base}/stranger")
    assert refused.status == 1
    assert "not the same feed" in refused.err
    assert "--force" in refused.err

    forced = mill.json("move", feed["id"], f"{base}/stranger", "--force")

    assert (forced["outcome"], forced["move"]["proof"]) == ("moved", "forced")


def test_another_subscription_at_the_address_takes_the_feed_over(
    mill: Mill, feed: Any, base: str
) -> None:
    other = mill.json("add", "--as-is", f"{base}/other")
    mill.ok("sync")

    merged = mill.ok("move", feed["id"], f"{base}/other")

    assert merged.text == f"merged into {other['id']} at {base}/other; a merge by a move is final\n"
    assert [one["id"] for one in mill.json("list")["items"]] == [other["id"]]
    assert mill.json("show", f"{base}/here")["id"] == other["id"]


def test_the_guard_is_not_forced(mill: Mill, feed: Any) -> None:
    refused = mill("move", feed["id"], "http://10.0.0.1/feed", "--force", "--json")

    assert (refused.status, refused.error["code"]) == (2, "private-address")


@pytest.mark.parametrize("words", [("--force",), ("https://a.example/", "--undo")])
def test_what_makes_no_sense_is_refused(mill: Mill, feed: Any, words: tuple[str, ...]) -> None:
    assert mill("move", feed["id"], *words).status == 2


@pytest.mark.usefixtures("feed")
def test_a_candidate_is_shown_by_every_command_that_explains(mill: Mill, base: str) -> None:
    away = mill.json("add", "--as-is", f"{base}/away")
    mill.ok("sync")

    shown = mill.json("show", away["id"])["move"]

    assert (shown["url"], shown["source"], shown["sightings"]) == (f"{base}/twin", "redirect", 1)
    assert shown["missing"] == {"sightings": 2, "hours": 48.0, "proof": False}
    assert mill.json("move", away["id"])["candidate"]["url"] == f"{base}/twin"
    assert mill.json("explain", away["id"])["move"]["url"] == f"{base}/twin"
    for command in ("move", "explain"):
        assert "Missing: 2 more sightings, 48 more hours." in mill.ok(command, away["id"]).text


def test_tokens_in_addresses_are_masked(mill: Mill, feed: Any, base: str) -> None:
    said = [
        mill.ok("move", feed["id"], f"{base}/twin?token=t0ken").text,
        mill.ok("move", feed["id"]).text,
        str(mill.json("move", feed["id"])),
        mill.ok("move", feed["id"], "--undo").text,
        str(mill.json("move", feed["id"])),
    ]

    assert f"{base}/twin?token=***" in said[1]
    assert "t0ken" not in "".join(said)
