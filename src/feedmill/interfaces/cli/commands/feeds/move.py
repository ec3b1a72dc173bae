"""`feedmill move`: show, change or undo the address of a feed."""

from typing import Any

import click
import msgspec

from feedmill.engine.moves.follow import MERGE_IS_FINAL, MoveResult, move_feed, undo_move
from feedmill.engine.run.services import Services
from feedmill.engine.service.feed_lookup import resolve_feed
from feedmill.interfaces.cli.exit import exit_with_error, is_json
from feedmill.interfaces.cli.options import json_option
from feedmill.interfaces.cli.output import shorten, show_json, style_text
from feedmill.interfaces.cli.run_command import with_services
from feedmill.model.feed import Feed
from feedmill.publish.move_shapes import (
    candidate_in_words,
    candidate_shape,
    move_in_words,
    refusal_in_words,
)

_WIDTH = 4_000  # characters of a line; an address may be long


@click.command()
@click.argument("feed")
@click.argument("url", required=False)
@click.option("--force", is_flag=True, help="Move without verifying that it is the same feed.")
@click.option("--undo", is_flag=True, help="Go back to the previous address permanently.")
@json_option
def move(feed: str, url: str | None, *, force: bool, undo: bool) -> None:
    """Show the address of a feed and a possible new one; with URL, move the feed there.

    The new address must serve the same feed, unless --force is given. The old one stays an alias,
    and --undo goes back to it; the abandoned address is then never adopted automatically again.

    \b
    Examples:
      feedmill move paper
      feedmill move paper https://paper.example/feed.xml
      feedmill move paper --undo
    """
    if (url is not None and undo) or (force and url is None):
        message = "give a URL, or --undo, or neither; --force needs a URL"
        raise click.UsageError(message)
    if url is None and not undo:
        _show(feed)
        return

    async def action(services: Services) -> tuple[Feed, MoveResult]:
        found = await resolve_feed(feed, services)
        if url is None:
            return found, await undo_move(found, services)
        return found, await move_feed(found, url, services, force=force)

    found, followed = with_services(action)
    if followed.outcome in ("held", "put-off"):
        _refuse(followed)
    if is_json():
        show_json({"feed_id": followed.into or found.id, **msgspec.to_builtins(followed)})
    elif followed.outcome == "merged":
        _say(f"merged into {followed.into} at {followed.url}; {MERGE_IS_FINAL}")
    else:
        _say(f"{'back at' if undo else 'moved to'} {followed.url}")


def _show(feed: str) -> None:
    async def action(services: Services) -> tuple[dict[str, Any], list[str]]:
        found = await resolve_feed(feed, services)
        history = await services.store.moves(found.id)
        config, candidate = services.config.moves, found.move
        shape = {
            "feed_id": found.id,
            "url": found.url,
            "candidate": None if candidate is None else candidate_shape(candidate, config),
            "moves": history,
        }
        words = [f"The address is {found.url}."]
        words += () if candidate is None else candidate_in_words(candidate, config)
        return shape, [*words, *map(move_in_words, history)]

    shape, words = with_services(action)
    if is_json():
        show_json(shape)
        return
    _say(style_text(words[0], bold=True))
    for sentence in words[1:]:
        _say(f"  {sentence}")


def _refuse(followed: MoveResult) -> None:
    resting = followed.outcome == "put-off"
    why = "the host asked for a pause" if resting else refusal_in_words(followed.reason)
    hints = {
        "host-resting": "try again later",
        "not-the-same-feed": "to move anyway, pass --force",
        "has-credentials": "add the new address as a new feed, with its credentials",
        "taken": "remove one of the two feeds first",
    }
    hint = hints.get(followed.reason, "")
    exit_with_error(followed.reason, f"{followed.url} was not adopted: {why}", hint)


def _say(sentence: str) -> None:
    indent = "  " if sentence.startswith("  ") else ""
    click.echo(indent + shorten(sentence, _WIDTH))
