"""`feedmill restore`: fill an empty store from the raw documents."""
# Tested in tests/integration/engine/poll/test_restore.py

import click

from feedmill.engine.maintain.raw_store import adopt_blobs, segments_to_adopt
from feedmill.engine.poll.restore import RestoreResult, begin_restore, stored_fetches
from feedmill.engine.poll.restore import restore as restore_all
from feedmill.engine.run.services import Services
from feedmill.interfaces.cli.command import Answer, command
from feedmill.interfaces.cli.output import progress


@command(schema="apply", takes_raw=True)
async def restore(services: Services) -> Answer:
    """Fill an empty store from the raw documents: feeds, fetches and entries.

    For a home folder or a bucket whose database is lost. The documents are indexed and read again, oldest
    first, without a request. Of events only log.rewound is written. Passwords, headers, intervals, pauses, quotas, tokens,
    webhooks, live screens and insertions are not in the raw documents: restore a backup of the database to have
    those back. Entries that were held or dropped come back as any other. After a crash, run it again.

    \b
    Examples:
      feedmill restore
      feedmill --home new-home restore --json
    """
    await begin_restore(services)
    segments = len(await segments_to_adopt(services.blobs))
    with progress(segments, "indexing segments") as step:
        await adopt_blobs(services.store, services.blobs, services.clock, step=step)
    with progress(segments, "reading notes") as step:
        fetches, result = await stored_fetches(services, step=step)
    with progress(len(fetches), "restoring fetches") as step:
        done = await restore_all(fetches, result, services, step=step)
    return Answer(done, lambda: _say(done))


def _say(done: RestoreResult) -> None:
    click.echo(
        f"restored {done.feeds:,} feeds, {done.fetches:,} fetches and {done.entries:,} entries"
        + (f" ({done.already:,} fetches were there already)" if done.already else "")
    )
    if done.unreadable:
        click.echo(f"{done.unreadable:,} documents could not be read as a feed")
    if done.without_note:
        click.echo(
            f"{done.without_note:,} documents of an earlier version have no note of their fetch:"
            f" {done.without_address:,} of them do not name their feed and are kept, not read;"
            " times and headers of the others are unknown"
        )
    click.echo(
        "not restored: passwords, headers, intervals, pauses, quotas, tokens, webhooks, live screens, full texts,"
        " earlier addresses, entries of collected windows"
    )
    click.echo(
        "restored like any other: removed feeds, and entries that were held or dropped, whose raw documents are kept"
    )
    click.echo("next: feedmill verify, then feedmill run")
