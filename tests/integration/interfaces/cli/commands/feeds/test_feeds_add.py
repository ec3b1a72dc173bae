"""`feedmill add`: what it prints, how it leaves, and what it asks a person."""

from collections.abc import Iterator

import pytest
from tests.support.command_line import Mill, PublisherBeside
from tests.support.subscribe_harness import feed_document, page
from tests.support.terminal import at_terminal

from feedmill_demo.server.server import Publisher


def test_a_new_feed_is_shown_with_what_was_asked_and_what_comes_next(
    mill: Mill, publisher: Publisher
) -> None:
    publisher.script("/feed", feed_document())

    said = mill.ok("add", publisher.url("/feed?utm_source=x"))
    again = mill.ok("add", publisher.url("/feed?utm_source=x"))

    assert said.text.startswith("added ")
    assert publisher.url("/feed") in said.text
    assert f"instead of {publisher.url('/feed?utm_source=x')}" in said.text
    assert "stored; next: feedmill entries" in said.text
    assert "next: feedmill sync" in mill.ok("add", "--as-is", publisher.url("/other")).text
    assert again.text.startswith("already subscribed as ")
    assert "request" not in again.text


def test_a_feed_that_was_found_on_a_page_says_where(mill: Mill, publisher: Publisher) -> None:
    publisher.script("/feed", feed_document())
    publisher.script("/start", page({"href": "/feed"}))

    said = mill.ok("add", publisher.url("/start"))

    assert f"found on {publisher.url('/start')}" in said.text


def test_a_feed_at_a_usual_address_that_no_page_names_is_called_a_guess(
    mill: Mill, publisher: Publisher
) -> None:
    publisher.script("/feed", feed_document())
    publisher.script("/", page())

    said = mill.ok("add", publisher.url("/"))

    assert f"guessed: {publisher.url('/')} names no feed" in said.text


def test_add_with_sync_polls_what_was_not_fetched_on_the_way(
    mill: Mill, publisher: Publisher
) -> None:
    publisher.script("/feed", feed_document())

    unchecked = mill.json("add", "--as-is", publisher.url("/feed"), "--sync")
    again = mill.ok("add", publisher.url("/feed"), "--sync")

    assert unchecked["sync"]["feeds_checked"] == 1
    assert unchecked["sync"]["new"] > 0
    assert "1 feed checked" in again.text
    assert "next: feedmill sync" not in again.text


def test_a_page_with_several_feeds_is_a_no_with_the_list(mill: Mill, publisher: Publisher) -> None:
    home = _page(publisher)

    said = mill("add", home)
    shaped = mill("add", home, "--json")

    assert said.status == shaped.status == 1
    assert "--choose" in said.text
    assert [line.split("\t")[0] for line in said.text.splitlines()[1:]] == ["1", "2"]
    assert [feed["url"] for feed in shaped.json["choices"]] == [
        publisher.url("/news"),
        publisher.url("/sport"),
    ]
    assert mill.json("list")["items"] == []


def test_a_feed_that_is_here_already_gains_the_tags(mill: Mill, publisher: Publisher) -> None:
    publisher.script("/feed", feed_document())
    mill.ok("add", publisher.url("/feed"), "--tag", "news")

    again = mill.json("add", publisher.url("/feed"), "--tag", "mills")

    assert (again["created"], again["tags"]) == (False, ["mills", "news"])
    assert mill.json("show", again["id"])["tags"] == ["mills", "news"]


@pytest.mark.parametrize("choose", ["2", "url"])
def test_the_choice_is_an_option(mill: Mill, publisher: Publisher, choose: str) -> None:
    home = _page(publisher)
    wanted = publisher.url("/sport") if choose == "url" else choose

    added = mill.json("add", home, "--choose", wanted)

    assert (added["created"], added["url"]) == (True, publisher.url("/sport"))


def test_a_dead_address_is_a_no_with_its_reason_and_the_way_out(
    mill: Mill, publisher: Publisher
) -> None:
    dead = publisher.url("/nowhere")

    said = mill("add", dead)
    shaped = mill("add", dead, "--json")
    taken = mill.json("add", "--as-is", dead)

    assert (said.status, shaped.status) == (1, 1)
    assert "not-found" in said.err
    assert "--as-is" in said.err
    assert shaped.json["error"]["code"] == "not-found"
    assert taken["created"]


def test_one_dead_address_is_no_trouble_of_the_others(mill: Mill, publisher: Publisher) -> None:
    publisher.script("/feed", feed_document())

    said = mill("add", publisher.url("/nowhere"), publisher.url("/feed"), "--json")

    assert said.status == 1
    assert [item["created"] for item in said.json["items"]] == [False, True]


def test_on_a_terminal_the_person_is_asked(mill: Mill, publisher: Publisher) -> None:
    home = _page(publisher)

    status, written = at_terminal("add", home, typed="2\n")

    assert status == 0
    assert "Which one" in written
    assert [feed["url"] for feed in mill.json("list")["items"]] == [publisher.url("/sport")]


def _page(publisher: Publisher) -> str:
    publisher.script("/news", feed_document(1, 2))
    publisher.script("/sport", feed_document(3, 4))
    publisher.script(
        "/home", page({"href": "/news", "title": "News"}, {"href": "/sport", "title": "Sport"})
    )
    return publisher.url("/home")


@pytest.fixture
def publisher() -> Iterator[Publisher]:
    with PublisherBeside() as beside:
        yield beside.publisher
