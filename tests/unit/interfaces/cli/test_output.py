"""What reaches a terminal: short, plain, and never what a stranger wants it to do."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from feedmill.interfaces.cli.exit import exit_with_error
from feedmill.interfaces.cli.output import (
    emphasised,
    format_count,
    format_duration,
    pad_text,
    shorten,
    show_facts,
    show_line,
    show_table,
    show_text,
)


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
            "schedule": {"interval_sec": 900, "ewma_sec": 2.463913791037023, "rate": 1.0},
        }
    )

    assert [line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines()] == [
        ["title", "A B"],
        ["tags", "x, y"],
        ["authors", "Ann"],
        ["paused", "no"],
        ["schedule"],
        ["interval_sec", "900"],
        ["ewma_sec", "2.4639"],
        ["rate", "1"],
    ]


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Make standard output a terminal of so many columns, without colour."""

    def make(columns: int) -> None:
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setenv("NO_COLOR", "1")
        monkeypatch.setenv("TERM", "dumb")
        monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)

    return make


ROWS = [
    ("2f20fdec99f5", "unchanged", "", "The Harbour News of the Old Town"),
    ("8cfcbc9938d4", "-", "", "-"),
]


def test_a_table_shows_no_empty_column_and_cuts_the_long_one(
    terminal: Callable[[int], None], capsys: pytest.CaptureFixture[str]
) -> None:
    terminal(50)

    show_table(("id", "last", "until", "feed"), ROWS)

    head, first, _ = capsys.readouterr().out.splitlines()
    assert head.split() == ["id", "last", "feed"]
    assert first.startswith("2f20fdec99f5  unchanged  The Harbour News")
    assert first.rstrip().endswith("…")


def test_a_terminal_that_is_too_narrow_for_a_table_gets_one_line_per_cell(
    terminal: Callable[[int], None], capsys: pytest.CaptureFixture[str]
) -> None:
    terminal(36)

    show_table(("id", "last", "until", "feed"), ROWS)

    assert capsys.readouterr().out.splitlines()[:5] == [
        "id    2f20fdec99f5",
        "last  unchanged",
        "feed  The Harbour News of the Old",
        "      Town",
        "",
    ]


def test_a_line_is_wrapped_below_its_name_where_there_is_no_room_beside_it(
    terminal: Callable[[int], None], capsys: pytest.CaptureFixture[str]
) -> None:
    terminal(40)

    show_line("consecutive_failures", "none since it was added", width=26)
    show_line("next", "add workers or raise the concurrency of the run", width=6)

    assert capsys.readouterr().out.splitlines() == [
        "consecutive_failures      ",
        "  none since it was added",
        "next  add workers or raise the",
        "      concurrency of the run",
    ]


def test_a_terminal_is_shown_a_column_once(
    terminal: Callable[[int], None], capsys: pytest.CaptureFixture[str]
) -> None:
    terminal(60)

    show_table(("new", "polls", "new", "feed"), [("3", "7", "3", "The Harbour")])

    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["new", "polls", "feed"],
        ["3", "7", "The", "Harbour"],
    ]


def test_a_text_is_wrapped_at_words_on_a_terminal_and_whole_in_a_pipe(
    terminal: Callable[[int], None], capsys: pytest.CaptureFixture[str]
) -> None:
    text = f"2026-11-18  {emphasised('The harbour board')} counts more herons than ever"

    show_text(text, first="")
    terminal(30)
    show_text(text, first="")
    show_text("")

    assert capsys.readouterr().out.splitlines() == [
        "2026-11-18  The harbour board counts more herons than ever",
        "2026-11-18  The harbour",
        "  board counts more herons",
        "  than ever",
        "  ",
    ]


def test_what_is_emphasised_is_bold_on_a_terminal_with_colours(
    terminal: Callable[[int], None],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    terminal(80)
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setattr("click.utils.should_strip_ansi", lambda *_: False)

    show_text(f"the {emphasised('heron')} sleeps", fg="yellow")

    assert capsys.readouterr().out == "  the \x1b[33m\x1b[1mheron\x1b[0m sleeps\n"


@pytest.mark.parametrize(
    ("text", "spaces"), [("Harbour", 5), ("", 12), ("绿色供应", 4), ("Café", 8), ("x" * 20, 0)]
)
def test_the_next_column_begins_at_its_place_also_behind_wide_characters(
    text: str, spaces: int
) -> None:
    assert pad_text(text, 12) == text + " " * spaces


def test_an_error_is_wrapped_at_words_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "30")

    with pytest.raises(SystemExit):
        exit_with_error(
            "no-feed",
            "there is no feed there\n  1 https://a-long-address.example/feed",
            "try later",
        )

    assert capsys.readouterr().err.splitlines() == [
        "feedmill: there is no feed",
        "  there",
        "  1",
        "  https://a-long-address.example/feed",
        "  try later",
    ]
