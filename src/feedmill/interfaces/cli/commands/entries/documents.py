"""`feedmill raw`, `diff` and `fixture`: the bytes of a stored document, what changed in it, and it as a test case."""
# Tested in tests/integration/interfaces/cli/commands/entries/test_diff_and_fixture.py

from pathlib import Path
from typing import Any

import click
import msgspec
from msgspec import json

from feedmill.canonicalise.urls import split_url
from feedmill.engine.documents.fixtures import Fixture
from feedmill.engine.documents.raw_documents import load_body
from feedmill.engine.run.atomic_file import write_file
from feedmill.engine.run.services import Services
from feedmill.engine.service.documents import diff_documents, diff_last_documents, fixture_of
from feedmill.engine.service.feed_lookup import resolve_feed
from feedmill.errors import FeedmillError, NotFoundError
from feedmill.interfaces.cli.command import Answer, OpenServices, Printer, command
from feedmill.interfaces.cli.exit import exit_with_error, is_json
from feedmill.interfaces.cli.options import flag, option, usage_error
from feedmill.interfaces.cli.output import format_count, shorten, style_text
from feedmill.model.derived.document_diff import EntryChange, FetchDiff, FieldChange
from feedmill.publish.to_json import fetch_wire


@command()
@click.argument("what")
@flag("--headers", "Show the fetch and its headers instead.")
async def raw(services: Services, what: str, *, headers: bool) -> Answer | Printer:
    """Write raw bytes to standard output: a whole document, or the exact slice of an entry.

    WHAT is a fetch_id or an entry_uid.
    """
    found = await services.store.entry(what)
    ref = found.raw_refs[0] if found is not None and found.raw_refs else None
    fetch = await services.store.fetch(ref.fetch_id if ref else what)
    if fetch is None or fetch.body_sha256 is None:
        message = f"no raw document for {what!r}"
        raise NotFoundError(message, "give a fetch_id or an entry_uid")
    if headers or is_json():
        shape = fetch_wire(fetch, services.config.blobs.url)
        return Answer(shape, lambda: _show(shape))
    body = await load_body(fetch.body_sha256, services.store, services.blobs)
    if ref is not None and ref.offset is not None and ref.length is not None:
        body = body[ref.offset : ref.offset + ref.length]
    return lambda: click.echo(body, nl=False)


def _show(fetch: dict[str, Any]) -> None:
    for name in ("url", "final_url", "http_status", "outcome", "fetched_at", "body_sha256"):
        click.echo(f"{name:<16}{shorten(str(fetch[name]), 300)}")
    for kind in ("request_headers", "response_headers"):
        click.echo(style_text(kind, bold=True))
        for name, value in fetch[kind]:
            click.echo(f"  {shorten(name, 100)}: {shorten(value, 300)}")


_COLOURS = {"added": "green", "removed": "red", "changed": "yellow", "moved": "cyan"}


@command()
@click.argument("what", nargs=-1, required=True, metavar="FETCH FETCH | FEED")
async def diff(open_services: OpenServices, what: tuple[str, ...]) -> Answer:
    """Show what a publisher changed, entry by entry: two fetches, or the last two documents of a feed.

    Exits with 0 when nothing changed, 1 when something did, 2 on an error, as diff does.

    \b
    Examples:
      feedmill diff https://example.com/feed
      feedmill diff 0198f2d1-… 0198f2e7-… --json | jq '.diff.entries[].change'
    """
    if len(what) > 2:  # two are compared
        usage_error("give two fetch ids, or one feed")
    services = await open_services()
    try:
        if len(what) == 1:
            feed = await resolve_feed(what[0], services)
            found = await diff_last_documents(feed.id, services)
        else:
            found = await diff_documents(what[0], what[1], services)
    except FeedmillError as problem:
        exit_with_error(problem.reason, str(problem), problem.hint, status=2)
    return Answer(found, lambda: _say(found), status=0 if found.diff.is_empty else 1)


def _say(found: FetchDiff) -> None:
    diff = found.diff
    click.echo(f"--- {found.before}  {found.before_at:%Y-%m-%d %H:%M:%S}")
    click.echo(f"+++ {found.after}  {found.after_at:%Y-%m-%d %H:%M:%S}")
    if found.same_bytes:
        click.echo("the same bytes")
    if diff.feed:
        click.echo(style_text("feed", bold=True))
        for change in diff.feed:
            _say_field(change)
    for entry in diff.entries:
        _say_entry(entry)
    click.echo(f"{format_count(diff.unchanged, 'entry', 'entries')} unchanged")


def _say_entry(entry: EntryChange) -> None:
    name = shorten(entry.title or entry.link or entry.id or "(no title)", 80)
    places = ""
    if entry.moved:
        places = f"  (place {entry.before} to {entry.after})"
    click.echo(f"{style_text(entry.change, fg=_COLOURS[entry.change]):<9}{name}{places}")
    for field in entry.fields:
        _say_field(field)


def _say_field(change: FieldChange) -> None:
    click.echo(f"  {change.field}")
    for mark, value in (("-", change.before), ("+", change.after)):
        if value is not None:
            plain = _plain(value)
            text = plain if isinstance(plain, str) else json.encode(plain).decode()
            click.echo(f"    {mark} {shorten(text, 160)}")


def _plain(value: object) -> object:
    """A text without its markup type, which seldom changes."""
    if isinstance(value, dict) and isinstance(value.get("value"), str):
        return value["value"]
    return value


@command()
@click.argument("what", metavar="FEED|FETCH")
@option(
    "--out",
    "Folder in which the folder of the fixture is made.",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(),
)
async def fixture(services: Services, what: str, *, out: Path) -> Answer:
    """Write a test case: the body of a fetch, how it was served, and what was understood.

    WHAT is a fetch_id, or a feed: then it is its last document. Credentials of the feed are masked.

    \b
    Examples:
      feedmill fixture https://example.com/feed --out tests/fixtures/feeds
      feedmill fixture 0198f2d1-…
    """
    found = await fixture_of(what, services)
    folder = out / f"{_host(found)}-{found.fetch.fetch_id[-12:]}"
    folder.mkdir(parents=True, exist_ok=True)
    files = {
        "body": found.body,
        "fetch.json": _json(found.fetch),
        "understood.json": _json(found.understood),
    }
    for name, data in files.items():
        write_file(folder / name, data)
    result = {"folder": str(folder), "files": list(files), "fetch_id": found.fetch.fetch_id}
    return Answer(result, f"wrote {folder} ({', '.join(files)})")


def _host(found: Fixture) -> str:
    host = split_url(found.fetch.final_url).host
    return "".join(c if c.isalnum() or c in ".-" else "_" for c in host) or "feed"


def _json(value: object) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"
