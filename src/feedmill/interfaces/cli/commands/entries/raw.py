"""`feedmill raw`: write the raw bytes of a fetch or an entry."""
# Tested in tests/integration/interfaces/cli/

from typing import Any

import click

from feedmill.engine.documents.raw_documents import load_body
from feedmill.engine.run.services import Services
from feedmill.errors import NotFoundError
from feedmill.interfaces.cli.command import Answer, Printer, answer_with, command
from feedmill.interfaces.cli.exit import is_json
from feedmill.interfaces.cli.options import flag
from feedmill.interfaces.cli.output import shorten, style_text
from feedmill.publish.to_json import fetch_wire


@command()
@click.argument("what")
@flag("--headers", "Show the fetch and its headers instead.")
def raw(what: str, *, headers: bool) -> None:
    """Write raw bytes to standard output: a whole document, or the exact slice of an entry.

    WHAT is a fetch_id or an entry_uid.
    """

    async def action(services: Services) -> Answer | Printer:
        found = await services.store.entry(what)
        ref = found.raw_refs[0] if found is not None and found.raw_refs else None
        fetch = await services.store.fetch(ref.fetch_id if ref else what)
        if fetch is None or fetch.body_sha256 is None:
            message = f"no raw document for {what!r}"
            raise NotFoundError(message, "give a fetch_id or an entry_uid")
        if headers or is_json():
            shape = fetch_wire(fetch, services.config.blobs.url)
            return Answer(shape, lambda: _show(shape))
        body = await load_body(fetch.body_sha256, services.store, services.blobs)
        if ref is not None and ref.offset is not None and ref.length is not None:
            body = body[ref.offset : ref.offset + ref.length]
        return lambda: click.echo(body, nl=False)

    answer_with(action)


def _show(fetch: dict[str, Any]) -> None:
    for name in ("url", "final_url", "http_status", "outcome", "fetched_at", "body_sha256"):
        click.echo(f"{name:<16}{shorten(str(fetch[name]), 300)}")
    for kind in ("request_headers", "response_headers"):
        click.echo(style_text(kind, bold=True))
        for name, value in fetch[kind]:
            click.echo(f"  {shorten(name, 100)}: {shorten(value, 300)}")
