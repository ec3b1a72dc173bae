"""`feedmill move`: show, change or undo the address of a feed."""

import click
import msgspec
from msgspec.structs import replace

from feedmill.engine.moves.follow import MERGE_IS_FINAL, MoveResult, move_feed, undo_move
from feedmill.engine.run.services import Services
from feedmill.engine.service.feed_lookup import resolve_feed
from feedmill.interfaces.cli.command import Answer, OpenServices, command
from feedmill.interfaces.cli.exit import exit_with_error
from feedmill.interfaces.cli.options import flag, usage_error
from feedmill.interfaces.cli.output import shorten, style_text
from feedmill.model.addresses import mask_address
from feedmill.model.feed import Feed, Move
from feedmill.publish import move_shapes

_WIDTH = 4_000  # characters of a line; an address may be long


@command()
@click.argument("feed")
@click.argument("url", required=False)
@flag("--force", "Move without verifying that it is the same feed.")
@flag("--undo", "Go back to the previous address permanently.")
async def move(
    open_services: OpenServices, feed: str, url: str | None, *, force: bool, undo: bool
) -> Answer:
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
        usage_error("give a URL, or --undo, or neither; --force needs a URL")
    services = await open_services()
    found = await resolve_feed(feed, services)
    if url is None and not undo:
        return await _shown(found, services)
    if url is None:
        return _moved(found, await undo_move(found, services), "back at")
    return _moved(found, await move_feed(found, url, services, force=force), "moved to")


async def _shown(feed: Feed, services: Services) -> Answer:
    history = await services.store.moves(feed.id)
    config, candidate = services.config.moves, feed.move
    shape = {
        "feed_id": feed.id,
        "url": mask_address(feed.url),
        "candidate": None if candidate is None else move_shapes.candidate_shape(candidate, config),
        "moves": [_masked(one) for one in history],
    }
    words = () if candidate is None else move_shapes.candidate_in_words(candidate, config)
    lines = [
        f"  {_line(sentence)}" for sentence in (*words, *map(move_shapes.move_in_words, history))
    ]
    first = _line(style_text(f"The address is {mask_address(feed.url)}.", bold=True))
    return Answer(shape, "\n".join([first, *lines]))


def _moved(feed: Feed, followed: MoveResult, where: str) -> Answer:
    if followed.outcome in ("held", "put-off"):
        _refuse(followed)
    url = mask_address(followed.url)
    words = f"{where} {url}"
    if followed.outcome == "merged":
        words = f"merged into {followed.into} at {url}; {MERGE_IS_FINAL}"
    move = None if followed.move is None else _masked(followed.move)
    shown = replace(followed, url=url, move=move)
    shape = {"feed_id": followed.into or feed.id, **msgspec.to_builtins(shown)}
    return Answer(shape, _line(words))


def _refuse(followed: MoveResult) -> None:
    resting = followed.outcome == "put-off"
    why = "the host asked for a pause" if resting else move_shapes.refusal_in_words(followed.reason)
    hints = {
        "host-resting": "try again later",
        "not-the-same-feed": "to move anyway, pass --force",
        "has-credentials": "add the new address as a new feed, with its credentials",
        "taken": "remove one of the two feeds first",
    }
    hint = hints.get(followed.reason, "")
    exit_with_error(followed.reason, f"{mask_address(followed.url)} was not adopted: {why}", hint)


def _masked(move: Move) -> Move:
    return replace(move, from_url=mask_address(move.from_url), to_url=mask_address(move.to_url))


def _line(sentence: str) -> str:
    return shorten(sentence, _WIDTH)
