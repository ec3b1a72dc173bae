"""`feedmill export`: write subscriptions as OPML, or tables as NDJSON, CSV, Parquet, SQLite or WARC."""
# Tested in tests/integration/interfaces/cli/

from datetime import datetime
from pathlib import Path
from typing import Any, Final, get_args

import click

from feedmill.app.exports import STREAMED, export_to_file, write_snapshot
from feedmill.engine.run.atomic_file import write_file
from feedmill.engine.run.services import Services
from feedmill.engine.service.feed_lookup import all_feeds, feed_id_of
from feedmill.engine.subscribe.list_formats import Outline, write_opml
from feedmill.errors import StoreError
from feedmill.interfaces.cli.command import Answer, OpenServices, command
from feedmill.interfaces.cli.exit import is_json
from feedmill.interfaces.cli.options import FILE_TO_WRITE, flag, option, parse_time, usage_error
from feedmill.interfaces.cli.output import format_count, progress
from feedmill.model.addresses import mask_address
from feedmill.model.page import check_range
from feedmill.model.running.export import ExportFilter, ExportFormat, ExportName

_SNAPSHOT: Final = "snapshot"
_TABLE_OPTIONS: Final = ("form", "since", "until", "feed", "after", "resume")


@command()
@click.argument(
    "what", type=click.Choice([*get_args(ExportName), _SNAPSHOT]), metavar="[WHAT]", required=False
)
@option("--output", "--out", "-o", "Write to a file.", type=FILE_TO_WRITE)
@option("--tag TAG", "Only feeds with this tag.")
@flag("--with-secrets", "OPML: write addresses with the tokens that they contain.")
@option("--format", "form", "Format of a table; default: ndjson.", choices=get_args(ExportFormat))
@option("--since TIME", "Rows of this time or later.", type=parse_time)
@option("--until TIME", "Rows before this time.", type=parse_time)
@option("--feed FEED", "Only rows of this feed.")
@option("--after CURSOR", "Continue behind the cursor of an earlier export.")
@flag("--resume", "Continue the file from where its .cursor file ends.")
async def export(
    open_services: OpenServices,
    what: str | None,
    output: Path | None,
    tag: str | None,
    *,
    with_secrets: bool,
    **options: Any,  # noqa: ANN401  # of a table
) -> Answer:
    """Write all subscriptions as OPML 2.0, or a table as NDJSON, CSV, Parquet, SQLite or WARC.

    Without WHAT: subscriptions as OPML, with --json as JSON that `feedmill import` can read. Passwords and headers are
    not exported. An address with a token in it, as ?token= or ?api_key=, is written with *** instead: a list is passed
    on. Use --with-secrets for a backup.

    WHAT is entries, articles, fetches, decisions or feeds; --since and --until are about first_seen, scheduled_at or
    created_at. `snapshot` writes one SQLite file with all of them. WARC is for fetches.

    \b
    Examples:
      feedmill export -o feeds.opml
      feedmill export --with-secrets -o backup.opml
      feedmill export entries --format csv --since 2026-11-01 --out entries.csv
      feedmill export entries --out entries.ndjson --resume
      feedmill export fetches --format warc --feed example.com --out a.warc.gz
      feedmill export snapshot --out feedmill.db
    """
    used = [name.replace("form", "format") for name in _TABLE_OPTIONS if options[name]]
    if what is not None and with_secrets:
        usage_error("--with-secrets is for a list of subscriptions; leave out WHAT")
    if what is None:
        if used:
            usage_error(f"--{used[0]} is for a table: feedmill export entries --{used[0]} …")
        return await _export_list(output, tag, open_services, with_secrets=with_secrets)
    if what == _SNAPSHOT:
        if tag is not None or (used and (used, options["form"]) != (["format"], "sqlite")):
            name = "tag" if tag is not None else used[0]
            usage_error(f"--{name} is for a table; a snapshot is one SQLite file with all of them")
        return await _export_snapshot(output, open_services)
    return await _export_table(what, output, tag, open_services, **options)


async def _export_table(
    what: Any,  # noqa: ANN401  # one of the names above
    output: Path | None,
    tag: str | None,
    open_services: OpenServices,
    *,
    form: Any,  # noqa: ANN401  # one of the formats above
    since: datetime | None,
    until: datetime | None,
    feed: str | None,
    after: str | None,
    resume: bool,
) -> Answer:
    form = form or "ndjson"
    check_range(since, until)
    if output is None and (is_json() or resume or form not in STREAMED):
        usage_error(
            f"{'--resume' if resume else form if form not in STREAMED else '--json'} needs a file: --out FILE"
        )
    services = await open_services()
    feed_id = await feed_id_of(feed, services)
    where = ExportFilter(since=since, until=until, feed_id=feed_id, tag=tag)
    hide = is_json() or output is None
    total = None if hide or where != ExportFilter() else await _count_rows(what, services)
    with progress(total, f"exporting {what}", hide=hide) as step:
        done = await export_to_file(
            what, form, where, output, services, after=after, resume=resume, step=step
        )
    behind = f"; cursor {done.cursor}" if done.cursor else ""
    words = f"{format_count(done.rows, 'row')} written to {output}{behind}"
    shape = {"rows": done.rows, "cursor": done.cursor, "file": str(output)}
    return Answer(shape, words if output is not None else "")


async def _count_rows(what: str, services: Services) -> int | None:
    """The length of the progress bar; None where any table is damaged: this one may be sound."""
    try:
        return (await services.store.counts()).get(what)
    except StoreError:
        return None


async def _export_snapshot(output: Path | None, open_services: OpenServices) -> Answer:
    if output is None:
        usage_error("a snapshot needs a file: --out FILE")
    services = await open_services()
    await write_snapshot(output, services)
    is_copy = services.config.store.url is None
    if is_copy and not is_json():
        click.echo("it has the passwords and tokens of the store: keep it private", err=True)
    shape = {"file": str(output), "with_secrets": is_copy}
    return Answer(shape, f"snapshot written to {output}")


async def _export_list(
    output: Path | None, tag: str | None, open_services: OpenServices, *, with_secrets: bool
) -> Answer:
    feeds = await all_feeds(await open_services(), tag)
    outlines = [
        Outline(
            url=f.url if with_secrets else mask_address(f.url),
            title=f.title,
            site=f.site_url if with_secrets or not f.site_url else mask_address(f.site_url),
            tags=f.tags,
        )
        for f in feeds
    ]
    hidden = sum(outline.url != feed.url for outline, feed in zip(outlines, feeds, strict=True))
    if hidden:
        click.echo(f"tokens are hidden in {hidden} addresses; --with-secrets writes them", err=True)

    def show() -> None:
        if output is None:
            click.echo(write_opml(outlines), nl=False)
            return
        write_file(output, write_opml(outlines), is_private=with_secrets)
        click.echo(f"{format_count(len(outlines), 'feed')} written to {output}")

    items = [{"url": o.url, "title": o.title, "tags": o.tags} for o in outlines]
    return Answer({"items": items, "next": None}, show)
