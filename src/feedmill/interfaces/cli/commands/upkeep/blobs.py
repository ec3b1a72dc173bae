"""`feedmill blobs`: copy the raw documents to another raw store, or index them again."""
# Tested in tests/integration/interfaces/cli/

from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final

import click

from feedmill.app.services import open_blobs
from feedmill.config import Config
from feedmill.engine.maintain.raw_store import (
    AdoptResult,
    BlobMoveResult,
    move_blobs,
    segments_to_adopt,
    segments_to_move,
)
from feedmill.engine.maintain.raw_store import adopt_blobs as adopt_all
from feedmill.engine.maintain.raw_store import delete_moved as drop_all
from feedmill.engine.ports.io import Blobs
from feedmill.engine.run.services import Services
from feedmill.errors import ConflictError
from feedmill.interfaces.cli.command import Answer, OpenServices, command
from feedmill.interfaces.cli.options import flag, usage_error
from feedmill.interfaces.cli.output import format_count, progress, shorten, style_text

_LOCAL: Final = "local"


@click.group()
def blobs() -> None:
    """Copy raw documents between local disk and object storage, or index them again."""


@command("migrate", of=blobs)
@click.argument("places", nargs=-1, required=True, metavar="[FROM] TO")
@flag("--drop-old", "Read and hash every document in TO, then delete the segments in FROM.")
async def migrate_blobs_command(
    config: Config, open_services: OpenServices, places: tuple[str, ...], *, drop_old: bool
) -> Answer:
    """Copy all raw documents to another raw store and verify each copy.

    FROM and TO are s3://bucket/prefix, gs://bucket/prefix, az://container/prefix, file:///folder,
    local (the home folder) or local:DIR (another folder). FROM defaults to the configured store.

    FROM and the index are not changed. Run it while feedmill works, stop feedmill, run it again for
    the rest, then set [blobs] url and start feedmill. After a crash, run it again: documents
    already copied are skipped.

    \b
    Examples:
      feedmill blobs migrate s3://my-bucket/feedmill
      feedmill blobs migrate s3://my-bucket/feedmill local
      FEEDMILL_BLOBS_URL=s3://my-bucket/feedmill \\
        feedmill blobs migrate local s3://my-bucket/feedmill --drop-old
    """
    old, new = _two(places, config)
    services = await open_services()
    if drop_old:
        _refuse_place_in_use(old, config)
    async with AsyncExitStack() as stack:
        source = await _open(old, config, services, stack)
        target = await _open(new, config, services, stack)
        total = len(await segments_to_move(source, target, services.store))
        with progress(total, "copying segments") as step:
            done = await move_blobs(source, target, services.store, step=step)
        if drop_old and not done.problems:
            done = await drop_all(source, target, services.store, done)
    shape = {"from": old, "to": new, "carried": done}
    return Answer(shape, lambda: _say(done, new), status=1 if done.problems else 0)


@command("adopt", of=blobs, takes_raw=True)
async def adopt_blobs_command(services: Services) -> Answer:
    """Rebuild the index of the raw documents from their segments.

    For a home folder whose database was lost or replaced, for a bucket that another store has used, and for
    a backup that is older than the segments. Every intact document is indexed in this store, and the raw
    store belongs to it from then on: another store that used it stops deleting there. Documents that no fetch
    refers to are kept for [retention] raw_keep_days. Safe to repeat; after a crash, run it again.

    \b
    Examples:
      feedmill blobs adopt
      FEEDMILL_BLOBS_URL=s3://my-bucket/feedmill feedmill blobs adopt
    """
    total = len(await segments_to_adopt(services.blobs))
    with progress(total, "reading segments") as step:
        done = await adopt_all(services.store, services.blobs, services.clock, step=step)
    return Answer(done, lambda: _say_adopted(done), status=1 if done.problems else 0)


def _say_adopted(done: AdoptResult) -> None:
    click.echo(
        f"{done.documents:,} documents in {format_count(done.segments, 'segment')} read:"
        f" {done.indexed:,} indexed now, {done.moved:,} found in another segment"
    )
    for problem in done.problems:
        click.echo(f"  {style_text('problem', fg='red')} {problem}")
    if done.owner_before is not None:
        click.echo(f"the raw store belonged to the store {done.owner_before[:8]}… before")
    click.echo("the raw store belongs to this store")


def _two(places: tuple[str, ...], config: Config) -> tuple[str, str]:
    if len(places) > 2:
        usage_error("expected one or two addresses: [FROM] TO")
    old = _whole(places[0] if len(places) > 1 else _current(config), config)
    new = _whole(places[-1], config)
    if old == new:
        usage_error(f"{old} already holds the documents")
    return old, new


def _current(config: Config) -> str:
    return config.blobs.url or _LOCAL


def _whole(place: str, config: Config) -> str:
    """The normalised form of a store address, for comparison."""
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
    """ConflictError when the settings still point to the old store."""
    if old == _whole(_current(config), config):
        message = f"{old} is still the configured raw store"
        hint = "set [blobs] url (FEEDMILL_BLOBS_URL) to the new store first, on every machine"
        raise ConflictError(message, reason="in-use", hint=hint)


def _say(done: BlobMoveResult, new: str) -> None:
    carried = format_count(done.segments, "segment")
    click.echo(f"{carried} copied and verified ({done.bytes / 1e6:,.1f} MB)")
    for problem in done.problems:
        click.echo(
            f"  {style_text('problem', fg='red')} {problem.segment}: {shorten(problem.detail, 200)}"
        )
    if done.problems:
        click.echo(format_count(len(done.problems), "problem"))
        if any(problem.fault == "missing" for problem in done.problems):
            click.echo(
                "next: if another process wrote to a different store meanwhile, copy that as well:"
            )
            click.echo(f"  feedmill blobs migrate THAT_STORE {new}")
        return
    click.echo(f"all of {done.documents:,} documents are in {new}")
    if done.dropped:
        click.echo(f"{format_count(done.dropped, 'old segment')} deleted")
    elif new.startswith("local:"):
        click.echo("next: remove [blobs] url from the settings and start feedmill")
    else:
        click.echo(f"next: set FEEDMILL_BLOBS_URL={new} and start feedmill")
