"""`feedmill clusters`: list stories that several feeds tell."""
# Tested in tests/integration/interfaces/cli/commands/test_clusters.py

import click

from feedmill.engine.run.services import Services
from feedmill.engine.service import clusters as engine
from feedmill.interfaces.cli.options import after_option, context_and_json, limit_option
from feedmill.interfaces.cli.output import show_json, show_table
from feedmill.interfaces.cli.run_command import with_services
from feedmill.publish.shapes import ClusterDetail, ClusterPage


@click.command()
@click.argument("cluster", required=False)
@click.option(
    "--min-feeds",
    type=click.IntRange(min=2),
    default=2,
    show_default=True,
    help="Only stories that so many feeds tell.",
)
@limit_option(50)
@after_option
@context_and_json
def clusters(
    ctx: click.Context,
    *,
    cluster: str | None,
    min_feeds: int,
    limit: int,
    after: str | None,
    as_json: bool,
) -> None:
    """List stories that several feeds tell, the one that grew last first; or show one with its entries.

    Off by default: set FEEDMILL_CLUSTERS_ENABLED=true. Nothing is deleted or hidden by it;
    `feedmill entries --clusters` lists each story once.

    \b
    Examples:
      feedmill clusters
      feedmill clusters --min-feeds 5 --json
      feedmill clusters c1742
    """

    async def action(services: Services) -> ClusterDetail | ClusterPage:
        if cluster is not None:
            return await engine.get_cluster(cluster, services)
        return await engine.list_clusters(services, min_feeds=min_feeds, cursor=after, limit=limit)

    found = with_services(ctx, action, as_json=as_json)
    if as_json:
        show_json(found)
    elif isinstance(found, ClusterDetail):
        _show_members(found)
    elif not found.items:
        click.echo(
            "no story is carried by several feeds; FEEDMILL_CLUSTERS_ENABLED=true finds them"
        )
    else:
        rows = [
            (one.cluster_id, str(one.feeds), f"{one.updated_at:%Y-%m-%d %H:%M}", one.title or "-")
            for one in found.items
        ]
        show_table(("cluster", "feeds", "grew", "title"), rows)
        if found.next is not None:
            click.echo(f"next page: --after {found.next}")


def _show_members(found: ClusterDetail) -> None:
    rows = [
        (
            "*" if one.representative else "",
            f"{one.first_seen:%Y-%m-%d %H:%M}",
            one.feed_title or one.feed_id,
            one.title or "-",
            ", ".join(one.evidence),
            one.entry_uid,
        )
        for one in found.members
    ]
    show_table(("", "first seen", "feed", "title", "evidence", "entry_uid"), rows)
