"""What the doctor sees: each check says whether it is well, and what a person should do."""

import asyncio
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import pytest

from feedmill.adapters.doctor import Check, run_checks

NOON = datetime(2026, 10, 14, 12, 0, tzinfo=UTC)


class Usage(NamedTuple):
    total: int
    used: int
    free: int


def look(home: Path, now: datetime = NOON, host: str = "localhost") -> dict[str, Check]:
    return {check.name: check for check in asyncio.run(run_checks(home, now=now, host=host))}


def test_a_machine_that_is_well_passes_every_check(tmp_path: Path) -> None:
    checks = look(tmp_path)

    assert list(checks) == ["clock", "disk", "permissions", "tls", "dns", "open files"]
    assert all(check.ok for name, check in checks.items() if name != "open files")
    assert list(tmp_path.iterdir()) == []


def test_a_home_that_does_not_exist_yet_is_looked_at_from_above(tmp_path: Path) -> None:
    checks = look(tmp_path / "not" / "yet")

    assert checks["disk"].ok
    assert checks["permissions"].ok
    assert list(tmp_path.iterdir()) == []


def test_a_clock_that_was_never_set_is_told(tmp_path: Path) -> None:
    check = look(tmp_path, now=datetime(1970, 1, 1, tzinfo=UTC))["clock"]

    assert not check.ok
    assert "set the clock" in check.detail


def test_a_name_that_does_not_resolve_is_told(tmp_path: Path) -> None:
    check = look(tmp_path, host="nobody.invalid")["dns"]

    assert not check.ok
    assert "nobody.invalid" in check.detail


def test_a_home_that_is_a_file_cannot_be_written(tmp_path: Path) -> None:
    home = tmp_path / "file"
    home.write_text("")

    check = look(home)["permissions"]

    assert not check.ok
    assert "--home" in check.detail


def test_a_disk_that_is_nearly_full_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(10, 9, 1))

    check = look(tmp_path)["disk"]

    assert not check.ok
    assert "free some space" in check.detail
