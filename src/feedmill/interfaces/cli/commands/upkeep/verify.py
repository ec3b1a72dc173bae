"""`feedmill verify`: check the store and the raw documents."""
# Tested in tests/integration/interfaces/cli/

from feedmill.engine.documents.media import media_of
from feedmill.engine.maintain.raw_owner import grace_ends
from feedmill.engine.maintain.retention import verify_integrity as verify_all
from feedmill.engine.maintain.retention import verify_media
from feedmill.engine.maintain.search_index import missing_from_index
from feedmill.engine.run.services import Services
from feedmill.interfaces.cli.command import Answer, command
from feedmill.interfaces.cli.output import style_text


@command("verify")
async def verify(services: Services) -> Answer:
    """Check that the store is intact and that every raw document and media file matches its hash.

    Raw segments that no index knows are named, and so is a raw store that belongs to another store.
    """
    before = grace_ends(services.clock.now(), services.config.store.segment_grace_sec)
    found = await verify_all(services.store, services.blobs, before=before)
    files = await verify_media(services.store, media_of(services))
    is_on = services.config.search.enabled
    search = await missing_from_index(services.store) if is_on else None
    problems = found["problems"] + files["problems"]
    lines = [f"{found['documents']:,} raw documents read and hashed"]
    if files["media_files"]:
        lines.append(f"{files['media_files']:,} media files read and hashed")
    lines += [search] if search else []
    lines += [f"  {style_text('problem', fg='red')} {problem}" for problem in problems]
    lines.append(f"{len(problems)} problems" if problems else "no problems")
    shape = found | files | {"search": search, "problems": problems}
    return Answer(shape, "\n".join(lines), status=1 if problems else 0)
