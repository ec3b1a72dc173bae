"""`feedmill diff`: show what a publisher changed between two fetches."""
# Tested in tests/integration/interfaces/cli/commands/entries/test_diff_and_fixture.py

import click
from msgspec import json

from feedmill.engine.run.services import Services
from feedmill.engine.service.documents import diff_documents, diff_last_documents
from feedmill.engine.service.feed_lookup import resolve_feed
from feedmill.errors import FeedmillError
from feedmill.interfaces.cli.command import Answer, answer_with, command
from feedmill.interfaces.cli.exit import exit_with_error
from feedmill.interfaces.cli.output import format_count, shorten, style_text
from feedmill.model.derived.document_diff import EntryChange, FetchDiff, FieldChange

_COLOURS = {"added": "green", "removed": "red", "changed": "yellow", "moved": "cyan"}


@command()
@click.argument("what", nargs=-1, required=True, metavar="FETCH FETCH | FEED")
def diff(what: tuple[str, ...]) -> None:
    """Show what a publisher changed, entry by entry: two fetches, or the last two documents of a feed.

    Exits with 0 when nothing changed, 1 when something did, 2 on an error, as diff does.

    \b
    Examples:
      feedmill diff https://example.com/feed
      feedmill diff 0198f2d1-… 0198f2e7-… --json | jq '.diff.entries[].change'
    """
    if len(what) > 2:  # two are compared
        message = "give two fetch ids, or one feed"
        raise click.UsageError(message)

    async def action(services: Services) -> Answer:
        try:
            if len(what) == 1:
                feed = await resolve_feed(what[0], services)
                found = await diff_last_documents(feed.id, services)
            else:
                found = await diff_documents(what[0], what[1], services)
        except FeedmillError as problem:
            exit_with_error(problem.reason, str(problem), problem.hint, status=2)
        return Answer(found, lambda: _say(found), status=0 if found.diff.is_empty else 1)

    answer_with(action)


def _say(found: FetchDiff) -> None:
    diff = found.diff
    click.echo(f"--- {found.before}  {found.before_at:%Y-%m-%d %H:%M:%S}")
    click.echo(f"+++ {found.after}  {found.after_at:%Y-%m-%d %H:%M:%S}")
    if found.same_bytes:
        click.echo("the same bytes")
    if diff.feed:
        click.echo(style_text("feed", bold=True))
        for change in diff.feed:
            _say_field(change)
    for entry in diff.entries:
        _say_entry(entry)
    click.echo(f"{format_count(diff.unchanged, 'entry', 'entries')} unchanged")


def _say_entry(entry: EntryChange) -> None:
    name = shorten(entry.title or entry.link or entry.id or "(no title)", 80)
    places = ""
    if entry.moved:
        places = f"  (place {entry.before} to {entry.after})"
    click.echo(f"{style_text(entry.change, fg=_COLOURS[entry.change]):<9}{name}{places}")
    for field in entry.fields:
        _say_field(field)


def _say_field(change: FieldChange) -> None:
    click.echo(f"  {change.field}")
    for mark, value in (("-", change.before), ("+", change.after)):
        if value is not None:
            plain = _plain(value)
            text = plain if isinstance(plain, str) else json.encode(plain).decode()
            click.echo(f"    {mark} {shorten(text, 160)}")


def _plain(value: object) -> object:
    """A text without its markup type, which seldom changes."""
    if isinstance(value, dict) and isinstance(value.get("value"), str):
        return value["value"]
    return value
