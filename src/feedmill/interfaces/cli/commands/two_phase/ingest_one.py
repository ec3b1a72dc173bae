"""`feedmill ingest-one`: ingest one document once and print the counters of seed 003."""
# Tested in tests/integration/interfaces/cli/

import asyncio
import sys
from pathlib import Path
from urllib.parse import quote

import click
from msgspec.structs import replace

from feedmill.app.services import announce_settings
from feedmill.engine.poll.ingest_one import Ingested, ingest_document, ingest_feed
from feedmill.engine.run.services import Services
from feedmill.engine.service.feed_lookup import resolve_feed
from feedmill.engine.subscribe.add_feed import subscribe_unchecked
from feedmill.interfaces.cli.command import Answer, OpenServices, command
from feedmill.interfaces.cli.exit import exit_with_error
from feedmill.interfaces.cli.options import option, usage_error
from feedmill.interfaces.cli.output import shorten
from feedmill.interfaces.cli.run_command import config_of
from feedmill.model.fetch import RawDocument


@command("ingest-one")
@option("--feed-url URL", "Fetch and ingest this address.")
@option(
    "--file FILE",
    "file",
    "Ingest a file; - is standard input.",
    type=click.Path(exists=True, dir_okay=False, allow_dash=True),
)
@option("--feed-id FEED", "Fetch this subscription now.")
@click.option(
    "--normalize/--no-normalize",
    default=None,
    help="Store normalised texts (default) or texts as published.",
)
async def ingest_one(
    open_services: OpenServices,
    feed_url: str | None,
    file: str | None,
    feed_id: str | None,
    *,
    normalize: bool | None,
) -> Answer:
    """Ingest one feed once and print the counts.

    A file becomes a separate feed that is never polled. With --no-normalize titles and summaries are
    stored as published, including markup; content is always sanitised.

    \b
    Examples:
      feedmill ingest-one --feed-url https://example.com/feed
      feedmill ingest-one --file feed.xml --json
    """
    if sum(given is not None for given in (feed_url, file, feed_id)) != 1:
        usage_error("give exactly one of --feed-url, --file and --feed-id")
    config = config_of()
    announce_settings(config)
    if normalize is not None:
        config = replace(config, normalise=replace(config.normalise, enabled=normalize))
    services = await open_services(config)
    if file is not None:
        done = await _ingest_file(file, services)
    elif feed_id is not None:
        done = await ingest_feed(await resolve_feed(feed_id, services), services)
    else:
        feed = (await subscribe_unchecked(feed_url or "", services)).feed
        done = await ingest_feed(feed, services)
    return Answer(done, lambda: _say(done), status=1 if done.errors else 0)


def _say(done: Ingested) -> None:
    click.echo(
        f"Feed ingestion completed: {done.parsed} parsed, {done.inserted} inserted, "
        f"{done.updated} updated, {done.skipped} skipped, {done.errors} errors, "
        f"{done.normalized_modified_count} modified by normalisation"
    )
    if done.errors:
        exit_with_error(done.outcome, f"{done.outcome}: {shorten(done.detail, 200)}", as_json=False)


async def _ingest_file(file: str, services: Services) -> Ingested:
    """Ingest a file under an address that is never fetched, so that it can be named again."""
    name = "stdin" if file == "-" else Path(file).name
    body = await asyncio.to_thread(_read, file)
    feed = (
        await subscribe_unchecked(f"https://file.invalid/{quote(name)}", services, title=name)
    ).feed
    paused = replace(feed, paused=True)
    await services.store.change_feed(paused)
    return await ingest_document(RawDocument(body=body, url=None), paused, services)


def _read(file: str) -> bytes:
    return sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
