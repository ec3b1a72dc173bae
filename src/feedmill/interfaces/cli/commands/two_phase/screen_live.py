"""`feedmill screen-live`: hold new entries of selected feeds for review."""
# Tested in tests/integration/interfaces/cli/

from functools import partial
from pathlib import Path
from typing import Any

import click

from feedmill.app.screeners import load_topics
from feedmill.engine.run.services import Services
from feedmill.engine.service.feed_lookup import feed_id_of
from feedmill.interfaces.cli.command import Answer, OpenServices, Printer, command
from feedmill.interfaces.cli.options import (
    Number,
    list_options,
    option,
    topic_option,
    topics_option,
    usage_error,
)
from feedmill.interfaces.cli.output import shorten, show_list
from feedmill.interfaces.cli.run_command import pick_one
from feedmill.model.base import fields_of
from feedmill.model.screening import LiveScreen, LiveScreenMethod


@click.group("screen-live")
def screen_live() -> None:
    """Hold new entries of selected feeds for review."""


@command("add", of=screen_live)
@option("--feed FEED", "name", "For this feed.")
@option("--tag TAG", "For every feed with this tag.")
@option(
    "--keep-at SCORE",
    "Pass entries suggested as keep with at least this score; default: hold everything.",
    type=Number(0, 1),
)
@option(
    "--method", "Screening method.", choices=("lexical", "embedding", "hybrid"), default="hybrid"
)
@topics_option
@topic_option
async def add_screen_command(
    open_services: OpenServices,
    name: str | None,
    tag: str | None,
    keep_at: float | None,
    method: LiveScreenMethod,
    topic_file: Path | None,
    topic_names: tuple[str, ...],
) -> Answer:
    """Hold new entries of a feed, or of every feed with a tag, for review.

    \b
    Examples:
      feedmill screen-live add --tag news
      feedmill screen-live add --feed example.com --keep-at 0.8 --topic lca
    """
    if (name is None) == (tag is None):
        usage_error("give either --feed or --tag")
    if keep_at is None and (topic_file is not None or topic_names):
        usage_error("--topic and --topics need --keep-at: without it every new entry is held")
    services = await open_services()
    screen = LiveScreen(
        id=services.clock.new_id(),
        created_at=services.clock.now(),
        feed_id=await feed_id_of(name, services),
        tag=tag,
        keep_at=keep_at,
        method=method,
        topics=None if keep_at is None else load_topics(topic_file, topic_names),
    )
    await services.store.add_screen(screen)
    words = f"added {screen.id}: new entries of {_whose(screen)} {_rule(screen)}"
    return Answer(_screen_shape(screen), words)


@command("list", of=screen_live)
@list_options()
async def list_screens_command(services: Services) -> Printer:
    """List live screens."""
    screens = await services.store.screens()
    rows = [(one.id, _whose(one), _rule(one)) for one in screens]
    items = [_screen_shape(one) for one in screens]
    return partial(show_list, items, ("id", "of", "rule"), rows)


@command("remove", of=screen_live)
@click.argument("screen_id", metavar="ID")
async def remove_screen_command(services: Services, screen_id: str) -> Answer:
    """Remove a live screen; entries it holds stay held."""
    known, hint = await services.store.screens(), "`feedmill screen-live list` lists them"
    picked = pick_one(known, screen_id, "live screen", hint)
    await services.store.remove_screen(picked.id)
    return Answer({"removed": picked.id}, f"removed {picked.id}")


def _whose(screen: LiveScreen) -> str:
    return f"tag {screen.tag}" if screen.feed_id is None else f"feed {screen.feed_id}"


def _rule(screen: LiveScreen) -> str:
    if screen.keep_at is None or screen.topics is None:
        return "are held"
    topics = ", ".join(topic.id for topic in screen.topics.topics)
    return f"pass from {screen.keep_at:g} ({screen.method}: {shorten(topics, 80)}), others are held"


def _screen_shape(screen: LiveScreen) -> dict[str, Any]:
    topics = None if screen.topics is None else [topic.id for topic in screen.topics.topics]
    return fields_of(screen, "id created_at feed_id tag keep_at method", topics=topics)
