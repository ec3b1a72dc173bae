"""When an entry was published: what the publisher said, and what is used instead (D11)."""

from datetime import datetime, timedelta

from feedmill.model.base import Value
from feedmill.model.entry import Finding, PublishedSource
from feedmill.normalise.dates.parse import parse_date
from feedmill.normalise.suspicious import describe

# Clocks and time zones are wrong by hours; what lies further ahead is an error or a trick to
# stay on top.
_TOLERANCE = timedelta(hours=24)


class PublicationDates(Value):
    """The dates of an entry; `published` is None when the publisher gave none that can be read."""

    published: datetime | None = None
    updated: datetime | None = None
    published_effective: datetime | None = None
    published_source: PublishedSource | None = None
    findings: tuple[Finding, ...] = ()


def read_publication_dates(
    published_text: str | None,
    updated_text: str | None,
    feed_updated: datetime | None,
    seen_at: datetime | None,
) -> PublicationDates:
    """The dates, and as effective one the first of: published, updated, the feed's, first seen."""
    published, updated = parse_date(published_text), parse_date(updated_text)
    effective, source = _effective(published, updated, feed_updated, seen_at)
    findings = (
        *_unread("published", published_text, published),
        *_unread("updated", updated_text, updated),
    )
    if effective is not None and _lies_ahead(effective, seen_at):
        findings += (Finding(code="future-date", field="published", detail=effective.isoformat()),)
        effective, source = seen_at, "first_seen"
    return PublicationDates(
        published=published,
        updated=updated,
        published_effective=effective,
        published_source=source,
        findings=findings,
    )


def _effective(
    published: datetime | None,
    updated: datetime | None,
    feed_updated: datetime | None,
    seen_at: datetime | None,
) -> tuple[datetime | None, PublishedSource | None]:
    if published is not None:
        return published, "published"
    if updated is not None:
        return updated, "updated"
    if feed_updated is not None:
        return feed_updated, "feed"
    return seen_at, None if seen_at is None else "first_seen"


def _lies_ahead(moment: datetime, seen_at: datetime | None) -> bool:
    # Compared by difference: seen_at + 24 h may lie beyond the last year there is.
    return seen_at is not None and moment - seen_at > _TOLERANCE


def _unread(field_name: str, text: str | None, moment: datetime | None) -> tuple[Finding, ...]:
    if moment is not None or not text or not text.strip():
        return ()
    return (Finding(code="bad-date", field=field_name, detail=describe(text)),)
