"""The candidate file: exactly what was written, or refused with a reason."""

from hashlib import sha256
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.sample_candidate_files import a_file, candidate, said

from feedmill.engine.two_phase import candidate_file
from feedmill.engine.two_phase.candidate_file import (
    decode_candidates,
    encode_canonical,
    pack_body,
    read_candidates,
    select_candidates,
    summarise_candidate,
    unpack_body,
    with_checksum,
    write_candidates,
)
from feedmill.errors import CandidateError

FILE = a_file(candidate(1), candidate(2, title="绿色供应链 “quoted” \u0000 \\"), candidate(3))
WRITTEN = encode_canonical(FILE)
BODY = b"<rss>body</rss>" * 50


def reason_of(data: bytes) -> str:
    with pytest.raises(CandidateError) as refused:
        decode_candidates(data)
    return refused.value.reason


def test_a_file_comes_back_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "candidates.json"

    write_candidates(path, FILE)

    assert read_candidates(path) == FILE
    assert list(tmp_path.iterdir()) == [path]


def test_sealing_twice_changes_nothing() -> None:
    assert with_checksum(FILE) == FILE


@given(at=st.integers(0, len(WRITTEN) - 1), octet=st.integers(0, 255))
def test_a_file_with_any_other_byte_is_refused(at: int, octet: int) -> None:
    changed = WRITTEN[:at] + bytes([octet]) + WRITTEN[at + 1 :]

    if changed == WRITTEN:
        assert decode_candidates(changed) == FILE
    else:
        reason_of(changed)


@given(at=st.integers(0, len(WRITTEN)), more=st.binary(min_size=1, max_size=8))
def test_a_file_with_anything_added_is_refused(at: int, more: bytes) -> None:
    changed = WRITTEN[:at] + more + WRITTEN[at:]

    assert changed != WRITTEN
    reason_of(changed)


@given(at=st.integers(0, len(WRITTEN) - 1))
def test_a_file_that_was_cut_short_is_refused(at: int) -> None:
    assert reason_of(WRITTEN[:at]) in ("truncated", "not-json", "changed")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "not-json"),
        (b"<html>", "not-json"),
        (b'"""A program."""\n', "not-json"),
        (b"\xff\xfe\x00", "not-json"),
        (WRITTEN[: len(WRITTEN) // 2], "truncated"),
        (b"[]", "malformed"),
        (b"{}", "other-schema"),
        (b'{"schema": "feedmill-candidates/2"}', "other-schema"),
        (b'{"schema": 7}', "other-schema"),
        (b'{"schema": "feedmill-candidates/1"}', "malformed"),
        (b'{"schema": "feedmill-candidates/1", "candidates": 3}', "malformed"),
        (b'{"schema":' + b"[" * 100_000, "not-json"),
        (WRITTEN.replace(b"Title 1", b"Title 9"), "changed"),
        (WRITTEN.rstrip(b"\n"), "changed"),
        (msgspec.json.format(WRITTEN, indent=4), "changed"),  # the same, written otherwise
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_no_candidate_file_is_refused_with_its_reason(data: bytes, reason: str) -> None:
    assert reason_of(data) == reason


def test_a_file_with_a_new_digest_over_changed_words_is_another_window() -> None:
    other = with_checksum(msgspec.structs.replace(FILE, prompt="other things"))

    assert other.digest != FILE.digest
    assert decode_candidates(encode_canonical(other)) == other


def test_a_file_that_is_too_large_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "candidates.json"
    write_candidates(path, FILE)
    monkeypatch.setattr(candidate_file, "MAX_FILE_BYTES", 100)

    assert reason_of(WRITTEN) == "too-large"
    with pytest.raises(CandidateError) as refused:
        read_candidates(path)
    assert refused.value.reason == "too-large"


@pytest.mark.parametrize("name", ["missing.json", "."])
def test_a_file_that_is_not_there_is_said_to_be_missing(tmp_path: Path, name: str) -> None:
    with pytest.raises(CandidateError) as refused:
        read_candidates(tmp_path / name)

    assert refused.value.reason == "not-there"


def test_a_document_travels_packed_and_is_checked_against_its_hash() -> None:
    digest = sha256(BODY).hexdigest()

    assert unpack_body(pack_body(BODY), digest, 10_000) == BODY
    for packed, limit in (
        (pack_body(BODY + b"x"), 10_000),
        (pack_body(BODY), 100),
        (b"no zlib at all", 100),
    ):
        with pytest.raises(CandidateError, match="not the one that was fetched"):
            unpack_body(packed, digest, limit)


def test_candidates_are_chosen_by_id_in_the_order_of_the_file() -> None:
    assert [one.candidate_id for one in select_candidates(FILE, (3, 1, 3))] == [1, 3]


def test_one_unknown_id_refuses_the_whole_choice() -> None:
    with pytest.raises(CandidateError, match="no candidate 4, 99") as refused:
        select_candidates(FILE, (1, 99, 4))

    assert refused.value.reason == "unknown-id"


def test_a_compact_candidate_has_a_short_summary_and_nothing_empty() -> None:
    long = candidate(1, summary="x" * 500, categories=())

    plain = summarise_candidate(long)
    judged = summarise_candidate(long, said(1, "drop", score=0.12345))

    assert set(plain) == {
        "candidate_id", "title", "published_at", "feed_title", "url", "summary"
    }  # fmt: skip
    assert len(plain["summary"]) == 280
    assert (judged["suggestion"], judged["score"]) == ("drop", 0.123)
