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
from feedmill.model.feed import Feed


@click.command()
@click.option("--output", "-o", type=click.Path(path_type=Path), help="Write to a file.")
@click.option("--tag", metavar="TAG", help="Only feeds with this tag.")
@context_and_json
def export(ctx: click.Context, output: Path | None, tag: str | None, *, as_json: bool) -> None:
    """Write all subscriptions as OPML 2.0, or as JSON that `feedmill import` can read.

    Credentials are not exported.
    """

    async def action(services: Services) -> list[Feed]:
        return await all_feeds(services, tag)

    feeds = with_services(ctx, action, as_json=as_json)
    outlines = [Outline(url=f.url, title=f.title, site=f.site_url, tags=f.tags) for f in feeds]
    if as_json:
        items = [{"url": o.url, "title": o.title, "tags": o.tags} for o in outlines]
        show_json({"items": items, "next": None})
    elif output is None:
        click.echo(write_opml(outlines), nl=False)
    else:
        write_file(output, write_opml(outlines))
        click.echo(f"{format_count(len(outlines), 'feed')} written to {output}")
