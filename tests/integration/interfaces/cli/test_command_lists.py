"""Every list has the same options: JSON, lines of JSON without a limit, and names of columns in a pipe."""

import json

import click
import pytest
from tests.support.command_line import Mill

from feedmill.interfaces.cli.main import cli

LISTS = (
    "articles", "clusters", "confirm", "cursors list", "duplicates", "entries", "held list", "hosts", "jobs", "list",
    "media list", "models list", "push", "screen-live list", "token list", "top", "webhook list", "workers",
)  # fmt: skip


@pytest.mark.parametrize("name", LISTS)
def test_every_list_is_printed_as_json_and_as_lines(mill: Mill, name: str) -> None:
    words = name.split()

    whole, lines = mill.json(*words), mill.ok(*words, "--ndjson").text.splitlines()

    items = whole["items"] if isinstance(whole, dict) else whole
    assert [json.loads(line) for line in lines] == items


@pytest.mark.parametrize("name", LISTS)
def test_every_list_prints_the_names_of_its_columns_into_a_pipe_when_asked(name: str) -> None:
    command: click.Command = cli
    for word in name.split():
        assert isinstance(command, click.Group)
        found = command.get_command(click.Context(command), word)
        assert found is not None
        command = found

    assert "--header" in {option for one in command.params for option in one.opts}


@pytest.fixture
def feeds(mill: Mill) -> list[str]:
    """More feeds than the store is asked for at once."""
    urls = [f"https://f{number}.example/feed" for number in range(1_203)]
    mill.ok("import", "--as-is", "-", stdin="\n".join(urls).encode())
    return urls


def test_a_list_has_no_limit_but_the_one_that_is_asked_for(mill: Mill, feeds: list[str]) -> None:
    usual, everything = mill.json("list"), mill.json("list", "--limit", "0")
    many, lines = mill.json("list", "--limit", "700"), mill.ok("list", "--ndjson").text.splitlines()
    rest = mill.json("list", "--limit", "0", "--after", many["next"])

    assert len(usual["items"]) == 100
    assert [one["url"] for one in everything["items"]] == feeds
    assert everything["next"] is None
    assert [one["url"] for one in (*many["items"], *rest["items"])] == feeds
    assert [json.loads(line)["url"] for line in lines] == feeds
    assert len(mill.ok("list", "--ndjson", "--limit", "2").text.splitlines()) == 2


def test_a_table_in_a_pipe_has_the_names_of_its_columns_only_when_asked(mill: Mill) -> None:
    mill.ok("add", "--as-is", "https://one.example/feed")

    plain, named = mill.ok("list").text, mill.ok("list", "--header").text

    head, row = named.splitlines()
    assert head.split("\t") == ["id", "state", "every", "last", "next poll", "title", "url"]
    assert plain == f"{row}\n"


def test_an_error_of_a_list_as_lines_is_json_too(mill: Mill) -> None:
    said = mill("entries", "--feed", "unknown", "--ndjson")

    assert (said.status, said.error["code"]) == (1, "not-found")
