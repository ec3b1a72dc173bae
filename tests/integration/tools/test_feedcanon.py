"""The runner of recorded cases tells what is documented from what is wrong, in each of its ways."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.support.waiting import HANG_GUARD_SEC

ROOT = Path(__file__).parents[3]
ATOM = """<feed xmlns="http://www.w3.org/2005/Atom"><id>urn:paper</id><title>Paper</title>
<updated>{0}</updated><entry><id>urn:1</id><title>One</title><updated>2025-01-01T00:00:00Z</updated>
</entry></feed>"""
BODIES = {"one": ATOM.format("2025-01-01T00:00:00Z"), "two": ATOM.format("2025-02-02T00:00:00Z")}
START, CLEAN = "http://www.paper.example/feed/", "https://paper.example/feed"


def _case(url: str | None, fetches: int, /, **options: Any) -> dict[str, Any]:
    pages = {START: "one", "http://paper.example/feed": "one", CLEAN: "two"}
    return {
        "name": "a case of our own",
        "input": START,
        "options": options,
        "parser": {
            "mode": "table",
            "bodies": {
                name: {"parses": True, "selfUrl": None, "signature": "s"} for name in BODIES
            },
        },
        "realisedVerified": True,
        "responses": {
            page: {"status": 200, "finalUrl": page, "bodyRef": body, "realBodyRef": body}
            for page, body in pages.items()
        },
        "expected": {"url": url, "fetches": ["-"] * fetches, "throws": None},
    }


def _run(path: Path, case: dict[str, Any], *words: str) -> tuple[int, str]:
    vectors = {"canonicalize": {"seed_era": [case]}, "bodies": BODIES}
    path.write_text(json.dumps(vectors), "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "tools.feedcanon", str(path), *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=HANG_GUARD_SEC,
        check=False,
    )
    return done.returncode, done.stdout


@pytest.mark.parametrize("way", [(), ("--real",), ("--loopback",)])
def test_a_case_that_ends_as_recorded_is_counted(way: tuple[str, ...], tmp_path: Path) -> None:
    status, said = _run(tmp_path / "cases.json", _case(CLEAN, 3), *way)

    assert (status, "1 as expected" in said) == (0, True), said


def test_a_documented_difference_is_told_with_its_reason(tmp_path: Path) -> None:
    rewrite = {"kind": "always", "result": "file:///nowhere"}

    status, said = _run(tmp_path / "cases.json", _case(None, 1, rewrites=[rewrite]))

    assert (status, "falls back to the original" in said) == (0, True), said


def test_any_other_difference_fails(tmp_path: Path) -> None:
    status, said = _run(tmp_path / "cases.json", _case("https://paper.example/other", 3))

    assert (status, "UNDOCUMENTED" in said) == (1, True), said
