"""`feedmill simulate`: replay the recorded past, or a file of publication times, under a policy."""
# Tested in tests/integration/interfaces/cli/commands/figures/test_simulate.py

import asyncio
from datetime import timedelta
from pathlib import Path

import click

from feedmill.config import Config
from feedmill.engine.run.atomic_file import write_file
from feedmill.engine.service.feed_lookup import resolve_feed
from feedmill.engine.service.simulate import (
    DEFAULT_DAYS,
    SimulationResult,
    candidate_config,
    simulate_series,
    simulate_store,
)
from feedmill.interfaces.cli.command import Answer, OpenServices, command
from feedmill.interfaces.cli.options import FILE_TO_READ, flag, option, usage_error
from feedmill.interfaces.cli.output import format_duration, show_table, style_text
from feedmill.publish.figure_shapes import PolicyFigures
from feedmill.publish.simulation_svg import bars_svg, timeline_svg

_HEAD = ("policy", "requests", "per feed-day", "median", "mean", "p90", "missed", "304")


@command()
@click.argument("feed", required=False)
@flag("--all", "everything", "All feeds; of a large store an even sample.")
@option(
    "--series FILE", "A JSON file of publication times instead of the store.", type=FILE_TO_READ
)
@option("--policy", "Default: the one in force.", choices=["budget", "seed"])
@option(
    "--set KEY=VALUE",
    "settings",
    "Change a setting of [schedule] for the simulation; repeatable.",
    multiple=True,
)
@option("--days", "How far back the record is replayed.", least=1, most=400, default=DEFAULT_DAYS)
@option(
    "--plot FILE",
    "Write a picture (SVG): a timeline of one feed, bars of several.",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
)
async def simulate(
    config: Config,
    open_services: OpenServices,
    feed: str | None,
    series: Path | None,
    policy: str | None,
    settings: tuple[str, ...],
    days: int,
    plot: Path | None,
    *,
    everything: bool,
) -> Answer:
    """Compare what was recorded with another scheduling policy; no request is sent.

    \b
    Examples:
      feedmill simulate --all --policy seed
      feedmill simulate example.com --set price_sec=900 --plot feed.svg
      feedmill simulate --series posting_series.json --set price_sec=5400 --json
    """
    if sum((feed is not None, everything, series is not None)) != 1:
        usage_error("name one feed, or give --all or --series FILE")
    if series is not None:
        times = await asyncio.to_thread(series.read_bytes)
        result = simulate_series(times, candidate_config(config.schedule, policy, settings))
    else:
        services = await open_services()
        chosen = None if feed is None else [await resolve_feed(feed, services)]
        candidate = candidate_config(config.schedule, policy, settings)
        result = await simulate_store(services, candidate, feeds=chosen, days=days)
    if plot is not None:
        write_file(plot, _plot(result).encode())
    return Answer(result.shape, lambda: _show(result, plot))


def _plot(result: SimulationResult) -> str:
    if result.series is None:
        return bars_svg(result.title, result.shape.policies)
    span = (result.series.start, result.series.end)
    return timeline_svg(result.title, result.series.times, result.timelines, *span)


def _show(result: SimulationResult, plot: Path | None) -> None:
    shape = result.shape
    if not shape.feeds:
        click.echo("Nothing to simulate: no feed was polled in that time.")
        return
    span = f"{shape.since:%Y-%m-%d %H:%M} to {shape.until:%Y-%m-%d %H:%M} UTC"
    click.echo(style_text(f"{result.title}, {shape.entries} entries, {span}", bold=True))
    show_table(_HEAD, [_row(one) for one in shape.policies])
    recorded = shape.policies[0]
    if recorded.max_mean_delay_sec is not None:
        most = _duration(recorded.max_mean_delay_sec)
        click.echo(
            f"Recorded delays are estimates: an entry came out between two polls, on average at most {most}"
            " before it was found."
        )
    if shape.decisions:
        click.echo(
            f"{shape.reproduced} of {shape.decisions} recorded decisions were reproduced exactly."
        )
    if plot is not None:
        click.echo(f"The plot is in {plot}.")


def _row(one: PolicyFigures) -> tuple[str, ...]:
    return (
        one.policy,
        f"{one.requests:,}",
        f"{one.requests_per_day:.2f}",
        _duration(one.median_delay_sec),
        _duration(one.mean_delay_sec),
        _duration(one.p90_delay_sec),
        "?" if one.missed is None else f"{one.missed:,}",
        f"{one.unchanged_share:.0%}",
    )


def _duration(seconds: float | None) -> str:
    return "-" if seconds is None else format_duration(timedelta(seconds=seconds))
