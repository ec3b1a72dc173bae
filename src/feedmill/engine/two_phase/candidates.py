"""Turns read documents into the candidates of a window: selected by date, deduplicated, numbered.

Within a source one identity is one candidate, whatever number of its documents carry it. Between
sources one address is one candidate; the other sources are noted. The rules are those of identify/.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Final

from msgspec.structs import replace

from feedmill.engine.documents.read_document import (
    ComparedDocument,
    candidate_of,
    publication_date_of,
)
from feedmill.engine.two_phase.window import is_within
from feedmill.model.base import Value
from feedmill.model.candidate import SourceReport, Window, WindowCandidate
from feedmill.model.identity import Added, Change, Identified, Revised, UnchangedEntry

_EPOCH: Final = datetime(1, 1, 1, tzinfo=UTC)


class CandidateDraft(Value):
    """A candidate without its number, and what it is recognised by in other sources."""

    candidate: WindowCandidate
    link: str | None
    article_hash: str | None


def drafts_of(
    read: ComparedDocument,
    window: Window | None,
    *,
    source: int,
    document: int,
    feed_title: str | None,
) -> tuple[CandidateDraft, ...]:
    """The entries of a document that lie in the window or have no date; repeats are left out."""
    found = (_draft(change, source, document, feed_title) for change in read.changes.changes)
    return tuple(draft for draft in found if draft is not None and _is_wanted(draft, window))


def covers_start(read: ComparedDocument, start: datetime) -> bool:
    """Whether a document goes back to an instant: something in it is older."""
    dates = [publication_date_of(item.entry) for item in identified_items(read)]
    return any(at is not None and at < start for at in dates)


def identified_items(read: ComparedDocument) -> tuple[Identified, ...]:
    """Every item of a document that was read without any being skipped as known."""
    found = (getattr(change, "seen", None) for change in read.changes.changes)
    return tuple(item for item in found if isinstance(item, Identified))


def merge_drafts(drafts: Iterable[CandidateDraft]) -> tuple[WindowCandidate, ...]:
    """Candidates with their numbers: the newest first, the undated last, each address once."""
    kept: list[WindowCandidate] = []
    own: dict[tuple[int, str], int] = {}
    shared: dict[str, int] = {}
    for draft in drafts:
        one = draft.candidate
        names = [name for name in (draft.link, draft.article_hash) if name is not None]
        at = own.get((one.source, one.dedupe_key))
        if at is None:
            at = next((shared[name] for name in names if name in shared), None)
            if at is not None and kept[at].source == one.source:
                at = None  # two entries of one feed about one page stay two (D8)
        if at is None:
            at = len(kept)
            kept.append(one)
        elif one.source != kept[at].source:
            also = tuple(dict.fromkeys((*kept[at].also_in, one.source)))
            kept[at] = replace(kept[at], also_in=also)
        own[one.source, one.dedupe_key] = at
        for name in names:
            shared.setdefault(name, at)
    ordered = sorted(kept, key=_order)
    return tuple(replace(one, candidate_id=number) for number, one in enumerate(ordered, 1))


def with_counts(
    reports: Sequence[SourceReport],
    drafts: Sequence[CandidateDraft],
    candidates: Sequence[WindowCandidate],
) -> tuple[SourceReport, ...]:
    """The reports with what became of each source's entries."""
    dated = Counter(one.candidate.source for one in drafts if not one.candidate.is_undated)
    undated = Counter(one.candidate.source for one in drafts if one.candidate.is_undated)
    kept = Counter(one.source for one in candidates)
    return tuple(
        replace(
            report,
            in_window=dated[at],
            undated=undated[at],
            repeats=dated[at] + undated[at] - kept[at],
        )
        for at, report in enumerate(reports)
    )


def _draft(
    change: Change, source: int, document: int, feed_title: str | None
) -> CandidateDraft | None:
    if not isinstance(change, Added | Revised | UnchangedEntry) or change.seen is None:
        return None
    seen = change.seen
    candidate = candidate_of(change, seen, feed_title=feed_title, source=source, document=document)
    link = None if seen.link_is_shared else seen.link
    return CandidateDraft(
        candidate=candidate, link=link, article_hash=None if link is None else seen.article_hash
    )


def _is_wanted(draft: CandidateDraft, window: Window | None) -> bool:
    at = draft.candidate.published_at
    return window is None or at is None or is_within(window, at)


def _order(one: WindowCandidate) -> tuple[bool, float, int]:
    at = one.published_at or _EPOCH
    return (one.published_at is None, -(at - _EPOCH).total_seconds(), one.source)
