"""Where the mills that die keep their books."""

import pytest


@pytest.fixture(params=["sqlite", "postgres"])
def store_url(request: pytest.FixtureRequest) -> str | None:
    """The address of the store; None for the file in the home folder."""
    if request.param == "sqlite":
        return None
    dsn: str = request.getfixturevalue("migrated_dsn")
    return dsn
