"""Commands as coroutines: what they get, what is printed of their answer, and the exit code."""

import json

import click
import pytest
from click.testing import CliRunner

from feedmill.config import Config
from feedmill.interfaces.cli.command import Answer, Printer, answer_with_secret, command
from feedmill.interfaces.cli.options import list_options, option


@command()
@option("--times N", "How often.", least=1, default=2)
async def greet(config: Config, times: int) -> Answer:
    """Say hello."""
    shape = {"times": times, "home": bool(config.store.home)}
    return Answer(shape, "hello " * times, status=3)


@command()
@list_options()
async def numbers() -> Printer:
    """Print one."""
    return lambda: click.echo("one")


@command("key")
async def make_key() -> Answer:
    """Make a key."""
    return answer_with_secret({"id": 7}, "shown once:", "s3cret")


def test_answer_is_printed_in_words_and_ends_with_its_exit_code() -> None:
    said = CliRunner().invoke(greet, ["--times", "3"])

    assert (said.output, said.exit_code) == ("hello hello hello \n", 3)


def test_answer_is_printed_as_json_with_the_same_exit_code() -> None:
    said = CliRunner().invoke(greet, ["--json"])

    assert (json.loads(said.output), said.exit_code) == ({"times": 2, "home": True}, 3)


def test_list_prints_itself_and_has_one_option_for_json() -> None:
    said = CliRunner().invoke(numbers, [])

    assert (said.output, said.exit_code) == ("one\n", 0)
    assert [one.name for one in numbers.params].count("json") == 1


def test_secret_stands_alone_on_standard_output() -> None:
    said = CliRunner().invoke(make_key, [])

    assert (said.stdout, said.stderr) == ("s3cret\n", "shown once:\n")


@pytest.mark.parametrize(
    ("words", "problem"), [(["--times", "0"], "x>=1"), (["--times", "many"], "not a valid")]
)
def test_option_with_a_range_refuses_other_values(words: list[str], problem: str) -> None:
    said = CliRunner().invoke(greet, words)

    assert said.exit_code == 2
    assert problem in said.output


def test_help_shows_the_value_and_the_default_of_an_option_and_json_last() -> None:
    lines = CliRunner().invoke(greet, ["--help"]).output.splitlines()

    assert "  --times N  How often.  [default: 2; x>=1]" in lines
    assert lines[-2].split()[0] == "--json"
