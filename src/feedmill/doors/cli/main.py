"""The `feedmill` command. Subcommands are imported when they are called, so that help is instant.

0 is success, 1 a failure, 2 wrong usage, 130 an interrupt.
"""

import gc
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, Final, NoReturn

import click

from feedmill.doors.cli.leaving import fail, interrupted, leave_the_pipe
from feedmill.version import __version__

# name: (module, function, one line of help)
COMMANDS: Final = {
    "init": ("feedmill.doors.cli.care", "init", "Create the home folder and its store."),
    "add": ("feedmill.doors.cli.feeds", "add", "Subscribe to feeds by their addresses."),
    "import": ("feedmill.doors.cli.exchange", "import_", "Subscribe to every feed of a list."),
    "export": ("feedmill.doors.cli.exchange", "export", "Write all subscriptions as OPML."),
    "list": ("feedmill.doors.cli.feeds", "list_", "List subscriptions and their state."),
    "show": ("feedmill.doors.cli.feeds", "show", "Show everything known about one feed."),
    "remove": ("feedmill.doors.cli.feeds", "remove", "Give up subscriptions."),
    "pause": ("feedmill.doors.cli.feeds", "pause", "Stop polling feeds."),
    "resume": ("feedmill.doors.cli.feeds", "resume", "Poll paused feeds again."),
    "move": ("feedmill.doors.cli.moving", "move", "Show, change or undo where a feed lives."),
    "sync": ("feedmill.doors.cli.sync", "sync", "Poll once what is due."),
    "run": ("feedmill.doors.cli.run", "run", "Poll for ever."),
    "serve": ("feedmill.doors.cli.serve", "serve", "Answer other programs over HTTP."),
    "worker": ("feedmill.doors.cli.working", "worker", "Poll beside other workers on one store."),
    "api": ("feedmill.doors.cli.serve", "api", "Answer other programs, and never poll."),
    "relay": ("feedmill.doors.cli.relaying", "relay", "Hand the log to the bus and to webhooks."),
    "migrate": ("feedmill.doors.cli.migrating", "migrate", "Bring the store to this version."),
    "workers": ("feedmill.doors.cli.roster", "workers", "Show who works on the store."),
    "healthcheck": (
        "feedmill.doors.cli.healthcheck",
        "healthcheck",
        "Ask a role on this machine whether it is ready.",
    ),
    "demo": ("feedmill.doors.cli.demo", "demo", "Watch feedmill at work, without the internet."),
    "ingest-one": ("feedmill.doors.cli.ingest", "ingest_one", "Take in one feed once and count."),
    "collect-window": (
        "feedmill.doors.cli.collecting",
        "collect",
        "Collect a span of time as candidates, before anything is stored.",
    ),
    "screen": ("feedmill.doors.cli.screening", "screen", "Suggest which candidates fit topics."),
    "review": (
        "feedmill.doors.cli.reviewing",
        "review",
        "Look through candidates, choose and confirm.",
    ),
    "insert-selected": (
        "feedmill.doors.cli.inserting",
        "insert",
        "Store the candidates that somebody confirmed.",
    ),
    "screen-live": (
        "feedmill.doors.cli.standing",
        "screen_live",
        "Let new entries of some feeds wait for a person.",
    ),
    "held": ("feedmill.doors.cli.standing", "held", "Look at what waits, export it or drop it."),
    "entries": ("feedmill.doors.cli.look", "entries", "List entries, the latest arrivals first."),
    "entry": ("feedmill.doors.cli.look", "entry", "Show one entry."),
    "raw": ("feedmill.doors.cli.look", "raw", "Write raw bytes of a fetch or an entry."),
    "explain": ("feedmill.doors.cli.look", "explain", "Say why a feed is polled when it is."),
    "stats": ("feedmill.doors.cli.look", "stats", "Count feeds, entries, fetches and events."),
    "replay": ("feedmill.doors.cli.care", "replay", "Read stored raw documents again."),
    "purge": ("feedmill.doors.cli.care", "purge", "Let go of what is no longer kept."),
    "verify": ("feedmill.doors.cli.care", "verify", "Prove that index and raw bytes agree."),
    "blobs": ("feedmill.doors.cli.blobs", "blobs", "Move the raw documents to another store."),
    "store": ("feedmill.doors.cli.storing", "store", "Move everything to another database."),
    "doctor": ("feedmill.doors.cli.care", "doctor", "Look for trouble in the surroundings."),
    "config": ("feedmill.doors.cli.care", "config", "Look at the settings."),
    "token": ("feedmill.doors.cli.tokens", "token", "Make and revoke tokens for the API."),
    "webhook": ("feedmill.doors.cli.webhooks", "webhook", "Tell other programs of every event."),
    "mcp": ("feedmill.doors.cli.agents", "mcp", "Let agents collect, screen and look."),
    "confirm": ("feedmill.doors.cli.confirm", "confirm", "Answer what agents ask of you."),
    "canonicalize": (
        "feedmill.doors.cli.canonical",
        "canonicalize",
        "Find and prove the one right address of a feed.",
    ),
    "models": ("feedmill.doors.cli.models", "models", "Install models for screening by meaning."),
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

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401  # click's own type
        """Run the command; a reader that has seen enough (`| head -1`) is no failure."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            leave_the_pipe()
            ctx.exit(0)

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
    """Run the command line and leave with 0, 1, 2 or 130, whatever happens."""
    status = _status(lambda: cli.main(standalone_mode=False), as_json="--json" in sys.argv)
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        leave_the_pipe()
    # Whoever is told to leave has its successor waiting: what is left is not searched for garbage
    # once more, which takes longer than to let go of a host (a third of a second against 60 ms).
    gc.freeze()
    sys.exit(status)


def _status(command: Callable[[], Any], *, as_json: bool) -> Any:  # noqa: ANN401  # as sys.exit
    try:
        result = command()
    except SystemExit as leaving:
        return leaving.code
    except (click.exceptions.Abort, KeyboardInterrupt):
        interrupted(as_json=as_json)
    except click.ClickException as problem:
        _refuse(problem, as_json=as_json)
    except OSError as problem:
        where = f"{problem.filename}: " if problem.filename else ""
        fail("io-error", f"{where}{problem.strerror or problem}", as_json=as_json)
    except Exception as problem:
        if as_json:
            words = f"{type(problem).__name__}: {problem}"
            fail("surprise", words, "this is a fault in feedmill; please report it", as_json=True)
        raise
    return result if isinstance(result, int) else 0


def _refuse(problem: click.ClickException, *, as_json: bool) -> NoReturn:
    if as_json:
        command = getattr(getattr(problem, "ctx", None), "command_path", "feedmill")
        hint = f"{command} --help explains it"
        fail("usage", problem.format_message(), hint, as_json=True, status=problem.exit_code)
    problem.show()
    sys.exit(problem.exit_code)
