"""The bill of materials and the licence list hold every locked package."""

import json
import re
import tomllib
from pathlib import Path

import pytest
from tools import audit
from tools.sbom import LOCK, Package, licence_of, licence_page, locked_packages, sbom

ROOT = Path(__file__).parents[3]
LOCKED = list(locked_packages(LOCK.read_text("utf-8")))


def test_every_locked_package_has_version_and_hashes() -> None:
    names = [one.name for one in LOCKED]

    assert {"lxml", "msgspec", "pycurl"} <= set(names)
    assert len(names) == len(set(names))
    assert all(one.hashes for one in LOCKED)


def test_what_is_installed_to_run_is_locked_alike_for_the_tests() -> None:
    run = list(locked_packages((ROOT / "requirements-run.txt").read_text("utf-8")))

    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    needed = {re.split(r"[^\w-]", line)[0].lower() for line in project["dependencies"]}
    assert needed | {"hatchling"} <= {one.name for one in run}, "run `make lock`"
    assert [one for one in run if one not in LOCKED] == [], "run `make lock`"


def test_package_of_two_lock_files_has_one_version() -> None:
    """Benchmark packages are installed beside the others: another version would state another licence."""
    names = {one.name for one in LOCKED}
    bench = locked_packages((ROOT / "requirements-bench.txt").read_text("utf-8"))

    assert [one for one in bench if one.name in names and one not in LOCKED] == [], (
        "run `make lock`"
    )


def test_bill_of_materials_is_the_same_every_time() -> None:
    packages = [Package("lxml", "6.0.0", ("a" * 64,))]

    made = sbom(packages, "0.1.0")

    assert json.dumps(made) == json.dumps(sbom(packages, "0.1.0"))
    assert (made["bomFormat"], made["specVersion"]) == ("CycloneDX", "1.5")
    (component,) = made["components"]
    assert component["purl"] == "pkg:pypi/lxml@6.0.0"
    assert component["hashes"] == [{"alg": "SHA-256", "content": "a" * 64}]


def test_licence_page_lists_what_is_locked() -> None:
    page = (ROOT / "docs" / "reference" / "licences.md").read_text("utf-8")

    missing = [one.name for one in LOCKED if f"| `{one.name}` |" not in page]

    assert missing == [], "run `make licences`"


def test_licence_of_a_package_that_is_not_there_is_not_guessed() -> None:
    assert licence_of("no-such-package-at-all") == "not stated"
    assert "| `x` | not stated |" in licence_page([Package("x", "1", ())])


def test_audit_without_a_database_is_no_pass(capsys: pytest.CaptureFixture[str]) -> None:
    assert audit.main(database="http://127.0.0.1:9/nothing") == 2

    assert "NOT AUDITED" in capsys.readouterr().err
