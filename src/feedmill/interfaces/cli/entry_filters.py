"""Options of commands that list entries, and the filter that they make."""
# Tested in tests/integration/interfaces/cli/commands/entries/test_entries.py

from collections.abc import Callable
from functools import reduce
from typing import Any, Final

import click

from feedmill.engine.run.services import Services
from feedmill.engine.service.feed_lookup import feed_id_of
from feedmill.interfaces.cli.options import flag, option, parse_time
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
