"""When an entry was published, and what is used when nobody said it (D11)."""

from datetime import UTC, datetime, timedelta

import pytest

from feedmill.normalise.entry import read_publication_dates

SEEN = datetime(2025, 10, 14, 9, 30, 5, tzinfo=UTC)
FEED = datetime(2025, 10, 13, tzinfo=UTC)
EARLY, LATE = "2025-10-01T00:00:00Z", "2025-10-02T00:00:00Z"


@pytest.mark.parametrize(
    ("published", "updated", "feed", "seen", "effective", "source"),
    [
        pytest.param(EARLY, LATE, FEED, SEEN, "2025-10-01", "published", id="what it says"),
        pytest.param(None, LATE, FEED, SEEN, "2025-10-02", "updated", id="else its update"),
        pytest.param(None, None, FEED, SEEN, "2025-10-13", "feed", id="else the feed's"),
        pytest.param(None, None, None, SEEN, "2025-10-14", "first_seen", id="else when it was seen"),
        pytest.param("soon", None, None, SEEN, "2025-10-14", "first_seen", id="words are no date"),
        pytest.param(None, None, None, None, None, None, id="else nothing"),
        pytest.param(EARLY, None, None, None, "2025-10-01", "published", id="without a clock"),
    ],
)  # fmt: skip
def test_the_best_date_there_is_takes_effect(
    published: str | None,
    updated: str | None,
    feed: datetime | None,
    seen: datetime | None,
    effective: str | None,
    source: str | None,
) -> None:
    moments = read_publication_dates(published, updated, feed, seen)

    used = moments.published_effective
    assert (None if used is None else used.date().isoformat()) == effective
    assert moments.published_source == source


def test_an_undated_entry_has_no_publication_date() -> None:
    moments = read_publication_dates(None, None, FEED, SEEN)

    assert moments.published is None
    assert moments.findings == ()


@pytest.mark.parametrize(
    ("ahead", "source"),
    [
        pytest.param(timedelta(hours=24), "published", id="a day is a matter of time zones"),
        pytest.param(timedelta(hours=24, seconds=1), "first_seen", id="more is not believed"),
        pytest.param(timedelta(days=365_000), "first_seen", id="however much"),
    ],
)
def test_a_date_in_the_future_does_not_take_effect(ahead: timedelta, source: str) -> None:
    published = SEEN + ahead

    moments = read_publication_dates(published.isoformat(), None, None, SEEN)

    assert moments.published == published
    assert moments.published_source == source
    assert [f.code for f in moments.findings] == ["future-date"] * (source == "first_seen")


def test_dates_that_cannot_be_read_are_reported() -> None:
    moments = read_publication_dates("next\nweek", " ", None, SEEN)

    assert [(f.code, f.field, f.detail) for f in moments.findings] == [
        ("bad-date", "published", "next week")
    ]
