"""Candidates from several sources: each once, numbered the newest first."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st
from tests.support.sample_candidate_files import MONDAY, candidate

from feedmill.engine.two_phase.candidates import CandidateDraft, merge_drafts, with_counts
from feedmill.model.candidate import SourceReport


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
