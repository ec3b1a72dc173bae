"""Every command has a file of its name, and every file is a command."""

import pkgutil

import click

from feedmill.interfaces.cli import commands
from feedmill.interfaces.cli.main import COMMANDS, cli


def test_commands_are_found_by_their_names() -> None:
    context = click.Context(cli)
    names = {name: cli.get_command(context, name) for name in COMMANDS}

    assert {name: found and found.name for name, found in names.items()} == {
        name: name for name in COMMANDS
    }


def test_every_module_of_the_commands_folder_is_a_command() -> None:
    modules = {module.name for module in pkgutil.iter_modules(commands.__path__)}

    assert modules == {
        name.replace("-", "_") + ("_" if name in ("list", "import") else "") for name in COMMANDS
    }
