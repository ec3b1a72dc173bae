"""`feedmill entries`: list entries."""

import sys
from datetime import datetime
from typing import Any

import click

from feedmill.engine.run.services import Services
from feedmill.engine.service.feed_lookup import resolve_feed
from feedmill.interfaces.cli.options import after_option, context_and_json, limit_option
from feedmill.interfaces.cli.output import shorten, show_json, show_table, style_text
from feedmill.interfaces.cli.run_command import with_services
from feedmill.model.event import StoredEntry
from feedmill.model.page import EntryFilter
from feedmill.normalise.dates.parse import parse_date
from feedmill.publish.to_json import entry_wire


def _parse_time(text: str) -> datetime:
    """The time of an option."""
    moment = parse_date(text)
    if moment is None:
        message = f"{text!r} is not a time; use a format like 2025-10-14 or 2025-10-14T09:30:00Z"
        raise click.BadParameter(message)
    return moment


@click.command()
@click.option("--feed", metavar="FEED", help="Only this feed.")
@click.option("--tag", metavar="TAG", help="Only feeds with this tag.")
@click.option("--category", metavar="NAME", help="Only entries with this category.")
@click.option("--author", metavar="NAME", help="Only entries by this name or e-mail address.")
@click.option("--language", metavar="CODE", help="Only this language: en matches en-GB.")
@click.option(
    "--enclosures/--no-enclosures",
    "has_enclosure",
    default=None,
    help="Only entries with, or only without an enclosure.",
)
@click.option("--since", type=_parse_time, metavar="TIME", help="First seen at or after this time.")
@click.option("--until", type=_parse_time, metavar="TIME", help="First seen before this time.")
@click.option(
    "--published-since", type=_parse_time, metavar="TIME", help="Published at or after this time."
)
@click.option(
    "--published-until", type=_parse_time, metavar="TIME", help="Published before this time."
)
@click.option(
    "--text", metavar="WORD", help="Only entries with a title word that starts with this."
)
@click.option("--removed", "include_removed", is_flag=True, help="Also removed entries.")
@click.option("--duplicates", is_flag=True, help="Also further entries that carry an article.")
@click.option(
    "--clusters", is_flag=True, help="A story that several feeds tell only once (see `clusters`)."
)
@click.option(
    "--order",
    type=click.Choice(["published", "first-seen"]),
    default="published",
    show_default=True,
    help="What the list is ordered by.",
)
@click.option("--oldest-first", "ascending", is_flag=True, help="The oldest first.")
@limit_option(50)
@after_option
@context_and_json
def entries(ctx: click.Context, /, *, as_json: bool, **chosen: Any) -> None:  # noqa: ANN401
    """List entries, the newest first; an article that several feeds carry is shown once.

    \b
    Examples:
      feedmill entries --tag news --published-since 2026-11-01
      feedmill entries --feed example.org --order first-seen --json
    """
    name, after, limit = chosen.pop("feed"), chosen.pop("after"), chosen.pop("limit")
    chosen["order"] = chosen["order"].replace("-", "_")
    once = "cluster" if chosen.pop("clusters") else "hide"
    chosen["duplicates"] = "include" if chosen["duplicates"] else once

    async def action(services: Services) -> tuple[list[StoredEntry], str | None]:
        feed = await resolve_feed(name, services) if name else None
        where = EntryFilter(feed_id=feed.id if feed else None, **chosen)
        page = await services.store.entries(where, after=after, limit=limit)
        return list(page.items), page.next

    found, following = with_services(ctx, action, as_json=as_json)
    if as_json:
        show_json({"items": [entry_wire(entry) for entry in found], "next": following})
        return
    if not found:
        click.echo("no matching entries; `feedmill sync` polls all due feeds")
        return
    rows = [
        (
            f"{(e.published_effective or e.first_seen):%Y-%m-%d %H:%M}",
            e.feed_title or e.feed_url,
            e.title or "-",
            e.canonical_link or "-",
            e.entry_uid,
        )
        for e in found
    ]
    if sys.stdout.isatty():
        for row in rows:
            _show_row(*row)
    else:
        show_table(("published", "feed", "title", "link", "entry_uid"), rows)
    if following is not None:
        click.echo(f"next page: --after {following}")


def _show_row(published: str, feed: str, title: str, link: str, uid: str) -> None:
    """An entry on lines of its own: a uid that was cut to fit a column would be of no use."""
    click.echo(f"{published}  {style_text(shorten(title, 120), bold=True)}")
    click.echo(f"  {shorten(feed, 120)}")
    click.echo(f"  {shorten(link, 400)}")
    click.echo(f"  {uid}")
