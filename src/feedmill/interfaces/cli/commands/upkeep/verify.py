"""`feedmill verify`: check the store and the raw documents."""
# Tested in tests/integration/interfaces/cli/

import sys
from typing import Any

import click

from feedmill.engine.documents.media import media_of
from feedmill.engine.maintain.raw_owner import grace_ends
from feedmill.engine.maintain.retention import verify_integrity as verify_all
from feedmill.engine.maintain.retention import verify_media
from feedmill.engine.maintain.search_index import missing_from_index
from feedmill.engine.run.services import Services
from feedmill.interfaces.cli.exit import is_json
from feedmill.interfaces.cli.options import json_option
from feedmill.interfaces.cli.output import show_json, style_text
from feedmill.interfaces.cli.run_command import with_services


@click.command("verify")
@json_option
def verify() -> None:
    """Check that the store is intact and that every raw document and media file matches its hash.

    Raw segments that no index knows are named, and so is a raw store that belongs to another store.
    """

    async def action(services: Services) -> dict[str, Any]:
        before = grace_ends(services.clock.now(), services.config.store.segment_grace_sec)
        found = await verify_all(services.store, services.blobs, before=before)
        files = await verify_media(services.store, media_of(services))
        is_on = services.config.search.enabled
        index = {"search": await missing_from_index(services.store) if is_on else None}
        return found | files | index | {"problems": found["problems"] + files["problems"]}

    result = with_services(action)
    if is_json():
        show_json(result)
    else:
        click.echo(f"{result['documents']:,} raw documents read and hashed")
        if result["media_files"]:
            click.echo(f"{result['media_files']:,} media files read and hashed")
        if result["search"]:
            click.echo(result["search"])
        for problem in result["problems"]:
            click.echo(f"  {style_text('problem', fg='red')} {problem}")
        click.echo(
            "no problems" if not result["problems"] else f"{len(result['problems'])} problems"
        )
    sys.exit(1 if result["problems"] else 0)
