"""`feedmill parse`: parse feed documents and show content and repairs."""
# Tested in tests/integration/interfaces/cli/

import sys
from pathlib import Path

import click
import msgspec

from feedmill.api import normalise, parse_date
from feedmill.api import parse as parse_feed
from feedmill.interfaces.cli.exit import exit_with_error, is_json
from feedmill.interfaces.cli.options import flag, json_option, option
from feedmill.interfaces.cli.output import shorten, show_json, style_text
from feedmill.model.entry import NormalisedFeed
from feedmill.model.parsed import ParsedEntry, ParsedFeed, Repair, Unreadable

_HINTS = {
    "html-page": "look for the feed address in the page: <link rel=alternate>",
    "login-page": "the server requires credentials",
    "bot-wall": "the server blocks automated clients; ask the publisher to allow feed readers",
    "error-document": "the server answered with an error message; try again later",
    "opml": "a list of feeds; import it with `feedmill import`",
    "empty": "the server sent no bytes",
    "too-large": "raise ParseLimits.max_bytes to parse it anyway",
}


@click.command(short_help="Parse feed documents and show their content.")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@option("--url URL", "URL of the document; resolves relative links.")
@option("--content-type TYPE", "Its Content-Type header.")
@flag("--clean", "Show normalised entries: clean text, sanitised HTML.")
@json_option
def parse(
    files: tuple[str, ...], url: str | None, content_type: str | None, *, clean: bool
) -> None:
    """Parse feed documents (RSS, Atom, JSON Feed) and show their content.

    FILE may be - for standard input. Exits with 1 when a document is not a feed, and prints what it
    is instead.

    \b
    Examples:
      feedmill parse feed.xml
      feedmill parse --clean --json feed.xml | jq '.entries[].title'
      curl -s "$URL" | feedmill parse - --url "$URL"
    """
    results = [
        (name, parse_feed(_read(name), url=url, content_type=content_type)) for name in files
    ]
    if is_json():
        _print_json(results, clean=clean)
    else:
        for name, result in results:
            _print(name, result, clean=clean)
    if any(isinstance(result, Unreadable) for _, result in results):
        sys.exit(1)


def _read(name: str) -> bytes:
    try:
        return sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except OSError as problem:
        reason = problem.strerror or str(problem)
        exit_with_error("unreadable-file", f"{name}: {reason}", "check the path", status=2)


def _print_json(results: list[tuple[str, ParsedFeed | Unreadable]], *, clean: bool) -> None:
    items = [
        _cleaned(result) if clean and isinstance(result, ParsedFeed) else result
        for _, result in results
    ]
    if len(results) > 1:
        show_json({"items": items, "next": None})
    elif isinstance(result := results[0][1], Unreadable):
        hint = _HINTS.get(result.reason, "")
        exit_with_error(
            result.reason, f"{results[0][0]}: {result.detail}", hint, as_json=True, status=1
        )
    else:
        show_json(items[0])


def _cleaned(feed: ParsedFeed) -> dict[str, object]:
    fields: dict[str, object] = msgspec.to_builtins(normalise(feed))
    return {"format": feed.format, **fields, "repairs": msgspec.to_builtins(feed.repairs)}


def _print(name: str, result: ParsedFeed | Unreadable, *, clean: bool) -> None:
    click.echo(style_text(name, bold=True))
    if isinstance(result, Unreadable):
        click.echo(f"  {style_text(result.reason, fg='red')}: {shorten(result.detail, 200)}")
        if result.reason in _HINTS:
            click.echo(f"  {_HINTS[result.reason]}")
    else:
        _print_feed(result)
        if clean:
            _print_clean(normalise(result))
        else:
            for entry in result.entries:
                _print_entry(entry)
        _print_repairs(result.repairs)
    click.echo()


def _print_feed(feed: ParsedFeed) -> None:
    count = f"{len(feed.entries)} {'entry' if len(feed.entries) == 1 else 'entries'}"
    how = {"bom": "by byte order mark", "http": "by the header", "declaration": "declared"}
    known = how.get(feed.encoding_source, feed.encoding_source)
    encoding = feed.encoding if known == feed.encoding else f"{feed.encoding}, {known}"
    click.echo(f"  {feed.format} · {encoding} · {count}")
    title = feed.title.value if feed.title else None
    facts = (
        ("title", title),
        ("link", feed.link),
        ("self", feed.self_url),
        ("hub", ", ".join(feed.hubs)),
        ("next", feed.next_url or feed.prev_archive_url),
        ("moves to", feed.new_feed_url),
        ("asks", _asks(feed)),
    )
    for label, value in facts:
        if value:
            click.echo(f"  {label:<9}{shorten(value, 100)}")


def _asks(feed: ParsedFeed) -> str:
    """The publisher's polling hints as text."""
    hints = feed.hints
    options: list[str] = []
    if hints.ttl_minutes is not None:
        options.append(f"at most every {hints.ttl_minutes} min")
    if hints.update_period is not None:
        options.append(f"updates {hints.update_frequency or 1} × {hints.update_period}")
    if hints.skip_hours:
        options.append("not in hours " + " ".join(map(str, hints.skip_hours)))
    if hints.skip_days:
        options.append("not on " + " ".join(hints.skip_days))
    return "; ".join(options)


def _print_entry(entry: ParsedEntry) -> None:
    written = entry.published or entry.updated
    date = parse_date(written)
    when = date.strftime("%Y-%m-%d %H:%M") if date else "-"
    title = entry.title.value if entry.title else "(no title)"
    click.echo(f"  {when:<18}{shorten(title, 60):<62}{shorten(entry.link or entry.id or '', 200)}")


def _print_clean(feed: NormalisedFeed) -> None:
    for entry in feed.entries:
        when = entry.published_effective
        date = when.strftime("%Y-%m-%d %H:%M") if when else "-"
        click.echo(f"  {date:<18}{style_text(entry.title or '(no title)', bold=True)}")
        click.echo(f"{'':20}{entry.canonical_link or ''}")
        if entry.summary:
            click.echo(f"{'':20}{shorten(entry.summary, 160)}")
        for finding in entry.findings:
            click.echo(f"{'':20}{style_text(finding.code, fg='yellow')} in {finding.field}")


def _print_repairs(repairs: tuple[Repair, ...]) -> None:
    for repair in repairs:
        click.echo(
            f"  {style_text('mended', fg='yellow')}   {repair.code:<22}{shorten(repair.detail, 100)}"
        )
