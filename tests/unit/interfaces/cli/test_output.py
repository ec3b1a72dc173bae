"""What reaches a terminal: short, plain, and never what a stranger wants it to do."""

from datetime import timedelta

import pytest

from feedmill.interfaces.cli.output import format_count, format_duration, shorten, show_facts


def test_one_thing_is_not_said_as_many() -> None:
    said = [format_count(number, "feed") for number in (0, 1, 2)]
    entries = format_count(2, "new entry", "new entries")

    assert said == ["0 feeds", "1 feed", "2 feeds"]
    assert entries == "2 new entries"


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(-5, "0 s"), (40, "40 s"), (900, "15 min"), (7_300, "2.0 h"), (259_200, "3 d")],
)
def test_a_duration_is_said_as_a_person_says_it(seconds: float, said: str) -> None:
    assert format_duration(timedelta(seconds=seconds)) == said


def test_a_line_is_one_line_without_controls_and_at_most_so_wide() -> None:
    assert shorten("a\n b\x1b[31m \u202e c", 50) == "a b [31m c"
    assert shorten("word " * 50, 12) == "word word w…"


def test_facts_that_are_empty_are_left_out_and_lists_have_no_brackets(
    capsys: pytest.CaptureFixture[str],
) -> None:
    show_facts(
        {
            "title": "A\nB",
            "nothing": None,
            "none": (),
            "tags": ("x", "y"),
            "authors": ({"name": "Ann", "email": None},),
            "paused": False,
            "schedule": {"interval_sec": 900},
        }
    )

    assert [line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines()] == [
        ["title", "A B"],
        ["tags", "x, y"],
        ["authors", "Ann"],
        ["paused", "no"],
        ["schedule"],
        ["interval_sec", "900"],
    ]
