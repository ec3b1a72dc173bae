"""`feedmill duplicates`: find feeds that carry the same articles, merge them, and undo merges."""

import sys
from collections.abc import Sequence
from shlex import quote
from typing import Any

import click
import msgspec

from feedmill.engine.moves.follow import MERGE_IS_FINAL
from feedmill.engine.run.services import Services
from feedmill.engine.service.contents.duplicates import (
    DuplicatePair,
    find_duplicates,
    merge_duplicates,
    undo_merge,
)
from feedmill.interfaces.cli.exit import ctrl_c_ends_prompt, exit_with_error, is_json
from feedmill.interfaces.cli.options import list_options
from feedmill.interfaces.cli.output import format_count, shorten, show_list, show_result, style_text
from feedmill.interfaces.cli.run_command import with_services
from feedmill.model.addresses import mask_address
from feedmill.model.derived.cluster import Mirrors


@click.command()
@click.option(
    "--min-share",
    type=click.FloatRange(0, 1),
    default=0.5,
    show_default=True,
    help="Least share of the entries of the smaller feed that the other one has too.",
)
@click.option("--merge", is_flag=True, help="Merge the pairs that are proven to be one feed.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option("--merged", is_flag=True, help="List merges that can be undone.")
@click.option("--undo", metavar="FEED", help="Undo the merge of this feed.")
@click.option(
    "--limit",
    type=click.IntRange(1, 1000),
    default=50,
    show_default=True,
    help="Maximum number of items.",
)
@list_options()
def duplicates(
    *, min_share: float, limit: int, merge: bool, yes: bool, merged: bool, undo: str | None
) -> None:
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
    if undo is not None:
        back = with_services(lambda services: undo_merge(undo, services))
        show_result(msgspec.to_builtins(back), f"{mask_address(back.url)} is polled again")
        return
    if merged:
        _show_merged()
        return
    if merge and not (yes or is_json() or sys.stdin.isatty()):
        exit_with_error("usage", "not a terminal: pass --yes to confirm", status=2)

    async def action(services: Services) -> tuple[tuple[DuplicatePair, ...], bool]:
        found = await find_duplicates(services, min_share=min_share, limit=limit)
        proven = tuple(one for one in found if one.proof is not None)
        if not merge or not proven or not (yes or is_json() or _agreed(proven)):
            return found, False
        return await merge_duplicates(proven, services), True

    found, is_done = with_services(action)
    items = [_shape(one) for one in found]
    none = f"no two feeds have {min_share:.0%} of their entries in common"
    show_list(items, (), (), empty=none, whole=items, show=lambda: _show(found, is_done=is_done))


def _show_merged() -> None:
    async def action(services: Services) -> Any:  # noqa: ANN401  # merged feeds
        return await services.store.merged_feeds()

    found = with_services(action)
    rows = [
        (
            one.feed_id,
            mask_address(one.url),
            mask_address(one.into_url),
            f"{one.merged_at:%Y-%m-%d}",
        )
        for one in found
    ]
    items = [msgspec.to_builtins(one) for one in found]
    empty = "no merge can be undone"
    show_list(items, ("feed", "address", "merged into", "on"), rows, empty=empty)


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
