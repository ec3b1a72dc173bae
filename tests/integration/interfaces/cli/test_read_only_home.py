"""A home folder that cannot be written can be read: a mounted snapshot, a copy of another user."""

import os
from pathlib import Path
from typing import Any

import pytest
from tests.support.command_line import Mill

DOCUMENT = Path(__file__).parents[4] / "examples" / "broken.xml"


@pytest.fixture
def read_only(mill: Mill, monkeypatch: pytest.MonkeyPatch) -> Mill:
    """The tests may run as root, who may write anything: the system is made to say no."""
    mill.ok("ingest-one", "--file", str(DOCUMENT))
    allowed = os.access

    def access(path: Any, mode: int) -> bool:  # as os.access
        is_ours = str(path).startswith(str(mill.home))
        return not (is_ours and mode & os.W_OK) and allowed(path, mode)

    monkeypatch.setattr("os.access", access)
    return mill


@pytest.mark.parametrize(
    "command", ["list", "entries", "articles", "status", "stats", "top", "verify"]
)
def test_commands_that_read_answer(read_only: Mill, command: str) -> None:
    said = read_only.ok(command, "--json")

    assert said.json
    assert sorted(path.name for path in read_only.home.iterdir()) == ["feedmill.db", "raw"]


def test_commands_that_write_say_that_the_file_cannot_be_written(read_only: Mill) -> None:
    said = read_only("add", "--as-is", "https://one.example/feed", "--json")

    assert (said.status, said.error["code"]) == (1, "read-only")


def test_a_store_that_would_have_to_be_migrated_is_refused(
    read_only: Mill, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("feedmill.adapters.store.migrate.applied_to", lambda _: [])

    said = read_only("list", "--json")

    assert (said.status, said.error["code"]) == (1, "read-only")
    assert "cannot be migrated" in said.error["message"]
