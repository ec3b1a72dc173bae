"""`feedmill duplicates`: find feeds that carry the same articles, merge them, and undo merges."""

import sys
from collections.abc import Sequence
from functools import partial
from shlex import quote
from typing import Any

import click
import msgspec

from feedmill.engine.moves.follow import MERGE_IS_FINAL
from feedmill.engine.run.services import Services
from feedmill.engine.service.subscriptions import (
    DuplicatePair,
    find_duplicates,
    merge_duplicates,
    undo_merge,
)
from feedmill.interfaces.cli.command import Answer, OpenServices, Printer, command
from feedmill.interfaces.cli.exit import ctrl_c_ends_prompt, exit_with_error, is_json
from feedmill.interfaces.cli.options import Number, flag, list_options, option
from feedmill.interfaces.cli.output import format_count, shorten, show_list, style_text
from feedmill.model.addresses import mask_address
from feedmill.model.derived.cluster import Mirrors


@command()
@option(
    "--min-share",
    "Least share of the entries of the smaller feed that the other one has too.",
    type=Number(0, 1),
    default=0.5,
)
@flag("--merge", "Merge the pairs that are proven to be one feed.")
@flag("--yes", "Do not ask for confirmation.")
@flag("--merged", "List merges that can be undone.")
@option("--undo FEED", "Undo the merge of this feed.")
@option("--limit", "Maximum number of items.", least=1, most=1000, default=50)
@list_options()
async def duplicates(
    open_services: OpenServices,
    *,
    min_share: float,
    limit: int,
    merge: bool,
    yes: bool,
    merged: bool,
    undo: str | None,
) -> Answer | Printer:
    """List pairs of feeds that carry the same articles; merge those that are one feed.

    Entries count as the same when they have one address or one article hash, or are in one
    cluster (see `feedmill clusters`). A merge by this command can be undone for 30 days; one by
    `feedmill move` is final.

    \b
    Examples:
      feedmill duplicates
      feedmill duplicates --merge --yes
      feedmill duplicates --undo https://example.com/rss
    """
    is_listed = undo is not None or merged
    if merge and not (is_listed or yes or is_json() or sys.stdin.isatty()):
        exit_with_error("usage", "not a terminal: pass --yes to confirm", status=2)
    services = await open_services()
    if undo is not None:
        back = await undo_merge(undo, services)
        return Answer(back, f"{mask_address(back.url)} is polled again")
    if merged:
        return await _merged(services)
    found = await find_duplicates(services, min_share=min_share, limit=limit)
    proven = tuple(one for one in found if one.proof is not None)
    is_done = merge and bool(proven) and (yes or is_json() or _agreed(proven))
    if is_done:
        found = await merge_duplicates(proven, services)
    items = [_shape(one) for one in found]
    none = f"no two feeds have {min_share:.0%} of their entries in common"
    show = partial(_show, found, is_done=is_done)
    return partial(show_list, items, (), (), empty=none, whole=items, show=show)


async def _merged(services: Services) -> Printer:
    found = await services.store.merged_feeds()
    rows = [
        (
            one.feed_id,
            mask_address(one.url),
            mask_address(one.into_url),
            f"{one.merged_at:%Y-%m-%d}",
        )
        for one in found
    ]
    head = ("feed", "address", "merged into", "on")
    return partial(show_list, found, head, rows, empty="no merge can be undone")


def _agreed(pairs: Sequence[DuplicatePair]) -> bool:
    _show(pairs, is_done=False)
    with ctrl_c_ends_prompt():
        return click.confirm(f"merge {format_count(len(pairs), 'pair')}?")


def _shape(one: DuplicatePair) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(one)
    pair: dict[str, Any] = plain.pop("pair")
    return pair | plain | {"merge": merge_command(one.pair)}


def _show(found: Sequence[DuplicatePair], *, is_done: bool) -> None:
    for one in found:
        pair = one.pair
        common = style_text(f"{pair.share:.0%} in common ({pair.common} entries)", bold=True)
        names = f"{_name(pair.title, pair.url)} and {_name(pair.other_title, pair.other_url)}"
        click.echo(f"{common}: {names}")
        click.echo(f"  {one.why}")
        if is_done:
            undo = f"feedmill duplicates --undo {one.drop_id}"
            click.echo(f"  merged into {one.keep_id}; to undo it: {undo}")
        elif one.proof is None:
            command = merge_command(pair)
            click.echo(f"  to merge the second into the first: {command} ({MERGE_IS_FINAL})")
        else:
            click.echo("  to merge them: feedmill duplicates --merge")


def merge_command(pair: Mirrors) -> str:
    """The command that gives everything of the younger subscription to the older one, if it is the same feed."""
    return f"feedmill move {pair.other_id} {quote(mask_address(pair.url))}"


def _name(title: str | None, url: str) -> str:
    return shorten(f"{title or '-'} <{mask_address(url)}>", 200)
