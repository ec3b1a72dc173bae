"""Where the temporary files of the tests are."""

import os
import tempfile
from pathlib import Path

import pytest
from tests.support import memory_files
from tests.support.memory_files import keep_files_in_memory


@pytest.fixture(autouse=True)
def unchanged(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests that follow have their folder back."""
    monkeypatch.setattr(tempfile, "tempdir", tempfile.tempdir)
    monkeypatch.setenv("TMPDIR", "")  # noted, so that it is restored
    monkeypatch.delenv("TMPDIR")


def test_a_folder_that_the_environment_names_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", "/elsewhere")

    keep_files_in_memory()

    assert os.environ["TMPDIR"] == "/elsewhere"


def test_too_little_room_leaves_files_on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_files, "_ROOM_BYTES", 1 << 60)

    keep_files_in_memory()

    assert "TMPDIR" not in os.environ


def test_system_without_such_a_folder_leaves_files_on_disk(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(memory_files, "_MEMORY", Path("/no/such/folder"))

    keep_files_in_memory()

    assert "TMPDIR" not in os.environ
