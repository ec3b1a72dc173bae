"""`feedmill sync`: poll all due feeds once; in memory when the store cannot be opened."""

import sys
from collections import Counter
from collections.abc import Awaitable
from contextlib import AsyncExitStack
from datetime import datetime, timedelta
from typing import Any, Final

import click

from feedmill.app.services import announce_settings, file_sinks, open_services
from feedmill.app.settings import owner_name
from feedmill.config import Config
from feedmill.engine.deliver.to_sinks import deliver_pending
from feedmill.engine.deliver.to_webhooks import deliver_once
from feedmill.engine.jobs.runner import run_due_jobs
from feedmill.engine.poll.scheduler import run_once
from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.engine.run.report import RefreshReport
from feedmill.engine.run.services import Services
from feedmill.engine.service.feed_lookup import resolve_feeds
from feedmill.engine.subscribe.add_feed import subscribe_unchecked
from feedmill.errors import BlobError, FeedmillError, StoreError
from feedmill.fetch.figures import SUCCESSFUL_OUTCOMES
from feedmill.interfaces.cli import output
from feedmill.interfaces.cli.command import command
from feedmill.interfaces.cli.exit import exit_interrupted, exit_with_error, is_json
from feedmill.interfaces.cli.options import flag, option
from feedmill.interfaces.cli.run_command import (
    bounded_stop,
    config_of,
    describe_crashes,
    give_up,
    run_async,
    stop_on_signals,
)
from feedmill.model.addresses import mask_address
from feedmill.model.feed import Feed
from feedmill.model.page import EntryFilter, FeedFilter
from feedmill.model.refresh import Committed, Refresh
from feedmill.observe.log import logger
from feedmill.observe.metrics import Metrics
from feedmill.publish.to_json import entry_wire, format_instant

_MEMORY_ENTRIES: Final = 1_000  # that a round in memory shows


@command()
@option("--feed FEED", "feeds", "Only this feed; repeatable.", multiple=True)
@flag("--force", "Poll now, whatever the schedule says; host rate limits still apply.")
@option("--taps/--no-taps", "Write NDJSON files.", default=True)
def sync(feeds: tuple[str, ...], *, force: bool, taps: bool) -> None:
    """Poll all due feeds once: by hand, by cron or by webhook.

    Feeds named with --feed are polled now. When the store cannot be opened, the addresses given with
    --feed are polled in memory, with a warning; their entries are printed and nothing is kept.

    \b
    Examples:
      feedmill sync
      feedmill sync --force --feed https://example.com/feed
      */15 * * * * feedmill sync --json >> sync.log
    """
    config = config_of()
    announce_settings(config)

    async def action() -> dict[str, Any]:
        async with AsyncExitStack() as stack:
            try:
                services = await stack.enter_async_context(open_services(config))
            except (StoreError, BlobError) as problem:
                return await _degraded(config, feeds, problem)
            chosen = [feed.id for feed in await resolve_feeds(feeds, services)] or None
            return await poll_once(services, chosen, force=force, taps=taps)

    with bounded_stop(config.run):
        result = run_async(action)
    stopped, ended_by = result.pop("interrupted"), result.pop("ended_by")
    if is_json():
        output.show_json(result)
    else:
        print_result(result, asked=force or bool(feeds))
    if stopped:
        exit_interrupted("interrupted; what is counted above is kept")
    if ended_by:
        give_up(ended_by[0])
    failed = result["errors"] and result["errors"] == result["feeds_checked"]
    sys.exit(1 if failed or result["faults"] else 0)


async def poll_once(
    services: Services, chosen: list[str] | None, *, force: bool, taps: bool
) -> dict[str, Any]:
    """Poll the chosen feeds, or all that are due; counts and failures."""
    if force or chosen is not None:
        await services.store.make_due(chosen, services.clock.now())
    counts: Counter[str] = Counter()
    failures: list[dict[str, Any]] = []
    report = RefreshReport(logger("engine"), Metrics(), shown=True)
    total = len(chosen) if chosen else await _count_feeds(services) if force else None
    with output.progress(total, "polling") as step:

        def count(_: Feed, result: Refresh, __: Committed) -> None:
            _count(counts, failures, result)
            step()

        watch = Lifecycle(
            owner_name(), (report.refreshed, count), (report.crashed,), (report.store_failed,)
        )
        stopping = stop_on_signals(watch)
        problems = [await _problem_of(run_once(services, watch, only=chosen))]
    if chosen is None:
        jobs = run_due_jobs(services, watch, listeners=(report.job_ran,))
        problems.append(await _problem_of(jobs))
    sinks = await file_sinks(services) if taps else ()
    problems += [await _problem_of(deliver_pending(services.store, sink)) for sink in sinks]
    told = deliver_once(services, watch, listeners=(report.delivered,))
    problems.append(await _problem_of(told))
    next_due_at, problem = await _next_due_at(services)
    ended_by = [one for one in (*problems, problem) if one is not None]
    return {
        "feeds_checked": counts["checked"],
        "feeds_nochange": counts["nochange"],
        "new": counts["new"],
        "updated": counts["updated"],
        "unchanged": counts["unchanged"],
        "waiting": counts["waiting"],
        "held": counts["held"],
        "normalized_modified_count": counts["modified"],
        "errors": counts["errors"] + watch.crashes + len(ended_by),
        "faults": watch.crashes,
        "failures": failures,
        "next_due_at": format_instant(next_due_at),
        "persisted": True,
        "interrupted": stopping.by is not None,
        "ended_by": ended_by,
    }


async def _count_feeds(services: Services) -> int | None:
    """The length of the progress bar; None where a damaged store cannot say it."""
    try:
        return await services.store.count_feeds(FeedFilter())
    except StoreError:
        return None


async def _next_due_at(services: Services) -> tuple[datetime | None, StoreError | None]:
    """When the next feed is due, or why the store cannot say it."""
    try:
        return await services.store.next_due_at(), None
    except StoreError as problem:
        return None, problem


async def _problem_of(part: Awaitable[object]) -> FeedmillError | None:
    """The error that ended a part of the round early; what the others did is counted all the same."""
    try:
        await part
    except FeedmillError as problem:
        return problem
    return None


async def _degraded(
    config: Config, names: tuple[str, ...], problem: FeedmillError
) -> dict[str, Any]:
    """000: the seen store is unavailable; dedupe in memory for this run and claim nothing."""
    addresses = [name for name in names if "://" in name]
    if not addresses:
        hint = "`feedmill sync --feed ADDRESS` polls addresses in memory and keeps nothing"
        exit_with_error(problem.reason, str(problem), hint)
    warning = f"{problem}. Polling in memory; NOTHING is kept."
    click.echo(f"feedmill: WARNING: {warning}", err=True)
    async with open_services(config, memory=True) as services:
        for address in addresses:
            await subscribe_unchecked(address, services)
        result = await poll_once(services, None, force=True, taps=False)
        page = await services.store.entries(EntryFilter(order="published"), limit=_MEMORY_ENTRIES)
    entries = [entry_wire(entry) for entry in page.items]
    return {**result, "persisted": False, "next_due_at": None, "entries": entries}


def _count(counts: Counter[str], failures: list[dict[str, Any]], result: Refresh) -> None:
    fetch = result.fetch
    counts["checked"] += 1
    counts["nochange"] += fetch.outcome in ("unchanged", "same-body")
    counts["new"] += fetch.entries_new
    counts["updated"] += fetch.entries_updated
    counts["modified"] += result.changes.modified_count if result.changes else 0
    quota = result.feed.quota if result.changes else None
    waiting = quota.waiting if quota else 0
    counts["waiting"] += waiting
    counts["held"] += len(result.held)
    told = fetch.entries_new + fetch.entries_updated + waiting + len(result.held)
    counts["unchanged"] += fetch.entries_seen - told
    if fetch.outcome not in SUCCESSFUL_OUTCOMES:
        counts["errors"] += 1
        failures.append(
            {
                "feed_id": fetch.feed_id,
                "url": mask_address(fetch.url),
                "reason": fetch.outcome,
                "detail": fetch.detail,
                "http_status": fetch.http_status,
                "next_poll_at": format_instant(result.feed.next_poll_at),
                "wait_sec": (result.feed.next_poll_at - fetch.fetched_at).total_seconds(),
            }
        )


def print_result(result: dict[str, Any], *, asked: bool = False) -> None:
    """Print what one round of polls brought; feeds that were `asked` for are due, whatever the schedule says."""
    if not result["feeds_checked"] and not result["errors"]:
        due = result["next_due_at"]
        none = (
            "no feeds to poll; try: feedmill add https://example.com/feed, or feedmill resume FEED"
        )
        if due and asked:
            none = "nothing can be polled now: `feedmill explain FEED` says why"
        elif due:
            none = f"nothing is due before {due}; --force polls now"
        click.echo(none)
        return
    click.echo(
        f"{output.format_count(result['feeds_checked'], 'feed')} checked, {result['feeds_nochange']} without change: "
        f"{output.format_count(result['new'], 'new entry', 'new entries')}, {result['updated']} updated, "
        f"{result['unchanged']} unchanged, {output.format_count(result['errors'], 'error')}"
    )
    if result["waiting"]:
        entries = output.format_count(result["waiting"], "entry waits", "entries wait")
        click.echo(f"{entries} for a later poll: `feedmill quota FEED` says why")
    if result["held"]:
        entries = output.format_count(result["held"], "new entry is", "new entries are")
        click.echo(f"{entries} held for review: `feedmill held list`")
    if result["faults"]:
        click.echo(describe_crashes(result["faults"]), err=True)
    for one in result["failures"]:
        words = output.shorten(f"{one['url']} {one['detail']}", 200)
        again = output.format_duration(timedelta(seconds=one["wait_sec"]))
        click.echo(f"  {output.style_text(one['reason'], fg='red')} {words} (next poll in {again})")
    for entry in result.get("entries", ()):
        published = entry["published_effective"] or entry["first_seen"]
        click.echo(f"{published}  {output.shorten(entry['title'] or '-', 120)}")
        click.echo(f"  {output.shorten(entry['canonical_link'] or '-', 400)}")
    if not result["persisted"]:
        click.echo("nothing was kept: the store could not be opened")
