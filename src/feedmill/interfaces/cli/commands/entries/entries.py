"""`feedmill entries` and `feedmill entry`: list entries, show one; the filters as options, for `feedmill search` too."""
# Tested in tests/integration/interfaces/cli/

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, Final

import click

from feedmill.engine.run.services import Services
from feedmill.engine.service.feed_lookup import feed_id_of
from feedmill.errors import NotFoundError
from feedmill.interfaces.cli.command import Answer, command, show_pages
from feedmill.interfaces.cli.options import flag, list_options, option, parse_time, usage_error
from feedmill.interfaces.cli.output import emphasised, shorten, show_facts, show_text
from feedmill.model.event import StoredEntry
from feedmill.model.page import EntryFilter, Page, check_filter
from feedmill.publish.to_json import entry_wire, revision_wire

_FILTERS: Final = (
    option("--feed FEED", "Only this feed."),
    option("--tag TAG", "Only feeds with this tag."),
    option("--category NAME", "Only entries with this category."),
    option("--author NAME", "Only entries by this name or e-mail address."),
    option("--language CODE", "Only this language: en matches en-GB."),
    click.option(
        "--enclosures/--no-enclosures",
        "has_enclosure",
        default=None,
        help="Only entries with, or only without an enclosure.",
    ),
    option("--since TIME", "First seen at or after this time.", type=parse_time),
    option("--until TIME", "First seen before this time.", type=parse_time),
    option("--published-since TIME", "Published at or after this time.", type=parse_time),
    option("--published-until TIME", "Published before this time.", type=parse_time),
    option("--text WORD", "Only entries with a title word that starts with this."),
    flag("--removed", "include_removed", "Also removed entries."),
    flag("--duplicates", "Also further entries that carry an article."),
    flag("--clusters", "A story that several feeds tell only once (see `clusters`)."),
)


def filter_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Every filter of a list of entries as an option of the command."""
    return reduce(lambda wrapped, option: option(wrapped), reversed(_FILTERS), command)


async def filter_of(chosen: dict[str, Any], services: Services) -> EntryFilter:
    """The filter of chosen options, which may name further fields of it."""
    given = dict(chosen)
    name, order = given.pop("feed"), given.pop("order")
    if given["duplicates"] and given["clusters"]:
        usage_error("--duplicates and --clusters exclude each other")
    once = "cluster" if given.pop("clusters") else "hide"
    given["duplicates"] = "include" if given["duplicates"] else once
    feed_id = await feed_id_of(name, services)
    where = EntryFilter(feed_id=feed_id, order=order.replace("-", "_"), **given)
    check_filter(where)
    return where


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


@command()
@click.argument("entry_uid")
@flag("--revisions", "Show earlier revisions too.")
async def entry(services: Services, entry_uid: str, *, revisions: bool) -> Answer:
    """Show one entry."""
    found = await services.store.entry(entry_uid)
    if found is None:
        message = f"there is no entry {entry_uid!r}"
        raise NotFoundError(message, "`feedmill entries` lists them")
    shape = entry_wire(found)
    if not revisions:
        return Answer(shape, lambda: show_facts(shape))
    history = [revision_wire(one) for one in await services.store.revisions(entry_uid)]

    def show() -> None:
        show_facts(shape)
        for number, one in enumerate(history, 1):
            click.echo()
            show_facts({f"revision {number}": one})

    return Answer({**shape, "history": history}, show)
