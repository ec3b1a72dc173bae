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

from feedmill.interfaces.cli.early_signals import remember_signals
from feedmill.interfaces.cli.exit import exit_interrupted, exit_with_error, mute_stdout
from feedmill.version import __version__

# name: (module, function, one line of help)
COMMANDS: Final = {
    "init": (
        "feedmill.interfaces.cli.commands.care",
        "init",
        "Create the home folder and its store.",
    ),
    "add": (
        "feedmill.interfaces.cli.commands.feeds",
        "add",
        "Subscribe to feeds by their addresses.",
    ),
    "import": (
        "feedmill.interfaces.cli.commands.import_export",
        "import_",
        "Subscribe to every feed of a list.",
    ),
    "export": (
        "feedmill.interfaces.cli.commands.import_export",
        "export",
        "Write all subscriptions as OPML.",
    ),
    "list": (
        "feedmill.interfaces.cli.commands.feeds",
        "list_feeds_command",
        "List subscriptions and their state.",
    ),
    "show": (
        "feedmill.interfaces.cli.commands.feeds",
        "show",
        "Show everything known about one feed.",
    ),
    "remove": ("feedmill.interfaces.cli.commands.feeds", "remove", "Give up subscriptions."),
    "pause": ("feedmill.interfaces.cli.commands.feeds", "pause", "Stop polling feeds."),
    "resume": ("feedmill.interfaces.cli.commands.feeds", "resume", "Poll paused feeds again."),
    "move": (
        "feedmill.interfaces.cli.commands.move",
        "move",
        "Show, change or undo where a feed lives.",
    ),
    "sync": ("feedmill.interfaces.cli.commands.sync", "sync", "Poll once what is due."),
    "run": ("feedmill.interfaces.cli.commands.run", "run", "Poll for ever."),
    "serve": (
        "feedmill.interfaces.cli.commands.serve",
        "serve",
        "Answer other programs over HTTP.",
    ),
    "worker": (
        "feedmill.interfaces.cli.commands.worker",
        "worker",
        "Poll beside other workers on one store.",
    ),
    "api": (
        "feedmill.interfaces.cli.commands.serve",
        "api",
        "Answer other programs, and never poll.",
    ),
    "relay": (
        "feedmill.interfaces.cli.commands.relay",
        "relay",
        "Hand the log to the bus and to webhooks.",
    ),
    "migrate": (
        "feedmill.interfaces.cli.commands.migrate",
        "migrate",
        "Bring the store to this version.",
    ),
    "workers": (
        "feedmill.interfaces.cli.commands.workers",
        "workers",
        "Show who works on the store.",
    ),
    "healthcheck": (
        "feedmill.interfaces.cli.commands.healthcheck",
        "healthcheck",
        "Ask a role on this machine whether it is ready.",
    ),
    "demo": (
        "feedmill.interfaces.cli.commands.demo",
        "demo",
        "Watch feedmill at work, without the internet.",
    ),
    "ingest-one": (
        "feedmill.interfaces.cli.commands.ingest_one",
        "ingest_one",
        "Take in one feed once and count.",
    ),
    "collect-window": (
        "feedmill.interfaces.cli.commands.collect_window",
        "collect",
        "Collect a span of time as candidates, before anything is stored.",
    ),
    "screen": (
        "feedmill.interfaces.cli.commands.screen",
        "screen",
        "Suggest which candidates fit topics.",
    ),
    "review": (
        "feedmill.interfaces.cli.commands.review",
        "review",
        "Look through candidates, choose and confirm.",
    ),
    "insert-selected": (
        "feedmill.interfaces.cli.commands.insert_selected",
        "insert",
        "Store the candidates that somebody confirmed.",
    ),
    "screen-live": (
        "feedmill.interfaces.cli.commands.screen_live",
        "screen_live",
        "Let new entries of some feeds wait for a person.",
    ),
    "held": (
        "feedmill.interfaces.cli.commands.screen_live",
        "held",
        "Look at what waits, export it or drop it.",
    ),
    "entries": (
        "feedmill.interfaces.cli.commands.look",
        "entries",
        "List entries, the latest arrivals first.",
    ),
    "entry": ("feedmill.interfaces.cli.commands.look", "entry", "Show one entry."),
    "raw": (
        "feedmill.interfaces.cli.commands.look",
        "raw",
        "Write raw bytes of a fetch or an entry.",
    ),
    "explain": (
        "feedmill.interfaces.cli.commands.look",
        "explain",
        "Say why a feed is polled when it is.",
    ),
    "stats": (
        "feedmill.interfaces.cli.commands.look",
        "stats",
        "Count feeds, entries, fetches and events.",
    ),
    "replay": (
        "feedmill.interfaces.cli.commands.care",
        "replay",
        "Read stored raw documents again.",
    ),
    "purge": (
        "feedmill.interfaces.cli.commands.care",
        "purge",
        "Let go of what is no longer kept.",
    ),
    "verify": (
        "feedmill.interfaces.cli.commands.care",
        "verify_command",
        "Prove that index and raw bytes agree.",
    ),
    "blobs": (
        "feedmill.interfaces.cli.commands.blobs",
        "blobs",
        "Move the raw documents to another store.",
    ),
    "store": (
        "feedmill.interfaces.cli.commands.store",
        "store",
        "Move everything to another database.",
    ),
    "doctor": (
        "feedmill.interfaces.cli.commands.care",
        "doctor",
        "Look for trouble in the surroundings.",
    ),
    "config": ("feedmill.interfaces.cli.commands.care", "config", "Look at the settings."),
    "token": (
        "feedmill.interfaces.cli.commands.token",
        "token",
        "Make and revoke tokens for the API.",
    ),
    "webhook": (
        "feedmill.interfaces.cli.commands.webhook",
        "webhook",
        "Tell other programs of every event.",
    ),
    "mcp": ("feedmill.interfaces.cli.commands.mcp", "mcp", "Let agents collect, screen and look."),
    "confirm": (
        "feedmill.interfaces.cli.commands.confirm",
        "confirm",
        "Answer what agents ask of you.",
    ),
    "canonicalize": (
        "feedmill.interfaces.cli.commands.canonicalize",
        "canonicalize",
        "Find and prove the one right address of a feed.",
    ),
    "models": (
        "feedmill.interfaces.cli.commands.models",
        "models",
        "Install models for screening by meaning.",
    ),
    "parse": (
        "feedmill.interfaces.cli.commands.parse",
        "parse",
        "Read feed documents and say what they hold.",
    ),
}

# Commands that run until a signal stops them; their imports take longer than those of the others.
LONG_RUNNING: Final = frozenset({"run", "serve", "worker", "api", "relay"})


class LazyGroup(click.Group):
    """A group that knows the names and one-line helps of its commands without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Import the command; a signal that stops a long-running one meanwhile is remembered."""
        if args[0] in LONG_RUNNING:
            remember_signals()
        return super().resolve_command(ctx, args)

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
            mute_stdout()
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
        mute_stdout()
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
        exit_interrupted(as_json=as_json)
    except click.ClickException as problem:
        _refuse(problem, as_json=as_json)
    except OSError as problem:
        where = f"{problem.filename}: " if problem.filename else ""
        exit_with_error("io-error", f"{where}{problem.strerror or problem}", as_json=as_json)
    except Exception as problem:
        if as_json:
            words = f"{type(problem).__name__}: {problem}"
            exit_with_error(
                "surprise", words, "this is a fault in feedmill; please report it", as_json=True
            )
        raise
    return result if isinstance(result, int) else 0


def _refuse(problem: click.ClickException, *, as_json: bool) -> NoReturn:
    if as_json:
        command = getattr(getattr(problem, "ctx", None), "command_path", "feedmill")
        hint = f"{command} --help explains it"
        exit_with_error(
            "usage", problem.format_message(), hint, as_json=True, status=problem.exit_code
        )
    problem.show()
    sys.exit(problem.exit_code)
