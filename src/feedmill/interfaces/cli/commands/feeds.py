"""Subscriptions: add, list, show, remove, pause, resume."""

import shutil
import sys
from datetime import timedelta
from typing import Any

import click
from msgspec.structs import replace

from feedmill.engine.run.services import Services
from feedmill.engine.subscribe.add_feed import Subscribed, validate_address
from feedmill.errors import AddressError
from feedmill.interfaces.cli.commands.feeds_add import (
    AddAnswer,
    AddOptions,
    answer_shape,
    print_answers,
    subscribe_all,
)
from feedmill.interfaces.cli.exit import exit_with_error
from feedmill.interfaces.cli.output import (
    format_count,
    format_duration,
    json_option,
    shorten,
    show_facts,
    show_json,
    show_table,
)
from feedmill.interfaces.cli.run_command import (
    config_of,
    resolve_feed,
    resolve_feeds,
    with_services,
)
from feedmill.model.feed import Feed, FeedOverrides
from feedmill.publish.events import event_of_removed_feed
from feedmill.publish.to_json import feed_wire

_SECONDS = click.IntRange(min=1)
_WIDE = 110  # columns from which on a list has room for titles and addresses


@click.command()
@click.argument("urls", nargs=-1, required=True, metavar="URL...")
@click.option(
    "--tag", "tags", multiple=True, metavar="TAG", help="File it under a tag; repeatable."
)
@click.option("--title", metavar="TEXT", help="A title until the feed says its own.")
@click.option("--min-interval", type=_SECONDS, metavar="SEC", help="Never poll more often.")
@click.option("--max-interval", type=_SECONDS, metavar="SEC", help="Poll at least this often.")
@click.option("--header", "headers", multiple=True, metavar="NAME:VALUE", help="Send this header.")
@click.option("--user-agent", metavar="TEXT", help="Another User-Agent for this feed.")
@click.option("--username", metavar="NAME", help="Basic credentials; the password is asked for.")
@click.option("--proxy", metavar="URL", help="Fetch through this proxy.")
@click.option("--insecure", is_flag=True, help="Do not verify TLS; shown in every listing.")
@click.option(
    "--choose",
    metavar="N|URL|best",
    help="Which feed of a page with several; asked on a terminal otherwise.",
)
@click.option("--as-is", is_flag=True, help="Subscribe to the address as it is; ask nobody.")
@json_option
@click.pass_context
def add(
    ctx: click.Context,
    /,
    urls: tuple[str, ...],
    tags: tuple[str, ...],
    title: str | None,
    choose: str | None,
    *,
    as_is: bool,
    as_json: bool,
    **own: Any,  # noqa: ANN401
) -> None:
    """Subscribe to the feeds that addresses lead to: of a feed, a page, a channel, a repository.

    The feed is fetched and gets its best address; a page is searched for its feeds. An address
    under which a feed is known already costs no request.

    \b
    Examples:
      feedmill add https://example.com --tag news
      feedmill add feed://example.com/rss --min-interval 3600
      feedmill add https://example.com/blog --choose best
    """
    config = config_of(ctx, as_json=as_json)
    _refuse_bad(urls, config.fetch.allow_cidrs, as_json=as_json)
    wishes = AddOptions(title=title, tags=tags, overrides=_overrides(own), choose=choose)

    async def story(services: Services) -> list[AddAnswer]:
        return await subscribe_all(urls, wishes, services, as_is=as_is, asks=not as_json)

    answers = with_services(ctx, story, as_json=as_json, config=config)
    shapes = [answer_shape(answer, config.schedule) for answer in answers]
    if as_json:
        show_json(shapes[0] if len(shapes) == 1 else {"items": shapes, "next": None})
    else:
        print_answers(answers)
    sys.exit(0 if all(isinstance(answer, Subscribed) for answer in answers) else 1)


@click.command("list")
@click.option("--tag", metavar="TAG", help="Only feeds with this tag.")
@click.option(
    "--limit",
    type=click.IntRange(1, 1000),
    default=100,
    show_default=True,
    help="At most this many.",
)
@click.option("--after", metavar="CURSOR", help="Go on after the last page.")
@json_option
@click.pass_context
def list_feeds_command(
    ctx: click.Context, tag: str | None, limit: int, after: str | None, *, as_json: bool
) -> None:
    """List subscriptions with their state and next poll."""

    async def story(services: Services) -> tuple[list[Feed], str | None]:
        page = await services.store.feeds(tag=tag, after=after, limit=limit)
        return list(page.items), page.next

    config = config_of(ctx, as_json=as_json)
    feeds, following = with_services(ctx, story, as_json=as_json, config=config)
    if as_json:
        items = [feed_wire(f, config.schedule, config.moves) for f in feeds]
        show_json({"items": items, "next": following})
        return
    if not feeds:
        click.echo("no feeds yet; try: feedmill add https://example.com/feed")
        return
    show_table(*_fitting([_row(feed) for feed in feeds]))
    if following is not None:
        click.echo(f"more with --after {following}")


@click.command()
@click.argument("feed")
@json_option
@click.pass_context
def show(ctx: click.Context, feed: str, *, as_json: bool) -> None:
    """Show everything known about one feed (FEED is an id, its start, an address or a title)."""

    async def story(services: Services) -> dict[str, Any]:
        found = await resolve_feed(feed, services)
        aliases = await services.store.aliases(found.id)
        shape = feed_wire(found, services.config.schedule, services.config.moves)
        return {**shape, "aliases": list(aliases)}

    result = with_services(ctx, story, as_json=as_json)
    if as_json:
        show_json(result)
        return
    show_facts(result)


@click.command()
@click.argument("feeds", nargs=-1, required=True, metavar="FEED...")
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
@click.pass_context
def remove(ctx: click.Context, feeds: tuple[str, ...], *, yes: bool, as_json: bool) -> None:
    """Give up subscriptions; their entries go with them, their raw bytes by retention."""
    if not (yes or as_json or sys.stdin.isatty()):
        exit_with_error(
            "usage", "nobody is here to be asked", "give --yes", as_json=as_json, status=2
        )

    async def story(services: Services) -> list[str]:
        chosen = await resolve_feeds(feeds, services)
        if not (yes or as_json) and not _agreed(chosen):
            return []
        for feed in chosen:
            event = event_of_removed_feed(feed, now=services.clock.now())
            await services.store.remove_feed(feed.id, (event,))
        return [feed.id for feed in chosen]

    gone = with_services(ctx, story, as_json=as_json)
    if as_json:
        show_json({"items": gone, "next": None})
    else:
        click.echo(f"removed {len(gone)}")


@click.command()
@click.argument("feeds", nargs=-1, required=True, metavar="FEED...")
@json_option
@click.pass_context
def pause(ctx: click.Context, feeds: tuple[str, ...], *, as_json: bool) -> None:
    """Stop polling feeds until they are resumed."""
    _set_paused(ctx, feeds, paused=True, as_json=as_json)


@click.command()
@click.argument("feeds", nargs=-1, required=True, metavar="FEED...")
@json_option
@click.pass_context
def resume(ctx: click.Context, feeds: tuple[str, ...], *, as_json: bool) -> None:
    """Poll paused feeds again, starting now."""
    _set_paused(ctx, feeds, paused=False, as_json=as_json)


def _set_paused(ctx: click.Context, feeds: tuple[str, ...], *, paused: bool, as_json: bool) -> None:
    async def story(services: Services) -> list[dict[str, Any]]:
        changed = []
        for found in await resolve_feeds(feeds, services):
            feed = replace(found, paused=paused)
            await services.store.change_feed(feed)
            if not paused:
                await services.store.make_due([feed.id], services.clock.now())
            changed.append(feed_wire(feed, services.config.schedule))
        return changed

    changed = with_services(ctx, story, as_json=as_json)
    if as_json:
        show_json({"items": changed, "next": None})
    else:
        click.echo(f"{'paused' if paused else 'resumed'} {len(changed)}")


def _refuse_bad(urls: tuple[str, ...], allow_cidrs: tuple[str, ...], *, as_json: bool) -> None:
    """Leave when an address cannot be subscribed to, with all that are wrong; nothing is added."""
    problems: list[AddressError] = []
    for url in urls:
        try:
            validate_address(url, allow_cidrs)
        except AddressError as problem:
            problems.append(problem)
    if not problems:
        return
    words = [str(problem) for problem in problems]
    if len(urls) > len(problems):
        words.append("nothing was added")
    hints = dict.fromkeys(problem.hint for problem in problems)
    hint = "\n  ".join(hint for hint in hints if hint)
    message = ("; " if as_json else "\nfeedmill: ").join(words)
    exit_with_error(problems[0].reason, message, hint, as_json=as_json, status=2)


def _agreed(feeds: list[Feed]) -> bool:
    for feed in feeds:
        click.echo(f"  {shorten(feed.title or '-', 200)}  {feed.url}")
    return click.confirm(f"remove {format_count(len(feeds), 'feed')} with all entries?")


def _overrides(own: dict[str, Any]) -> FeedOverrides:
    shortest, longest = own["min_interval"], own["max_interval"]
    if shortest and longest and shortest > longest:
        message = f"{shortest} s is above --max-interval {longest}"
        raise click.BadParameter(message, param_hint="--min-interval")
    headers = []
    for line in own["headers"]:
        name, colon, value = line.partition(":")
        if not colon or not name.strip():
            message = f"{line!r} is not NAME:VALUE"
            raise click.BadParameter(message, param_hint="--header")
        headers.append((name.strip(), value.strip()))
    password = click.prompt("Password", hide_input=True) if own["username"] else None
    return FeedOverrides(
        min_interval_sec=shortest,
        max_interval_sec=longest,
        headers=tuple(headers),
        user_agent=own["user_agent"],
        username=own["username"],
        password=password,
        proxy=own["proxy"],
        verify_tls=not own["insecure"],
    )


def _fitting(rows: list[tuple[str, ...]]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """The head and the rows of a list; where both do not fit, a feed has a title or an address."""
    head = ("id", "state", "every", "last", "next poll", "title", "url")
    if not sys.stdout.isatty() or shutil.get_terminal_size().columns >= _WIDE:
        return head, rows
    short = [(*row[:-2], row[-1] if row[-2] == "-" else row[-2]) for row in rows]
    return (*head[:-2], "feed"), short


def _row(feed: Feed) -> tuple[str, ...]:
    state: str = "paused" if feed.paused else feed.schedule.health
    if not feed.overrides.verify_tls:
        state += " (TLS unverified)"
    return (
        feed.id[:18],
        state,
        format_duration(timedelta(seconds=feed.schedule.interval_sec)),
        feed.last_result or "-",
        f"{feed.next_poll_at:%Y-%m-%d %H:%M}",
        feed.title or "-",
        feed.url,
    )
