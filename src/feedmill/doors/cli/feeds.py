"""Subscriptions: add, import, export, list, show, remove, pause, resume."""

import sys
from pathlib import Path
from typing import Any

import click
from msgspec.structs import replace

from feedmill.doors.cli.lists import Outline, read_list, write_opml
from feedmill.doors.cli.output import fail, paint, progress, show_json, show_table
from feedmill.doors.cli.session import config_of, feed_named, in_world, write_file
from feedmill.engine.subscribe import subscribe
from feedmill.engine.world import World
from feedmill.errors import UsageError
from feedmill.model.feed import Feed, FeedOverrides
from feedmill.publish.events import event_of_removed_feed
from feedmill.publish.wire import feed_wire

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")


@click.command()
@click.argument("urls", nargs=-1, required=True, metavar="URL...")
@click.option(
    "--tag", "tags", multiple=True, metavar="TAG", help="File it under a tag; repeatable."
)
@click.option("--title", metavar="TEXT", help="A title until the feed says its own.")
@click.option("--min-interval", type=int, metavar="SEC", help="Never poll more often.")
@click.option("--max-interval", type=int, metavar="SEC", help="Poll at least this often.")
@click.option("--header", "headers", multiple=True, metavar="NAME:VALUE", help="Send this header.")
@click.option("--user-agent", metavar="TEXT", help="Another User-Agent for this feed.")
@click.option("--username", metavar="NAME", help="Basic credentials; the password is asked for.")
@click.option("--proxy", metavar="URL", help="Fetch through this proxy.")
@click.option("--insecure", is_flag=True, help="Do not verify TLS; shown in every listing.")
@json_option
@click.pass_context
def add(
    ctx: click.Context,
    /,
    urls: tuple[str, ...],
    tags: tuple[str, ...],
    title: str | None,
    *,
    as_json: bool,
    **own: Any,  # noqa: ANN401
) -> None:
    """Subscribe to feeds by their addresses.

    \b
    Examples:
      feedmill add https://example.com/feed.xml --tag news
      feedmill add feed://example.com/rss --min-interval 3600
    """
    overrides = _overrides(own)

    async def story(world: World) -> list[dict[str, Any]]:
        results = []
        for url in urls:
            done = await subscribe(url, world, title=title, tags=tags, overrides=overrides)
            results.append({"created": done.created, **feed_wire(done.feed, world.config.schedule)})
        return results

    results = in_world(ctx, story, as_json=as_json)
    if as_json:
        show_json(results[0] if len(results) == 1 else {"items": results, "next": None})
        return
    for result in results:
        word = "added" if result["created"] else "already here as"
        click.echo(f"{word} {result['id']}  {result['url']}")


@click.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="Tag every imported feed.")
@json_option
@click.pass_context
def import_(ctx: click.Context, file: Path, tags: tuple[str, ...], *, as_json: bool) -> None:
    """Subscribe to every feed of a list: OPML, feeds.json or one address per line.

    Importing the same list again adds nothing; a bad address costs that address only.
    """
    try:
        outlines = read_list(file.read_bytes())
    except ValueError as problem:
        fail(
            "bad-list", f"{file}: {problem}", "give OPML, JSON or lines", as_json=as_json, status=2
        )

    async def story(world: World) -> dict[str, Any]:
        added, known, failed = 0, 0, []
        with progress(len(outlines), "importing", hide=as_json) as step:
            for outline in outlines:
                try:
                    done = await subscribe(
                        outline.url, world, title=outline.title, tags=(*tags, *outline.tags)
                    )
                    added, known = added + done.created, known + (not done.created)
                except UsageError as problem:
                    failed.append({"url": outline.url, "reason": str(problem)})
                step()
        return {"total": len(outlines), "added": added, "existing": known, "failed": failed}

    result = in_world(ctx, story, as_json=as_json)
    if as_json:
        show_json(result)
    else:
        click.echo(
            f"{result['total']} listed: {result['added']} added, {result['existing']} already here"
        )
        for one in result["failed"]:
            click.echo(f"  {paint('not added', fg='red')} {one['url']}: {one['reason']}")
    sys.exit(1 if result["failed"] and not result["added"] and not result["existing"] else 0)


@click.command()
@click.option("--output", "-o", type=click.Path(path_type=Path), help="Write to a file.")
@click.option("--tag", metavar="TAG", help="Only feeds with this tag.")
@json_option
@click.pass_context
def export(ctx: click.Context, output: Path | None, tag: str | None, *, as_json: bool) -> None:
    """Write all subscriptions as OPML 2.0, or as JSON."""

    async def story(world: World) -> list[Feed]:
        return await all_feeds(world, tag)

    feeds = in_world(ctx, story, as_json=as_json)
    outlines = [Outline(url=f.url, title=f.title, site=f.site_url, tags=f.tags) for f in feeds]
    if as_json:
        show_json(
            {
                "items": [{"url": o.url, "title": o.title, "tags": o.tags} for o in outlines],
                "next": None,
            }
        )
        return
    data = write_opml(outlines)
    if output is None:
        click.echo(data)
    else:
        write_file(output, data)
        click.echo(f"{len(outlines)} feeds written to {output}")


@click.command("list")
@click.option("--tag", metavar="TAG", help="Only feeds with this tag.")
@click.option("--limit", default=100, show_default=True, help="At most this many.")
@click.option("--after", metavar="CURSOR", help="Go on after the last page.")
@json_option
@click.pass_context
def list_(
    ctx: click.Context, tag: str | None, limit: int, after: str | None, *, as_json: bool
) -> None:
    """List subscriptions with their state and next poll."""

    async def story(world: World) -> tuple[list[Feed], str | None]:
        page = await world.store.feeds(tag=tag, after=after, limit=min(max(limit, 1), 1000))
        return list(page.items), page.next

    config = config_of(ctx, as_json=as_json)
    feeds, following = in_world(ctx, story, as_json=as_json, config=config)
    if as_json:
        show_json({"items": [feed_wire(f, config.schedule) for f in feeds], "next": following})
        return
    if not feeds:
        click.echo("no feeds yet; try: feedmill add https://example.com/feed")
        return
    show_table(
        ("id", "state", "every", "last", "next poll", "title", "url"),
        [_row(feed) for feed in feeds],
    )
    if following is not None:
        click.echo(f"more with --after {following}")


@click.command()
@click.argument("feed")
@json_option
@click.pass_context
def show(ctx: click.Context, feed: str, *, as_json: bool) -> None:
    """Show everything known about one feed (FEED is an id, its start, or an address)."""

    async def story(world: World) -> dict[str, Any]:
        found = await feed_named(feed, world)
        aliases = await world.store.aliases(found.id)
        return {**feed_wire(found, world.config.schedule), "aliases": list(aliases)}

    result = in_world(ctx, story, as_json=as_json)
    if as_json:
        show_json(result)
        return
    for key, value in result.items():
        if isinstance(value, dict):
            click.echo(paint(key, bold=True))
            for inner, fact in value.items():
                if fact not in (None, [], ""):
                    click.echo(f"  {inner:<24}{fact}")
        elif value not in (None, [], ""):
            click.echo(
                f"{key:<26}{', '.join(map(str, value)) if isinstance(value, list) else value}"
            )


@click.command()
@click.argument("feeds", nargs=-1, required=True, metavar="FEED...")
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
@click.pass_context
def remove(ctx: click.Context, feeds: tuple[str, ...], *, yes: bool, as_json: bool) -> None:
    """Give up subscriptions; their entries go with them, their raw bytes by retention."""
    if not yes and not as_json:
        click.confirm(f"remove {len(feeds)} feed(s) and their entries?", abort=True)

    async def story(world: World) -> list[str]:
        gone = []
        for name in feeds:
            feed = await feed_named(name, world)
            event = event_of_removed_feed(feed, now=world.clock.now())
            await world.store.remove_feed(feed.id, (event,))
            gone.append(feed.id)
        return gone

    gone = in_world(ctx, story, as_json=as_json)
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


async def all_feeds(world: World, tag: str | None = None) -> list[Feed]:
    """Every subscription, page by page."""
    found: list[Feed] = []
    after: str | None = None
    while True:
        page = await world.store.feeds(tag=tag, after=after, limit=1000)
        found += page.items
        if page.next is None:
            return found
        after = page.next


def _set_paused(ctx: click.Context, feeds: tuple[str, ...], *, paused: bool, as_json: bool) -> None:
    async def story(world: World) -> list[dict[str, Any]]:
        changed = []
        for name in feeds:
            feed = replace(await feed_named(name, world), paused=paused)
            await world.store.change_feed(feed)
            if not paused:
                await world.store.make_due([feed.id], world.clock.now())
            changed.append(feed_wire(feed, world.config.schedule))
        return changed

    changed = in_world(ctx, story, as_json=as_json)
    if as_json:
        show_json({"items": changed, "next": None})
    else:
        click.echo(f"{'paused' if paused else 'resumed'} {len(changed)}")


def _overrides(own: dict[str, Any]) -> FeedOverrides:
    headers = []
    for line in own["headers"]:
        name, colon, value = line.partition(":")
        if not colon or not name.strip():
            message = f"{line!r} is not NAME:VALUE"
            raise click.BadParameter(message, param_hint="--header")
        headers.append((name.strip(), value.strip()))
    password = click.prompt("Password", hide_input=True) if own["username"] else None
    return FeedOverrides(
        min_interval_sec=own["min_interval"],
        max_interval_sec=own["max_interval"],
        headers=tuple(headers),
        user_agent=own["user_agent"],
        username=own["username"],
        password=password,
        proxy=own["proxy"],
        verify_tls=not own["insecure"],
    )


def _row(feed: Feed) -> tuple[str, ...]:
    state: str = "paused" if feed.paused else feed.schedule.health
    if not feed.overrides.verify_tls:
        state += " (TLS unverified)"
    every = feed.schedule.interval_sec
    return (
        feed.id[:13],
        state,
        f"{every / 60:.0f} min",
        feed.last_result or "-",
        f"{feed.next_poll_at:%m-%d %H:%M:%S}",
        feed.title or "-",
        feed.url,
    )
