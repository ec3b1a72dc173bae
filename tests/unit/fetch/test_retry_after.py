"""Retry-After against the vectors, and the answers on which it means something."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from feedmill.fetch.retry_after import parse_retry_after, retry_after_sec

_VECTORS = Path(__file__).parents[2] / "vectors" / "retry_after.json"
_CASES: list[dict[str, Any]] = json.loads(_VECTORS.read_text(encoding="utf-8"))["cases"]
_NOW = datetime(2025, 10, 14, 9, 30, 5, tzinfo=UTC)


@pytest.mark.parametrize("case", _CASES, ids=lambda case: f"{case['id']}-{case['why'][:60]}")
def test_retry_after_is_read_as_the_vector_says(case: dict[str, Any]) -> None:
    now = datetime.fromisoformat(case["now"])
    headers = (("Retry-After", case["value"]), ("Date", case.get("date_header", "")))

    parsed = parse_retry_after(case["value"], now, case.get("date_header"))
    seconds = retry_after_sec(case["status"], headers, now) if "status" in case else parsed

    assert seconds == case["expected_seconds"]


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        pytest.param("0", 0, id="no wait"),
        pytest.param("000120", 120, id="padded"),
        pytest.param("0" * 5_000 + "7", 7, id="very padded"),
        pytest.param("120.5", None, id="fraction"),
        pytest.param("120 s", None, id="unit"),
        pytest.param("120, 60", None, id="list"),
        pytest.param("Tue Oct 14 09:32:05 2025", 120, id="asctime"),
        pytest.param("Sunday, 06-Nov-94 08:49:37 GMT", 0, id="RFC 850 in the last century"),
    ],
)
def test_only_the_grammar_is_read(value: str, seconds: float | None) -> None:
    assert parse_retry_after(value, _NOW) == seconds


def test_an_unreadable_date_header_leaves_our_own_clock() -> None:
    assert parse_retry_after("Tue, 14 Oct 2025 09:32:05 GMT", _NOW, "yesterday") == 120


@pytest.mark.parametrize("status", [301, 403, 404, 413, 429, 500, 503])
def test_a_wait_is_honoured_on_every_failure(status: int) -> None:
    assert retry_after_sec(status, (("retry-after", "60"),), _NOW) == 60


@pytest.mark.parametrize("status", [200, 206, 304, 410])
def test_a_wait_means_nothing_where_nothing_is_to_be_retried(status: int) -> None:
    assert retry_after_sec(status, (("retry-after", "60"),), _NOW) is None


def test_without_the_field_there_is_no_wait() -> None:
    assert retry_after_sec(503, (), _NOW) is None
