"""The raw store itself: `feedmill blobs migrate`."""

import sys
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final

import click

from feedmill.app.services import open_blobs
from feedmill.config import Config
from feedmill.engine.maintain.move_blobs import BlobMoveResult, move_blobs, segments_to_move
from feedmill.engine.maintain.move_blobs import delete_moved as drop_all
from feedmill.engine.ports.blobs import Blobs
from feedmill.engine.run.services import Services
from feedmill.errors import ConflictError
from feedmill.interfaces.cli.options import json_option
from feedmill.interfaces.cli.output import format_count, progress, shorten, show_json, style_text
from feedmill.interfaces.cli.run_command import config_of, with_services

_LOCAL: Final = "local"


@click.group()
def blobs() -> None:
    """Move the raw documents to another store."""


@blobs.command("migrate")
@click.argument("places", nargs=-1, required=True, metavar="[FROM] TO")
@click.option(
    "--drop-old",
    is_flag=True,
    help="Read and hash every document in TO, then delete the segments in FROM.",
)
@json_option
@click.pass_context
def migrate_blobs_command(
    ctx: click.Context, places: tuple[str, ...], *, drop_old: bool, as_json: bool
) -> None:
    """Carry all raw documents from one raw store to another, and check each of them there.

    A place is s3://bucket/prefix, gs://bucket/prefix, az://container/prefix, file:///folder,
    local (the home folder) or local:DIR (another one). FROM is where the settings say.

    Nothing changes in FROM, and the index stays as it is: run it while the mill works, stop the
    mill, run it again for the rest, then set [blobs] url and start the mill. After a crash, run
    it again: what is over there is not carried twice.

    \b
    Examples:
      feedmill blobs migrate s3://my-bucket/feedmill
      feedmill blobs migrate s3://my-bucket/feedmill local
      FEEDMILL_BLOBS_URL=s3://my-bucket/feedmill \\
        feedmill blobs migrate local s3://my-bucket/feedmill --drop-old
    """
    config = config_of(ctx, as_json=as_json)
    old, new = _two(places, config)

    async def action(services: Services) -> BlobMoveResult:
        if drop_old:
            _refuse_place_in_use(old, config)
        async with AsyncExitStack() as stack:
            source = await _open(old, config, services, stack)
            target = await _open(new, config, services, stack)
            total = len(await segments_to_move(source, target, services.store))
            with progress(total, "carrying segments", hide=as_json) as step:
                done = await move_blobs(source, target, services.store, step=step)
            if not drop_old or done.problems:
                return done
            return await drop_all(source, target, services.store, done)

    done = with_services(ctx, action, as_json=as_json, config=config)
    if as_json:
        show_json({"from": old, "to": new, "carried": done})
    else:
        _say(done, new)
    sys.exit(1 if done.problems else 0)


def _two(places: tuple[str, ...], config: Config) -> tuple[str, str]:
    if len(places) > 2:
        message = "name one place or two: [FROM] TO"
        raise click.UsageError(message)
    old = _whole(places[0] if len(places) > 1 else _current(config), config)
    new = _whole(places[-1], config)
    if old == new:
        message = f"{old} is where the documents are already"
        raise click.UsageError(message)
    return old, new


def _current(config: Config) -> str:
    return config.blobs.url or _LOCAL


def _whole(place: str, config: Config) -> str:
    """A place in the one way in which it is compared."""
    if place.partition(":")[0] != _LOCAL:
        return place.rstrip("/")
    home = place.removeprefix(_LOCAL).removeprefix(":") or config.store.home
    return f"{_LOCAL}:{Path(home).resolve()}"


async def _open(place: str, config: Config, services: Services, stack: AsyncExitStack) -> Blobs:
    if place.startswith(f"{_LOCAL}:"):
        opened = await open_blobs(config, services.clock, home=Path(place.removeprefix("local:")))
    else:
        opened = await open_blobs(config, services.clock, url=place)
    stack.push_async_callback(opened.close)
    return opened


def _refuse_place_in_use(old: str, config: Config) -> None:
    """Only what no setting points to any more is deleted; other machines have the same settings."""
    if old == _whole(_current(config), config):
        message = f"{old} is where the settings in force still keep the documents"
        hint = "set [blobs] url (FEEDMILL_BLOBS_URL) to the new place first, on every machine"
        raise ConflictError(message, reason="in-use", hint=hint)


def _say(done: BlobMoveResult, new: str) -> None:
    carried = format_count(done.segments, "segment")
    click.echo(f"{carried} carried and checked ({done.bytes / 1e6:,.1f} MB)")
    for problem in done.problems:
        click.echo(
            f"  {style_text('problem', fg='red')} {problem.segment}: {shorten(problem.detail, 200)}"
        )
    if done.problems:
        click.echo(format_count(len(done.problems), "problem"))
        if any(problem.fault == "missing" for problem in done.problems):
            click.echo("next: if a mill wrote to another place meanwhile, carry that as well:")
            click.echo(f"  feedmill blobs migrate THAT_PLACE {new}")
        return
    click.echo(f"all of {done.documents:,} documents are in {new}")
    if done.dropped:
        click.echo(f"{format_count(done.dropped, 'old segment')} deleted")
    elif new.startswith("local:"):
        click.echo("next: remove [blobs] url from the settings, and start the mill")
    else:
        click.echo(f"next: set FEEDMILL_BLOBS_URL={new}, and start the mill")
