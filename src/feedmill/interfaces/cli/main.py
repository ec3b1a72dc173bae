"""The `feedmill` command. Subcommands are imported when they are called, so that help is quick.

Exit codes: 0 success, 1 failure, 2 wrong usage, 130 interrupt.
"""

import builtins
import gc
import os
import sys
from collections.abc import Callable
from importlib import import_module
from io import RawIOBase, TextIOWrapper
from keyword import iskeyword
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any, Final, NoReturn

import click

from feedmill.interfaces.cli.exit import (
    exit_interrupted,
    exit_with_error,
    mute_stdout,
    remember_signals,
)
from feedmill.version import __version__

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

# The folders of `commands/`, with the title under which help lists their commands, and the short help of each.
# The module and the function are called like the command, see `_identifier` and `IN_FILE_OF`.
ROOMS: Final = {
    "feeds": (
        "Feeds",
        {
            "add": "Subscribe to feeds by their addresses.",
            "import": "Subscribe to every feed of a list.",
            "list": "List subscriptions and their state.",
            "show": "Show one feed.",
            "remove": "Delete subscriptions and their entries.",
            "pause": "Stop polling feeds.",
            "resume": "Poll paused feeds again.",
            "move": "Show, change or undo the address of a feed.",
            "export": "Write all subscriptions as OPML.",
            "discover": "List the feeds that an address leads to.",
            "canonicalize": "Find and verify the canonical address of a feed.",
            "backfill": "Read the archive of a feed.",
            "push": "Show WebSub hubs and subscribe feeds to them again.",
            "quota": "Show or change how much a feed may bring at once and in a day.",
            "duplicates": "Find feeds that carry the same articles.",
        },
    ),
    "entries": (
        "Entries and documents",
        {
            "entries": "List entries, newest first, each article once.",
            "search": "Find entries by their words, the best match first.",
            "entry": "Show one entry.",
            "articles": "List articles: each once, however many feeds carried it.",
            "clusters": "List stories that several feeds tell.",
            "fulltext": "Fetch, extract and show the full texts of entries.",
            "media": "Download, list and prune the files of entries, such as podcast episodes.",
            "raw": "Write the raw bytes of a fetch or an entry.",
            "diff": "Show what a publisher changed between two fetches.",
            "fixture": "Write a stored document as a test case for the parser.",
            "parse": "Parse feed documents and show their content.",
            "replay": "Parse stored raw documents again.",
        },
    ),
    "two_phase": (
        "Two-phase ingestion",
        {
            "collect-window": "Collect the entries of a time window as candidates, without storing them.",
            "screen": "Score candidates by topics and suggest which to keep.",
            "topics": "Write, test and improve topics for screening.",
            "review": "Review candidates, select and confirm.",
            "insert-selected": "Store confirmed candidates as entries.",
            "confirm": "Confirm or decline what agents want to insert.",
            "screen-live": "Hold new entries of selected feeds for review.",
            "held": "List, export or drop entries held for review.",
            "ingest-one": "Poll one feed once and print the counts.",
            "models": "Install models for embedding-based screening.",
        },
    ),
    "figures": (
        "Why and how much",
        {
            "status": "Show the whole engine on one screen, and what to do next.",
            "explain": "Explain when and why a feed is polled.",
            "top": "Rank feeds by new entries, bytes, errors, latency or lag.",
            "hosts": "List hosts that pause, fail or hold feeds back.",
            "simulate": "Replay the recorded past under another scheduling policy.",
            "stats": "Count feeds, entries, fetches and events.",
            "jobs": "List, cancel and retry background jobs.",
            "workers": "List the running processes of the store.",
        },
    ),
    "servers": (
        "Servers and other programs",
        {
            "demo": "Run a demonstration without the internet.",
            "sync": "Poll all due feeds once.",
            "run": "Poll continuously.",
            "serve": "Serve the REST and gRPC APIs.",
            "worker": "Poll beside other workers on one store.",
            "api": "Serve the APIs without polling.",
            "relay": "Deliver events to the bus and to webhooks.",
            "mcp": "Serve MCP tools for agents.",
            "webhook": "Send events to other programs.",
            "cursors": "List or delete the positions of readers in the event log.",
            "token": "Create and revoke API tokens.",
            "healthcheck": "Check whether a role on this machine is ready.",
        },
    ),
    "upkeep": (
        "Upkeep",
        {
            "init": "Create the home folder and its store.",
            "doctor": "Check the environment and the configuration.",
            "config": "Show the settings.",
            "completion": "Install completion for bash, zsh or fish.",
            "verify": "Check that the store and the raw documents agree.",
            "purge": "Delete what retention no longer keeps.",
            "migrate": "Migrate the store to this version.",
            "store": "Transfer the store to another database.",
            "blobs": "Move raw documents to another raw store, or index them again.",
            "restore": "Fill an empty store from the raw documents.",
            "reindex": "Make the search index anew.",
            "secrets": "Encrypt webhook secrets, feed passwords and push secrets in the store.",
        },
    ),
}
COMMANDS: Final = {
    name: about for _, commands in ROOMS.values() for name, about in commands.items()
}

# What help begins with; each other command is listed in its room.
FIRST_DAY: Final = (
    "demo",
    "init",
    "add",
    "import",
    "sync",
    "run",
    "list",
    "show",
    "entries",
    "status",
)

# Short commands that are verbs of one thing share a file.
IN_FILE_OF: Final = {
    **dict.fromkeys(("show", "pause", "resume", "remove"), "feed"),
    "entry": "entries",
    **dict.fromkeys(("raw", "diff", "fixture"), "documents"),
    "stats": "status",
    "api": "serve",
    **dict.fromkeys(("init", "migrate", "doctor", "verify", "purge", "reindex"), "home"),
}

# Commands that run until a signal stops them; their imports take longer than those of the others.
LONG_RUNNING: Final = frozenset({"run", "serve", "worker", "api", "relay"})


class LazyGroup(click.Group):
    """A group that lists its commands with their short help without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Import the command; a signal that stops a long-running one meanwhile is remembered."""
        if args[0] in LONG_RUNNING:
            remember_signals()
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            ctx.fail(_unknown(args[0]))
        return super().resolve_command(ctx, args)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        room = next(room for room, (_, commands) in ROOMS.items() if cmd_name in commands)
        file = _identifier(IN_FILE_OF.get(cmd_name, cmd_name))
        module = import_module(f"feedmill.interfaces.cli.commands.{room}.{file}")
        command: click.Command = getattr(module, _identifier(cmd_name))
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        """Commands with their short help, without importing them; else options."""
        from click.shell_completion import CompletionItem  # noqa: PLC0415  # for completion only

        if incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        return [
            CompletionItem(name, help=about)
            for name, about in COMMANDS.items()
            if name.startswith(incomplete)
        ]

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401  # click's own type
        """Run the command; a closed pipe (`| head -1`) is not a failure."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            mute_stdout()
            ctx.exit(0)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        sections = [("The first day", {name: COMMANDS[name] for name in FIRST_DAY})]
        sections += [
            (title, {name: about for name, about in rows.items() if name not in FIRST_DAY})
            for title, rows in ROOMS.values()
        ]
        for title, rows in sections:
            with formatter.section(title):
                formatter.write_dl(list(rows.items()), col_max=20, col_spacing=2)


@click.group(
    cls=LazyGroup,
    context_settings={
        "help_option_names": ["-h", "--help"],
        "terminal_width": max(min(get_terminal_size().columns, 100) - 2, 30),
    },
)
@click.version_option(__version__, prog_name="feedmill", message="%(prog)s %(version)s")
@click.option(
    "--home", metavar="DIR", help="Home folder with all data [FEEDMILL_HOME, feedmill-data]."
)
@click.option(
    "--config",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Settings file [FEEDMILL_CONFIG, ./feedmill.toml].",
)
@click.option("-v", "--verbose", count=True, help="Log each refresh; -vv logs everything.")
@click.option("--log-json", is_flag=True, help="Log JSON lines.")
@click.pass_context
def cli(
    ctx: click.Context, home: str | None, config: Path | None, verbose: int, *, log_json: bool
) -> None:
    """Poll web feeds and serve clean, deduplicated, replayable entries.

    \b
    Examples:
      feedmill demo
      feedmill add https://example.com/feed && feedmill sync
      feedmill entries --json --limit 10
      curl -s "$URL" | feedmill parse - --url "$URL"
    """
    ctx.obj = {"home": home, "config": config, "verbose": verbose, "log_json": log_json}


def main() -> None:
    """Run the command line and exit with 0, 1, 2 or 130."""
    for name in ("stdout", "stderr"):
        # Closed by the caller (`>&-`): otherwise the first file that is opened would take its number.
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115  # until the end
    if isinstance(sys.stdout, TextIOWrapper) and isinstance(sys.stdout.buffer, RawIOBase):
        # PYTHONUNBUFFERED: a write that a pipe takes only a part of would lose the rest.
        sys.stdout = open(1, "w", 1, sys.stdout.encoding, closefd=False)  # noqa: SIM115  # until the end
    for stream in (sys.stdout, sys.stderr):
        # A terminal that is not UTF-8 shows what it can, and is no reason to fail.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    _refuse_undecodable()
    status = _status(
        lambda: cli.main(prog_name="feedmill", standalone_mode=False), as_json=_speaks_json()
    )
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        mute_stdout()
    except OSError as problem:
        _refuse_to_go_on(problem, as_json=_speaks_json())
    # A process that stops has its successor waiting: its memory is not searched for garbage
    # once more, which takes longer than to let go of a host (a third of a second against 60 ms).
    gc.freeze()
    sys.exit(status)


def _refuse_undecodable() -> None:
    """Exit with 2 when an argument has bytes that are no text: no name in the store has such."""
    for word in sys.argv[1:]:
        if any("\udc80" <= sign <= "\udcff" for sign in word):
            hint = "set the locale of the terminal to UTF-8, as LC_ALL=C.UTF-8; a file can be given as -"
            exit_with_error(
                "usage",
                f"an argument is not valid UTF-8: {word!a}",
                hint,
                as_json=_speaks_json(),
                status=2,
            )


def _speaks_json() -> bool:
    return not {"--json", "--ndjson"}.isdisjoint(sys.argv)


def _unknown(name: str) -> str:
    """What is said of a command that does not exist: the nearest that do."""
    from difflib import get_close_matches  # noqa: PLC0415  # 4 ms that other commands do not need

    near = get_close_matches(name, COMMANDS, n=3, cutoff=0.6)
    meant = f" Did you mean {' or '.join(near)}?" if near else ""
    return f"No such command {name!r}.{meant}"


def _identifier(command: str) -> str:
    """`collect-window` is `collect_window`, `list` is `list_`."""
    name = command.replace("-", "_")
    return f"{name}_" if iskeyword(name) or hasattr(builtins, name) else name


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
        _refuse_to_go_on(problem, as_json=as_json)
    except Exception as problem:
        _give_up_if_ours(problem, as_json=as_json)
        if "-vv" in sys.argv and not as_json:
            raise
        words = f"{type(problem).__name__}: {problem}"
        hint = "this is a bug in feedmill; please report it, with what `feedmill -vv ...` says"
        exit_with_error("surprise", words, hint, as_json=as_json)
    return result if isinstance(result, int) else 0


def _refuse_to_go_on(problem: OSError, *, as_json: bool) -> NoReturn:
    try:
        sys.stdout.flush()
    except OSError:  # a full disk: what is left would be tried once more at the end
        mute_stdout()
    where = f"{problem.filename}: " if problem.filename else ""
    exit_with_error("io-error", f"{where}{problem.strerror or problem}", as_json=as_json)


def _give_up_if_ours(problem: Exception, *, as_json: bool) -> None:
    """Exit with the words of an error of the engine."""
    from feedmill.errors import FeedmillError  # noqa: PLC0415  # help does without

    if isinstance(problem, FeedmillError):
        from feedmill.interfaces.cli.run_command import give_up  # noqa: PLC0415

        give_up(problem, as_json=as_json)


def _refuse(problem: click.ClickException, *, as_json: bool) -> NoReturn:
    if as_json:
        command = getattr(getattr(problem, "ctx", None), "command_path", "feedmill")
        hint = f"see {command} --help"
        exit_with_error(
            "usage", problem.format_message(), hint, as_json=True, status=problem.exit_code
        )
    problem.show()
    sys.exit(problem.exit_code)
