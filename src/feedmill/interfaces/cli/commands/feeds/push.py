"""`feedmill push`: hubs and what they delivered; subscribe a feed again."""
# Tested in tests/integration/interfaces/cli/commands/feeds/test_push.py

from functools import partial

import click

from feedmill.engine.run.services import Services
from feedmill.engine.service import hosts as engine
from feedmill.engine.service.feed_lookup import resolve_feed
from feedmill.interfaces.cli.command import Answer, Printer, answer_with, command
from feedmill.interfaces.cli.options import list_options
from feedmill.interfaces.cli.output import show_list
from feedmill.publish.shapes import FeedPush

_OFF = "push is off: set FEEDMILL_PUSH_PUBLIC_URL to where hubs reach the push listener"


@click.group(invoke_without_command=True)
@list_options()
@click.pass_context
def push(ctx: click.Context) -> None:
    """Show every hub in words: what it pushed, and what polls found first.

    Push is on when FEEDMILL_PUSH_PUBLIC_URL is set; feeds that announce a hub are then subscribed.

    \b
    Examples:
      feedmill push
      feedmill push show https://example.com/feed
      feedmill push subscribe https://example.com/feed    # ask its hub again now
    """
    if ctx.invoked_subcommand is not None:
        return

    async def action(services: Services) -> Printer:
        page = await engine.list_hubs(services)
        is_on = services.config.push.public_url is not None
        words = [one.words for one in page.items] or ["no hub was asked yet"] * is_on
        if not is_on:
            words.insert(0, _OFF)
        return partial(
            show_list, page.items, (), (), whole=page, show=lambda: click.echo("\n".join(words))
        )

    answer_with(action)


@command("show", of=push)
@click.argument("feed")
async def show_push_command(services: Services, feed: str) -> Answer:
    """Show the subscriptions of one feed."""
    return _answer(await engine.feed_push(await resolve_feed(feed, services), services))


@command("subscribe", of=push)
@click.argument("feed")
async def subscribe_push_command(services: Services, feed: str) -> Answer:
    """Ask the hub of a feed again now. A running `feedmill run` sends the request."""
    return _answer(await engine.resubscribe(await resolve_feed(feed, services), services))


def _answer(found: FeedPush) -> Answer:
    lines = [found.words]
    lines += [
        f"  {one.hub}: {one.state}, topic {one.topic}"
        + (f", until {one.lease_until:%Y-%m-%d %H:%M} UTC" if one.lease_until else "")
        + (f" ({one.last_error})" if one.last_error else "")
        for one in found.subscriptions
    ]
    return Answer(found, "\n".join(lines))
