"""`feedmill fixture`: write a stored document as a test case for the parser."""
# Tested in tests/integration/interfaces/cli/commands/entries/test_diff_and_fixture.py

from pathlib import Path

import click
import msgspec

from feedmill.canonicalise.urls import split_url
from feedmill.engine.documents.fixtures import Fixture
from feedmill.engine.run.atomic_file import write_file
from feedmill.engine.run.services import Services
from feedmill.engine.service.documents import fixture_of
from feedmill.interfaces.cli.command import Answer, command
from feedmill.interfaces.cli.options import option


@command()
@click.argument("what", metavar="FEED|FETCH")
@option(
    "--out",
    "Folder in which the folder of the fixture is made.",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(),
)
async def fixture(services: Services, what: str, *, out: Path) -> Answer:
    """Write a test case: the body of a fetch, how it was served, and what was understood.

    WHAT is a fetch_id, or a feed: then it is its last document. Credentials of the feed are masked.

    \b
    Examples:
      feedmill fixture https://example.com/feed --out tests/fixtures/feeds
      feedmill fixture 0198f2d1-…
    """
    found = await fixture_of(what, services)
    folder = out / f"{_host(found)}-{found.fetch.fetch_id[-12:]}"
    folder.mkdir(parents=True, exist_ok=True)
    files = {
        "body": found.body,
        "fetch.json": _json(found.fetch),
        "understood.json": _json(found.understood),
    }
    for name, data in files.items():
        write_file(folder / name, data)
    result = {"folder": str(folder), "files": list(files), "fetch_id": found.fetch.fetch_id}
    return Answer(result, f"wrote {folder} ({', '.join(files)})")


def _host(found: Fixture) -> str:
    host = split_url(found.fetch.final_url).host
    return "".join(c if c.isalnum() or c in ".-" else "_" for c in host) or "feed"


def _json(value: object) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"
