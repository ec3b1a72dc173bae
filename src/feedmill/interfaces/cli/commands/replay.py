"""`feedmill replay`: parse stored raw documents again."""
# Tested in tests/integration/interfaces/cli/

import click

from feedmill.engine.poll.replay import Replayed
from feedmill.engine.poll.replay import replay as replay_feed
from feedmill.engine.run.services import Services
from feedmill.engine.service.feed_lookup import all_feeds, resolve_feeds
from feedmill.interfaces.cli.options import context_and_json
from feedmill.interfaces.cli.output import progress, shorten, show_json
from feedmill.interfaces.cli.run_command import with_services


@click.command()
@click.argument("feeds", nargs=-1, metavar="[FEED]...")
@click.option("--all", "everything", is_flag=True, help="Every feed.")
@click.option("--write", is_flag=True, help="Commit the differences instead of showing them.")
@context_and_json
def replay(
    ctx: click.Context, feeds: tuple[str, ...], *, everything: bool, write: bool, as_json: bool
) -> None:
    """Parse stored raw documents again with the current parser and show what would change."""
    if not feeds and not everything:
        message = "name feeds or pass --all"
        raise click.UsageError(message)

    async def action(services: Services) -> list[Replayed]:
        chosen = await (all_feeds(services) if everything else resolve_feeds(feeds, services))
        results = []
        with progress(len(chosen), "parsing", hide=as_json) as step:
            for feed in chosen:
                results.append(await replay_feed(feed, services, write=write))
                step()
        return results

    results = with_services(ctx, action, as_json=as_json)
    if as_json:
        show_json({"items": results, "next": None})
        return
    for one in results:
        _say_replayed(one)
    total = sum(len(one.differences) for one in results)
    same = sum(one.unchanged for one in results)
    read = sum(one.outcome == "read" for one in results)
    click.echo(f"{read} documents parsed again: {total} entries differ, {same} are unchanged")
    if read < len(results):
        click.echo(f"{len(results) - read} feeds have no readable document")
    if total and not write:
        click.echo("nothing was written; pass --write to commit")


def _say_replayed(one: Replayed) -> None:
    if one.differences:
        click.echo(f"{one.feed_id}  {len(one.differences)} differ")
    for difference in one.differences:
        what = ", ".join(difference.changed) or "new"
        click.echo(f"  {difference.kind:<9}{what:<30}{shorten(difference.title or '', 80)}")
