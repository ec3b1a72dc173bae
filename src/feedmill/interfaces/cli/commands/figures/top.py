"""`feedmill top`: rank feeds by new entries, bytes, errors, latency or lag."""
# Tested in tests/integration/interfaces/cli/commands/figures/test_top_and_status.py

from datetime import timedelta
from functools import partial
from typing import get_args

from feedmill.engine.run.services import Services
from feedmill.engine.service.figures import MAX_TOP_ITEMS, TOP_ITEMS, top_feeds
from feedmill.interfaces.cli.command import Printer, command
from feedmill.interfaces.cli.options import list_options, option
from feedmill.interfaces.cli.output import format_bytes, show_list
from feedmill.model.running.figures import TopBy
from feedmill.publish.figure_shapes import RankShape


@command()
@option(
    "--by",
    "What to order by: new entries, bytes received, failed polls, failures of our own,"
    " mean latency, largest lag, polls, or bytes saved by 304.",
    choices=get_args(TopBy),
    default="new",
)
@option("--days", "How many days, today included (UTC).", least=1, most=400, default=1)
@option("--limit", "Maximum number of feeds.", least=1, most=MAX_TOP_ITEMS, default=TOP_ITEMS)
@list_options()
async def top(services: Services, by: TopBy, days: int, limit: int) -> Printer:
    """Rank feeds by what their polls brought or cost.

    \b
    Examples:
      feedmill top
      feedmill top --by errors --days 7
      feedmill top --by lag --json
    """
    since = services.clock.now() - timedelta(days=days - 1)
    found = await top_feeds(by, services, since=since, limit=limit)
    head = (by, "polls", "failed", "new", "received", "feed")
    rows = [_row(by, item) for item in found.items]
    what = "new entries" if by == "new" else by
    none = f"no feed has any {what} since {found.since:%Y-%m-%d}"
    return partial(show_list, found.items, head, rows, empty=none, whole=found)


def _row(by: TopBy, item: RankShape) -> tuple[str, ...]:
    figures = item.figures
    return (
        format_rank(by, item.value),
        f"{figures.polls:,}",
        f"{figures.failed:,}",
        f"{figures.entries_new:,}",
        format_bytes(figures.bytes_in),
        item.title or item.url,
    )


def format_rank(by: TopBy, value: float) -> str:
    """What a list is ordered by, with its unit."""
    if by in ("bytes", "saved"):
        return format_bytes(int(value))
    if by == "latency":
        return f"{value:,.0f} ms"
    return f"{value:.2f}" if by == "lag" else f"{value:,.0f}"
