"""Candidates from several sources: each once, numbered the newest first.

The candidate file: exactly what was written, or refused with a reason.
"""

from datetime import timedelta
from hashlib import sha256
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.sample_candidate_files import MONDAY, a_file, candidate, said

from feedmill.engine.two_phase import candidates
from feedmill.engine.two_phase.candidates import (
    CandidateDraft,
    decode_candidates,
    encode_canonical,
    merge_drafts,
    pack_body,
    read_candidates,
    select_candidates,
    summarise_candidate,
    unpack_body,
    with_checksum,
    with_counts,
    write_candidates,
)
from feedmill.errors import CandidateError
from feedmill.model.candidate import SourceReport

FILE = a_file(candidate(1), candidate(2, title="绿色供应链 “quoted” \u0000 \\"), candidate(3))
WRITTEN = encode_canonical(FILE)
BODY = b"<rss>body</rss>" * 50


def draft(
    number: int, *, source: int = 0, link: str | None = None, article: str | None = None
) -> CandidateDraft:
    return CandidateDraft(
        candidate=candidate(number, source=source), link=link, article_hash=article
    )


def test_the_newest_comes_first_and_the_undated_last() -> None:
    undated = CandidateDraft(
        candidate=candidate(9, published_at=None, is_undated=True), link=None, article_hash=None
    )

    found = merge_drafts([undated, draft(1), draft(3), draft(2)])

    assert [one.title for one in found] == ["Title 3", "Title 2", "Title 1", "Title 9"]
    assert [one.candidate_id for one in found] == [1, 2, 3, 4]


def test_one_identity_of_one_source_is_one_candidate() -> None:
    found = merge_drafts([draft(1), draft(1)])  # on two pages of an archive

    assert len(found) == 1
    assert found[0].also_in == ()


def test_one_address_in_two_sources_is_one_candidate_that_names_the_other() -> None:
    link = "https://paper.example/story"

    found = merge_drafts([draft(1, source=0, link=link), draft(2, source=1, link=link)])

    assert [(one.title, one.source, one.also_in) for one in found] == [("Title 1", 0, (1,))]


def test_one_article_under_two_addresses_is_one_candidate() -> None:
    first = draft(1, source=0, link="https://paper.example/a", article="hash")
    second = draft(2, source=1, link="https://paper.example/a?from=rss", article="hash")

    assert len(merge_drafts([first, second])) == 1


def test_two_entries_of_one_feed_about_one_page_stay_two() -> None:
    link = "https://paper.example/story"

    assert len(merge_drafts([draft(1, link=link), draft(2, link=link)])) == 2


def test_entries_without_an_address_are_never_taken_for_each_other() -> None:
    assert len(merge_drafts([draft(1, source=0), draft(2, source=1)])) == 2


def test_reports_count_what_was_kept_and_what_was_repeated() -> None:
    link = "https://paper.example/story"
    drafts = [draft(1, link=link), draft(2), draft(3, source=1, link=link)]
    reports = [SourceReport(url=f"https://{n}.example/", outcome="ok") for n in (0, 1)]

    found = with_counts(reports, drafts, merge_drafts(drafts))

    assert [(one.in_window, one.undated, one.repeats) for one in found] == [(2, 0, 0), (1, 0, 1)]


@given(
    st.lists(
        st.tuples(st.integers(1, 6), st.integers(0, 2), st.sampled_from([None, "a", "b"])),
        max_size=20,
    )
)
def test_no_identity_is_lost_and_none_appears_twice_in_a_source(
    rows: list[tuple[int, int, str | None]],
) -> None:
    drafts = [draft(number, source=source, link=link) for number, source, link in rows]

    found = merge_drafts(drafts)

    places = [(one.source, one.dedupe_key) for one in found]
    assert len(set(places)) == len(places)
    assert set(places) <= {(one.candidate.source, one.candidate.dedupe_key) for one in drafts}
    assert {one.candidate.source for one in drafts} == {
        source for one in found for source in (one.source, *one.also_in)
    }
    assert [one.candidate_id for one in found] == list(range(1, len(found) + 1))
    assert all(one.published_at and one.published_at > MONDAY - timedelta(1) for one in found)


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
    monkeypatch.setattr(candidates, "MAX_FILE_BYTES", 100)

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
