"""Taking care: init, replay, purge, verify, doctor, config."""

import shutil
import sys
from pathlib import Path
from typing import Any

import click
import msgspec

from feedmill.app.services import config_reference, run_doctor
from feedmill.engine.maintain.retention import purge as purge_old
from feedmill.engine.maintain.retention import verify_integrity as verify_all
from feedmill.engine.poll.replay import Replayed
from feedmill.engine.poll.replay import replay as replay_feed
from feedmill.engine.run.services import Services
from feedmill.interfaces.cli.output import json_option, progress, shorten, show_json, style_text
from feedmill.interfaces.cli.run_command import (
    all_feeds,
    config_of,
    resolve_feeds,
    run_async,
    with_services,
)
from feedmill.observe.masking import mask_all_secrets


@click.command()
@json_option
@click.pass_context
def init(ctx: click.Context, *, as_json: bool) -> None:
    """Create the home folder and its store; harmless when they exist."""
    config = config_of(ctx, as_json=as_json)

    async def story(services: Services) -> dict[str, int]:
        return await services.store.counts()

    counts = with_services(ctx, story, as_json=as_json, config=config, schema="apply")
    if as_json:
        show_json({"home": config.store.home, **counts})
    else:
        click.echo(f"ready: {Path(config.store.home).resolve()} ({counts['feeds']} feeds)")
        click.echo("next: feedmill add https://example.com/feed && feedmill sync")


@click.command()
@click.argument("feeds", nargs=-1, metavar="[FEED]...")
@click.option("--all", "everything", is_flag=True, help="Every feed.")
@click.option("--write", is_flag=True, help="Commit the differences instead of showing them.")
@json_option
@click.pass_context
def replay(
    ctx: click.Context, feeds: tuple[str, ...], *, everything: bool, write: bool, as_json: bool
) -> None:
    """Read stored raw documents again with today's parser and show what would change."""
    if not feeds and not everything:
        message = "name feeds, or give --all"
        raise click.UsageError(message)

    async def story(services: Services) -> list[Replayed]:
        chosen = await (all_feeds(services) if everything else resolve_feeds(feeds, services))
        results = []
        with progress(len(chosen), "reading again", hide=as_json) as step:
            for feed in chosen:
                results.append(await replay_feed(feed, services, write=write))
                step()
        return results

    results = with_services(ctx, story, as_json=as_json)
    if as_json:
        show_json({"items": results, "next": None})
        return
    for one in results:
        _say_replayed(one)
    total = sum(len(one.differences) for one in results)
    same = sum(one.unchanged for one in results)
    read = sum(one.outcome == "read" for one in results)
    click.echo(f"{read} documents read again: {total} entries differ, {same} are the same")
    if read < len(results):
        click.echo(f"{len(results) - read} feeds have no document that can be read")
    if total and not write:
        click.echo("nothing was written; --write commits it")


@click.command()
@json_option
@click.pass_context
def purge(ctx: click.Context, *, as_json: bool) -> None:
    """Let go of what retention no longer keeps; entries still in a feed's document stay."""

    async def story(services: Services) -> dict[str, int]:
        return await purge_old(services)

    result = with_services(ctx, story, as_json=as_json)
    if as_json:
        show_json(result)
    else:
        click.echo(
            ", ".join(f"{value:,} {key}" for key, value in result.items()) or "nothing to do"
        )


@click.command("verify")
@json_option
@click.pass_context
def verify_command(ctx: click.Context, *, as_json: bool) -> None:
    """Prove that the index and the raw bytes agree, and that the store is sound."""

    async def story(services: Services) -> dict[str, Any]:
        return await verify_all(services.store, services.blobs)

    result = with_services(ctx, story, as_json=as_json)
    if as_json:
        show_json(result)
    else:
        click.echo(f"{result['documents']:,} raw documents read and hashed")
        for problem in result["problems"]:
            click.echo(f"  {style_text('problem', fg='red')} {problem}")
        click.echo("sound" if not result["problems"] else f"{len(result['problems'])} problems")
    sys.exit(1 if result["problems"] else 0)


@click.command()
@json_option
@click.pass_context
def doctor(ctx: click.Context, *, as_json: bool) -> None:
    """Look at configuration, clock, disk, name resolution, TLS, permissions and the store."""
    config = config_of(ctx, as_json=as_json)

    async def tell() -> list[dict[str, Any]]:
        return await run_doctor(config)

    checks = run_async(tell, as_json=as_json)
    if as_json:
        show_json({"items": checks, "next": None})
    else:
        for check in checks:
            mark = style_text("ok  ", fg="green") if check["ok"] else style_text("FAIL", fg="red")
            click.echo(f"{mark} {check['name']:<16}{check['detail']}")
    sys.exit(0 if all(check["ok"] for check in checks) else 1)


@click.group()
def config() -> None:
    """Look at the settings."""


@config.command("show")
@click.option("--reference", is_flag=True, help="Show every variable and default instead.")
@json_option
@click.pass_context
def show_config(ctx: click.Context, *, reference: bool, as_json: bool) -> None:
    """Show the settings in force."""
    settings = config_of(ctx, as_json=as_json)
    if reference:
        rows = config_reference()
        if as_json:
            show_json({"items": rows, "next": None})
        else:
            for row in rows:
                click.echo(
                    f"[{row['part']}] {row['field']:<28}{row['variable']:<44}{row['default']}"
                )
        return
    shape: dict[str, Any] = mask_all_secrets(msgspec.to_builtins(settings))
    if as_json:
        show_json(shape)
        return
    defaults: dict[str, Any] = msgspec.to_builtins(type(settings)())
    for part, fields in shape.items():
        click.echo(style_text(f"[{part}]", bold=True))
        for field, value in fields.items():
            changed = "" if value == defaults[part][field] else "   # changed"
            text = msgspec.json.encode(value).decode()
            click.echo(f"{field} = {text}{changed}"[: shutil.get_terminal_size().columns * 4])


def _say_replayed(one: Replayed) -> None:
    if one.differences:
        click.echo(f"{one.feed_id}  {len(one.differences)} differ")
    for difference in one.differences:
        what = ", ".join(difference.changed) or "new"
        click.echo(f"  {difference.kind:<9}{what:<30}{shorten(difference.title or '', 80)}")
