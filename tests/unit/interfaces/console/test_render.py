"""Formats for people."""

from datetime import UTC, datetime, timedelta

import pytest

from feedmill.interfaces.console.render import (
    ENVIRONMENT,
    duration,
    local_path,
    number,
    percent,
    relative,
    size,
)

NOON = datetime(2025, 10, 14, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, "–"),
        (0, "0 B"),
        (999, "999 B"),
        (1500, "1.5 kB"),
        (2e6, "2.0 MB"),
        (5e15, "5000.0 TB"),
    ],
)
def test_octets_are_shown_in_a_unit_that_suits(value: float | None, expected: str) -> None:
    assert size(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, "–"),
        (0.25, "250 ms"),
        (0, "0 s"),
        (-3, "0 s"),
        (90, "1 min 30 s"),
        (timedelta(hours=2), "2 h"),
    ],
)
def test_durations_are_shown_in_words(value: float | None, expected: str) -> None:
    assert duration(value) == expected


@pytest.mark.parametrize(
    ("wait", "expected"), [(0.2, "now"), (-0.2, "now"), (120, "in 2 min"), (-60, "1 min ago")]
)
def test_instants_are_shown_as_people_say_them(wait: float, expected: str) -> None:
    assert relative(NOON + timedelta(seconds=wait), NOON) == expected


def test_numbers_and_ratios() -> None:
    assert number(1234567) == "1,234,567"
    assert percent(0.9921) == "99.2 %"
    assert percent(None) == "–"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/", "/"),
        ("/console/feeds?text=a", "/console/feeds?text=a"),
        ("//evil.example", "/"),
        ("/\\evil.example", "/"),
        ("/console/\\evil", "/"),
        ("https://evil.example/", "/"),
        ("/console/a\nb", "/"),
        ("/feeds", "/"),
    ],
)
def test_only_paths_of_the_console_are_returned_to(path: str, expected: str) -> None:
    assert local_path(path) == expected


def test_every_template_compiles_and_escapes() -> None:
    names = ENVIRONMENT.list_templates()

    assert "layout.html" in names
    for name in names:
        ENVIRONMENT.get_template(name)
    assert ENVIRONMENT.from_string("{{ x }}").render(x="<b>") == "&lt;b&gt;"
    shown = ENVIRONMENT.from_string("{{ x|when }} {{ y|when }} {{ x|clock }} {{ y|clock }}")
    assert "1 min ago" in shown.render(now=NOON, x=NOON - timedelta(minutes=1), y=None)
