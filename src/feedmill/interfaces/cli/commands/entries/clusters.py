"""`feedmill clusters`: list stories that several feeds tell."""
# Tested in tests/integration/interfaces/cli/commands/entries/test_clusters.py

from functools import partial

import click

from feedmill.engine.run.services import Services
from feedmill.engine.service import queries
from feedmill.engine.service.feed_lookup import resolve_feeds
from feedmill.interfaces.cli.command import Answer, answer_with, command, show_pages
from feedmill.interfaces.cli.options import list_options, option
from feedmill.interfaces.cli.output import format_count, show_table
from feedmill.publish.shapes import ClusterDetail, ClusterShape, FeedChange


@command()
@click.argument("cluster", required=False)
@option("--min-feeds", "Only stories that so many feeds tell.", least=2, default=2)
@option("--enable FEED", "Compare a feed; repeatable.", multiple=True)
@option("--disable FEED", "Compare it no more; repeatable.", multiple=True)
@list_options(50)
def clusters(
    *, cluster: str | None, min_feeds: int, enable: tuple[str, ...], disable: tuple[str, ...]
) -> None:
    """List stories that several feeds tell, the one that grew last first; or show one with its entries.

    Off by default: set FEEDMILL_CLUSTERS_ENABLED=true. Nothing is deleted or hidden by it;
    `feedmill entries --clusters` lists each story once. --enable and --disable decide for single feeds, whatever
    their tags say, from their next entries on.

    \b
    Examples:
      feedmill clusters
      feedmill clusters --min-feeds 5 --json
      feedmill clusters c1742
      feedmill clusters --disable https://example.com/comments
    """
    for names, wanted in ((enable, True), (disable, False)):
        if names:
            change = FeedChange(clusters=wanted)
            answer_with(partial(switch_feeds, names, change, ("clusters",), what="clusters"))
    if enable or disable:
        return

    if cluster is not None:
        answer_with(lambda services: _one(cluster, services))
        return
    show_pages(
        lambda services, after, limit: queries.list_clusters(
            services, min_feeds=min_feeds, cursor=after, limit=limit
        ),
        ("cluster", "feeds", "grew", "title"),
        _row,
        empty="no story is carried by several feeds; FEEDMILL_CLUSTERS_ENABLED=true finds them",
    )


async def switch_feeds(
    names: tuple[str, ...],
    change: FeedChange,
    shown: tuple[str, ...],  # overrides, the switch first
    services: Services,
    *,
    what: str,
) -> Answer:
    """Change the overrides of feeds, such as a switch with its rules; those that are shown."""
    done = []
    for feed in await resolve_feeds(names, services):
        own = (await queries.change_feed(feed.id, change, services)).overrides
        done.append({"feed_id": feed.id} | {name: getattr(own, name) for name in shown})
    state = "on" if getattr(change, shown[0]) else "off"
    words = f"{what} are {state} for {format_count(len(done), 'feed')}"
    return Answer({"items": done, "next": None}, words)


def _row(one: ClusterShape) -> tuple[str, ...]:
    return (one.cluster_id, str(one.feeds), f"{one.updated_at:%Y-%m-%d %H:%M}", one.title or "-")


async def _one(cluster: str, services: Services) -> Answer:
    found = await queries.get_cluster(cluster, services)
    return Answer(found, lambda: _show_members(found))


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
