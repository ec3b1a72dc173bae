"""`feedmill backfill`: read the archive of a feed."""
# Tested in tests/integration/interfaces/cli/commands/feeds/test_backfill.py

import click

from feedmill.engine.run.services import Services
from feedmill.engine.service import jobs
from feedmill.engine.service.feed_lookup import resolve_feed
from feedmill.interfaces.cli.command import Answer, command
from feedmill.interfaces.cli.options import flag, option
from feedmill.publish.shapes import BackfillShape

_WHY = {
    "no-link": "its document names no older page",
    "nothing-new": "the last pages held only entries that are stored already",
    "loop": "a page led back to one that was read",
    "page-limit": "the limit of pages was reached; continue with a larger --pages",
    "other-host": "the older page is on another host",
    "not-found": "the next page is not there",
    "not-a-feed": "a page was not a feed",
    "robots": "robots.txt forbids the pages",
    "never-polled": "the feed has not been polled yet; run `feedmill sync` first",
}


@command()
@click.argument("feed")
@option("--pages N", "Read at most N pages.", least=1)
@flag("--dry-run", "Only say where the walk would begin.")
@flag("--status", "status_only", "Only say how far the walk has come.")
@flag("--cancel", "End the walk; stored entries stay.")
async def backfill(
    services: Services,
    feed: str,
    *,
    pages: int | None,
    dry_run: bool,
    status_only: bool,
    cancel: bool,
) -> Answer:
    """Read the archive of a feed, page by page (RFC 5005, JSON Feed, WordPress).

    The walk is a background job: `feedmill run`, `worker` or `serve` reads one page at a time, at the
    pace of the host and after its due feeds. Entries from an archive are marked, change no schedule
    and are kept when retention deletes old entries.

    \b
    Examples:
      feedmill backfill https://example.com/feed --dry-run
      feedmill backfill https://example.com/feed --pages 20
      feedmill backfill https://example.com/feed --status
    """
    chosen = await resolve_feed(feed, services)
    if cancel:
        found = await jobs.cancel_backfill(chosen, services)
    elif dry_run:
        found = await jobs.plan_backfill(chosen, services)
    elif status_only:
        found = await jobs.backfill_status(chosen, services)
    else:
        found = await jobs.start_backfill(chosen, services, pages=pages)
    return Answer(found, describe_backfill(found))


def describe_backfill(found: BackfillShape) -> str:
    """The state of a walk in one line."""
    if found.job is None:
        if found.first_url is not None:
            return f"would begin with {found.first_url} ({found.kind})"
        return f"nothing to walk: {_WHY.get(found.reason, found.reason)}"
    job = found.job
    done = f"{job.progress.get('pages', 0)} pages, {job.progress.get('entries', 0)} new entries"
    ended = f": {_WHY.get(job.last_error, job.last_error)}" if job.last_error else ""
    return f"backfill {job.state} (job {job.id}): {done}{ended}"
