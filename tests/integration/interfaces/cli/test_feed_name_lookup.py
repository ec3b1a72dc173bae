"""Empty feed names and invalid choices on the command line."""

import pytest
from tests.support.command_line import Mill
from tests.support.subscribe_harness import feed_document, page

from feedmill_demo.server.server import Publisher


@pytest.mark.parametrize("name", ["", "  "])
@pytest.mark.parametrize("command", [("remove", "--yes"), ("pause",), ("move",), ("show",)])
def test_feed_lookup_with_empty_name_matches_nothing(
    mill: Mill, command: tuple[str, ...], name: str
) -> None:
    mill.ok("add", "--as-is", "https://one.example/feed")

    said = mill(*command, name)

    assert said.status == 1
    assert "there is no feed" in said.err
    assert len(mill.json("list")["items"]) == 1


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://one.example/feed", "one.example/feed"),
        ("https://one.example/feed", "HTTPS://One.example/feed"),
        ("https://one.example/feed", "feed://one.example/feed"),
        ("https://one.example/", "one.example"),
        ("https://one.example/", "https://one.example"),
        ("http://one.example:8080/feed", "one.example:8080/feed"),  # as `list` shows it
        ("http://one.example/feed", " http://one.example/feed "),
    ],
)
def test_feed_is_found_by_its_address_as_people_write_it(mill: Mill, url: str, name: str) -> None:
    mill.ok("add", "--as-is", url)

    assert mill.json("show", name)["url"] == url


@pytest.mark.parametrize("choice", ["0", "3", "-1", "9" * 5000, "\u00b2", "", "http://ann:pw@x/"])
def test_invalid_choice_is_refused_in_one_sentence(
    mill: Mill, publisher: Publisher, choice: str
) -> None:
    publisher.script("/choices/", page({"href": "/choices/a"}, {"href": "/choices/b"}))
    publisher.script("/choices/a", feed_document(1, 2, title="A"))
    publisher.script("/choices/b", feed_document(7, 8, 9, title="B"))

    said = mill("add", publisher.url("/choices/"), f"--choose={choice}")

    assert said.status == 1
    assert "leads to no feed" in said.err
    assert len(said.err) < 1000
    assert "pw" not in said.err
