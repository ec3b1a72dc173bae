"""`feedmill sync`: one pass over what is due, at any cadence; in memory when it has to be."""

import sys
from collections import Counter
from contextlib import AsyncExitStack
from datetime import timedelta
from typing import Any

import click

from feedmill.app.services import announce_egress, open_world, owner_name, taps_of
from feedmill.config import Config
from feedmill.engine.deliver.to_sinks import deliver_pending
from feedmill.engine.deliver.to_webhooks import tell_once
from feedmill.engine.poll.scheduler import run_once
from feedmill.engine.run.lifecycle import Watch
from feedmill.engine.run.refresh_report import GOOD, Report
from feedmill.engine.run.services import World
from feedmill.engine.subscribe.add_feed import subscribe
from feedmill.errors import BlobError, FeedmillError, StoreError
from feedmill.interfaces.cli.exit import fail, interrupted
from feedmill.interfaces.cli.output import (
    counted,
    json_option,
    paint,
    progress,
    shorten,
    show_json,
    span,
)
from feedmill.interfaces.cli.run_command import config_of, feeds_named, run_story
from feedmill.interfaces.cli.signals import stop_on_signals
from feedmill.model.feed import Feed
from feedmill.model.refresh import Committed, Refresh
from feedmill.observe.log import logger
from feedmill.observe.metrics import Metrics
from feedmill.publish.to_json import instant


@click.command()
@click.option("--feed", "feeds", multiple=True, metavar="FEED", help="Only this feed; repeatable.")
@click.option("--force", is_flag=True, help="Now, whatever the schedule says; still polite.")
@click.option("--taps/--no-taps", default=True, show_default=True, help="Write NDJSON files.")
@json_option
@click.pass_context
def sync(
    ctx: click.Context, feeds: tuple[str, ...], *, force: bool, taps: bool, as_json: bool
) -> None:
    """Poll once what is due, at any cadence: by hand, by cron, by webhook.

    Feeds that are named with --feed are polled now. When the store cannot be opened, the run
    works in memory on the addresses given with --feed, says so, and keeps nothing.

    \b
    Examples:
      feedmill sync
      feedmill sync --force --feed https://example.com/feed
      */15 * * * * feedmill sync --json >> sync.log
    """
    config = config_of(ctx, as_json=as_json)
    announce_egress(config)

    async def tell() -> dict[str, Any]:
        async with AsyncExitStack() as stack:
            try:
                world = await stack.enter_async_context(open_world(config))
            except (StoreError, BlobError) as problem:
                return await _degraded(config, feeds, problem, hide=as_json)
            return await _sync(world, feeds, force=force, taps=taps, hide=as_json)

    result = run_story(tell, as_json=as_json)
    stopped = result.pop("interrupted")
    if as_json:
        show_json(result)
    else:
        _say(result)
    if stopped:
        interrupted("interrupted; what is counted above is kept", as_json=as_json)
    sys.exit(1 if result["errors"] and result["errors"] == result["feeds_checked"] else 0)


async def _sync(
    world: World, names: tuple[str, ...], *, force: bool, taps: bool, hide: bool
) -> dict[str, Any]:
    chosen = [feed.id for feed in await feeds_named(names, world)] or None
    if force or chosen is not None:
        await world.store.make_due(chosen, world.clock.now())
    counts: Counter[str] = Counter()
    failures: list[dict[str, Any]] = []
    report = Report(logger("engine"), Metrics(), shown=True)
    total = len(chosen) if chosen else (await world.store.counts())["feeds"] if force else None
    with progress(total, "polling", hide=hide) as step:

        def count(_: Feed, result: Refresh, __: Committed) -> None:
            _count(counts, failures, result)
            step()

        watch = Watch(
            owner_name(), (report.refreshed, count), (report.surprised,), (report.troubled,)
        )
        stopping = stop_on_signals(watch)
        await run_once(world, watch, only=chosen)
    for tap in taps_of(world) if taps else ():
        await deliver_pending(world, tap)
    await tell_once(world, watch, listeners=(report.delivered,))
    return {
        "feeds_checked": counts["checked"],
        "feeds_nochange": counts["nochange"],
        "new": counts["new"],
        "updated": counts["updated"],
        "unchanged": counts["unchanged"],
        "errors": counts["errors"],
        "failures": failures,
        "next_due_at": instant(await world.store.next_due_at()),
        "persisted": True,
        "interrupted": stopping.by is not None,
    }


async def _degraded(
    config: Config, names: tuple[str, ...], problem: FeedmillError, *, hide: bool
) -> dict[str, Any]:
    """000: the seen store is unavailable; dedupe in memory for this run and claim nothing."""
    addresses = [name for name in names if "://" in name]
    if not addresses:
        hint = "`feedmill sync --feed ADDRESS` polls addresses in memory and keeps nothing"
        fail(problem.reason, str(problem), hint, as_json=hide)
    warning = f"{problem}. This run works in memory; NOTHING is kept."
    click.echo(f"feedmill: WARNING: {warning}", err=True)
    async with open_world(config, memory=True) as world:
        for address in addresses:
            await subscribe(address, world)
        result = await _sync(world, (), force=True, taps=False, hide=hide)
    return {**result, "persisted": False, "next_due_at": None}


def _count(counts: Counter[str], failures: list[dict[str, Any]], result: Refresh) -> None:
    fetch = result.fetch
    counts["checked"] += 1
    counts["nochange"] += fetch.outcome in ("unchanged", "same-body")
    counts["new"] += fetch.entries_new
    counts["updated"] += fetch.entries_updated
    counts["unchanged"] += fetch.entries_seen - fetch.entries_new - fetch.entries_updated
    if fetch.outcome not in GOOD:
        counts["errors"] += 1
        failures.append(
            {
                "feed_id": fetch.feed_id,
                "url": fetch.url,
                "reason": fetch.outcome,
                "detail": fetch.detail,
                "http_status": fetch.http_status,
                "next_poll_at": instant(result.feed.next_poll_at),
                "wait_sec": (result.feed.next_poll_at - fetch.fetched_at).total_seconds(),
            }
        )


def _say(result: dict[str, Any]) -> None:
    if not result["feeds_checked"]:
        due = result["next_due_at"]
        click.echo(f"nothing is due before {due}; --force polls now" if due else "no feeds to poll")
        return
    click.echo(
        f"{counted(result['feeds_checked'], 'feed')} checked, {result['feeds_nochange']} without change: "
        f"{counted(result['new'], 'new entry', 'new entries')}, {result['updated']} updated, "
        f"{result['unchanged']} unchanged, {counted(result['errors'], 'error')}"
    )
    for one in result["failures"]:
        words = shorten(f"{one['url']} {one['detail']}", 200)
        again = span(timedelta(seconds=one["wait_sec"]))
        click.echo(f"  {paint(one['reason'], fg='red')} {words} (again in {again})")
    if not result["persisted"]:
        click.echo("nothing was kept: the store could not be opened")
