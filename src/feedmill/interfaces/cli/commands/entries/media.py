"""`feedmill media`: download, list, read, retry and prune the files of entries."""
# Tested in tests/integration/interfaces/cli/commands/entries/test_media.py

from datetime import timedelta
from functools import partial
from pathlib import Path

import click
from msgspec import UNSET

from feedmill.app.settings import owner_name
from feedmill.engine.jobs.media import KINDS
from feedmill.engine.jobs.runner import run_due_jobs
from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.engine.run.services import Services
from feedmill.engine.service import full_texts as engine
from feedmill.engine.service.feed_lookup import feed_id_of, resolve_feeds
from feedmill.interfaces.cli import output
from feedmill.interfaces.cli.command import Answer, Printer, command, show_pages
from feedmill.interfaces.cli.commands.entries.clusters import switch_feeds
from feedmill.interfaces.cli.options import feeds_argument, list_options, option, parse_duration
from feedmill.model.derived.fetched import MEDIA_STATES, MediaItem
from feedmill.publish.shapes import FeedChange, MediaPage

_SHOWN = ("media", "media_types", "media_newest", "media_max_bytes")
_MEDIA = click.argument("media_ids", nargs=-1, required=True, metavar="MEDIA...")
_MB = 1024 * 1024


@click.group()
def media() -> None:
    """Download the files of entries, such as podcast episodes; opt in per feed or tag.

    \b
    Examples:
      feedmill media enable https://example.com/podcast --newest 5
      feedmill media list --state stored
      feedmill media get 8c0f1d --out episode.mp3
      feedmill media retry 8c0f1d
      feedmill media prune --older-than 90d
    """


@command("enable", of=media)
@feeds_argument
@option("--type TYPE", "types", "Such as audio/*; repeatable.", multiple=True)
@option("--newest", "Entries whose files are kept; 0: all.", least=0)
@option("--max-mb", "Largest file, in MiB.", least=1)
async def enable_command(
    services: Services,
    feeds: tuple[str, ...],
    *,
    types: tuple[str, ...],
    newest: int | None,
    max_mb: int | None,
) -> Answer:
    """Download the files of the newest entries of feeds, from now on.

    The first --type is preferred where an entry has several versions of its file.
    """
    change = FeedChange(
        media=True,
        media_types=types or UNSET,
        media_newest=UNSET if newest is None else newest,
        media_max_bytes=UNSET if max_mb is None else max_mb * _MB,
    )
    return await switch_feeds(feeds, change, _SHOWN, services, what="media")


@command("disable", of=media)
@feeds_argument
async def disable_command(services: Services, feeds: tuple[str, ...]) -> Answer:
    """Download no more files of feeds, also where a tag asks for it. Stored files stay."""
    change = FeedChange(media=False)
    return await switch_feeds(feeds, change, _SHOWN, services, what="media")


@command("fetch", of=media)
@feeds_argument
async def fetch_command(services: Services, feeds: tuple[str, ...]) -> Printer:
    """Download the files of feeds now, as their rules say.

    What has to wait for its host is left to the queue (`feedmill jobs`).
    """
    chosen = await resolve_feeds(feeds, services)
    for feed in chosen:
        await engine.select_media(feed.id, services)
    await run_due_jobs(services, Lifecycle(owner_name()), kinds=KINDS)
    found = [
        one
        for feed in chosen
        for one in (await engine.list_media(services, feed_id=feed.id, limit=1000)).items
    ]
    return partial(output.show_list, found, _HEAD, [_row(one) for one in found], empty=_NONE)


@command("list", of=media)
@option("--feed FEED", "Only files of this feed.")
@option("--entry ENTRY", "Only files of this entry.")
@option("--state", "Only files in this state.", choices=MEDIA_STATES)
@list_options(50)
def list_command(*, feed: str | None, entry: str | None, state: str | None) -> None:
    """List files of entries, newest first, with their progress."""

    async def find(services: Services, after: str | None, limit: int) -> MediaPage:
        feed_id = await feed_id_of(feed, services)
        return await engine.list_media(
            services, feed_id=feed_id, entry_uid=entry, state=state, cursor=after, limit=limit
        )

    show_pages(find, _HEAD, _row, empty=_NONE)


@command("get", of=media)
@click.argument("media_id", metavar="MEDIA")
@option("--out FILE", "Where to write it; - is standard output.")
async def get_command(services: Services, media_id: str, *, out: str | None) -> Answer | Printer:
    """Show one file; with --out, write its bytes.

    \b
    Examples:
      feedmill media get 8c0f1d
      feedmill media get 8c0f1d --out episode.mp3
    """
    if out is None:
        one = await engine.get_media(media_id, services)
        return Answer(one, lambda: output.show_table(_HEAD, [_row(one)], wrap=True))
    found = await engine.stored_media(media_id, services)
    with click.open_file(out, "wb") as file:
        async for piece in engine.read_media(found, services):
            file.write(piece)
    if out == "-":
        return lambda: None
    return Answer(found, f"{output.format_bytes(found.size_bytes or 0)} written to {Path(out)}")


@command("retry", of=media)
@_MEDIA
async def retry_command(services: Services, media_ids: tuple[str, ...]) -> Answer:
    """Queue downloads again that failed or were pruned."""
    done = [await engine.retry_media(one, services) for one in media_ids]
    words = f"{output.format_count(len(done), 'download')} queued again"
    return Answer({"items": done, "next": None}, words)


@command("prune", of=media)
@click.argument("media_ids", nargs=-1, metavar="[MEDIA]...")
@option("--feed FEED", "Files of this feed.")
@option("--older-than SPAN", "age", "Files of older entries, as 90d.", type=parse_duration)
async def prune_command(
    services: Services, media_ids: tuple[str, ...], *, feed: str | None, age: timedelta | None
) -> Answer:
    """Delete stored files; the entries stay.

    Without arguments: what the rules keep no longer, and what is left over of downloads.
    """
    feed_id = await feed_id_of(feed, services)
    before = None if age is None else services.clock.now() - age
    done = await engine.prune_media(services, media_ids=media_ids, feed_id=feed_id, before=before)
    words = (
        f"{output.format_count(done.pruned, 'file')} pruned, {done.files} deleted from the store"
    )
    return Answer(done, words)


_NONE = "no media files; to download those of a feed: feedmill media enable FEED"
_HEAD = ("media", "state", "size", "type", "name or address", "reason")


def _row(one: MediaItem) -> tuple[str, ...]:
    why = f"{one.reason}: {one.detail}" if one.reason and one.detail else one.reason or "-"
    return (
        one.media_id,
        one.state,
        _size(one),
        one.media_type or one.type or "-",
        output.shorten(one.path or one.url, 100),
        output.shorten(why, 80),
    )


def _size(one: MediaItem) -> str:
    if one.size_bytes is not None:
        return output.format_bytes(one.size_bytes)
    if one.received_bytes:
        total = f" of {output.format_bytes(one.length)}" if one.length else ""
        return f"{output.format_bytes(one.received_bytes)}{total}"
    return "-"
