"""Wheel and sdist are the same bytes whenever and wherever they are built."""

import pytest
from tools import reproducible


def test_two_builds_are_the_same_bytes(capsys: pytest.CaptureFixture[str]) -> None:
    assert reproducible.main() == 0

    said = capsys.readouterr().out
    assert ".whl" in said
    assert ".tar.gz" in said
    assert "DIFFERS" not in said
