"""A mill that has lived, made once; each test that changes it has a copy."""

import asyncio
from pathlib import Path

import pytest
from tests.support.populated_home import copy_of, make_home


@pytest.fixture(scope="session")
def lived_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home folder, stopped; only to be read."""
    home = tmp_path_factory.mktemp("lived") / "home"
    asyncio.run(make_home(home))
    return home


@pytest.fixture
def home(lived_home: Path, tmp_path: Path) -> Path:
    """The home folder for this test alone."""
    return copy_of(lived_home, tmp_path)
