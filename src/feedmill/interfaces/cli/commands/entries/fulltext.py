"""`feedmill fulltext`: fetch, extract and show the texts of the web pages of entries."""
# Tested in tests/integration/interfaces/cli/commands/entries/test_fulltext.py

import re
from typing import Final

import click
from msgspec.structs import replace

from feedmill.app.settings import owner_name
from feedmill.engine.jobs.fulltext import KIND
from feedmill.engine.jobs.runner import run_due_jobs
from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.engine.run.services import Services
from feedmill.engine.service import full_texts
from feedmill.engine.service.feed_lookup import resolve_feed, resolve_feeds
from feedmill.errors import NotFoundError, UsageError, extra_hint
from feedmill.interfaces.cli.command import Answer, OpenServices, command
from feedmill.interfaces.cli.commands.entries.clusters import switch_feeds
from feedmill.interfaces.cli.exit import exit_with_error
from feedmill.interfaces.cli.options import feeds_argument, flag, option, usage_error
from feedmill.interfaces.cli.output import format_count, shorten
from feedmill.model.derived.fetched import FullText
from feedmill.normalise.text import clean_text
from feedmill.publish.shapes import FeedChange

_BLOCK_END: Final = re.compile(
    r"</(?:p|h[1-6]|li|div|blockquote|pre|tr|figcaption)>|<br\b[^>]{0,9}>"
)
_SHOWN = ("full_text", "full_text_selector")


@click.group()
def fulltext() -> None:
    """Fetch the web pages of entries and extract their full text; opt in per feed or tag.

    \b
    Examples:
      feedmill fulltext enable https://example.com/feed
      feedmill fulltext enable https://example.com/feed --selector "article .body"
      feedmill fulltext fetch https://example.com/feed --limit 5
      feedmill fulltext show ENTRY
      feedmill fulltext replay --all
    """


@command("enable", of=fulltext)
@feeds_argument
@option("--selector CSS|XPATH", "Where the text is in a page of this feed.")
async def enable_command(
    open_services: OpenServices, feeds: tuple[str, ...], *, selector: str | None
) -> Answer:
    """Fetch the pages of new entries of feeds from now on.

    A selector says where the text is; an XPath begins with / or (. Without one it is found by its look.
    """
    _check_selector(selector)
    change = FeedChange(full_text=True, full_text_selector=selector)
    return await switch_feeds(feeds, change, _SHOWN, await open_services(), what="full texts")


@command("disable", of=fulltext)
@feeds_argument
async def disable_command(services: Services, feeds: tuple[str, ...]) -> Answer:
    """Fetch no more pages of feeds, also where a tag asks for it. Stored full texts stay."""
    change = FeedChange(full_text=False)
    return await switch_feeds(feeds, change, _SHOWN, services, what="full texts")


@command("fetch", of=fulltext)
@click.argument("what", nargs=-1, required=True, metavar="ENTRY|FEED...")
@option("--limit", "Newest entries of each feed.", least=1, most=1000, default=20)
async def fetch_command(services: Services, what: tuple[str, ...], *, limit: int) -> Answer:
    """Fetch pages of entries or feeds now. Of feeds those of the newest entries, politely.

    What has to wait for its host is left to the queue (`feedmill jobs`).
    """
    uids: list[str] = []
    for name in what:
        entry = await services.store.entry(name)
        if entry is not None:
            uids += await full_texts.queue_pages(services, entry_uids=(entry.entry_uid,))
        else:
            feed = await resolve_feed(name, services)
            uids += await full_texts.queue_pages(services, feed_id=feed.id, limit=limit)
    began = services.clock.now()
    await run_due_jobs(services, Lifecycle(owner_name()), kinds=(KIND,))
    items: list[object] = []
    lines: list[str] = []
    for uid in uids:
        one = await services.store.full_text(uid)
        is_done = one is not None and one.extracted_at >= began
        items.append(one if is_done else {"entry_uid": uid, "state": "queued"})
        lines.append(_line(one) if one is not None and is_done else f"queued     {uid}")
    return Answer({"items": items, "next": None}, "\n".join(lines))


@command("replay", of=fulltext)
@click.argument("feeds", nargs=-1, metavar="[FEED]...")
@flag("--all", "everything", "Every feed.")
@flag("--force", "Also pages that today's extractor has read.")
async def replay_command(
    open_services: OpenServices, feeds: tuple[str, ...], *, everything: bool, force: bool
) -> Answer:
    """Extract stored pages again. With today's extractor and selectors; nothing is fetched."""
    if not feeds and not everything:
        usage_error("name feeds or pass --all")
    services, version = await open_services(), extractor_version()
    named = [feed.id for feed in await resolve_feeds(feeds, services)]
    chosen: list[str | None] = [None] if everything else [*named]
    done = full_texts.Replayed()
    for feed_id in chosen:
        one = await full_texts.replay_pages(services, version, feed_id=feed_id, everything=force)
        sums = {name: getattr(done, name) + getattr(one, name) for name in one.__struct_fields__}
        done = replace(done, **sums)
    words = f"{format_count(done.pages, 'page')} extracted again, {done.changed} changed"
    words += f"; {done.current} were current, {done.missing} are not kept any more"
    return Answer(done, words)


@command("show", of=fulltext)
@click.argument("entry", metavar="ENTRY")
@flag("--html", "as_html", "Print the sanitised HTML.")
async def show_command(services: Services, entry: str, *, as_html: bool) -> Answer:
    """Show the full text of an entry, or why it has none."""
    found = await full_texts.get_full_text(entry, services)
    words = _line(found)
    if found.html is not None:
        words += f"\n\n{found.html if as_html else _paragraphs(found.html)}"
    return Answer(found, words)


def extractor_version() -> str:
    """The version of the extractor that is installed; NotFoundError without one."""
    try:
        from feedmill.extract import VERSION  # noqa: PLC0415  # an extra
    except ImportError:
        message = "the extractor is not installed"
        raise NotFoundError(message, extra_hint("fulltext")) from None
    return VERSION


def _check_selector(selector: str | None) -> None:
    """Exit with 2 when the selector is none; unchecked where the extractor is not installed."""
    if selector is None:
        return
    try:
        from feedmill.extract import compile_selector  # noqa: PLC0415  # an extra

        compile_selector(selector)
    except ImportError:
        return
    except UsageError as problem:
        exit_with_error("bad-selector", str(problem), status=2)


def _paragraphs(html: str) -> str:
    """The text of sanitised HTML, one paragraph to a line."""
    pieces = (clean_text(piece) for piece in _BLOCK_END.split(html))
    return "\n\n".join(piece for piece in pieces if piece)


def _line(found: FullText) -> str:
    if found.state == "failed":
        return f"{found.reason:<11}{found.url}  {shorten(found.detail, 100)}".rstrip()
    facts = [
        f"{found.words} words",
        found.language,
        found.author,
        "paywalled" if found.paywalled else None,
    ]
    about = ", ".join(one for one in facts if one)
    return f"extracted  {shorten(found.title or found.url, 80)}  ({shorten(about, 120)})"
