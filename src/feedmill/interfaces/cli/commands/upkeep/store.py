"""`feedmill store`: transfer a SQLite store to PostgreSQL and compare the two."""
# Tested in tests/integration/interfaces/cli/

from functools import partial

import click

from feedmill.app.store_moves import BATCH_ROWS, compare_stores, transfer_store
from feedmill.config import Config
from feedmill.engine.deliver.read_log import tell_if_rewound
from feedmill.engine.ports.entries import NewestEvent
from feedmill.engine.run.services import Services
from feedmill.interfaces.cli.command import Answer, command
from feedmill.interfaces.cli.options import flag, option, usage_error
from feedmill.interfaces.cli.output import progress, shorten, show_table, style_text
from feedmill.model.running.worker import ComparedTable, Transfer
from feedmill.observe.log import mask_secrets

_batch_option = option("--batch-rows", "Rows per transaction.", least=1, default=BATCH_ROWS)


@click.group()
def store() -> None:
    """Transfer the store to another database."""


@command("migrate", of=store, short_help="Copy a SQLite store into an empty PostgreSQL.")
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="[TO]", required=False)
@flag("--dry-run", "Show what would be copied; write nothing.")
@flag("--restart", "Discard what an interrupted transfer has copied, and start again.")
@_batch_option
async def transfer_store_command(
    config: Config,
    source: str,
    target: str | None,
    batch_rows: int,
    *,
    dry_run: bool,
    restart: bool,
) -> Answer:
    """Copy a SQLite store into an empty PostgreSQL and compare the two row by row.

    FROM is sqlite:PATH, the file or its home folder. TO is postgresql://…; default: the configured
    store. Stop feedmill first: a file that another process has open is refused, and it is locked
    meanwhile. FROM is not changed. After a crash, run it again: it resumes.

    \b
    Examples:
      feedmill store migrate sqlite:feedmill-data postgresql://me@db/me --dry-run
      feedmill store migrate sqlite:feedmill-data postgresql://me@db/me
      feedmill store migrate sqlite:feedmill-data    # to DATABASE_URL
    """
    url = _target(target, config)
    done = await transfer_store(
        config,
        source,
        url,
        partial(progress),
        dry_run=dry_run,
        restart=restart,
        batch_rows=batch_rows,
    )
    say = partial(_say_plan, done) if dry_run else partial(_say_carried, done, url)
    return Answer(done, say, status=0 if done.is_same else 1)


@command("verify", of=store, short_help="Compare a SQLite store with a PostgreSQL one.")
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="[TO]", required=False)
@_batch_option
async def compare_stores_command(
    config: Config, source: str, target: str | None, batch_rows: int
) -> Answer:
    """Compare a SQLite store with a PostgreSQL one, row by row; nothing is written.

    They are equal right after a transfer, and differ once feedmill works on the new store.

    \b
    Examples:
      feedmill store verify sqlite:feedmill-data postgresql://feedmill@db/feedmill
    """
    url = _target(target, config)
    found = await compare_stores(config, source, url, partial(progress), batch_rows=batch_rows)
    return Answer(found, lambda: _say_compared(found), status=0 if found.is_same else 1)


def _target(target: str | None, config: Config) -> str:
    if (target or config.store.url) is None:
        usage_error("give the PostgreSQL to copy into, or set FEEDMILL_STORE_URL")
    return target or config.store.url or ""


def _say_plan(plan: Transfer) -> None:
    for name in plan.migrations:
        click.echo(f"would apply  {name}")
    show_table(("table", "rows"), [(table.name, f"{table.rows:,}") for table in plan.tables])
    total = sum(table.rows for table in plan.tables)
    verb = "an interrupted transfer would resume" if plan.resumed else "would be copied"
    click.echo(f"{total:,} rows in all, {verb}: {plan.source} to {plan.target}")


def _say_carried(done: Transfer, url: str) -> None:
    for name in done.migrations:
        click.echo(f"applied  {name}")
    total = sum(table.rows for table in done.tables)
    copied = sum(table.copied for table in done.tables)
    rest = f", {total - copied:,} already copied" if done.resumed else ""
    click.echo(f"{copied:,} rows copied{rest}")
    replaced = sum(table.replaced for table in done.tables)
    if replaced:
        click.echo(f"{replaced:,} NUL characters, which PostgreSQL cannot hold, became U+FFFD")
    folded = sum(table.folded for table in done.tables)
    if folded:
        click.echo(f"{folded:,} keys became equal to another key and were merged with it")
    _say_compared(done)
    if not done.is_same:
        click.echo("nothing was changed in the old store; begin again with --restart")
        return
    click.echo(
        f"next: set FEEDMILL_STORE_URL={mask_secrets(url)}, keep the home folder (raw documents"
    )
    click.echo("  stay in it until `feedmill blobs migrate` moves them), start feedmill,")
    click.echo(
        f"  and put {done.source.removeprefix('sqlite:')} away: feedmill must not poll from it again"
    )


@command("mark-restored", of=store, short_help="Tell readers that the event log went back.")
@option(
    "--delivered SEQ",
    "The highest event number that a reader may have, where it is known.",
    least=0,
    default=0,
    show_default=False,
)
@click.option("--told", "earlier", type=click.IntRange(min=0), default=0, hidden=True)
async def mark_restored(services: Services, delivered: int, earlier: int) -> Answer:
    """Append an event log.rewound, after a backup was restored or a standby promoted.

    Where the home folder is as before, feedmill notices by itself. Use this on a new machine, or when
    several machines share a PostgreSQL that lost its last transactions. New events get numbers that no
    reader has seen.

    \b
    Examples:
      feedmill store mark-restored
      feedmill store mark-restored --delivered 120345
    """
    known = max(delivered, earlier, await services.store.last_seq())
    await tell_if_rewound(services.store, NewestEvent(seq=known + 1), services.clock.now())
    seq = await services.store.last_seq()
    return Answer({"seq": seq}, f"readers get event {seq} (log.rewound) next")


def _say_compared(found: Transfer) -> None:
    for table in found.compared:
        if not table.is_same:
            _say_difference(table)
    different = [table for table in found.compared if not table.is_same]
    rows = sum(table.rows_from for table in found.compared)
    if different:
        click.echo(f"{len(different)} of {len(found.compared)} tables differ")
        return
    click.echo(f"{rows:,} rows compared in {len(found.compared)} tables: count and SHA-256 agree")


def _say_difference(table: ComparedTable) -> None:
    mark = style_text("differs", fg="red")
    counts = f"{table.rows_from:,} rows against {table.rows_to:,}, {table.differing:,} differ"
    click.echo(f"  {mark} {table.name}: {counts}")
    if table.first is not None:
        columns = f" in {', '.join(table.first.columns)}" if table.first.columns else ""
        key = shorten(table.first.key, 120)
        click.echo(f"          the first is {table.first.kind}{columns}: {key}")
