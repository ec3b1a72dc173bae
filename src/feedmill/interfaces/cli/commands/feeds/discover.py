"""`feedmill discover`: list the feeds that an address leads to, without subscribing."""

import click

from feedmill.engine.run.services import Services
from feedmill.engine.service import subscriptions
from feedmill.interfaces.cli.command import Answer, command
from feedmill.interfaces.cli.commands.feeds.add import show_choices
from feedmill.interfaces.cli.options import flag, option
from feedmill.interfaces.cli.output import format_count, show_table, style_text
from feedmill.model.canonical import Discovered
from feedmill.publish.shapes import DiscoverWish


@command()
@click.argument("url")
@option(
    "--budget N",
    "Maximum number of requests of the search [as the settings say: 12].",
    least=0,
    most=100,
)
@flag("--tried", "Show every address that was and was not tried.")
async def discover(services: Services, url: str, *, budget: int | None, tried: bool) -> Answer:
    """List the feeds that URL leads to; nothing is stored or subscribed.

    URL may be a page, a feed, an OPML list or a handle. Exits with 1 when no feed is found.

    \b
    Examples:
      feedmill discover https://example.com
      feedmill discover @ada@social.example --json
      feedmill discover https://example.com/blog --budget 30 --tried
    """
    found = await subscriptions.discover(DiscoverWish(url=url, budget=budget), services)
    return Answer(found, lambda: _show(found, tried=tried), status=0 if found.feeds else 1)


def _show(found: Discovered, *, tried: bool) -> None:
    if found.feeds:
        show_choices(found.feeds)
    for feed in found.feeds:
        if feed.alternatives:
            click.echo(f"{feed.url} is {feed.format}, chosen for {feed.chosen_for}; also there as:")
            click.echo("".join(f"  {url}\n" for url in feed.alternatives), nl=False)
    if tried:
        rows = [(one.url, str(one.status or "-"), one.verdict) for one in found.tried]
        rows += [(url, "-", "not tried") for url in found.untried]
        show_table(("address", "status", "result"), rows)
    cost = format_count(found.requests, "request")
    click.echo(style_text(f"{found.words}; {cost} in all", bold=not found.feeds))
    if found.untried and not found.feeds:
        click.echo(f"  {len(found.untried)} addresses were not tried; see them: --tried")
