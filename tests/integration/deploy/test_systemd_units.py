"""The systemd units: systemd itself reads them and finds little that they could do."""

import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest
from tests.support.deploy_files import DEPLOY, UNITS, unit
from tests.support.waiting import HANG_GUARD_SEC

ANALYZE = shutil.which("systemd-analyze")
MOST_EXPOSED = "15"  # 1.5 of 10; what remains is the network, which a fetcher needs
CREDENTIALS = "LoadCredential"

with_systemd = pytest.mark.skipif(ANALYZE is None, reason="systemd-analyze is not on this machine")
in_each = pytest.mark.parametrize("path", UNITS, ids=lambda path: path.name)


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """The units as they would stand on a machine whose feedmill is the one under test."""
    program = Path(sysconfig.get_path("scripts")) / "feedmill"
    for path in UNITS:
        text = path.read_text("utf-8").replace("/opt/feedmill/bin/feedmill", str(program))
        (tmp_path / path.name.replace("@", "@9471")).write_text(text)
    return tmp_path


def _analyze(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    assert ANALYZE is not None
    return subprocess.run(
        [ANALYZE, *arguments], capture_output=True, text=True, timeout=HANG_GUARD_SEC
    )


@with_systemd
def test_systemd_reads_every_unit(installed: Path) -> None:
    done = _analyze("verify", "--man=no", *sorted(installed.iterdir()))

    assert (done.returncode, done.stdout + done.stderr) == (0, "")


@with_systemd
def test_systemd_would_have_said_so(installed: Path) -> None:
    broken = installed / "feedmill.service"
    broken.write_text(broken.read_text("utf-8").replace("WatchdogSec=60", "WatchdogSec=often"))

    done = _analyze("verify", "--man=no", broken)

    assert "often" in done.stderr


@with_systemd
@in_each
def test_little_is_left_that_a_unit_could_do(path: Path, installed: Path) -> None:
    name = path.name.replace("@", "@9471")

    done = _analyze(
        "security", "--offline=true", "--no-pager", f"--threshold={MOST_EXPOSED}", installed / name
    )

    assert done.returncode == 0, done.stdout + done.stderr


@in_each
def test_a_unit_that_lasts_says_that_it_is_well_and_gets_time_to_end(path: Path) -> None:
    from feedmill.config import RunConfig, StoreConfig

    said = unit(path)
    if said["Type"] == ["oneshot"]:
        assert path.name == "feedmill-migrate.service"
        return

    assert said["Type"] == ["notify"]
    assert int(said["WatchdogSec"][0]) > 0
    assert int(said["TimeoutStopSec"][0]) > RunConfig().drain_sec
    assert int(said["TimeoutStartSec"][0]) > StoreConfig().migrate_wait_sec


@in_each
def test_every_secret_comes_as_a_credential_that_the_script_makes(path: Path) -> None:
    script = (DEPLOY / "make-secrets.sh").read_text("utf-8")
    said = unit(path)
    handed = [line.split(":") for line in said.get(CREDENTIALS, ())]
    read = [
        value.partition("=%d/")[2]
        for line in said["Environment"]
        for value in line.split()
        if "=%d/" in value
    ]

    assert sorted(read) == sorted(name for name, _ in handed)
    assert all(file == f"/etc/feedmill/{name}" for name, file in handed)
    assert all(f"$folder/{name}" in script for name, _ in handed)


def test_the_user_of_the_units_is_made_by_the_file_beside_them() -> None:
    made = (DEPLOY / "systemd" / "feedmill.sysusers.conf").read_text("utf-8")

    assert {user for path in UNITS for user in unit(path)["User"]} == {"feedmill"}
    assert "\nu feedmill " in made
