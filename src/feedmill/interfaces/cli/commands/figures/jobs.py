"""`feedmill jobs`: list, cancel and retry background jobs."""
# Tested in tests/integration/interfaces/cli/commands/figures/test_jobs.py

import click

from feedmill.engine.run.services import Services
from feedmill.engine.service import jobs as engine
from feedmill.engine.service.feed_lookup import feed_id_of
from feedmill.interfaces.cli.command import Answer, command, show_pages
from feedmill.interfaces.cli.options import Whole, list_options, option
from feedmill.interfaces.cli.output import format_duration, shorten
from feedmill.model.running.job import JOB_STATES
from feedmill.publish.shapes import JobPage, JobShape

_THE_JOB = click.argument("job_id", metavar="JOB", type=Whole(1))


@click.group(invoke_without_command=True)
@option("--kind KIND", "Only jobs of this kind.")
@option("--state", "Only jobs in this state.", choices=JOB_STATES)
@option("--feed FEED", "Only jobs of this feed.")
@list_options(50)
@click.pass_context
def jobs(ctx: click.Context, *, kind: str | None, state: str | None, feed: str | None) -> None:
    """List background jobs, newest first; or cancel or retry one by its number.

    Jobs run inside `feedmill run`, `worker` and `serve`, after the due feeds of their host.

    \b
    Examples:
      feedmill jobs
      feedmill jobs --state failed --json
      feedmill jobs cancel 17
      feedmill jobs retry 17
    """
    if ctx.invoked_subcommand is not None:
        return

    async def find(services: Services, after: str | None, limit: int) -> JobPage:
        feed_id = await feed_id_of(feed, services)
        return await engine.list_jobs(
            services, kind=kind, state=state, feed_id=feed_id, cursor=after, limit=limit
        )

    head = ("job", "kind", "state", "progress", "tries", "next step", "about", "last error")
    show_pages(find, head, _row, empty="no jobs")


@command("cancel", of=jobs)
@_THE_JOB
async def cancel_job_command(services: Services, job_id: int) -> Answer:
    """End a job that waits or runs; what it has stored so far stays."""
    return _answer("cancelled", await engine.cancel_job(job_id, services))


@command("retry", of=jobs)
@_THE_JOB
async def retry_job_command(services: Services, job_id: int) -> Answer:
    """Queue a job again that has ended; it continues where it was."""
    return _answer("queued again", await engine.retry_job(job_id, services))


def _answer(words: str, found: JobShape) -> Answer:
    return Answer(found, f"{words}: job {found.id} ({found.kind} {found.key})")


def _row(one: JobShape) -> tuple[str, ...]:
    done = ", ".join(f"{name} {value}" for name, value in one.progress.items())
    wait = one.not_before - one.updated_at
    due = (
        f"in {format_duration(wait)}" if one.state == "queued" and wait.total_seconds() > 0 else ""
    )
    about = one.url or one.feed_id or one.key
    return (
        str(one.id),
        one.kind,
        one.state,
        done or "-",
        str(one.attempts),
        due or "-",
        shorten(about, 60),
        shorten(one.last_error, 60) or "-",
    )
