"""Standing screens and what they hold: `feedmill screen-live` and `feedmill held`."""

from pathlib import Path
from typing import Any

import click

from feedmill.app.services import default_topics
from feedmill.engine.run.services import Services
from feedmill.engine.two_phase.candidate_file import write_candidates
from feedmill.engine.two_phase.held_window import HeldWindow, held_entries, held_window
from feedmill.engine.two_phase.sidecar_files import screening_path, selection_path, write_screenings
from feedmill.errors import NotFoundError, UsageError
from feedmill.interfaces.cli.output import json_option, shorten, show_json, show_table
from feedmill.interfaces.cli.run_command import (
    all_feeds,
    resolve_feed,
    resolve_feeds,
    with_services,
)
from feedmill.model.feed import Feed
from feedmill.model.live_screen import HeldEntry, StandingMethod, StandingScreen
from feedmill.model.screening import TopicSet
from feedmill.screen.topics import choose_topics, merge_topics, read_topics

_feed_option = click.option(
    "--feed", "names", multiple=True, metavar="FEED", help="Only of this feed; repeatable."
)
_tag_option = click.option("--tag", metavar="TAG", help="Only of feeds with this tag.")


@click.group("screen-live")
def screen_live() -> None:
    """Hold new entries of some feeds back until somebody has confirmed them."""


@screen_live.command("add")
@click.option("--feed", "name", metavar="FEED", help="For this feed.")
@click.option("--tag", metavar="TAG", help="For every feed with this tag.")
@click.option(
    "--keep-at",
    type=click.FloatRange(0, 1),
    metavar="SCORE",
    help="Let through what is suggested as keep and scores so much; else everything waits.",
)
@click.option(
    "--method",
    type=click.Choice(("lexical", "embedding", "hybrid")),
    default="hybrid",
    show_default=True,
    help="How to score.",
)
@click.option(
    "--topics",
    "topic_file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Topics of your own, in addition to the bundled ones.",
)
@click.option("--topic", "topic_names", multiple=True, metavar="NAME", help="Only this topic.")
@json_option
@click.pass_context
def add_screen_command(
    ctx: click.Context,
    name: str | None,
    tag: str | None,
    keep_at: float | None,
    method: StandingMethod,
    topic_file: Path | None,
    topic_names: tuple[str, ...],
    *,
    as_json: bool,
) -> None:
    """Let new entries of a feed, or of every feed with a tag, wait for somebody's word.

    \b
    Examples:
      feedmill screen-live add --tag news
      feedmill screen-live add --feed https://example.com/feed --keep-at 0.8 --topic lca
    """
    if (name is None) == (tag is None):
        message = "give either --feed or --tag"
        raise click.UsageError(message)

    async def story(services: Services) -> StandingScreen:
        feed = None if name is None else await resolve_feed(name, services)
        screen = StandingScreen(
            id=services.clock.new_id(),
            created_at=services.clock.now(),
            feed_id=None if feed is None else feed.id,
            tag=tag,
            keep_at=keep_at,
            method=method,
            topics=None if keep_at is None else _topics(topic_file, topic_names),
        )
        await services.store.add_screen(screen)
        return screen

    screen = with_services(ctx, story, as_json=as_json)
    if as_json:
        show_json(_screen_shape(screen))
    else:
        click.echo(f"added {screen.id}: new entries of {_whose(screen)} {_rule(screen)}")


@screen_live.command("list")
@json_option
@click.pass_context
def list_screens_command(ctx: click.Context, *, as_json: bool) -> None:
    """List standing screens."""

    async def story(services: Services) -> tuple[StandingScreen, ...]:
        return await services.store.screens()

    screens = with_services(ctx, story, as_json=as_json)
    if as_json:
        show_json({"items": [_screen_shape(one) for one in screens], "next": None})
    else:
        show_table(("id", "of", "rule"), [(one.id, _whose(one), _rule(one)) for one in screens])


@screen_live.command("remove")
@click.argument("screen_id", metavar="ID")
@json_option
@click.pass_context
def remove_screen_command(ctx: click.Context, screen_id: str, *, as_json: bool) -> None:
    """End a standing screen; what it holds goes on waiting."""

    async def story(services: Services) -> str:
        fitting = [one.id for one in await services.store.screens() if one.id.startswith(screen_id)]
        if len(fitting) > 1:
            message = f"{screen_id!r} fits {len(fitting)} screens; use more of the id"
            raise UsageError(message)
        if not fitting or not await services.store.remove_screen(fitting[0]):
            message = f"there is no standing screen {screen_id!r}"
            raise NotFoundError(message, "`feedmill screen-live list` shows all of them")
        return fitting[0]

    removed = with_services(ctx, story, as_json=as_json)
    show_json({"removed": removed}) if as_json else click.echo(f"removed {removed}")


@click.group()
def held() -> None:
    """Look at what standing screens hold, export it for review, or drop it."""


@held.command("list")
@_feed_option
@_tag_option
@json_option
@click.pass_context
def list_held_command(
    ctx: click.Context, names: tuple[str, ...], tag: str | None, *, as_json: bool
) -> None:
    """List what waits, the oldest first."""

    async def story(services: Services) -> list[HeldEntry]:
        return await held_entries(services.store, feeds=await _chosen(names, tag, services))

    found = with_services(ctx, story, as_json=as_json)
    if as_json:
        show_json({"items": [_held_shape(one) for one in found], "next": None})
        return
    rows = [(f"{one.held_at:%Y-%m-%d %H:%M}", one.title or "-", one.entry_uid) for one in found]
    if not rows:
        click.echo("nothing waits for a word")
        return
    show_table(("since", "title", "entry"), rows)


@held.command("export")
@_feed_option
@_tag_option
@click.option(
    "--out",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("held.json"),
    show_default=True,
    help="Where the candidates are written.",
)
@json_option
@click.pass_context
def export_held_command(
    ctx: click.Context, names: tuple[str, ...], tag: str | None, out: Path, *, as_json: bool
) -> None:
    """Write what waits as a candidate file, for review and insert-selected."""

    async def story(services: Services) -> HeldWindow:
        window = await held_window(services, feeds=await _chosen(names, tag, services))
        write_candidates(out, window.file)
        for stale in (screening_path(out), selection_path(out)):
            stale.unlink(missing_ok=True)
        if window.screenings:
            write_screenings(out, window.file, window.screenings, at=services.clock.now())
        return window

    window = with_services(ctx, story, as_json=as_json)
    count = len(window.file.candidates)
    if as_json:
        show_json({"out": str(out), "candidates": count, "screened": len(window.screenings)})
    else:
        click.echo(f"{count} candidates written to {out}")
        click.echo(f"next: feedmill review {out}")


@held.command("drop")
@click.argument("entries", nargs=-1, metavar="[ENTRY]...")
@_feed_option
@_tag_option
@click.option("--all", "everything", is_flag=True, help="All that waits.")
@json_option
@click.pass_context
def drop_held_command(
    ctx: click.Context,
    entries: tuple[str, ...],
    names: tuple[str, ...],
    tag: str | None,
    *,
    everything: bool,
    as_json: bool,
) -> None:
    """Want entries no longer: they never wait again, and polling goes on leaving them out."""
    if not (entries or names or tag or everything):
        message = "name entries or feeds, or give --all"
        raise click.UsageError(message)

    async def story(services: Services) -> int:
        if entries:
            return await services.store.drop_held(entries)
        waiting = await held_entries(services.store, feeds=await _chosen(names, tag, services))
        return await services.store.drop_held([one.entry_uid for one in waiting])

    dropped = with_services(ctx, story, as_json=as_json)
    show_json({"dropped": dropped}) if as_json else click.echo(f"{dropped} dropped")


async def _chosen(names: tuple[str, ...], tag: str | None, services: Services) -> list[Feed] | None:
    """The feeds that were asked for; None: all of them."""
    if not names and tag is None:
        return None
    tagged = [] if tag is None else await all_feeds(services, tag)
    return [*await resolve_feeds(names, services), *tagged]


def _topics(path: Path | None, names: tuple[str, ...]) -> TopicSet:
    topics = default_topics()
    if path is not None:
        topics = merge_topics(topics, read_topics(path.read_text("utf-8")))
    return choose_topics(topics, names)


def _whose(screen: StandingScreen) -> str:
    return f"tag {screen.tag}" if screen.feed_id is None else f"feed {screen.feed_id}"


def _rule(screen: StandingScreen) -> str:
    if screen.keep_at is None or screen.topics is None:
        return "wait"
    topics = ", ".join(topic.id for topic in screen.topics.topics)
    return f"pass from {screen.keep_at:g} ({screen.method}: {shorten(topics, 80)}), others wait"


def _screen_shape(screen: StandingScreen) -> dict[str, Any]:
    topics = None if screen.topics is None else [topic.id for topic in screen.topics.topics]
    return {
        "id": screen.id,
        "created_at": screen.created_at,
        "feed_id": screen.feed_id,
        "tag": screen.tag,
        "keep_at": screen.keep_at,
        "method": screen.method,
        "topics": topics,
    }


def _held_shape(one: HeldEntry) -> dict[str, Any]:
    said = one.screening
    return {
        "entry_uid": one.entry_uid,
        "feed_id": one.feed_id,
        "title": one.title,
        "held_at": one.held_at,
        "fetch_id": one.fetch_id,
        "suggestion": None if said is None else said.suggestion,
        "topic": None if said is None else said.topic,
        "score": None if said is None else said.score,
    }
