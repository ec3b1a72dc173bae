"""`feedmill list`: list subscriptions."""
# Tested in tests/integration/interfaces/cli/

import shutil
from collections.abc import Sequence
from datetime import timedelta
from typing import get_args

import click

from feedmill.engine.run.services import Services
from feedmill.interfaces.cli.command import show_pages
from feedmill.interfaces.cli.options import flag, list_options, option, usage_error
from feedmill.interfaces.cli.output import format_duration, show_table
from feedmill.interfaces.cli.run_command import config_of
from feedmill.model.addresses import mask_address
from feedmill.model.feed import Feed
from feedmill.model.page import FeedFilter, FeedListState, Page
from feedmill.publish.to_json import feed_wire

_HEAD = ("id", "state", "every", "last", "next poll", "title", "url")
_LOST_HEAD = ("id", "last", "last success", "url", "proposal", "what to do")
_WIDE = 110  # columns from which on a list has room for titles and addresses


@click.command("list")
@option("--tag TAG", "Only feeds with this tag.")
@option(
    "--state",
    "Only feeds in this state; circuit-open: they work and fail by turns and are polled rarely.",
    choices=get_args(FeedListState),
)
@flag("--failing", "Only feeds that fail: the same as --state failing.")
@flag("--lost", "Only feeds that are gone, with the address that their site proposes.")
@flag("--late", "Only feeds due for longer than their interval.")
@option("--host HOST", "Only feeds of this host, as `feedmill hosts` names it.")
@option("--text TEXT", "Only feeds with this in their title or address.")
@list_options(100)
def list_(
    tag: str | None,
    state: FeedListState | None,
    host: str | None,
    text: str | None,
    *,
    failing: bool,
    lost: bool,
    late: bool,
) -> None:
    """List subscriptions with their state and next poll.

    \b
    Examples:
      feedmill list --failing
      feedmill list --host example.com --json
    """
    if failing and state not in (None, "failing"):
        usage_error(f"--failing and --state {state} contradict each other; give one of them")
    state = "failing" if failing else "lost" if lost else state

    async def find(services: Services, after: str | None, limit: int) -> Page[Feed]:
        late_at = services.clock.now() if late else None
        where = FeedFilter(text=text, tag=tag, host=host, state=state, late_at=late_at)
        return await services.store.find_feeds(where, after=after, limit=limit)

    config = config_of()
    none_at_all = not any((tag, state, host, text, late))
    hint = "no feeds yet; try: feedmill add https://example.com/feed"
    show_pages(
        find,
        _LOST_HEAD if lost else _HEAD,
        _lost_row if lost else _row,
        item=lambda feed: feed_wire(feed, config.schedule, config.moves),
        empty=hint if none_at_all else "no feed matches",
        show=None if lost else _show,
        config=config,
    )


def _show(feeds: Sequence[Feed]) -> None:
    """The table on a terminal; on a narrow one a feed shows its title or its address."""
    rows = [_row(feed) for feed in feeds]
    if shutil.get_terminal_size().columns >= _WIDE:
        show_table(_HEAD, rows)
        return
    short = [
        (*row[:-2], row[-1].partition("://")[2] if row[-2] == "-" else row[-2]) for row in rows
    ]
    show_table((*_HEAD[:-2], "feed"), short)


def _lost_row(feed: Feed) -> tuple[str, ...]:
    """A lost feed, what its site proposes, and what to do about it."""
    found = feed.move
    proposal, words = "-", "nothing was found on its site; it is searched again every week"
    if found is not None and found.reason != "no-feed-found":
        proposal = found.url
        words = f"not proven; to take it: feedmill move {feed.id[-12:]} {found.url} --force"
    since = f"{feed.last_success_at:%Y-%m-%d}" if feed.last_success_at else "-"
    return (feed.id[-12:], feed.last_result or "-", since, mask_address(feed.url), proposal, words)


def _row(feed: Feed) -> tuple[str, ...]:
    state: str = "paused" if feed.paused else feed.schedule.health
    if feed.schedule.circuit == "open":
        state += ", circuit open"
    if not feed.overrides.verify_tls:
        state += " (TLS unverified)"
    return (
        feed.id[-12:],  # the random end; ids of one import begin alike
        state,
        format_duration(timedelta(seconds=feed.schedule.interval_sec)),
        feed.last_result or "-",
        f"{feed.next_poll_at:%Y-%m-%d %H:%M}",
        feed.title or "-",
        mask_address(feed.url),
    )
