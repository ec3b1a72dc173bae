"""Wheel and sdist are the same bytes whenever and wherever they are built."""

import tarfile
import tomllib
from pathlib import Path

import pytest
from tools import reproducible


def test_two_builds_are_the_same_bytes(capsys: pytest.CaptureFixture[str]) -> None:
    assert reproducible.main() == 0

    said = capsys.readouterr().out
    assert ".whl" in said
    assert ".tar.gz" in said
    assert "DIFFERS" not in said


def test_compared_sdist_is_the_one_that_is_published(tmp_path: Path) -> None:
    project = tomllib.loads((reproducible.ROOT / "pyproject.toml").read_text())
    published = project["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]

    names = reproducible.build(tmp_path, mtime=1_700_000_000.0, umask=0o022)

    (sdist,) = [name for name in names if name.endswith(".tar.gz")]
    with tarfile.open(tmp_path / "dist" / sdist) as archive:
        found = {f"/{name.split('/')[1]}" for name in archive.getnames()}
    assert set(published) <= found
    assert {"/SECURITY.md", "/tests", "/docs"} <= found
