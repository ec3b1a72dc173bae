"""`feedmill demo`: the engine and a village of living feeds on loopback, side by side.

Nothing is asked of the internet. Time is compressed: where a real feed is polled every quarter of
an hour, one of the village is polled every few seconds.
"""

from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
from msgspec.structs import replace

from feedmill.app import open_village, open_world, set_up_logging
from feedmill.config import Config, HostConfig, RunConfig, ScheduleConfig
from feedmill.doors.cli.output import paint
from feedmill.doors.cli.session import config_of, run_story
from feedmill.doors.cli.work import GOOD, run_engine
from feedmill.engine.subscribe import subscribe
from feedmill.engine.world import World
from feedmill.schedule.explain import explain_decision

_SCHEDULE = ScheduleConfig(
    initial_interval_sec=3, min_interval_sec=2, max_interval_sec=30, backoff_cap_sec=15
)
_HOST = HostConfig(min_gap_ms=50, rps=0, incident_base_sec=2.0, incident_cap_sec=10.0)


@click.command()
@click.option("--for", "duration", default=60.0, show_default=True, metavar="SEC")
@click.option(
    "--keep",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Keep the demonstration's home folder.",
)
@click.pass_context
def demo(ctx: click.Context, duration: float, keep: Path | None) -> None:
    """Watch feedmill poll forty living feeds on this machine, without the internet.

    Busy and quiet ones, moved, broken, rate-limited and re-keyed ones, a podcast, Chinese in GBK:
    each line is one refresh, what it brought, when the next one is due and why.
    """
    config = config_of(ctx, as_json=False)
    set_up_logging(-1, as_json=False)  # each refresh is shown below; the log would say it twice

    async def tell() -> None:
        with TemporaryDirectory(prefix="feedmill-demo-") as folder:
            home = str(keep or Path(folder))
            await _show_village(_demo_config(config, home), duration, kept=keep)

    run_story(tell, as_json=False)


async def _show_village(config: Config, duration: float, *, kept: Path | None) -> None:
    async with open_village() as village, open_world(config) as world:
        addresses = village.addresses()
        click.echo(paint(f"A village of {len(addresses)} feeds opens on 127.0.0.1.", bold=True))
        click.echo(
            "Each line below is one refresh: what came, when the next one is due, and why.\n"
        )
        for address in addresses.values():
            await subscribe(address, world)
        await run_engine(
            world, duration=duration, metrics_port=None, to_stdout=False, taps=True, show=True
        )
        await _sum_up(world, village.about(), addresses)
        if kept is not None:
            click.echo(f"\nEverything is kept in {kept}: feedmill --home {kept} entries")
    click.echo("\nNow with real feeds:  feedmill add https://example.com/feed && feedmill sync")


async def _sum_up(world: World, about: dict[str, str], addresses: dict[str, str]) -> None:
    counts = await world.store.counts()
    results: Counter[str] = Counter()
    rows: list[tuple[str, str]] = []
    shown: Any = None
    for name, address in addresses.items():
        feed = await world.store.find_feed((address,))
        if feed is None:
            continue
        results["well" if feed.last_result in GOOD else "in trouble"] += 1
        rows.append((name, f"{feed.last_result or 'not polled':<18}{about[name]}"))
        shown = shown or (feed if feed.schedule.cadence is not None else None)
    click.echo(paint("\nThe village, feed by feed", bold=True))
    for name, line in rows:
        click.echo(f"  {name:<18}{line}")
    click.echo(
        paint("\nIn the store: ", bold=True)
        + f"{counts['entries']:,} entries, {counts['articles']:,} articles, "
        f"{counts['fetches']:,} fetches, {counts['events']:,} events; "
        f"{results['well']} feeds are well, {results['in trouble']} are in trouble on purpose."
    )
    if shown is not None:
        decisions = await world.store.decisions(shown.id, limit=1)
        click.echo(paint(f"\nWhy is “{shown.title}” polled when it is?", bold=True))
        for sentence in explain_decision(decisions[0]):
            click.echo(f"  {sentence}")


def _demo_config(config: Config, home: str) -> Config:
    return replace(
        config,
        schedule=_SCHEDULE,
        host=_HOST,
        run=replace(RunConfig(), idle_sec=0.2, drain_sec=3.0),
        store=replace(config.store, home=home),
        fetch=replace(config.fetch, timeout_ms=5_000, allow_cidrs=("127.0.0.0/8",)),
    )
