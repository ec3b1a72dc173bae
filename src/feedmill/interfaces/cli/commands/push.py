"""`feedmill push`: hubs and what they delivered; subscribe a feed again."""
# Tested in tests/integration/interfaces/cli/commands/test_push.py

import click

from feedmill.engine.run.services import Services
from feedmill.engine.service import push as engine
from feedmill.engine.service.feed_lookup import resolve_feed
from feedmill.interfaces.cli.options import context_and_json
from feedmill.interfaces.cli.output import show_json, show_result
from feedmill.interfaces.cli.run_command import with_services
from feedmill.publish.shapes import FeedPush, HubPage


@click.group(invoke_without_command=True)
@context_and_json
def push(ctx: click.Context, *, as_json: bool) -> None:
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

    page, is_on = with_services(ctx, action, as_json=as_json)
    if as_json:
        show_json(page)
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
@context_and_json
def show_push_command(ctx: click.Context, feed: str, *, as_json: bool) -> None:
    """Show the subscriptions of one feed."""

    async def action(services: Services) -> FeedPush:
        return await engine.feed_push(await resolve_feed(feed, services), services)

    _show(with_services(ctx, action, as_json=as_json), as_json=as_json)


@push.command("subscribe")
@click.argument("feed")
@context_and_json
def subscribe_push_command(ctx: click.Context, feed: str, *, as_json: bool) -> None:
    """Ask the hub of a feed again now; a running `feedmill run` sends the request."""

    async def action(services: Services) -> FeedPush:
        return await engine.resubscribe(await resolve_feed(feed, services), services)

    _show(with_services(ctx, action, as_json=as_json), as_json=as_json)


def _show(found: FeedPush, *, as_json: bool) -> None:
    lines = [found.words]
    lines += [
        f"  {one.hub}: {one.state}, topic {one.topic}"
        + (f", until {one.lease_until:%Y-%m-%d %H:%M} UTC" if one.lease_until else "")
        + (f" ({one.last_error})" if one.last_error else "")
        for one in found.subscriptions
    ]
    show_result(found, "\n".join(lines), as_json=as_json)
