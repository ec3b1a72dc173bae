"""`feedmill explain`: explain when and why a feed is polled."""
# Tested in tests/integration/interfaces/cli/

from typing import Any

import click

from feedmill.engine.run.services import Services
from feedmill.engine.service.feed_lookup import resolve_feed
from feedmill.engine.service.feeds.push import effects_in_words
from feedmill.engine.service.queries import explain_schedule
from feedmill.interfaces.cli.exit import is_json
from feedmill.interfaces.cli.options import json_option
from feedmill.interfaces.cli.output import shorten, show_json, show_text, style_text
from feedmill.interfaces.cli.run_command import config_of, with_services
from feedmill.model.addresses import mask_address
from feedmill.model.feed import Feed
from feedmill.publish.move_shapes import candidate_in_words, candidate_shape
from feedmill.publish.to_json import decision_wire


@click.command()
@click.argument("feed")
@click.option(
    "--history",
    type=click.IntRange(1, 100),
    default=1,
    show_default=True,
    metavar="N",
    help="Decisions to explain.",
)
@json_option
def explain(feed: str, history: int) -> None:
    """Explain the schedule of a feed: the last result, the rules applied and the next poll."""

    config = config_of()

    async def action(
        services: Services,
    ) -> tuple[Feed, list[tuple[dict[str, Any], tuple[str, ...]]], tuple[str, ...]]:
        found = await resolve_feed(feed, services)
        told = await explain_schedule(found, services, limit=history)
        shown = [(decision_wire(one, words), words) for one, words in told]
        return found, shown, await effects_in_words(found, services)

    found, decisions, effects = with_services(action, config=config)
    title, candidate = found.title or mask_address(found.url), found.move
    if is_json():
        move = None if candidate is None else candidate_shape(candidate, config.moves)
        show_json(
            {
                "items": [shape for shape, _ in decisions],
                "next": None,
                "move": move,
                "effects": list(effects),
            }
        )
        return
    if not decisions:
        click.echo(f"{title}: not polled yet")
    for shape, words in decisions:
        click.echo(style_text(f"{title}, decided {shape['decided_at']}", bold=True))
        for sentence in words:
            show_text(sentence)
    for sentence in () if candidate is None else candidate_in_words(candidate, config.moves):
        show_text(shorten(sentence, 4_000))
    said = " ".join(decisions[0][1]) if decisions else ""
    for sentence in effects:
        if sentence.partition(", so ")[0] not in said:
            show_text(sentence)
