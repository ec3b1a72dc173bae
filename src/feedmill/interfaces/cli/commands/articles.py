"""`feedmill articles`: list articles, each once however many feeds carried it."""
# Tested in tests/integration/interfaces/cli/commands/test_entries.py

import click
import msgspec

from feedmill.engine.run.services import Services
from feedmill.interfaces.cli.options import after_option, context_and_json, limit_option
from feedmill.interfaces.cli.output import show_json, show_table
from feedmill.interfaces.cli.run_command import with_services
from feedmill.model.event import StoredArticle
from feedmill.model.page import Page


@click.command()
@limit_option(50)
@after_option
@context_and_json
def articles(ctx: click.Context, /, *, limit: int, after: str | None, as_json: bool) -> None:
    """List articles, the last that came in first: each once, however many feeds carried it.

    `feedmill entry` shows the entry that brought an article, and the others that carry it.
    """

    async def action(services: Services) -> tuple[Page[StoredArticle], dict[str, int]]:
        page = await services.store.article_page(after=after, limit=limit)
        hashes = [one.article_hash for one in page.items]
        return page, await services.store.count_duplicates(hashes)

    page, copies = with_services(ctx, action, as_json=as_json)
    if as_json:
        items = [
            msgspec.to_builtins(one) | {"entries": 1 + copies.get(one.article_hash, 0)}
            for one in page.items
        ]
        show_json({"items": items, "next": page.next})
        return
    if not page.items:
        click.echo("no articles; `feedmill sync` polls all due feeds")
        return
    show_table(
        ("first seen", "entries", "title", "link", "entry_uid"),
        [
            (
                f"{one.first_seen:%Y-%m-%d %H:%M}",
                str(1 + copies.get(one.article_hash, 0)),
                one.title or "-",
                one.link or "-",
                one.entry_uid or "-",
            )
            for one in page.items
        ],
    )
    if page.next is not None:
        click.echo(f"next page: --after {page.next}")
