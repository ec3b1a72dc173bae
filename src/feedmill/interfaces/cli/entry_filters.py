"""Options of commands that list entries, and the filter that they make."""
# Tested in tests/integration/interfaces/cli/commands/entries/test_entries.py

from collections.abc import Callable
from functools import reduce
from typing import Any, Final

import click

from feedmill.engine.run.services import Services
from feedmill.engine.service.feed_lookup import feed_id_of
from feedmill.interfaces.cli.options import parse_time
from feedmill.model.page import EntryFilter


def filter_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Every filter of a list of entries as an option of the command."""
    return reduce(lambda wrapped, option: option(wrapped), reversed(_FILTERS), command)


async def filter_of(chosen: dict[str, Any], services: Services) -> EntryFilter:
    """The filter of chosen options, which may name further fields of it."""
    given = dict(chosen)
    name, order = given.pop("feed"), given.pop("order")
    once = "cluster" if given.pop("clusters") else "hide"
    given["duplicates"] = "include" if given["duplicates"] else once
    feed_id = await feed_id_of(name, services)
    return EntryFilter(feed_id=feed_id, order=order.replace("-", "_"), **given)


_FILTERS: Final = (
    click.option("--feed", metavar="FEED", help="Only this feed."),
    click.option("--tag", metavar="TAG", help="Only feeds with this tag."),
    click.option("--category", metavar="NAME", help="Only entries with this category."),
    click.option("--author", metavar="NAME", help="Only entries by this name or e-mail address."),
    click.option("--language", metavar="CODE", help="Only this language: en matches en-GB."),
    click.option(
        "--enclosures/--no-enclosures",
        "has_enclosure",
        default=None,
        help="Only entries with, or only without an enclosure.",
    ),
    click.option(
        "--since", type=parse_time, metavar="TIME", help="First seen at or after this time."
    ),
    click.option("--until", type=parse_time, metavar="TIME", help="First seen before this time."),
    click.option(
        "--published-since",
        type=parse_time,
        metavar="TIME",
        help="Published at or after this time.",
    ),
    click.option(
        "--published-until", type=parse_time, metavar="TIME", help="Published before this time."
    ),
    click.option(
        "--text", metavar="WORD", help="Only entries with a title word that starts with this."
    ),
    click.option("--removed", "include_removed", is_flag=True, help="Also removed entries."),
    click.option("--duplicates", is_flag=True, help="Also further entries that carry an article."),
    click.option(
        "--clusters",
        is_flag=True,
        help="A story that several feeds tell only once (see `clusters`).",
    ),
)
