"""`feedmill entries`: list entries."""

from collections.abc import Sequence
from typing import Any

import click

from feedmill.engine.run.services import Services
from feedmill.interfaces.cli.entry_filters import filter_of, filter_options
from feedmill.interfaces.cli.lists import show_pages
from feedmill.interfaces.cli.options import flag, list_options, option
from feedmill.interfaces.cli.output import emphasised, shorten, show_text
from feedmill.model.event import StoredEntry
from feedmill.model.page import Page
from feedmill.publish.to_json import entry_wire


@click.command()
@filter_options
@option(
    "--order",
    "What the list is ordered by.",
    choices=["published", "first-seen"],
    default="published",
)
@flag("--oldest-first", "ascending", "The oldest first.")
@list_options(50)
def entries(**chosen: Any) -> None:  # noqa: ANN401
    """List entries, the newest first; an article that several feeds carry is shown once.

    \b
    Examples:
      feedmill entries --tag news --published-since 2026-11-01
      feedmill entries --feed example.org --order first-seen --json
    """

    async def find(services: Services, after: str | None, limit: int) -> Page[StoredEntry]:
        where = await filter_of(chosen, services)
        return await services.store.entries(where, after=after, limit=limit)

    show_pages(
        find,
        ("published", "feed", "title", "link", "entry_uid"),
        entry_row,
        item=entry_wire,
        empty="no matching entries; `feedmill sync` polls all due feeds",
        show=_show,
    )


def entry_row(e: StoredEntry) -> tuple[str, str, str, str, str]:
    """An entry as a row of a table."""
    return (
        f"{(e.published_effective or e.first_seen):%Y-%m-%d %H:%M}",
        e.feed_title or e.feed_url,
        e.title or "-",
        e.canonical_link or "-",
        e.entry_uid,
    )


def _show(found: Sequence[StoredEntry]) -> None:
    """Entries on lines of their own: a uid that was cut to fit a column would be of no use."""
    for published, feed, title, link, uid in map(entry_row, found):
        show_text(f"{published}  {emphasised(shorten(title, 120))}", first="")
        for line in (shorten(feed, 120), shorten(link, 400), uid):
            show_text(line)
