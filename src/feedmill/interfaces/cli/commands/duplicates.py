"""`feedmill duplicates`: find feeds that carry the same articles."""
# Tested in tests/integration/interfaces/cli/commands/test_clusters.py

from shlex import quote

import click
import msgspec

from feedmill.engine.run.services import Services
from feedmill.engine.service.clusters import find_mirrors
from feedmill.interfaces.cli.options import context_and_json, limit_option
from feedmill.interfaces.cli.output import shorten, show_json, style_text
from feedmill.interfaces.cli.run_command import with_services
from feedmill.model.addresses import mask_address
from feedmill.model.cluster import Mirrors


@click.command()
@click.option(
    "--min-share",
    type=click.FloatRange(0, 1),
    default=0.5,
    show_default=True,
    help="Least share of the entries of the smaller feed that the other one has too.",
)
@limit_option(50)
@context_and_json
def duplicates(ctx: click.Context, *, min_share: float, limit: int, as_json: bool) -> None:
    """List pairs of feeds that carry the same articles, with the command that merges them.

    Entries count as the same when they have one address or one article hash, or are in one
    cluster (see `feedmill clusters`). Nothing is merged here.

    \b
    Examples:
      feedmill duplicates
      feedmill duplicates --min-share 0.9 --json
    """

    async def action(services: Services) -> tuple[Mirrors, ...]:
        return await find_mirrors(services, min_share=min_share, limit=limit)

    found = with_services(ctx, action, as_json=as_json)
    if as_json:
        show_json([msgspec.to_builtins(one) | {"merge": merge_command(one)} for one in found])
        return
    if not found:
        click.echo(f"no two feeds have {min_share:.0%} of their entries in common")
    for one in found:
        common = style_text(f"{one.share:.0%} in common ({one.common} entries)", bold=True)
        click.echo(
            f"{common}: {_name(one.title, one.url)} and {_name(one.other_title, one.other_url)}"
        )
        click.echo(f"  to merge the second into the first: {merge_command(one)}")


def merge_command(pair: Mirrors) -> str:
    """The command that gives everything of the younger subscription to the older one, if it is the same feed."""
    return f"feedmill move {pair.other_id} {quote(mask_address(pair.url))}"


def _name(title: str | None, url: str) -> str:
    return shorten(f"{title or '-'} <{mask_address(url)}>", 200)
