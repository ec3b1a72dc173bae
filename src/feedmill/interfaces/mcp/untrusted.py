"""What strangers wrote, made fit for an agent's eyes: visible text, cut to size, in marked fields."""

from collections.abc import Sequence
from typing import Final

from feedmill.interfaces.mcp.shapes import (
    Candidate,
    EntryRow,
    Opinion,
    Score,
    Source,
    UntrustedCandidate,
    UntrustedReason,
)
from feedmill.model.candidate import SourceReport, WindowCandidate
from feedmill.model.event import StoredEntry
from feedmill.model.screening import Score as ModelScore
from feedmill.model.screening import Screening
from feedmill.screen.texts import scrub

TITLE_CHARS: Final = 300
URL_CHARS: Final = 500

_CATEGORIES: Final = 10
_CATEGORY_CHARS: Final = 60
_REASON_CHARS: Final = 300
_EVIDENCE: Final = 10


def candidate_shape(
    candidate: WindowCandidate, screening: Screening | None, *, max_chars: int
) -> Candidate:
    """A candidate with what screening said of it."""
    return Candidate(
        candidate_id=candidate.candidate_id,
        published_at=candidate.published_at,
        is_undated=candidate.is_undated,
        is_known=candidate.is_known,
        opinion=None if screening is None else opinion_shape(screening),
        untrusted=UntrustedCandidate(
            title=scrub(candidate.title or "", TITLE_CHARS),
            feed_title=scrub(candidate.feed_title or "", TITLE_CHARS),
            url=scrub(candidate.url or "", URL_CHARS),
            summary=scrub(candidate.summary or "", max_chars),
            categories=_categories(candidate.categories),
        ),
    )


def opinion_shape(screening: Screening) -> Opinion:
    """A suggestion; its words quote the feed, so they are marked as well."""
    return Opinion(
        suggestion=screening.suggestion,
        topic=screening.topic,
        score=round(screening.score, 3),
        methods=list(screening.methods),
        decided_by=scrub(screening.decided_by, _REASON_CHARS),
        is_degraded=screening.is_degraded,
        is_suspicious=screening.is_suspicious,
        untrusted=_reason(screening.reason, screening.evidence),
    )


def score_shape(score: ModelScore) -> Score:
    """What one method said."""
    return Score(
        topic=score.topic,
        method=score.method,
        score=round(score.score, 3),
        model_id=score.model_id,
        untrusted=_reason(score.reason, score.evidence),
    )


def source_shape(source: SourceReport) -> Source:
    """What came of a source."""
    return Source(
        outcome=source.outcome,
        reason=source.reason,
        feed_id=source.feed_id,
        http_status=source.http_status,
        items=source.items,
        in_window=source.in_window,
        undated=source.undated,
        untrusted={
            "url": scrub(source.url, URL_CHARS),
            "feed_title": scrub(source.feed_title or "", TITLE_CHARS),
            "detail": scrub(source.detail, _REASON_CHARS),
        },
    )


def entry_shape(entry: StoredEntry, feed_title: str, *, max_chars: int) -> EntryRow:
    """A stored entry, in short."""
    return EntryRow(
        entry_uid=entry.entry_uid,
        feed_id=entry.feed_id,
        published_at=entry.published_effective,
        first_seen_at=entry.first_seen,
        is_removed=entry.removed_at is not None,
        untrusted=UntrustedCandidate(
            title=scrub(entry.title or "", TITLE_CHARS),
            feed_title=scrub(feed_title, TITLE_CHARS),
            url=scrub(entry.link or "", URL_CHARS),
            summary=scrub(entry.summary or "", max_chars),
            categories=_categories(entry.categories),
        ),
    )


def _reason(reason: str, evidence: Sequence[str]) -> UntrustedReason:
    return UntrustedReason(
        reason=scrub(reason, _REASON_CHARS),
        evidence=[scrub(word, _CATEGORY_CHARS) for word in evidence[:_EVIDENCE]],
    )


def _categories(categories: Sequence[str]) -> list[str]:
    return [scrub(category, _CATEGORY_CHARS) for category in categories[:_CATEGORIES]]
