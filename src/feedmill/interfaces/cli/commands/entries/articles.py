"""`feedmill articles`: list articles, each once however many feeds carried it."""
# Tested in tests/integration/interfaces/cli/commands/entries/test_entries.py

from collections.abc import Sequence
from typing import Any

import click
import msgspec

from feedmill.engine.run.services import Services
from feedmill.interfaces.cli.command import show_pages
from feedmill.interfaces.cli.options import list_options
from feedmill.interfaces.cli.output import emphasised, format_count, shorten, show_text
from feedmill.model.event import StoredArticle
from feedmill.model.page import Page


@click.command()
@list_options(50)
def articles() -> None:
    """List articles, the last that came in first: each once, however many feeds carried it.

    `feedmill entry` shows the entry that brought an article, and the others that carry it.
    """
    head = ("first seen", "entries", "title", "link", "entry_uid")
    show_pages(
        _find,
        head,
        _row,
        item=_item,
        empty="no articles; `feedmill sync` polls all due feeds",
        show=_show,
    )


async def _find(
    services: Services, after: str | None, limit: int
) -> Page[tuple[StoredArticle, int]]:
    """A page of articles, each with the number of entries that carry it."""
    page = await services.store.article_page(after=after, limit=limit)
    copies = await services.store.count_duplicates([one.article_hash for one in page.items])
    items = tuple((one, 1 + copies.get(one.article_hash, 0)) for one in page.items)
    return Page(items=items, next=page.next)


def _item(counted: tuple[StoredArticle, int]) -> dict[str, Any]:
    return {**msgspec.to_builtins(counted[0]), "entries": counted[1]}


def _row(counted: tuple[StoredArticle, int]) -> tuple[str, ...]:
    one, entries = counted
    return (
        f"{one.first_seen:%Y-%m-%d %H:%M}",
        str(entries),
        one.title or "-",
        one.link or "-",
        one.entry_uid or "-",
    )


def _show(found: Sequence[tuple[StoredArticle, int]]) -> None:
    for counted in found:
        first_seen, _, title, link, uid = _row(counted)
        show_text(f"{first_seen}  {emphasised(shorten(title, 120))}", first="")
        carried = format_count(counted[1], "entry", "entries")
        for line in (carried, shorten(link, 400), uid):
            show_text(line)
