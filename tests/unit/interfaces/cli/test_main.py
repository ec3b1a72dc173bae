"""Every command has a file of its name, and every file is a command."""

import io
import pkgutil
import sys
from typing import Any

import click
import pytest

from feedmill.interfaces.cli import commands
from feedmill.interfaces.cli.main import COMMANDS, IN_FILE_OF, ROOMS, cli, main
from feedmill.version import __version__


def test_commands_are_found_by_their_names() -> None:
    context = click.Context(cli)
    names = {name: cli.get_command(context, name) for name in COMMANDS}

    assert {name: found and found.name for name, found in names.items()} == {
        name: name for name in COMMANDS
    }


def test_every_module_of_the_commands_folder_is_a_command() -> None:
    found = pkgutil.walk_packages(commands.__path__, "feedmill.interfaces.cli.commands.")

    assert {
        module.name.removeprefix("feedmill.interfaces.cli.commands.")
        for module in found
        if not module.ispkg
    } == {
        f"{room}.{name.replace('-', '_')}{'_' if name in ('list', 'import') else ''}"
        for room, (_, names) in ROOMS.items()
        for name in (IN_FILE_OF.get(name, name) for name in names)
    }


def test_no_room_of_commands_is_crowded() -> None:
    assert max(len(names) for _, names in ROOMS.values()) <= 20


def _cut_help_lines(command: click.Command, name: str, parent: click.Context | None) -> list[str]:
    context = click.Context(command, info_name=name, parent=parent, terminal_width=80)
    lines = command.get_help(context).splitlines()
    found = [line for line in lines if len(line) > 80 or line.endswith("...")]
    found = [line for line in found if not line.startswith("Usage:")]
    if isinstance(command, click.Group):
        for each in command.list_commands(context):
            below = command.get_command(context, each)
            assert below is not None
            found += _cut_help_lines(below, each, context)
    return found


def test_every_help_page_fits_into_eighty_columns_and_says_what_each_command_does() -> None:
    assert _cut_help_lines(cli, "feedmill", None) == []


def test_standard_output_is_buffered_where_the_interpreter_does_not(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """A raw stream may take a part of a long write, and nobody writes the rest."""
    raw: Any = io.FileIO(1, "w", closefd=False)
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(raw, write_through=True))
    monkeypatch.setattr("sys.argv", ["feedmill", "--version"])

    with pytest.raises(SystemExit):
        main()

    assert isinstance(sys.stdout.buffer, io.BufferedWriter)
    assert capfd.readouterr().out == f"feedmill {__version__}\n"
