"""`feedmill import`: subscribe to every feed of a list."""
# Tested in tests/integration/interfaces/cli/commands/feeds/test_feeds.py

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import click
from msgspec import json

from feedmill.engine.run.atomic_file import write_file
from feedmill.engine.run.services import Services
from feedmill.engine.service.subscriptions import keep_first_with
from feedmill.engine.subscribe import import_list
from feedmill.engine.subscribe.list_formats import read_list
from feedmill.interfaces.cli.command import Answer, answer_with, command
from feedmill.interfaces.cli.exit import exit_with_error
from feedmill.interfaces.cli.options import check_options, flag, option
from feedmill.interfaces.cli.output import progress, shorten, style_text
from feedmill.model.feed import ImportedOutline

_SHOWN: Final = 10  # of one kind of problem


@command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True))
@option("--tag TAG", "tags", "Tag every imported feed.", multiple=True)
@flag("--as-is", "Subscribe to the addresses unchecked, without any request.")
@option(
    "--report", "Write the outcome of each address as a JSON line.", type=click.Path(path_type=Path)
)
def import_(file: str, tags: tuple[str, ...], report: Path | None, *, as_is: bool) -> None:
    """Subscribe to every feed of a list: OPML, feeds.json or one address per line.

    FILE may be - for standard input. Every address is checked as by `feedmill add`, many hosts in
    parallel, each within its rate limit; folders become tags. An interrupted import resumes when
    it is started again; importing the same list again adds nothing. A bad address does not affect
    the others; an address whose server does not answer is added as listed.

    \b
    Examples:
      feedmill import subscriptions.opml
      feedmill import --tag news --report report.jsonl urls.txt
    """
    check_options(tags=tags)
    try:
        data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
        outlines = read_list(data)
    except ValueError as problem:
        hint = "give OPML, feeds.json or one address per line"
        exit_with_error("bad-list", f"{file}: {problem}", hint, status=2)

    async def action(services: Services) -> Answer:
        with progress(len(outlines), "importing") as step:
            done = await import_list.import_outlines(
                outlines,
                services,
                tags=tags,
                as_is=as_is,
                told=lambda _: step(),
                keep_first=keep_first_with(services),
            )

        if report is not None:
            write_file(report, b"".join(json.encode(item) + b"\n" for item in done.items))
        return Answer(_shape(done), lambda: _say(done), int(len(done.failed) == done.total))

    answer_with(action)


def _shape(done: import_list.ImportReport) -> dict[str, Any]:
    return {
        "total": done.total,
        "added": done.count(import_list.ADDED),
        "existing": done.count(import_list.EXISTING),
        "unproven": [
            _problem_shape(item) for item in done.items if item.outcome == import_list.UNPROVEN
        ],
        "failed": [_problem_shape(item) for item in done.failed],
        "resumed": done.resumed,
    }


def _problem_shape(item: ImportedOutline) -> dict[str, str]:
    return {"url": item.url, "reason": item.reason, "message": item.detail}


def _say(done: import_list.ImportReport) -> None:
    unproven = done.count(import_list.UNPROVEN)
    click.echo(
        f"{done.total} listed: {done.count(import_list.ADDED) + unproven} added, "
        f"{done.count(import_list.EXISTING)} already subscribed, {len(done.failed)} rejected"
    )
    if done.resumed:
        click.echo(f"{done.resumed} of them by an earlier, interrupted run")
    if unproven:
        click.echo(f"{unproven} did not answer and were added as listed; polling will retry:")
        _say_reasons(item for item in done.items if item.outcome == import_list.UNPROVEN)
    if done.failed:
        click.echo("rejected:")
        _say_reasons(done.failed)


def _say_reasons(items: Iterable[ImportedOutline]) -> None:
    """Print problems grouped by reason: the first few of each, and the number of the others."""
    groups: dict[str, list[ImportedOutline]] = {}
    for item in items:
        groups.setdefault(item.reason, []).append(item)
    for reason, group in sorted(groups.items(), key=lambda pair: -len(pair[1])):
        click.echo(f"  {style_text(reason, fg='red')} ({len(group)})")
        for item in group[:_SHOWN]:
            click.echo(f"    {shorten(item.detail, 200)}")
        if len(group) > _SHOWN:
            click.echo(f"    and {len(group) - _SHOWN} more; --report FILE lists all")
