"""`feedmill search`: find entries by their words."""
# Tested in tests/integration/interfaces/cli/commands/entries/test_search.py

from collections.abc import Sequence
from typing import Any

import click
from msgspec import UNSET

from feedmill.engine.run.services import Services
from feedmill.engine.service import queries
from feedmill.interfaces.cli.command import show_pages
from feedmill.interfaces.cli.commands.entries.entries import entry_row, filter_of, filter_options
from feedmill.interfaces.cli.options import flag, list_options, option
from feedmill.interfaces.cli.output import emphasised, shorten, show_text
from feedmill.model.derived.search import Fragment, Highlight
from feedmill.model.event import StoredEntry
from feedmill.publish.shapes import EntryPage
from feedmill.publish.to_json import entry_wire
from feedmill.search.query import parse_query


# -word is no option.
@click.command(context_settings={"ignore_unknown_options": True, "help_option_names": ["--help"]})
@click.argument("words", nargs=-1, required=True, metavar="QUERY...")
@flag("--full-texts", "Search in extracted full texts, too.")
@filter_options
@option(
    "--order",
    "What the list is ordered by.",
    choices=["relevance", "published", "first-seen"],
    default="relevance",
)
@list_options(20)
def search(
    *,
    words: tuple[str, ...],
    full_texts: bool,
    **chosen: Any,  # noqa: ANN401
) -> None:
    """Find entries by words of their title, summary and content, the best match first.

    Every word has to be there, in any form; "a phrase" as it stands. -word leaves entries out that have it, and
    word* finds words that begin like this.

    \b
    Examples:
      feedmill search solar storage --tag news --published-since 2026-11-01
      feedmill search '"heat pump"' -gas --full-texts --json
    """
    for word in words:
        if word.startswith("--"):
            raise click.NoSuchOption(word)
    query = parse_query(" ".join(words), full_texts=full_texts)

    async def find(services: Services, after: str | None, limit: int) -> EntryPage:
        where = await filter_of({**chosen, "query": query}, services)
        return await queries.entries(where, services, cursor=after, limit=limit)

    show_pages(
        find,
        ("published", "feed", "title", "link", "entry_uid", "text"),
        _row,
        item=entry_wire,
        empty="no entry matches",
        show=_show,
    )


def _row(entry: StoredEntry) -> tuple[str, ...]:
    return (*entry_row(entry), "".join(one.text for one in _highlight(entry).excerpt) or "-")


def _highlight(entry: StoredEntry) -> Highlight:
    return Highlight() if entry.highlight is UNSET else entry.highlight


def _show(entries: Sequence[StoredEntry]) -> None:
    for entry in entries:
        (published, feed, title, link, uid), found = entry_row(entry), _highlight(entry)
        marked = _marked(found.title) or shorten(title, 120)
        show_text(f"{published}  {marked}", first="", fg="yellow")
        for line in (_marked(found.excerpt), shorten(feed, 120), shorten(link, 400), uid):
            show_text(line, fg="yellow")


def _marked(fragments: tuple[Fragment, ...]) -> str:
    """The text on one line, its matches emphasised."""
    printable = [
        (one, "".join(sign if sign.isprintable() else " " for sign in one.text))
        for one in fragments
    ]
    return "".join(emphasised(text) if one.match else text for one, text in printable)
