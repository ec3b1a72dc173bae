"""The skill is true: its head follows the conventions, and it names tools and options that exist."""

import re
import shlex
from pathlib import Path

import click
from tests.unit.docs.test_reference import commands

from feedmill.interfaces.cli.main import cli
from feedmill.interfaces.mcp import server
from feedmill.interfaces.mcp.server import INSTRUCTIONS

AGENTS = Path(__file__).parents[3] / "docs" / "agents"
SKILL = (AGENTS / "SKILL.md").read_text("utf-8")
TOOLS = {one.run.__name__.rstrip("_"): one for one in server.TOOLS}
FLOW = ("collect_window", "screen", "record_decisions", "confirm", "insert_selected")
SECTIONS = (
    "Core Goal",
    "Triggering Conditions",
    "Mandatory Workflow",
    "Data Contract",
    "Configurable Parameters",
    "Error and Boundary Handling",
)


def head() -> dict[str, str]:
    """The plain fields between the two lines of dashes."""
    lines = SKILL.split("---\n")[1].splitlines()
    pairs = (line.partition(": ") for line in lines if not line.startswith(" "))
    return {name: value for name, _, value in pairs}


def test_the_head_has_a_name_and_says_when_to_use_it() -> None:
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", head()["name"])
    assert len(head()["name"]) <= 64
    assert len(head()["description"]) <= 1_024
    assert "Use when " in head()["description"]
    assert len(head()["compatibility"]) <= 500


def test_the_body_has_every_section_and_is_short_enough_to_be_read() -> None:
    found = re.findall(r"^## (.+)$", SKILL, re.MULTILINE)

    assert [title for title in found if title in SECTIONS] == list(SECTIONS)
    assert len(SKILL.splitlines()) < 500


def test_the_skill_and_the_instructions_tell_the_whole_flow_in_its_order() -> None:
    workflow = SKILL.partition("## Mandatory Workflow")[2]

    for text in (workflow, INSTRUCTIONS):
        places = [text.index(name) for name in FLOW]
        assert places == sorted(places)


def test_the_list_of_tools_is_complete_with_all_arguments() -> None:
    rows = re.findall(r"^\| `(\w+)` \| [^|]+ \|([^|]*)\|", _page("tools"), re.MULTILINE)

    documented = {name: re.findall(r"`(\w+)`", arguments) for name, arguments in rows}

    assert documented == {name: _arguments(name) for name in TOOLS}


def test_every_command_in_the_skill_exists_with_its_options() -> None:
    known = commands(cli)
    blocks = re.findall(r"```sh\n(.*?)```", SKILL, re.DOTALL)
    lines = [shlex.split(line) for block in blocks for line in block.splitlines()]

    unknown = [
        word
        for _, command, *words in lines
        for word in words
        if word.startswith("--") and word not in _options(known[command])
    ]

    assert len(lines) == 4
    assert unknown == []


def _page(name: str) -> str:
    return (AGENTS / "references" / f"{name}.md").read_text("utf-8")


def _arguments(name: str) -> list[str]:
    own = {"call", "question", "answer", "return"}  # filled by the server
    return [argument for argument in TOOLS[name].run.__annotations__ if argument not in own]


def _options(command: click.Command) -> set[str]:
    return {option for parameter in command.params for option in parameter.opts}
