"""Turns read documents into the candidates of a window (half-open, in UTC, 001): selected by date, deduplicated, numbered.

Within a source one identity is one candidate, whatever number of its documents carry it. Between
sources one address is one candidate; the other sources are noted. The rules are those of identify/.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Final

from msgspec.structs import replace

from feedmill.engine.documents.read_document import (
    ComparedDocument,
    candidate_of,
    publication_date_of,
)
from feedmill.engine.two_phase.candidate_file import raise_candidate_error
from feedmill.model.base import Value
from feedmill.model.candidate import SourceReport, Window, WindowCandidate
from feedmill.model.identity import Added, Change, Identified, Revised, UnchangedEntry

_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_HINT: Final = "write a day like 2026-01-05 or an instant like 2026-01-05T08:00Z"


def window_between(start: str, end: str | None, *, now: datetime) -> Window:
    """From a day or an instant up to another, or up to now.

    A day begins at midnight UTC, and an end that is a day includes it: it means the next midnight.
    """
    since = _instant(start, "start")
    until = now.astimezone(UTC) if end is None else _instant(end, "end", days=1)
    return _checked(since, until)


def window_of_last(span: timedelta, *, now: datetime) -> Window:
    """The time up to now."""
    until = now.astimezone(UTC)
    try:
        return _checked(until - span, until)
    except OverflowError:
        raise_candidate_error("bad-window", "the window begins before the year 1", _HINT)


def is_within(window: Window, at: datetime) -> bool:
    """Whether an instant lies in the window: its start does, its end does not."""
    return window.start <= at < window.end


def _checked(start: datetime, end: datetime) -> Window:
    if end <= start:
        message = f"the window from {_shown(start)} to {_shown(end)} is empty"
        raise_candidate_error("bad-window", message, "its end has to be after its start")
    return Window(start=start, end=end)


def _instant(text: str, name: str, *, days: int = 0) -> datetime:
    """An instant, or the midnight so many days after the one that a day begins with."""
    words = text.strip()
    try:
        if _DAY.fullmatch(words):
            midnight = datetime.combine(date.fromisoformat(words), time(), UTC)
            return midnight + timedelta(days=days)
        found = datetime.fromisoformat(words)
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError):
        raise_candidate_error(
            "bad-window", f"the {name} {words[:40]!r} is neither a day nor an instant", _HINT
        )


def _shown(at: datetime) -> str:
    return at.isoformat().replace("+00:00", "Z")


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
