"""Feed text for agents: visible characters only, truncated, in fields marked untrusted."""

from collections.abc import Sequence
from typing import Final

from msgspec import UNSET

from feedmill.interfaces.mcp import shapes
from feedmill.model.candidate import SourceReport, WindowCandidate
from feedmill.model.event import StoredEntry
from feedmill.model.screening import Score as ModelScore
from feedmill.model.screening import Screening
from feedmill.screen.texts import clean_line

TITLE_CHARS: Final = 300
URL_CHARS: Final = 500

_CATEGORIES: Final = 10
_CATEGORY_CHARS: Final = 60
_REASON_CHARS: Final = 300
_EVIDENCE: Final = 10


def candidate_row(
    candidate: WindowCandidate, screening: Screening | None, *, max_chars: int
) -> shapes.CandidateRow:
    """A candidate with its screening."""
    return shapes.row_of(
        shapes.CandidateRow,
        candidate,
        opinion=None if screening is None else screening_opinion(screening),
        untrusted=shapes.UntrustedCandidate(
            title=clean_line(candidate.title or "", TITLE_CHARS),
            feed_title=clean_line(candidate.feed_title or "", TITLE_CHARS),
            url=clean_line(candidate.url or "", URL_CHARS),
            summary=clean_line(candidate.summary or "", max_chars),
            categories=_categories(candidate.categories),
        ),
    )


def screening_opinion(screening: Screening) -> shapes.ScreeningOpinion:
    """A suggestion; its reason quotes the feed, so it is marked untrusted too."""
    return shapes.row_of(
        shapes.ScreeningOpinion,
        screening,
        score=round(screening.score, 3),
        decided_by=clean_line(screening.decided_by, _REASON_CHARS),
        untrusted=_reason(screening.reason, screening.evidence),
    )


def score_row(score: ModelScore) -> shapes.ScoreRow:
    """The score of one method."""
    untrusted = _reason(score.reason, score.evidence)
    return shapes.row_of(shapes.ScoreRow, score, score=round(score.score, 3), untrusted=untrusted)


def source_row(source: SourceReport) -> shapes.SourceRow:
    """The result of a source."""
    return shapes.row_of(
        shapes.SourceRow,
        source,
        untrusted={
            "url": clean_line(source.url, URL_CHARS),
            "feed_title": clean_line(source.feed_title or "", TITLE_CHARS),
            "detail": clean_line(source.detail, _REASON_CHARS),
        },
    )


def entry_row(entry: StoredEntry, feed_title: str, *, max_chars: int) -> shapes.EntryRow:
    """A stored entry, in short."""
    return shapes.EntryRow(
        entry_uid=entry.entry_uid,
        feed_id=entry.feed_id,
        published_at=entry.published_effective,
        first_seen_at=entry.first_seen,
        is_removed=entry.removed_at is not None,
        untrusted=shapes.UntrustedCandidate(
            title=clean_line(entry.title or "", TITLE_CHARS),
            feed_title=clean_line(feed_title, TITLE_CHARS),
            url=clean_line(entry.link or "", URL_CHARS),
            summary=clean_line(_excerpt(entry) or entry.summary or "", max_chars),
            categories=_categories(entry.categories),
        ),
    )


def _excerpt(entry: StoredEntry) -> str:
    """The part of the text that a search found; empty without a search."""
    found = () if entry.highlight is UNSET else entry.highlight.excerpt
    return "".join(one.text for one in found)


def _reason(reason: str, evidence: Sequence[str]) -> shapes.UntrustedReason:
    return shapes.UntrustedReason(
        reason=clean_line(reason, _REASON_CHARS),
        evidence=[clean_line(word, _CATEGORY_CHARS) for word in evidence[:_EVIDENCE]],
    )


def _categories(categories: Sequence[str]) -> list[str]:
    return [clean_line(category, _CATEGORY_CHARS) for category in categories[:_CATEGORIES]]
