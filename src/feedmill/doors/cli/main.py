"""The `feedmill` command. Subcommands are imported when they are called, so that help is instant."""

import sys
from importlib import import_module
from typing import Final

import click

from feedmill.version import __version__

# name: (module, function, one line of help)
COMMANDS: Final = {
    "parse": ("feedmill.doors.cli.parse", "parse", "Read feed documents and say what they hold."),
}


class LazyGroup(click.Group):
    """A group that knows the names and one-line helps of its commands without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        module, function, _ = COMMANDS[cmd_name]
        command: click.Command = getattr(import_module(module), function)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, _, text) in COMMANDS.items()])


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="feedmill", message="%(prog)s %(version)s")
def cli() -> None:
    """Take in the web's feeds; give programs clean, deduplicated, replayable entries.

    \b
    Examples:
      feedmill parse feed.xml
      curl -s https://example.com/feed | feedmill parse - --url https://example.com/feed
    """


def main() -> None:
    """Run the command line; an interrupt ends it with 130, as shells expect."""
    try:
        cli.main(standalone_mode=False)
    except click.exceptions.Abort:
        click.echo("interrupted", err=True)
        sys.exit(130)
    except click.ClickException as problem:
        problem.show()
        sys.exit(problem.exit_code)
    except click.exceptions.Exit as leaving:
        sys.exit(leaving.exit_code)
