"""`feedmill demo`: the engine and sixty demonstration feeds on loopback, side by side.

No request leaves this machine. Time is compressed: a real feed is polled every 15 minutes, a
demonstration feed every few seconds.
"""
# Tested in tests/integration/interfaces/cli/

import shlex
import shutil
import signal
import sys
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import click
from msgspec.structs import replace

from feedmill.app.demo import DemoOnLoopback, open_demo
from feedmill.app.services import open_services
from feedmill.app.settings import set_up_logging
from feedmill.config import (
    ClustersConfig,
    Config,
    HostConfig,
    RunConfig,
    ScheduleConfig,
    ServeConfig,
)
from feedmill.engine.run.services import Services
from feedmill.engine.subscribe.add_feed import subscribe_unchecked
from feedmill.fetch.figures import SUCCESSFUL_OUTCOMES
from feedmill.interfaces.cli.command import command
from feedmill.interfaces.cli.commands.servers.run import run_engine, show_refresh, show_refresh_json
from feedmill.interfaces.cli.exit import exit_interrupted, is_json
from feedmill.interfaces.cli.options import Number, bad_value, option
from feedmill.interfaces.cli.output import shorten, show_json_line, style_text
from feedmill.interfaces.cli.run_command import SignalHandler, bounded_stop, config_of, run_async
from feedmill.interfaces.cli.servers import port_or_any
from feedmill.model.derived.fetched import MediaFilter
from feedmill.model.feed import Feed, FeedOverrides
from feedmill.schedule.explain import explain_decision

_SCHEDULE = ScheduleConfig(
    price_sec=0.002,  # its feeds publish within seconds what others do in days
    initial_interval_sec=3,
    min_interval_sec=2,
    max_interval_sec=30,
    backoff_cap_sec=15,
)
# What feeds get on request only: files of entries, and the texts of their pages where trafilatura is installed.
_EXTRAS = {
    "podcast": FeedOverrides(media=True, media_newest=1),
    "harbour-news": FeedOverrides(full_text=find_spec("trafilatura") is not None),
}
_HOST = HostConfig(min_gap_ms=50, rps=0, incident_base_sec=2.0, incident_cap_sec=10.0)


@command()
@option(
    "--for SEC",
    "duration",
    "Stop after this long; 0: run until Ctrl-C.",
    type=Number(min=0),
    default=60.0,
)
@option(
    "--port PORT",
    "Port of the console; another one when it is taken.",
    least=0,
    most=65_535,
    default=8642,
)
@option(
    "--keep DIR",
    "Keep the home folder of the demonstration here.",
    type=click.Path(file_okay=False, path_type=Path),
)
@option(
    "--metrics-port PORT",
    "Serve /metrics for Prometheus on this port of 127.0.0.1.",
    least=1,
    most=65_535,
)
def demo(  # one parameter for each option
    duration: float, keep: Path | None, port: int, metrics_port: int | None
) -> None:
    """Poll sixty demonstration feeds on this machine, without the internet.

    The address of the console is printed first; open it in a browser.

    They include busy and quiet feeds, moved, broken, rate-limited and re-keyed ones, a podcast and
    Chinese in GBK. Each line is one refresh: the result, the time of the next poll and its reason.

    \b
    Examples:
      feedmill demo
      feedmill demo --for 0    # until Ctrl-C, to look around in the console
    """
    if keep is not None and any(keep.glob("*")):
        bad_value(f"{keep} is not empty; choose an empty folder", "--keep")
    config = config_of()
    set_up_logging(-1, as_json=False)  # each refresh is shown below; the log would say it twice

    async def action() -> SignalHandler:
        with TemporaryDirectory(prefix="feedmill-demo-") as folder:
            settings = _demo_config(config, str(keep or Path(folder)))
            async with open_demo() as village, open_services(settings) as services:
                return await _show_village(village, services, duration, port, metrics_port)

    with bounded_stop(config.run):
        stopping = run_async(action)
    if not is_json():
        say_goodbye(keep)
    if stopping.by == signal.SIGINT:
        exit_interrupted()


async def _show_village(
    village: DemoOnLoopback,
    services: Services,
    duration: float,
    port: int,
    metrics_port: int | None,
) -> SignalHandler:
    addresses = village.addresses()
    if not is_json():
        click.echo(
            style_text(f"Serving {len(addresses)} demonstration feeds on 127.0.0.1.", bold=True)
        )
        lasts = f"For {duration:.0f} s" if duration else "Until Ctrl-C"
        click.echo(
            f"{lasts}, each line is one refresh: the result, the time of the next poll and its reason.\n"
        )
    for name, address in addresses.items():
        await subscribe_unchecked(address, services, overrides=_EXTRAS.get(name))
    stopping = await run_engine(
        services,
        duration=duration or None,
        metrics_port=metrics_port,
        to_stdout=False,
        taps=True,
        show=(show_refresh_json,) if is_json() else (show_refresh,),
        console=True,
        port=port_or_any(services.config.serve.host, port),
    )
    feeds = [
        (name, feed)
        for name, address in addresses.items()
        if (feed := await services.store.find_feed((address,))) is not None
    ]
    if is_json():
        results = {name: feed.last_result for name, feed in feeds}
        show_json_line({"feeds": results, "counts": await services.store.counts()})
    else:
        await _sum_up(feeds, village.about(), services)
    return stopping


async def _sum_up(feeds: list[tuple[str, Feed]], about: dict[str, str], services: Services) -> None:
    click.echo(style_text("\nResults per feed", bold=True))
    for name, feed in feeds:
        click.echo(f"  {name:<18}{feed.last_result or 'not polled':<18}{about[name]}")
    counts = await services.store.counts()
    well = sum(feed.last_result in SUCCESSFUL_OUTCOMES for _, feed in feeds)
    click.echo(
        style_text("\nIn the store: ", bold=True)
        + f"{counts['entries']:,} entries, {counts['articles']:,} articles, "
        f"{counts['fetches']:,} fetches, {counts['events']:,} events; "
        f"{well} feeds are healthy, {len(feeds) - well} fail on purpose."
    )
    await _show_extras(services)
    await _show_story(counts["clusters"], services)
    explained = next((feed for _, feed in feeds if feed.schedule.cadence is not None), None)
    decisions = (
        await services.store.decisions(explained.id, limit=1) if explained is not None else ()
    )
    for decision in decisions:
        title = shorten(explained.title or explained.url, 60) if explained is not None else ""
        click.echo(style_text(f"\nWhy is “{title}” polled when it is?", bold=True))
        for sentence in explain_decision(decision):
            click.echo(f"  {sentence}")


async def _show_extras(services: Services) -> None:
    """A file and a full text, if they came in."""
    for file in (await services.store.media_items(MediaFilter(state="stored"), limit=1)).items:
        click.echo(
            style_text("\nA file of an entry is kept: ", bold=True)
            + f"{file.path or file.url}, {file.size_bytes:,} bytes (feedmill media list)."
        )
    for text in (await services.store.full_texts(limit=20)).items:
        if text.words:
            click.echo(
                style_text("\nThe full text of a page is kept: ", bold=True)
                + f"{shorten(text.url, 70)}, {text.words} words (feedmill fulltext show)."
            )
            return


async def _show_story(count: int, services: Services) -> None:
    """A story that several feeds tell: an article and its mirror, if they came in."""
    for story in (await services.store.clusters(limit=100)).items:
        members = await services.store.cluster_members(story.cluster_id)
        alike = [one for one in members if "link" in one.evidence]
        if alike:
            names = " and ".join(f"“{one.feed_title}”" for one in alike)
            click.echo(
                style_text(f"\n{count:,} stories are carried by several feeds: ", bold=True)
                + f"“{shorten(story.title or '-', 60)}” by {names} (feedmill clusters)."
            )
            return


def say_goodbye(kept: Path | None) -> None:
    """What to do next."""
    name = _command_name()
    if kept is not None:
        click.echo(f"\nThe home folder is {kept}; list its entries: {name} --home {kept} entries")
    click.echo(f"\nNext, with real feeds:  {name} add https://example.com/feed && {name} sync")


def _command_name() -> str:
    """What works in this shell: the name, or where it is not on PATH, as after `make run`, what was typed."""
    return "feedmill" if shutil.which("feedmill") else shlex.quote(sys.argv[0])


def _demo_config(config: Config, home: str) -> Config:
    return replace(
        config,
        schedule=_SCHEDULE,
        host=_HOST,
        run=replace(RunConfig(), idle_sec=0.2, drain_sec=3.0),
        store=replace(config.store, home=home, url=None),  # never where others are
        blobs=replace(config.blobs, url=None),
        bus=replace(config.bus, url=None),
        health=replace(config.health, port=0),
        serve=ServeConfig(),
        clusters=ClustersConfig(enabled=True),
        fetch=replace(config.fetch, timeout_ms=5_000, allow_cidrs=("127.0.0.0/8",)),
    )
