"""An item of a document as a candidate: what people and screeners judge before it becomes an entry."""

from datetime import datetime
from typing import Final

from feedmill.identify.hashes import as_utc
from feedmill.model.candidate import WindowCandidate
from feedmill.model.entry import Entry
from feedmill.model.identity import Added, Identified, Revised, UnchangedEntry

SUMMARY_CHARS: Final = 2_000  # of a candidate; the whole entry is in its document


def candidate_of(
    change: Added | Revised | UnchangedEntry,
    seen: Identified,
    *,
    feed_title: str | None,
    source: int = 0,
    document: int = 0,
) -> WindowCandidate:
    """An item of a document as a candidate that has no number yet."""
    entry = seen.entry
    summary, piece, at = entry.summary, entry.slice, publication_date_of(entry)
    elsewhere = isinstance(change, Added) and (
        change.same_as is not None or change.article == "duplicate"
    )
    return WindowCandidate(
        candidate_id=0,
        title=entry.title,
        published_at=at,
        feed_title=feed_title,
        url=entry.link,
        summary=None if summary is None else summary[:SUMMARY_CHARS],
        categories=entry.categories,
        dedupe_key=seen.dedupe_key,
        source=source,
        is_undated=at is None,
        is_known=not isinstance(change, Added),
        slice_offset=None if piece is None else piece.offset,
        slice_length=None if piece is None else piece.length,
        language=entry.language,
        document=document,
        is_known_elsewhere=elsewhere,
    )


def publication_date_of(entry: Entry) -> datetime | None:
    """When the publisher says it was published, or last changed; None: it does not say."""
    at = entry.published or entry.updated
    return None if at is None else as_utc(at)
