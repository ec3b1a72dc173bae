"""`feedmill explain`: explain when and why a feed is polled."""
# Tested in tests/integration/interfaces/cli/

import click

from feedmill.engine.run.services import Services
from feedmill.engine.service.feed_health import describe_health
from feedmill.engine.service.feed_lookup import resolve_feed
from feedmill.engine.service.hosts import effects_in_words
from feedmill.engine.service.queries import explain_schedule
from feedmill.interfaces.cli.command import Answer, command
from feedmill.interfaces.cli.options import option
from feedmill.interfaces.cli.output import shorten, show_text, style_text
from feedmill.model.addresses import mask_address
from feedmill.publish.move_shapes import candidate_in_words, candidate_shape
from feedmill.publish.to_json import decision_wire


@command()
@click.argument("feed")
@option("--history N", "Decisions to explain.", least=1, most=100, default=1)
async def explain(services: Services, feed: str, history: int) -> Answer:
    """Explain the schedule of a feed: the last result, the rules applied and the next poll."""
    found, config = await resolve_feed(feed, services), services.config.moves
    told = await explain_schedule(found, services, limit=history)
    decisions = [(decision_wire(one, words), words) for one, words in told]
    effects = await effects_in_words(found, services)
    health = None if told else await describe_health(found, services)
    shape = {
        "items": [shape for shape, _ in decisions],
        "next": None,
        "move": None if found.move is None else candidate_shape(found.move, config),
        "effects": list(effects),
    }

    def show() -> None:
        title = found.title or mask_address(found.url)
        if health is not None:
            click.echo(f"{title}: not polled yet")
            for sentence in health.words[health.kind == "not-polled" :]:
                show_text(sentence)
        for one, words in decisions:
            click.echo(style_text(f"{title}, decided {one['decided_at']}", bold=True))
            for sentence in words:
                show_text(sentence)
        for sentence in () if found.move is None else candidate_in_words(found.move, config):
            show_text(shorten(sentence, 4_000))
        said = " ".join(health.words if health else decisions[0][1])
        for sentence in effects:
            if sentence.partition(", so ")[0] not in said:
                show_text(sentence)

    return Answer(shape, show)
