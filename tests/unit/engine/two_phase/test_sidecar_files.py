"""What lies beside a candidate file names the window that it belongs to."""

from pathlib import Path

import pytest
from tests.support.sample_candidate_files import MONDAY, a_file, candidate, said

from feedmill.engine.two_phase.candidates import write_candidates
from feedmill.engine.two_phase.sidecar_files import (
    confirmations_path,
    encode_selection,
    parse_ids,
    read_confirmations,
    read_screenings,
    read_selection,
    record_confirmation,
    screening_path,
    selection_path,
    write_screenings,
)
from feedmill.errors import CandidateError
from feedmill.model.screening import Confirmation

FILE = a_file()
OTHER = a_file(candidate(1))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "week.json"
    write_candidates(found, FILE)
    return found


def test_the_newest_suggestion_on_each_candidate_holds(path: Path) -> None:
    write_screenings(path, FILE, [said(1), said(3, "drop")], at=MONDAY)
    beside = write_screenings(path, FILE, [said(2), said(1, "unsure")], at=MONDAY)

    found = read_screenings(path, FILE)

    assert beside.name == "week.screening.json"
    assert [(one.candidate_id, one.suggestion) for one in found] == [
        (1, "unsure"),
        (2, "keep"),
        (3, "drop"),
    ]


def test_a_window_that_nobody_screened_has_no_suggestions(path: Path) -> None:
    assert read_screenings(path, FILE) == ()


def test_suggestions_for_a_candidate_that_is_not_there_are_refused(path: Path) -> None:
    with pytest.raises(CandidateError, match="no candidate 4"):
        write_screenings(path, FILE, [said(4)], at=MONDAY)

    assert not screening_path(path).exists()


def test_suggestions_of_another_window_are_refused(path: Path) -> None:
    write_screenings(path, FILE, [said(1)], at=MONDAY)

    with pytest.raises(CandidateError) as refused:
        read_screenings(path, OTHER)

    assert refused.value.reason == "other-file"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3,7,12", (3, 7, 12)),
        ("3-5", (3, 4, 5)),
        (" 7 ,\n3 3-4", (7, 3, 4)),  # each once, in the order given
        ("1", (1,)),
    ],
)
def test_ids_are_read_as_people_write_them(text: str, expected: tuple[int, ...]) -> None:
    assert parse_ids(text) == expected


@pytest.mark.parametrize(
    "text", ["", " , ", "three", "3;4", "5-3", "1-99999999999", "-3", "3-", "１", "0x3", "1.5"]
)
def test_what_is_no_list_of_ids_is_refused(text: str) -> None:
    with pytest.raises(CandidateError) as refused:
        parse_ids(text)

    assert refused.value.reason == "bad-selection"


@pytest.mark.parametrize("shown", ["terminal", "page"])
def test_a_selection_says_from_which_window_and_where_it_was_chosen(path: Path, shown: str) -> None:
    selection = selection_path(path)
    selection.write_bytes(encode_selection(FILE, (3, 1, 3), shown))  # type: ignore[arg-type]  # a parameter

    found = read_selection(selection, FILE)

    assert (found.ids, found.shown) == ((1, 3), shown)
    with pytest.raises(CandidateError) as refused:
        read_selection(selection, OTHER)
    assert refused.value.reason == "other-file"


@pytest.mark.parametrize("text", ["1,3", "1\n3\n", "[1, 3]", "\ufeff1 # the first\n3"])
def test_a_selection_may_be_written_by_hand(path: Path, text: str) -> None:
    selection = path.with_name("mine.txt")
    selection.write_text(text, "utf-8")

    found = read_selection(selection, FILE)

    assert (found.ids, found.shown) == ((1, 3), "command-line")


@pytest.mark.parametrize("data", [b"", b"\xff\xfe", b"# nothing\n"])
def test_a_selection_without_ids_is_refused(path: Path, data: bytes) -> None:
    selection = path.with_name("mine.txt")
    selection.write_bytes(data)

    with pytest.raises(CandidateError) as refused:
        read_selection(selection, FILE)

    assert refused.value.reason == "bad-selection"


def test_confirmations_are_added_and_never_rewritten(path: Path) -> None:
    first = Confirmation(
        confirmed_by="Ada",
        confirmed_at=MONDAY,
        file_digest=FILE.digest,
        candidate_ids=(1, 3),
        shown="terminal",
    )

    assert read_confirmations(path) == ()
    record_confirmation(path, first)
    before = confirmations_path(path).read_bytes()
    record_confirmation(path, first)

    assert read_confirmations(path) == (first, first)
    assert confirmations_path(path).read_bytes().startswith(before)


def test_a_record_of_confirmations_that_cannot_be_read_is_refused(path: Path) -> None:
    confirmations_path(path).write_bytes(b"{}\n")

    with pytest.raises(CandidateError) as refused:
        read_confirmations(path)

    assert refused.value.reason == "malformed"
