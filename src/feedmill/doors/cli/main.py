"""The `feedmill` command. Subcommands are imported when they are called, so that help is instant."""

import sys
from importlib import import_module
from pathlib import Path
from typing import Final

import click

from feedmill.version import __version__

# name: (module, function, one line of help)
COMMANDS: Final = {
    "init": ("feedmill.doors.cli.care", "init", "Create the home folder and its store."),
    "add": ("feedmill.doors.cli.feeds", "add", "Subscribe to feeds by their addresses."),
    "import": ("feedmill.doors.cli.feeds", "import_", "Subscribe to every feed of a list."),
    "export": ("feedmill.doors.cli.feeds", "export", "Write all subscriptions as OPML."),
    "list": ("feedmill.doors.cli.feeds", "list_", "List subscriptions and their state."),
    "show": ("feedmill.doors.cli.feeds", "show", "Show everything known about one feed."),
    "remove": ("feedmill.doors.cli.feeds", "remove", "Give up subscriptions."),
    "pause": ("feedmill.doors.cli.feeds", "pause", "Stop polling feeds."),
    "resume": ("feedmill.doors.cli.feeds", "resume", "Poll paused feeds again."),
    "sync": ("feedmill.doors.cli.work", "sync", "Poll once what is due."),
    "run": ("feedmill.doors.cli.work", "run", "Poll for ever."),
    "demo": ("feedmill.doors.cli.demo", "demo", "Watch feedmill at work, without the internet."),
    "ingest-one": ("feedmill.doors.cli.work", "ingest_one", "Take in one feed once and count."),
    "entries": ("feedmill.doors.cli.look", "entries", "List entries, the newest first."),
    "entry": ("feedmill.doors.cli.look", "entry", "Show one entry."),
    "raw": ("feedmill.doors.cli.look", "raw", "Write raw bytes of a fetch or an entry."),
    "explain": ("feedmill.doors.cli.look", "explain", "Say why a feed is polled when it is."),
    "stats": ("feedmill.doors.cli.look", "stats", "Count feeds, entries, fetches and events."),
    "replay": ("feedmill.doors.cli.care", "replay", "Read stored raw documents again."),
    "purge": ("feedmill.doors.cli.care", "purge", "Let go of what is no longer kept."),
    "verify": ("feedmill.doors.cli.care", "verify", "Prove that index and raw bytes agree."),
    "doctor": ("feedmill.doors.cli.care", "doctor", "Look for trouble in the surroundings."),
    "config": ("feedmill.doors.cli.care", "config", "Look at the settings."),
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
@click.option(
    "--home", metavar="DIR", help="Where everything is kept [FEEDMILL_HOME, feedmill-data]."
)
@click.option(
    "--config",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A settings file [FEEDMILL_CONFIG, ./feedmill.toml].",
)
@click.option("-v", "--verbose", count=True, help="Log each refresh; -vv logs everything.")
@click.option("--log-json", is_flag=True, help="Log JSON lines.")
@click.pass_context
def cli(
    ctx: click.Context, home: str | None, config: Path | None, verbose: int, *, log_json: bool
) -> None:
    """Take in the web's feeds; give programs clean, deduplicated, replayable entries.

    \b
    Examples:
      feedmill demo
      feedmill add https://example.com/feed && feedmill sync
      feedmill entries --json --limit 10
      curl -s https://example.com/feed | feedmill parse - --url https://example.com/feed
    """
    ctx.obj = {"home": home, "config": config, "verbose": verbose, "log_json": log_json}


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
