"""What became of imported outlines, as rows and back."""

from typing import Final

from feedmill.adapters.store.tables.codec import Row, instant, micros
from feedmill.model.feed import ImportedOutline

OUTLINE_COLUMNS: Final = "url, outcome, feed_id, reason, detail, at, digest"


def outline_row(one: ImportedOutline) -> Row:
    """The OUTLINE_COLUMNS of an outline."""
    return (one.url, one.outcome, one.feed_id, one.reason, one.detail, micros(one.at), one.digest)


def outline_of(row: Row) -> ImportedOutline:
    """The outline of a row of OUTLINE_COLUMNS."""
    url, outcome, feed_id, reason, detail, at, digest = row
    return ImportedOutline(
        url=url,
        outcome=outcome,
        feed_id=feed_id,
        reason=reason,
        detail=detail,
        at=instant(at),
        digest=digest,
    )
