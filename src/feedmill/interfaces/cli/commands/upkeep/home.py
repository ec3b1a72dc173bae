"""`feedmill init`, `migrate`, `doctor`, `verify`, `purge` and `reindex`: make, check and tidy up a home folder and its store."""
# Tested in tests/integration/interfaces/cli/

from pathlib import Path
from typing import Any

import click

from feedmill.app.doctor import run_doctor
from feedmill.app.store_moves import migrate_store, missing_migrations
from feedmill.config import Config
from feedmill.engine.documents.fetched import media_of
from feedmill.engine.maintain.check_store import missing_from_index, unless_damaged
from feedmill.engine.maintain.check_store import reindex as reindex_all
from feedmill.engine.maintain.publishers_clock import check_clock
from feedmill.engine.maintain.raw_store import grace_ends
from feedmill.engine.maintain.retention import purge as purge_old
from feedmill.engine.maintain.retention import verify_integrity as verify_all
from feedmill.engine.maintain.retention import verify_media
from feedmill.engine.run.services import Services
from feedmill.engine.service.queries import check_searchable, counts
from feedmill.interfaces.cli.command import Answer, command
from feedmill.interfaces.cli.options import flag
from feedmill.interfaces.cli.output import progress, show_line, style_text


@command(schema="apply")
async def init(services: Services) -> Answer:
    """Create the home folder and its store; does nothing when they exist."""
    found, home = (await counts(services)).counts, services.config.store.home

    def show() -> None:
        click.echo(f"ready: {Path(home).resolve()} ({found['feeds']} feeds)")
        click.echo("next: feedmill add https://example.com/feed && feedmill sync")

    return Answer({"home": home, **found}, show)


@command()
@flag("--check", "Change nothing; exit with 1 when migrations are missing.")
async def migrate(config: Config, *, check: bool) -> Answer:
    """Migrate the store to this version of feedmill; does nothing when it is up to date.

    Each migration is one transaction and is applied once, even by two jobs at the same time.
    Workers, APIs and relays wait for it. On SQLite every command migrates by itself.

    \b
    Examples:
      DATABASE_URL=postgresql://feedmill@db/feedmill feedmill migrate
      feedmill migrate --check && echo up to date
    """
    names = await (missing_migrations(config) if check else migrate_store(config))
    verb = "missing" if check else "applied"
    words = "\n".join(f"{verb}  {name}" for name in names) or "the store is up to date"
    return Answer({verb: names}, words, status=1 if check and names else 0)


@command()
async def doctor(config: Config) -> Answer:
    """Check configuration, clock, disk, name resolution, TLS, permissions, the store and its raw documents."""
    checks = await run_doctor(config)
    status = 0 if all(check["ok"] for check in checks) else 1
    return Answer({"items": checks, "next": None}, lambda: _show(checks), status)


def _show(checks: list[dict[str, Any]]) -> None:
    for check in checks:
        advice = check.get("advice")
        mark, colour = ("ok", "green") if check["ok"] else ("FAIL", "red")
        mark, colour = ("set", "yellow") if advice else (mark, colour)
        show_line(f"{mark:<5}{check['name']}", check["detail"], width=21, fg=colour)
        if advice:
            show_line("", advice, width=21)


@command("verify")
async def verify(services: Services) -> Answer:
    """Check that every row of the store can be read and that every raw document and media file matches its hash.

    What cannot be read is named by table, row and column. Raw segments that no index knows are named, and so is a raw store that
    belongs to another store. Exits with status 1 when there are problems.
    """
    before = grace_ends(services.clock.now(), services.config.store.segment_grace_sec)
    with progress(None, "reading rows and documents") as step:
        found = await verify_all(services.store, services.blobs, before=before, on_rows=step)
        problems: list[str] = found["problems"]
        nothing = {"media_files": 0, "problems": list[str]()}
        media = verify_media(services.store, media_of(services))
        files = await unless_damaged(media, nothing, problems)
    search = None
    if services.config.search.enabled:
        search = await unless_damaged(missing_from_index(services.store), None, problems)
    problems = problems + files["problems"]
    lines = [
        f"{found['rows']:,} rows read",
        f"{found['documents']:,} raw documents read and hashed",
    ]
    if files["media_files"]:
        lines.append(f"{files['media_files']:,} media files read and hashed")
    lines += [search] if search else []
    lines += [f"  {style_text('problem', fg='red')} {problem}" for problem in problems]
    lines += [found["repair"]] if found["repair"] else []
    many = f"{len(problems)} problems" if len(problems) > 1 else "1 problem"
    lines.append(many if problems else "no problems")
    shape = found | files | {"search": search, "problems": problems}
    return Answer(shape, "\n".join(lines), status=1 if problems else 0)


@command()
@flag("--anyway", "Purge although the clock is far ahead of the publishers'.")
async def purge(services: Services, *, anyway: bool) -> Answer:
    """Delete what retention no longer keeps; entries still in a feed's document stay.

    Nothing is purged while the clock is more than a day ahead of the publishers that were polled in the last day.
    """
    if not anyway:
        await check_clock(services.store, services.clock.now())
    done = await purge_old(services)
    words = ", ".join(f"{value:,} {key}" for key, value in done.items())
    return Answer(done, words or "nothing to do")


@command()
async def reindex(services: Services) -> Answer:
    """Index every entry for search anew, beside running processes.

    `feedmill run` does so by itself for entries that were stored before search existed, or while it was off.
    """
    check_searchable(services)
    total = (await services.store.counts())["entries"]
    with progress(total, "indexing") as step:
        done = await reindex_all(services.store, step)
    return Answer({"entries": done}, f"{done:,} entries are searchable")
