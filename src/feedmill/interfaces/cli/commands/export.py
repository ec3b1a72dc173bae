"""`feedmill export`: write all subscriptions as OPML or JSON."""
# Tested in tests/integration/interfaces/cli/

from pathlib import Path

import click

from feedmill.engine.run.services import Services
from feedmill.engine.service.feed_lookup import all_feeds
from feedmill.engine.subscribe.list_formats import Outline, write_opml
from feedmill.interfaces.cli.options import context_and_json
from feedmill.interfaces.cli.output import format_count, show_json
from feedmill.interfaces.cli.run_command import with_services, write_file
from feedmill.model.addresses import mask_address
from feedmill.model.feed import Feed


@click.command()
@click.option("--output", "-o", type=click.Path(path_type=Path), help="Write to a file.")
@click.option("--tag", metavar="TAG", help="Only feeds with this tag.")
@click.option(
    "--with-secrets", is_flag=True, help="Write addresses with the tokens that they contain."
)
@context_and_json
def export(
    ctx: click.Context, output: Path | None, tag: str | None, *, with_secrets: bool, as_json: bool
) -> None:
    """Write all subscriptions as OPML 2.0, or as JSON that `feedmill import` can read.

    Passwords and headers are not exported. An address with a token in it, as ?token= or ?api_key=, is written with *** instead:
    a list is passed on. Use --with-secrets for a backup.

    \b
    Examples:
      feedmill export -o feeds.opml
      feedmill export --with-secrets -o backup.opml
    """

    async def action(services: Services) -> list[Feed]:
        return await all_feeds(services, tag)

    feeds = with_services(ctx, action, as_json=as_json)
    outlines = [
        Outline(
            url=f.url if with_secrets else mask_address(f.url),
            title=f.title,
            site=f.site_url,
            tags=f.tags,
        )
        for f in feeds
    ]
    hidden = sum(outline.url != feed.url for outline, feed in zip(outlines, feeds, strict=True))
    if hidden:
        click.echo(f"tokens are hidden in {hidden} addresses; --with-secrets writes them", err=True)
    if as_json:
        items = [{"url": o.url, "title": o.title, "tags": o.tags} for o in outlines]
        show_json({"items": items, "next": None})
    elif output is None:
        click.echo(write_opml(outlines), nl=False)
    else:
        write_file(output, write_opml(outlines))
        click.echo(f"{format_count(len(outlines), 'feed')} written to {output}")
