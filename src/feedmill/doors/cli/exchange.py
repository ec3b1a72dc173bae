"""Subscriptions from and to other programs: import and export of lists."""

import sys
from pathlib import Path
from typing import Any

import click

from feedmill.doors.cli.leaving import fail
from feedmill.doors.cli.lists import Outline, read_list, write_opml
from feedmill.doors.cli.output import json_option, paint, progress, shorten, show_json
from feedmill.doors.cli.session import all_feeds, in_world, write_file
from feedmill.engine.subscribe import subscribe
from feedmill.engine.world import World
from feedmill.errors import AddressError
from feedmill.model.feed import Feed


@click.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True))
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="Tag every imported feed.")
@json_option
@click.pass_context
def import_(ctx: click.Context, file: str, tags: tuple[str, ...], *, as_json: bool) -> None:
    """Subscribe to every feed of a list: OPML, feeds.json or one address per line.

    FILE may be - for standard input. Importing the same list again adds nothing; a bad address
    costs that address only.
    """
    try:
        data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
        outlines = read_list(data)
    except ValueError as problem:
        hint = "give OPML, feeds.json or one address per line"
        fail("bad-list", f"{file}: {problem}", hint, as_json=as_json, status=2)

    async def story(world: World) -> dict[str, Any]:
        return await _take_in(outlines, tags, world, hide=as_json)

    result = in_world(ctx, story, as_json=as_json)
    if as_json:
        show_json(result)
    else:
        _say(result)
    sys.exit(1 if len(result["failed"]) == result["total"] else 0)


@click.command()
@click.option("--output", "-o", type=click.Path(path_type=Path), help="Write to a file.")
@click.option("--tag", metavar="TAG", help="Only feeds with this tag.")
@json_option
@click.pass_context
def export(ctx: click.Context, output: Path | None, tag: str | None, *, as_json: bool) -> None:
    """Write all subscriptions as OPML 2.0, or as JSON that `feedmill import` takes back.

    Credentials stay here.
    """

    async def story(world: World) -> list[Feed]:
        return await all_feeds(world, tag)

    feeds = in_world(ctx, story, as_json=as_json)
    outlines = [Outline(url=f.url, title=f.title, site=f.site_url, tags=f.tags) for f in feeds]
    if as_json:
        items = [{"url": o.url, "title": o.title, "tags": o.tags} for o in outlines]
        show_json({"items": items, "next": None})
    elif output is None:
        click.echo(write_opml(outlines), nl=False)
    else:
        write_file(output, write_opml(outlines))
        click.echo(f"{len(outlines)} feeds written to {output}")


async def _take_in(
    outlines: list[Outline], tags: tuple[str, ...], world: World, *, hide: bool
) -> dict[str, Any]:
    added, known, failed = 0, 0, []
    with progress(len(outlines), "importing", hide=hide) as step:
        for outline in outlines:
            try:
                done = await subscribe(
                    outline.url, world, title=outline.title, tags=(*tags, *outline.tags)
                )
                added, known = added + done.created, known + (not done.created)
            except AddressError as problem:
                failed.append(
                    {"url": outline.url, "reason": problem.reason, "message": str(problem)}
                )
            step()
    return {"total": len(outlines), "added": added, "existing": known, "failed": failed}


def _say(result: dict[str, Any]) -> None:
    click.echo(
        f"{result['total']} listed: {result['added']} added, {result['existing']} already here, "
        f"{len(result['failed'])} refused"
    )
    for one in result["failed"]:
        click.echo(f"  {paint(one['reason'], fg='red')} {shorten(one['message'], 200)}")
