"""Looking at what there is: entries, one entry, raw bytes, reasons, numbers."""

import sys
from typing import Any

import click

from feedmill.engine.documents.raw_documents import load_body
from feedmill.engine.run.services import Services
from feedmill.errors import NotFoundError
from feedmill.interfaces.cli.output import (
    json_option,
    shorten,
    show_facts,
    show_json,
    show_table,
    style_text,
)
from feedmill.interfaces.cli.run_command import config_of, resolve_feed, with_services
from feedmill.model.entry_filter import EntryFilter
from feedmill.model.event import StoredEntry
from feedmill.model.feed import Feed
from feedmill.normalise.dates.parse import parse_date
from feedmill.publish.move_shapes import candidate_in_words, candidate_shape
from feedmill.publish.to_json import decision_wire, entry_wire, fetch_wire, revision_wire
from feedmill.schedule.explain import explain_decision


@click.command()
@click.option("--feed", metavar="FEED", help="Only this feed.")
@click.option("--tag", metavar="TAG", help="Only feeds with this tag.")
@click.option("--category", metavar="NAME", help="Only entries with this category.")
@click.option("--since", metavar="TIME", help="First seen at or after this moment.")
@click.option("--until", metavar="TIME", help="First seen before this moment.")
@click.option("--text", metavar="WORD", help="A word of the title begins like this.")
@click.option(
    "--limit",
    type=click.IntRange(1, 1000),
    default=50,
    show_default=True,
    help="At most this many.",
)
@click.option("--after", metavar="CURSOR", help="Go on after the last page.")
@json_option
@click.pass_context
def entries(ctx: click.Context, /, *, as_json: bool, **chosen: Any) -> None:  # noqa: ANN401
    """List entries, the latest arrivals first."""
    since = _moment(chosen["since"], "--since")
    until = _moment(chosen["until"], "--until")

    async def story(services: Services) -> tuple[list[StoredEntry], str | None]:
        feed = await resolve_feed(chosen["feed"], services) if chosen["feed"] else None
        where = EntryFilter(
            feed_id=feed.id if feed else None,
            tag=chosen["tag"],
            category=chosen["category"],
            since=since,
            until=until,
            text=chosen["text"],
        )
        page = await services.store.entries(where, after=chosen["after"], limit=chosen["limit"])
        return list(page.items), page.next

    found, following = with_services(ctx, story, as_json=as_json)
    if as_json:
        show_json({"items": [entry_wire(entry) for entry in found], "next": following})
        return
    if not found:
        click.echo("no entries that fit; `feedmill sync` polls what is due")
        return
    rows = [
        (
            f"{(e.published_effective or e.first_seen):%Y-%m-%d %H:%M}",
            e.title or "-",
            e.canonical_link or "-",
            e.entry_uid,
        )
        for e in found
    ]
    if sys.stdout.isatty():
        for row in rows:
            _show_row(*row)
    else:
        show_table(("published", "title", "link", "entry_uid"), rows)
    if following is not None:
        click.echo(f"more with --after {following}")


@click.command()
@click.argument("entry_uid")
@click.option("--revisions", is_flag=True, help="Show earlier states too.")
@json_option
@click.pass_context
def entry(ctx: click.Context, entry_uid: str, *, revisions: bool, as_json: bool) -> None:
    """Show one entry."""

    async def story(services: Services) -> dict[str, Any]:
        found = await services.store.entry(entry_uid)
        if found is None:
            message = f"there is no entry {entry_uid!r}"
            raise NotFoundError(message, "`feedmill entries` lists them")
        shape = entry_wire(found)
        if revisions:
            earlier = await services.store.revisions(entry_uid)
            shape["history"] = [revision_wire(one) for one in earlier]
        return shape

    result = with_services(ctx, story, as_json=as_json)
    if as_json:
        show_json(result)
        return
    earlier = result.pop("history", ())
    show_facts(result)
    for number, one in enumerate(earlier, 1):
        click.echo()
        show_facts({f"earlier state {number}": one})


@click.command()
@click.argument("what")
@click.option("--headers", is_flag=True, help="Show the fetch and its headers instead.")
@json_option
@click.pass_context
def raw(ctx: click.Context, what: str, *, headers: bool, as_json: bool) -> None:
    """Write raw bytes to standard output: of a fetch, or the exact slice of an entry.

    WHAT is a fetch_id or an entry_uid.
    """

    async def story(services: Services) -> dict[str, Any] | bytes:
        found = await services.store.entry(what)
        ref = found.raw_refs[0] if found is not None and found.raw_refs else None
        fetch = await services.store.fetch(ref.fetch_id if ref else what)
        if fetch is None or fetch.body_sha256 is None:
            message = f"there is no raw document for {what!r}"
            raise NotFoundError(message, "give a fetch_id or an entry_uid")
        if headers or as_json:
            return fetch_wire(fetch)
        body = await load_body(fetch.body_sha256, services.store, services.blobs)
        if ref is not None and ref.offset is not None and ref.length is not None:
            return body[ref.offset : ref.offset + ref.length]
        return body

    result = with_services(ctx, story, as_json=as_json)
    if isinstance(result, bytes):
        sys.stdout.buffer.write(result)
    elif as_json:
        show_json(result)
    else:
        for name in ("url", "final_url", "http_status", "outcome", "fetched_at", "body_sha256"):
            click.echo(f"{name:<16}{shorten(str(result[name]), 300)}")
        for kind in ("request_headers", "response_headers"):
            click.echo(style_text(kind, bold=True))
            for name, value in result[kind]:
                click.echo(f"  {shorten(name, 100)}: {shorten(value, 300)}")


@click.command()
@click.argument("feed")
@click.option(
    "--history",
    type=click.IntRange(1, 100),
    default=1,
    show_default=True,
    metavar="N",
    help="Decisions to explain.",
)
@json_option
@click.pass_context
def explain(ctx: click.Context, feed: str, history: int, *, as_json: bool) -> None:
    """Say why a feed is polled when it is: what happened, which rule, what next."""

    config = config_of(ctx, as_json=as_json)

    async def story(
        services: Services,
    ) -> tuple[Feed, list[tuple[dict[str, Any], tuple[str, ...]]]]:
        found = await resolve_feed(feed, services)
        decisions = await services.store.decisions(found.id, limit=history)
        told = [(decision_wire(one, words := explain_decision(one)), words) for one in decisions]
        return found, told

    found, decisions = with_services(ctx, story, as_json=as_json, config=config)
    title, candidate = found.title or found.url, found.move
    if as_json:
        move = None if candidate is None else candidate_shape(candidate, config.moves)
        show_json({"items": [shape for shape, _ in decisions], "next": None, "move": move})
        return
    if not decisions:
        click.echo(f"{title}: not polled yet")
    for shape, words in decisions:
        click.echo(style_text(f"{title}, decided {shape['decided_at']}", bold=True))
        for sentence in words:
            click.echo(f"  {sentence}")
    for sentence in () if candidate is None else candidate_in_words(candidate, config.moves):
        click.echo(f"  {shorten(sentence, 4_000)}")


@click.command()
@json_option
@click.pass_context
def stats(ctx: click.Context, *, as_json: bool) -> None:
    """Count feeds, entries, fetches and events."""

    async def story(services: Services) -> dict[str, int]:
        return await services.store.counts()

    result = with_services(ctx, story, as_json=as_json)
    if as_json:
        show_json(result)
        return
    for key, value in result.items():
        click.echo(f"{key:<28}{value:>12,}")


def _moment(text: str | None, option: str) -> Any:  # noqa: ANN401
    if text is None:
        return None
    moment = parse_date(text)
    if moment is None:
        message = f"{text!r} is no time; write one like 2025-10-14 or 2025-10-14T09:30:00Z"
        raise click.BadParameter(message, param_hint=option)
    return moment


def _show_row(published: str, title: str, link: str, uid: str) -> None:
    """An entry on lines of its own: a uid that was cut to fit a column would be of no use."""
    click.echo(f"{published}  {style_text(shorten(title, 120), bold=True)}")
    click.echo(f"  {shorten(link, 400)}")
    click.echo(f"  {uid}")
