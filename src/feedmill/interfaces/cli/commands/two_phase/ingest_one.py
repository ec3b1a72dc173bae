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
from feedmill.interfaces.cli.exit import exit_with_error, is_json
from feedmill.interfaces.cli.options import json_option
from feedmill.interfaces.cli.output import shorten, show_result
from feedmill.interfaces.cli.run_command import config_of, with_services
from feedmill.model.fetch import RawDocument


@click.command("ingest-one")
@click.option("--feed-url", metavar="URL", help="Fetch and ingest this address.")
@click.option(
    "--file",
    "file",
    type=click.Path(exists=True, dir_okay=False, allow_dash=True),
    metavar="FILE",
    help="Ingest a file; - is standard input.",
)
@click.option("--feed-id", metavar="FEED", help="Fetch this subscription now.")
@click.option(
    "--normalize/--no-normalize",
    default=None,
    help="Store normalised texts (default) or texts as published.",
)
@json_option
def ingest_one(
    feed_url: str | None, file: str | None, feed_id: str | None, *, normalize: bool | None
) -> None:
    """Ingest one feed once and print the counts.

    A file becomes a separate feed that is never polled. With --no-normalize titles and summaries are
    stored as published, including markup; content is always sanitised.

    \b
    Examples:
      feedmill ingest-one --feed-url https://example.com/feed
      feedmill ingest-one --file feed.xml --json
    """
    if sum(given is not None for given in (feed_url, file, feed_id)) != 1:
        message = "give exactly one of --feed-url, --file and --feed-id"
        raise click.UsageError(message)
    config = config_of()
    announce_settings(config)
    if normalize is not None:
        config = replace(config, normalise=replace(config.normalise, enabled=normalize))

    async def action(services: Services) -> Ingested:
        if file is not None:
            return await _ingest_file(file, services)
        if feed_id is not None:
            return await ingest_feed(await resolve_feed(feed_id, services), services)
        return await ingest_feed(
            (await subscribe_unchecked(feed_url or "", services)).feed, services
        )

    result = with_services(action, config=config)
    show_result(
        result,
        f"Feed ingestion completed: {result.parsed} parsed, {result.inserted} inserted, "
        f"{result.updated} updated, {result.skipped} skipped, {result.errors} errors, "
        f"{result.normalized_modified_count} modified by normalisation",
    )
    if result.errors and not is_json():
        exit_with_error(
            result.outcome, f"{result.outcome}: {shorten(result.detail, 200)}", as_json=False
        )
    sys.exit(1 if result.errors else 0)


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
