"""Polling: sync once, run for ever, ingest one document."""

import asyncio
import signal
import sys
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

import click
import msgspec

from feedmill.app import ndjson_tap, open_world, owner_name, stdout_tap
from feedmill.config import Config
from feedmill.doors.cli.feeds import json_option
from feedmill.doors.cli.output import fail, paint, progress, show_json
from feedmill.doors.cli.session import config_of, feed_named, in_world, run_story
from feedmill.engine.deliver import deliver_pending, keep_delivering
from feedmill.engine.ingest import Ingested, ingest_document, ingest_feed
from feedmill.engine.loop import run_forever, run_once
from feedmill.engine.ports import Committed, Refresh
from feedmill.engine.report import Report
from feedmill.engine.retention import keep_tidy
from feedmill.engine.subscribe import subscribe
from feedmill.engine.watch import Watch
from feedmill.engine.world import World
from feedmill.errors import StoreError
from feedmill.model.document import RawDocument
from feedmill.model.feed import Feed
from feedmill.observe.log import logger
from feedmill.observe.metrics import Metrics
from feedmill.observe.page import serve_metrics

GOOD = frozenset({"fresh", "unchanged", "same-body"})


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

    When the store cannot be opened, the run works in memory, says so, and keeps nothing.

    \b
    Examples:
      feedmill sync
      feedmill sync --force --feed https://example.com/feed
      */15 * * * * feedmill sync --json >> sync.log
    """
    config = config_of(ctx, as_json=as_json)

    async def tell() -> dict[str, Any]:
        try:
            async with open_world(config) as world:
                return await _sync(world, feeds, force=force, taps=taps, hide=as_json)
        except StoreError as problem:
            if problem.reason != "cannot-open":
                raise
            return await _degraded(config, feeds, problem, hide=as_json)

    result = run_story(tell, as_json=as_json)
    if as_json:
        show_json(result)
    else:
        _say(result)
    sys.exit(1 if result["errors"] and result["errors"] == result["feeds_checked"] else 0)


@click.command()
@click.option("--metrics-port", type=int, metavar="PORT", help="Serve /metrics on loopback.")
@click.option("--stdout", "to_stdout", is_flag=True, help="Print events as NDJSON.")
@click.option("--taps/--no-taps", default=True, show_default=True, help="Write NDJSON files.")
@click.option("--for", "duration", type=float, metavar="SEC", help="Stop after this long.")
@click.option("--quiet", is_flag=True, help="Do not print each refresh.")
@click.pass_context
def run(
    ctx: click.Context,
    metrics_port: int | None,
    duration: float | None,
    *,
    to_stdout: bool,
    taps: bool,
    quiet: bool,
) -> None:
    """Poll for ever: scheduler and workers in one process. SIGTERM and Ctrl-C drain and leave.

    Several of these may share one home folder; a host is worked by one of them at a time.
    """
    config = config_of(ctx, as_json=False)

    async def tell() -> None:
        async with open_world(config) as world:
            show = not quiet and not to_stdout
            await run_engine(
                world,
                duration=duration,
                metrics_port=metrics_port,
                to_stdout=to_stdout,
                taps=taps,
                show=show,
            )

    run_story(tell, as_json=False)


@click.command("ingest-one")
@click.option("--feed-url", metavar="URL", help="Fetch this address and take it in.")
@click.option("--file", "file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--feed-id", metavar="FEED", help="Fetch this subscription now.")
@click.option("--normalize/--no-normalize", default=True, show_default=True)
@json_option
@click.pass_context
def ingest_one(
    ctx: click.Context,
    feed_url: str | None,
    file: Path | None,
    feed_id: str | None,
    *,
    normalize: bool,
    as_json: bool,
) -> None:
    """Take in one feed once and count what happened.

    With --no-normalize texts are stored as published instead of cleaned; HTML is sanitised
    either way.
    """
    if sum(given is not None for given in (feed_url, file, feed_id)) != 1:
        message = "give exactly one of --feed-url, --file and --feed-id"
        raise click.UsageError(message)
    config = config_of(ctx, as_json=as_json)
    if not normalize:
        off = msgspec.structs.replace(config.normalise, enabled=False)
        config = msgspec.structs.replace(config, normalise=off)

    async def story(world: World) -> Ingested:
        if file is not None:
            body = await asyncio.to_thread(file.read_bytes)
            address = f"https://file.invalid/{file.name}"
            feed = (await subscribe(address, world, title=file.name)).feed
            paused = msgspec.structs.replace(feed, paused=True)
            await world.store.change_feed(paused)
            return await ingest_document(RawDocument(body=body, url=None), paused, world)
        if feed_id is not None:
            return await ingest_feed(await feed_named(feed_id, world), world)
        return await ingest_feed((await subscribe(feed_url or "", world)).feed, world)

    result = in_world(ctx, story, as_json=as_json, config=config)
    if as_json:
        show_json(result)
    else:
        click.echo(
            f"Feed ingestion completed: {result.parsed} parsed, {result.inserted} inserted, "
            f"{result.updated} updated, {result.skipped} skipped, {result.errors} errors, "
            f"{result.normalized_modified_count} modified by normalisation"
        )
        if result.errors:
            click.echo(f"feedmill: {result.outcome}: {result.detail}", err=True)
    sys.exit(1 if result.errors else 0)


async def run_engine(
    world: World,
    *,
    duration: float | None,
    metrics_port: int | None,
    to_stdout: bool,
    taps: bool,
    show: bool,
) -> None:
    """The loop with its taps, its metrics and its housekeeping, until a signal or the time is up."""
    metrics = Metrics()
    report = Report(logger("engine"), metrics)
    listeners = (report.refreshed, _show) if show else (report.refreshed,)
    watch = Watch(owner_name(), listeners, (report.surprised,))
    _stop_on_signals(watch)
    sinks = [*([ndjson_tap(world.config)] if taps else []), *([stdout_tap()] if to_stdout else [])]
    async with asyncio.TaskGroup() as group:
        for sink in sinks:
            group.create_task(keep_delivering(world, sink, watch, every_sec=1.0))
        group.create_task(keep_tidy(world, watch))
        if metrics_port is not None:
            group.create_task(serve_metrics(metrics, metrics_port, watch))
        if duration is not None:
            group.create_task(_stop_after(watch, duration))
        try:
            await run_forever(world, watch)
        finally:
            watch.stop()


async def _sync(
    world: World, names: tuple[str, ...], *, force: bool, taps: bool, hide: bool
) -> dict[str, Any]:
    chosen = [(await feed_named(name, world)).id for name in names] or None
    if force or chosen is not None:
        await world.store.make_due(chosen, world.clock.now())
    counts: Counter[str] = Counter()
    failures: list[dict[str, Any]] = []
    total = len(chosen) if chosen else (await world.store.counts())["feeds"]
    report = Report(logger("engine"), Metrics())
    with progress(total, "polling", hide=hide) as step:

        def count(_: Feed, result: Refresh, __: Committed) -> None:
            _count(counts, failures, result)
            step()

        watch = Watch(owner_name(), (report.refreshed, count), (report.surprised,))
        _stop_on_signals(watch)
        await run_once(world, watch)
    if taps:
        await deliver_pending(world, ndjson_tap(world.config))
    return {
        "feeds_checked": counts["checked"],
        "feeds_nochange": counts["nochange"],
        "new": counts["new"],
        "updated": counts["updated"],
        "unchanged": counts["unchanged"],
        "errors": counts["errors"],
        "failures": failures,
        "persisted": True,
    }


async def _degraded(
    config: Config, names: tuple[str, ...], problem: StoreError, *, hide: bool
) -> dict[str, Any]:
    """000: the seen store is unavailable; dedupe in memory for this run and claim nothing."""
    addresses = [name for name in names if name.startswith(("http:", "https:"))]
    if not addresses:
        fail(
            problem.reason,
            str(problem),
            "name addresses with --feed to poll them in memory",
            as_json=hide,
        )
    click.echo(
        f"feedmill: WARNING: {problem}. This run works in memory; NOTHING is kept.", err=True
    )
    async with open_world(config, memory=True) as world:
        for address in addresses:
            await subscribe(address, world)
        result = await _sync(world, (), force=True, taps=False, hide=hide)
    return {**result, "persisted": False}


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
            }
        )


def _say(result: dict[str, Any]) -> None:
    click.echo(
        f"{result['feeds_checked']} feeds checked, {result['feeds_nochange']} without change: "
        f"{result['new']} new entries, {result['updated']} updated, "
        f"{result['unchanged']} unchanged, {result['errors']} errors"
    )
    for one in result["failures"]:
        click.echo(f"  {paint(one['reason'], fg='red')} {one['url']} {one['detail']}")
    if not result["persisted"]:
        click.echo("nothing was kept: the store could not be opened")


def _show(before: Feed, result: Refresh, _: Committed) -> None:
    """One line a person can follow for each refresh."""
    fetch = result.fetch
    good = fetch.outcome in GOOD
    news = f"+{fetch.entries_new}" if fetch.entries_new else ""
    if fetch.entries_updated:
        news += f" ~{fetch.entries_updated}"
    wait = result.feed.next_poll_at - fetch.fetched_at
    mended = f" mended: {', '.join(fetch.repairs)}" if fetch.repairs else ""
    name = result.feed.title or before.url
    click.echo(
        f"{fetch.fetched_at:%H:%M:%S} {paint(f'{fetch.outcome:<16}', fg='green' if good else 'red')}"
        f"{news:<8}{name[:44]:<46}next in {_span(wait):<9}{result.feed.reason}{mended}"
    )


def _span(wait: timedelta) -> str:
    seconds = wait.total_seconds()
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _stop_on_signals(watch: Watch) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, watch.stop)


async def _stop_after(watch: Watch, seconds: float) -> None:
    await watch.pause(seconds)
    watch.stop()
