"""Loads what `feedmill fixture` wrote, for regression tests of the parser.

@pytest.mark.parametrize("folder", fixture_folders(Path("tests/fixtures/feeds")), ids=str)
def test_document_is_still_understood(folder: Path) -> None:
    fixture = load_fixture(folder)

    assert understood_today(fixture) == fixture.understood
"""

from pathlib import Path
from typing import Any

import msgspec

from feedmill.config import Config
from feedmill.engine.documents.fixtures import Fixture, FixtureFetch, understand


def fixture_folders(root: Path) -> list[Path]:
    """Every fixture below a folder, in the order of their names."""
    return sorted(found.parent for found in root.rglob("understood.json"))


def load_fixture(folder: Path) -> Fixture:
    """The fixture of one folder."""
    return Fixture(
        fetch=msgspec.json.decode((folder / "fetch.json").read_bytes(), type=FixtureFetch),
        body=(folder / "body").read_bytes(),
        understood=msgspec.json.decode((folder / "understood.json").read_bytes()),
    )


def understood_today(fixture: Fixture) -> dict[str, Any]:
    """How the parser of this checkout reads the document."""
    return understand(fixture.document, fixture.fetch.fetched_at, Config())
