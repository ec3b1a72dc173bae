"""`feedmill held`: list, export or drop entries held for review."""
# Tested in tests/integration/interfaces/cli/

from pathlib import Path
from typing import Any

import click

from feedmill.engine.run.services import Services
from feedmill.engine.service.feed_lookup import all_feeds, resolve_feeds
from feedmill.engine.two_phase.candidate_file import write_candidates
from feedmill.engine.two_phase.held_window import HeldWindow, held_entries, held_window
from feedmill.engine.two_phase.sidecar_files import screening_path, selection_path, write_screenings
from feedmill.interfaces.cli.exit import is_json
from feedmill.interfaces.cli.options import json_option, list_options, out_option
from feedmill.interfaces.cli.output import show_json, show_list, show_result
from feedmill.interfaces.cli.run_command import with_services
from feedmill.model.feed import Feed
from feedmill.model.screening import HeldEntry

_feed_option = click.option(
    "--feed", "names", multiple=True, metavar="FEED", help="Only entries of this feed; repeatable."
)
_tag_option = click.option("--tag", metavar="TAG", help="Only entries of feeds with this tag.")


@click.group()
def held() -> None:
    """List, export or drop entries held for review."""


@held.command("list")
@_feed_option
@_tag_option
@list_options()
def list_held_command(names: tuple[str, ...], tag: str | None) -> None:
    """List held entries, oldest first."""

    async def action(services: Services) -> list[HeldEntry]:
        return await held_entries(services.store, feeds=await _chosen(names, tag, services))

    found = with_services(action)
    rows = [(f"{one.held_at:%Y-%m-%d %H:%M}", one.title or "-", one.entry_uid) for one in found]
    items = [_held_shape(one) for one in found]
    head = ("since", "title", "entry")
    show_list(items, head, rows, empty="no held entries")


@held.command("export")
@_feed_option
@_tag_option
@out_option("held.json")
@json_option
def export_held_command(names: tuple[str, ...], tag: str | None, out: Path) -> None:
    """Write held entries as a candidate file. It is for review and insert-selected."""

    async def action(services: Services) -> HeldWindow:
        window = await held_window(services, feeds=await _chosen(names, tag, services))
        write_candidates(out, window.file)
        for stale in (screening_path(out), selection_path(out)):
            stale.unlink(missing_ok=True)
        if window.screenings:
            write_screenings(out, window.file, window.screenings, at=services.clock.now())
        return window

    window = with_services(action)
    count = len(window.file.candidates)
    if is_json():
        show_json({"out": str(out), "candidates": count, "screened": len(window.screenings)})
    else:
        click.echo(f"{count} candidates written to {out}")
        click.echo(f"next: feedmill review {out}")


@held.command("drop")
@click.argument("entries", nargs=-1, metavar="[ENTRY]...")
@_feed_option
@_tag_option
@click.option("--all", "everything", is_flag=True, help="Every held entry.")
@json_option
def drop_held_command(
    entries: tuple[str, ...], names: tuple[str, ...], tag: str | None, *, everything: bool
) -> None:
    """Drop held entries for good: later polls skip them too."""
    if not (entries or names or tag or everything):
        message = "name entries or feeds, or pass --all"
        raise click.UsageError(message)

    async def action(services: Services) -> int:
        if entries:
            return await services.store.reject_held(entries)
        waiting = await held_entries(services.store, feeds=await _chosen(names, tag, services))
        return await services.store.reject_held([one.entry_uid for one in waiting])

    dropped = with_services(action)
    show_result({"dropped": dropped}, f"{dropped} dropped")


async def _chosen(names: tuple[str, ...], tag: str | None, services: Services) -> list[Feed] | None:
    """The selected feeds; None: all feeds."""
    if not names and tag is None:
        return None
    tagged = [] if tag is None else await all_feeds(services, tag)
    return [*await resolve_feeds(names, services), *tagged]


def _held_shape(one: HeldEntry) -> dict[str, Any]:
    said = one.screening
    return {
        "entry_uid": one.entry_uid,
        "feed_id": one.feed_id,
        "title": one.title,
        "held_at": one.held_at,
        "fetch_id": one.fetch_id,
        "suggestion": None if said is None else said.suggestion,
        "topic": None if said is None else said.topic,
        "score": None if said is None else said.score,
    }
