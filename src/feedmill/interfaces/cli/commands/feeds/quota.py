"""`feedmill quota`: what a feed may bring, what it brought today, and a quota of its own."""
# Tested in tests/integration/interfaces/cli/commands/feeds/test_quota.py

from typing import Any

import click
from msgspec import UNSET
from msgspec.structs import asdict

from feedmill.engine.documents.quota import own_quota, quota_in_words, use_today
from feedmill.engine.service import queries
from feedmill.engine.service.feed_lookup import resolve_feed
from feedmill.interfaces.cli.command import Answer, OpenServices, command
from feedmill.interfaces.cli.options import Number, flag, option, usage_error
from feedmill.interfaces.cli.output import show_table
from feedmill.publish.shapes import FeedChange


@command()
@click.argument("feed")
@option(
    "--times N",
    "Give the feed N times the general quotas; 0 lifts them.",
    type=Number(0, 1_000_000),
)
@flag("--default", "is_default", "Go back to the general quotas.")
async def quota(
    open_services: OpenServices, feed: str, times: float | None, *, is_default: bool
) -> Answer:
    """Show or change how much a feed may bring at once and in a day.

    \b
    Examples:
      feedmill quota https://example.com/feed
      feedmill quota https://example.com/feed --times 10
      feedmill quota https://example.com/feed --default
    """
    if is_default and times is not None:
        usage_error("--times and --default exclude each other")
    wish = None if is_default else UNSET if times is None else times
    services = await open_services()
    found = await resolve_feed(feed, services)
    if wish is not UNSET:
        await queries.change_feed(found.id, FeedChange(quota=wish), services)
        found = await resolve_feed(found.id, services)
    limits = own_quota(found.overrides, services.config.quota)
    use = use_today(found, services.clock.now())
    shape = {
        "feed_id": found.id,
        "times": found.overrides.quota,
        "limits": asdict(limits),
        "today": {"entries": use.entries, "bytes": use.bytes},
        "waiting": use.waiting,
        "reason": use.reason,
        "words": list(quota_in_words(found, services.config.quota)),
    }
    return Answer(shape, lambda: _show(shape))


def _show(shape: dict[str, Any]) -> None:
    today = {f"{name}_per_day": f"{count:,}" for name, count in shape["today"].items()}
    show_table(
        ("quota", "limit", "today"),
        [
            (name, f"{limit:,}" if limit else "none", today.get(name, ""))
            for name, limit in shape["limits"].items()
        ],
    )
    for sentence in shape["words"]:
        click.echo(sentence)
