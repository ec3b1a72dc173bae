"""`feedmill verify`: check the store and the raw documents."""
# Tested in tests/integration/interfaces/cli/

from feedmill.engine.documents.fetched import media_of
from feedmill.engine.maintain.check_store import missing_from_index, unless_damaged
from feedmill.engine.maintain.raw_store import grace_ends
from feedmill.engine.maintain.retention import verify_integrity as verify_all
from feedmill.engine.maintain.retention import verify_media
from feedmill.engine.run.services import Services
from feedmill.interfaces.cli.command import Answer, command
from feedmill.interfaces.cli.output import progress, style_text


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
