"""Switches of single feeds: full texts, media and clusters on or off, with their rules."""
# Tested in tests/integration/interfaces/cli/commands/entries/test_clusters.py

from feedmill.engine.run.services import Services
from feedmill.engine.service import queries
from feedmill.engine.service.feed_lookup import resolve_feeds
from feedmill.interfaces.cli.command import Answer, answer_with
from feedmill.interfaces.cli.output import format_count
from feedmill.publish.shapes import FeedChange


def switch_feeds(
    names: tuple[str, ...],
    change: FeedChange,
    shown: tuple[str, ...],  # overrides, the switch first
    *,
    what: str,
) -> None:
    """Change the overrides of feeds and print those that are shown."""

    async def action(services: Services) -> Answer:
        done = []
        for feed in await resolve_feeds(names, services):
            own = (await queries.change_feed(feed.id, change, services)).overrides
            done.append({"feed_id": feed.id} | {name: getattr(own, name) for name in shown})
        state = "on" if getattr(change, shown[0]) else "off"
        words = f"{what} are {state} for {format_count(len(done), 'feed')}"
        return Answer({"items": done, "next": None}, words)

    answer_with(action)
