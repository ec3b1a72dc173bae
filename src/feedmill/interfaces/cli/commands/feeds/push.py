"""`feedmill push`: hubs and what they delivered; subscribe a feed again."""
# Tested in tests/integration/interfaces/cli/commands/feeds/test_push.py

import click

from feedmill.engine.run.services import Services
from feedmill.engine.service.feed_lookup import resolve_feed
from feedmill.engine.service.feeds import push as engine
from feedmill.interfaces.cli.exit import is_json
from feedmill.interfaces.cli.options import json_option, list_options
from feedmill.interfaces.cli.output import show_list, show_result
from feedmill.interfaces.cli.run_command import with_services
from feedmill.publish.shapes import FeedPush, HubPage


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

    async def action(services: Services) -> tuple[HubPage, bool]:
        return await engine.list_hubs(services), services.config.push.public_url is not None

    page, is_on = with_services(action)
    if is_json():
        show_list(page.items, (), (), whole=page)
        return
    if not is_on:
        click.echo(
            "push is off: set FEEDMILL_PUSH_PUBLIC_URL to where hubs reach the push listener"
        )
    for one in page.items:
        click.echo(one.words)
    if is_on and not page.items:
        click.echo("no hub was asked yet")


@push.command("show")
@click.argument("feed")
@json_option
def show_push_command(feed: str) -> None:
    """Show the subscriptions of one feed."""

    async def action(services: Services) -> FeedPush:
        return await engine.feed_push(await resolve_feed(feed, services), services)

    _show(with_services(action))


@push.command("subscribe")
@click.argument("feed")
@json_option
def subscribe_push_command(feed: str) -> None:
    """Ask the hub of a feed again now. A running `feedmill run` sends the request."""

    async def action(services: Services) -> FeedPush:
        return await engine.resubscribe(await resolve_feed(feed, services), services)

    _show(with_services(action))


def _show(found: FeedPush) -> None:
    lines = [found.words]
    lines += [
        f"  {one.hub}: {one.state}, topic {one.topic}"
        + (f", until {one.lease_until:%Y-%m-%d %H:%M} UTC" if one.lease_until else "")
        + (f" ({one.last_error})" if one.last_error else "")
        for one in found.subscriptions
    ]
    show_result(found, "\n".join(lines))
