"""`feedmill collect-window`: collect the entries of a time window as candidates."""
# Tested in tests/integration/interfaces/cli/

from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

import click

from feedmill.app.screeners import load_topics
from feedmill.app.services import announce_settings, open_services
from feedmill.config import Config
from feedmill.engine.run.services import Services
from feedmill.engine.service.feed_lookup import all_feeds
from feedmill.engine.subscribe.list_formats import read_list
from feedmill.engine.two_phase.candidates import window_between, window_of_last, write_candidates
from feedmill.engine.two_phase.collect_window import (
    DEFAULT_PAGES,
    WindowSource,
    each_once,
    is_insert_only,
    source_from_address,
    source_from_feed,
)
from feedmill.engine.two_phase.collect_window import collect_window as collect_candidates
from feedmill.engine.two_phase.sidecar_files import screening_path, selection_path
from feedmill.errors import BlobError, ListError, StoreError, UsageError
from feedmill.interfaces.cli.command import Answer, command
from feedmill.interfaces.cli.options import (
    FILE_TO_READ,
    flag,
    option,
    out_option,
    parse_duration,
    topic_option,
    topics_option,
)
from feedmill.interfaces.cli.output import format_count, progress, shorten, style_text
from feedmill.model.base import fields_of
from feedmill.model.candidate import CandidateFile, Window

_SHOWN = 20


class _Options(NamedTuple):
    """The options of the command."""

    start: str | None
    end: str | None
    last: str | None
    feeds: tuple[str, ...]
    more: tuple[str, ...]
    opml: Path | None
    tag: str | None
    everything: bool
    topic_file: Path | None
    topic_names: tuple[str, ...]
    prompt: str
    pages: int
    out: Path


@command("collect-window")
@option("--start TIME", "The first day or instant, in UTC.")
@option("--end TIME", "The last day, or the instant at which the window ends; default: now.")
@option("--last SPAN", "Instead of --start: a duration up to now, such as 7d or 12h.")
@option(
    "--feeds URL|FILE",
    "An address, or a file of addresses; repeatable. More may follow as arguments.",
    multiple=True,
)
@option("--opml", "Every feed of a list: OPML, feeds.json or plain addresses.", type=FILE_TO_READ)
@option("--tag TAG", "Subscriptions with this tag.")
@flag("--all", "everything", "Every subscription, except paused ones with the tag collected.")
@topics_option
@topic_option
@option(
    "--prompt TEXT",
    "--topic-prompt",
    "Description of what you are looking for.",
    default="",
    show_default=False,
    type=str,
)
@option(
    "--pages N",
    "Maximum number of archive pages per source.",
    least=1,
    most=1_000,
    default=DEFAULT_PAGES,
)
@out_option("candidates.json")
@click.argument("more", nargs=-1, metavar="[URL|FILE]...")
async def collect_window(config: Config, **given: Any) -> Answer:  # noqa: ANN401  # as click parsed them
    """Collect everything that sources published in a time window, as candidates in a file.

    Nothing is stored as an entry, and no subscription is needed. The window is half-open; an end
    given as a day is included. A failing source is reported and the others continue.

    \b
    Examples:
      feedmill collect-window --last 7d --all
      feedmill collect-window --start 2026-01-05 --end 2026-01-11 --out week.json
      feedmill collect-window --last 24h --feeds https://example.com/feed
    """
    asked = _Options(**given)
    announce_settings(config)
    # What is wrong with the options is said before the store is opened and a source is asked.
    asked.out.parent.stat()
    last = None if asked.last is None else parse_duration(asked.last)
    addresses = _addresses((*asked.feeds, *asked.more), asked.opml)
    topics = load_topics(asked.topic_file, asked.topic_names).topics
    async with AsyncExitStack() as stack:
        services = await _open_or_in_memory(config, stack)
        window = _window(asked, last, services)
        sources = await _sources(asked, addresses, services)
        with progress(len(sources), "collecting") as step:
            file = await collect_candidates(
                sources,
                window,
                services,
                topics=[one.id for one in topics],
                topic_set=topics if asked.topic_file or asked.topic_names else (),
                prompt=asked.prompt,
                pages=asked.pages,
                step=lambda _: step(),
            )
    out = asked.out
    write_candidates(out, file)
    for stale in (screening_path(out), selection_path(out)):  # of the window before
        stale.unlink(missing_ok=True)
    has_failed = all(one.outcome == "failed" for one in file.sources)
    return Answer(_shape(file, out), lambda: _say(file, out), status=int(has_failed))


async def _open_or_in_memory(config: Config, stack: AsyncExitStack) -> Services:
    """Open the services; in memory when the store cannot be opened (000)."""
    try:
        return await stack.enter_async_context(open_services(config))
    except (StoreError, BlobError) as problem:
        warning = f"{problem}. Stored entries cannot be marked as known; raw bytes are kept in the file only."
        click.echo(f"feedmill: WARNING: {warning}", err=True)
        return await stack.enter_async_context(open_services(config, memory=True))


def _window(asked: _Options, last: timedelta | None, services: Services) -> Window:
    now = services.clock.now()
    if last is not None and asked.start is None and asked.end is None:
        return window_of_last(last, now=now)
    if asked.start is not None and last is None:
        return window_between(asked.start, asked.end, now=now)
    message = "give --start, with or without --end, or --last"
    raise UsageError(message)


async def _sources(
    asked: _Options, addresses: tuple[str, ...], services: Services
) -> list[WindowSource]:
    """Every source once, in the order in which they were named."""
    found = [await source_from_address(address, services) for address in addresses]
    if asked.tag is not None or asked.everything:
        feeds = await all_feeds(services, asked.tag)
        named = [one for one in feeds if asked.tag is not None or not is_insert_only(one)]
        found += [source_from_feed(feed) for feed in named]
    if not found:
        raise UsageError(_nowhere(asked))
    return each_once(found)


def _nowhere(asked: _Options) -> str:
    if asked.tag is not None:
        return f"no subscription has the tag {asked.tag!r}; see `feedmill list`"
    if asked.everything:
        return (
            "no subscriptions, or only paused ones with the tag 'collected'; "
            "name sources with --feeds, --opml or --tag"
        )
    return "no sources: give --feeds, --opml, --tag or --all"


def _addresses(given: tuple[str, ...], opml: Path | None) -> tuple[str, ...]:
    """Every address, including those listed in files."""
    found: list[str] = []
    for one in given:
        is_file = "://" not in one and Path(one).is_file()
        found += _listed(Path(one)) if is_file else [one]
    return tuple(found if opml is None else [*found, *_listed(opml)])


def _listed(path: Path) -> list[str]:
    try:
        return [outline.url for outline in read_list(path.read_bytes())]
    except ValueError as problem:
        message = f"{path}: {problem}"
        raise ListError(message) from problem


def _shape(file: CandidateFile, out: Path) -> dict[str, Any]:
    failed = [one for one in file.sources if one.outcome == "failed"]
    return {
        "out": str(out),
        "digest": file.digest,
        "window": file.window,
        "topics": file.topics,
        "candidates": len(file.candidates),
        "undated": sum(one.is_undated for one in file.candidates),
        "known": sum(one.is_known for one in file.candidates),
        "sources": len(file.sources),
        "sources_failed": len(failed),
        "failures": [fields_of(one, "url reason detail http_status") for one in failed],
        "notes": [{"url": one.url, "note": one.note} for one in file.sources if one.note],
    }


def _say(file: CandidateFile, out: Path) -> None:
    shape = _shape(file, out)
    span = f"{file.window.start:%Y-%m-%d %H:%M} to {file.window.end:%Y-%m-%d %H:%M} UTC"
    click.echo(
        f"{format_count(shape['candidates'], 'candidate')} from {span} written to {out}: "
        f"{shape['known']} stored already, {shape['undated']} without a date"
    )
    failed = shape["failures"]
    ok = shape["sources"] - len(failed)
    click.echo(f"{format_count(ok, 'source')} read, {len(failed)} failed")
    for one in failed[:_SHOWN]:
        detail = "" if one["detail"] in {"", one["url"]} else f": {one['detail']}"
        words = shorten(f"{one['url']}{detail}", 200)
        click.echo(f"  {style_text(one['reason'], fg='red')} {words}")
    if len(failed) > _SHOWN:
        click.echo(f"  and {len(failed) - _SHOWN} more; --json lists all")
    for one in shape["notes"][:_SHOWN]:
        click.echo(f"  {shorten(one['url'], 120)}: {one['note']}")
    if file.candidates:
        click.echo(f"next: feedmill screen {out}, feedmill review {out}")
