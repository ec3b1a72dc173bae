"""`feedmill list`: list subscriptions."""
# Tested in tests/integration/interfaces/cli/

import shutil
import sys
from datetime import timedelta
from typing import get_args

import click

from feedmill.engine.run.services import Services
from feedmill.interfaces.cli.options import after_option, context_and_json, limit_option
from feedmill.interfaces.cli.output import format_duration, show_json, show_table
from feedmill.interfaces.cli.run_command import config_of, with_services
from feedmill.model.feed import Feed
from feedmill.model.page import FeedFilter, FeedListState
from feedmill.publish.to_json import feed_wire

_WIDE = 110  # columns from which on a list has room for titles and addresses


@click.command("list")
@click.option("--tag", metavar="TAG", help="Only feeds with this tag.")
@click.option(
    "--state",
    type=click.Choice(get_args(FeedListState)),
    help="Only feeds in this state; circuit-open: they work and fail by turns and are polled rarely.",
)
@click.option("--failing", is_flag=True, help="Only feeds that fail: the same as --state failing.")
@click.option("--late", is_flag=True, help="Only feeds due for longer than their interval.")
@click.option(
    "--host", metavar="HOST", help="Only feeds of this host, as `feedmill hosts` names it."
)
@click.option("--text", metavar="TEXT", help="Only feeds with this in their title or address.")
@limit_option(100)
@after_option
@context_and_json
def list_(
    ctx: click.Context,
    tag: str | None,
    state: FeedListState | None,
    host: str | None,
    text: str | None,
    limit: int,
    after: str | None,
    *,
    failing: bool,
    late: bool,
    as_json: bool,
) -> None:
    """List subscriptions with their state and next poll.

    \b
    Examples:
      feedmill list --failing
      feedmill list --host example.com --json
    """
    if failing and state not in (None, "failing"):
        message = f"--failing and --state {state} contradict each other; give one of them"
        raise click.UsageError(message)
    state = "failing" if failing else state

    async def action(services: Services) -> tuple[list[Feed], str | None]:
        late_at = services.clock.now() if late else None
        where = FeedFilter(text=text, tag=tag, host=host, state=state, late_at=late_at)
        page = await services.store.find_feeds(where, after=after, limit=limit)
        return list(page.items), page.next

    config = config_of(ctx, as_json=as_json)
    feeds, following = with_services(ctx, action, as_json=as_json, config=config)
    if as_json:
        items = [feed_wire(f, config.schedule, config.moves) for f in feeds]
        show_json({"items": items, "next": following})
        return
    if not feeds:
        none_at_all = not any((tag, state, host, text, late))
        hint = "no feeds yet; try: feedmill add https://example.com/feed"
        click.echo(hint if none_at_all else "no feed matches")
        return
    show_table(*_fitting([_row(feed) for feed in feeds]))
    if following is not None:
        click.echo(f"next page: --after {following}")


def _fitting(rows: list[tuple[str, ...]]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Header and rows of the table; on a narrow terminal a feed shows its title or its address."""
    head = ("id", "state", "every", "last", "next poll", "title", "url")
    if not sys.stdout.isatty() or shutil.get_terminal_size().columns >= _WIDE:
        return head, rows
    short = [(*row[:-2], row[-1] if row[-2] == "-" else row[-2]) for row in rows]
    return (*head[:-2], "feed"), short


def _row(feed: Feed) -> tuple[str, ...]:
    state: str = "paused" if feed.paused else feed.schedule.health
    if feed.schedule.circuit == "open":
        state += ", circuit open"
    if not feed.overrides.verify_tls:
        state += " (TLS unverified)"
    return (
        feed.id[:18],
        state,
        format_duration(timedelta(seconds=feed.schedule.interval_sec)),
        feed.last_result or "-",
        f"{feed.next_poll_at:%Y-%m-%d %H:%M}",
        feed.title or "-",
        feed.url,
    )
