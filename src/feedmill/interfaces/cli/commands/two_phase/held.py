"""`feedmill held`: list, export or drop entries held for review."""
# Tested in tests/integration/interfaces/cli/

from functools import partial
from pathlib import Path
from typing import Any

import click

from feedmill.engine.run.services import Services
from feedmill.engine.service.feed_lookup import all_feeds, resolve_feeds
from feedmill.engine.two_phase.candidates import write_candidates
from feedmill.engine.two_phase.held_window import held_entries, held_window
from feedmill.engine.two_phase.sidecar_files import screening_path, selection_path, write_screenings
from feedmill.errors import NotFoundError
from feedmill.interfaces.cli.command import Answer, OpenServices, Printer, command
from feedmill.interfaces.cli.options import flag, list_options, option, out_option, usage_error
from feedmill.interfaces.cli.output import show_list
from feedmill.model.base import fields_of
from feedmill.model.feed import Feed
from feedmill.model.screening import HeldEntry

_feed_option = option(
    "--feed FEED", "names", "Only entries of this feed; repeatable.", multiple=True
)
_tag_option = option("--tag TAG", "Only entries of feeds with this tag.")


@click.group()
def held() -> None:
    """List, export or drop entries held for review."""


@command("list", of=held)
@_feed_option
@_tag_option
@list_options()
async def list_held_command(services: Services, names: tuple[str, ...], tag: str | None) -> Printer:
    """List held entries, oldest first."""
    found = await held_entries(services.store, feeds=await _chosen(names, tag, services))
    rows = [
        (f"{one.held_at:%Y-%m-%d %H:%M}", one.title or "-", one.entry_uid, _warning(one))
        for one in found
    ]
    items = [_held_shape(one) for one in found]
    head = ("since", "title", "entry", "warning")
    return partial(show_list, items, head, rows, empty="no held entries")


@command("export", of=held)
@_feed_option
@_tag_option
@out_option("held.json")
async def export_held_command(
    services: Services, names: tuple[str, ...], tag: str | None, out: Path
) -> Answer:
    """Write held entries as a candidate file. It is for review and insert-selected."""
    window = await held_window(services, feeds=await _chosen(names, tag, services))
    write_candidates(out, window.file)
    for stale in (screening_path(out), selection_path(out)):
        stale.unlink(missing_ok=True)
    if window.screenings:
        write_screenings(out, window.file, window.screenings, at=services.clock.now())
    count = len(window.file.candidates)
    shape = {"out": str(out), "candidates": count, "screened": len(window.screenings)}
    return Answer(shape, f"{count} candidates written to {out}\nnext: feedmill review {out}")


@command("drop", of=held)
@click.argument("entries", nargs=-1, metavar="[ENTRY]...")
@_feed_option
@_tag_option
@flag("--all", "everything", "Every held entry.")
async def drop_held_command(
    open_services: OpenServices,
    entries: tuple[str, ...],
    names: tuple[str, ...],
    tag: str | None,
    *,
    everything: bool,
) -> Answer:
    """Drop held entries for good: later polls skip them too."""
    if not (entries or names or tag or everything):
        usage_error("name entries or feeds, or pass --all")
    services = await open_services()
    held = await held_entries(services.store, feeds=await _chosen(names, tag, services))
    waiting = {one.entry_uid: one for one in held}
    if unknown := [one for one in entries if one not in waiting]:
        message = f"there is no held entry {unknown[0]!r}; nothing was dropped"
        raise NotFoundError(message, "`feedmill held list` lists them")
    dropped = await services.store.reject_held(entries or tuple(waiting))
    return Answer({"dropped": dropped}, f"{dropped} dropped")


async def _chosen(names: tuple[str, ...], tag: str | None, services: Services) -> list[Feed] | None:
    """The selected feeds; None: all feeds."""
    if not names and tag is None:
        return None
    tagged = [] if tag is None else await all_feeds(services, tag)
    return [*await resolve_feeds(names, services), *tagged]


def _warning(one: HeldEntry) -> str:
    is_suspicious = one.screening is not None and one.screening.is_suspicious
    return "WARNING: this text tries to steer its reader" if is_suspicious else ""


def _held_shape(one: HeldEntry) -> dict[str, Any]:
    said = fields_of(one.screening, "suggestion topic score", is_suspicious=bool(_warning(one)))
    return fields_of(one, "entry_uid feed_id title held_at fetch_id", **said)
