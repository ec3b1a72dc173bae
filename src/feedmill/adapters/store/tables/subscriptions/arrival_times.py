"""Table `arrival_times`: when the entries of a feed came out, by month, for simulations (D23).

One row holds a month of a feed: six hexadecimal digits per entry, the seconds since the month began. They
are appended as they come and sorted when they are read.
"""
# Tested in tests/contracts/store/

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from feedmill.adapters.store.statements import Query, rows, write, write_many
from feedmill.adapters.store.tables.codec import instant, instant_or_none
from feedmill.model.schedule import StoredArrival

_DIGITS: Final = 6  # a month has fewer than 0x28de81 seconds
MONTH_CHARS: Final = 120_000  # of one row: 20,000 entries in a month; then the feed's pace is known
COLUMNS: Final = ("feed_no", "month", "times")
APPEND: Final = (
    "ON CONFLICT (feed_no, month) DO UPDATE SET times = arrival_times.times || excluded.times"
    f" WHERE length(arrival_times.times) < {MONTH_CHARS}"
)
_INSERT: Final = f"INSERT INTO arrival_times (feed_no, month, times) VALUES ($1, $2, $3) {APPEND}"
_ENTRIES: Final = """
SELECT e.published, e.updated, e.first_seen,
       (SELECT max(x.fetched_at) FROM fetches x WHERE x.feed_no = e.feed_no
          AND x.fetched_at < e.first_seen AND x.outcome IN ('fresh', 'unchanged', 'same-body'))
  FROM entries e WHERE e.feed_no = (SELECT feed_no FROM feeds WHERE id = $1) AND e.backfill = 0
 ORDER BY e.first_seen DESC, e.entry_id DESC LIMIT $2"""
_MERGE: Final = f"""
INSERT INTO arrival_times (feed_no, month, times)
SELECT $1, a.month, a.times FROM arrival_times a WHERE a.feed_no = $2 {APPEND}"""


def month_rows(feed_no: int, times: Sequence[float]) -> list[tuple[int, int, str]]:
    """The rows that keep these times: Unix seconds."""
    months: dict[int, list[str]] = {}
    for seconds in times:
        at = datetime.fromtimestamp(seconds, UTC)
        into = ((at.day - 1) * 24 + at.hour) * 3600 + at.minute * 60 + at.second
        months.setdefault(at.year * 100 + at.month, []).append(f"{into:06x}")
    return [(feed_no, month, "".join(digits)) for month, digits in sorted(months.items())]


def append_times(feed_no: int, times: Sequence[float]) -> Query[None]:
    """Keep when entries came out."""
    yield from write_many(_INSERT, month_rows(feed_no, times))


def arrival_times(feed_id: str, since: datetime | None = None) -> Query[tuple[float, ...]]:
    """When the entries of a feed came out, in order, in Unix seconds."""
    first = 0 if since is None else since.year * 100 + since.month
    found = yield from rows(
        "SELECT month, times FROM arrival_times"
        " WHERE feed_no = (SELECT feed_no FROM feeds WHERE id = $1) AND month >= $2 ORDER BY month",
        feed_id,
        first,
    )
    times: list[float] = []
    for month, digits in found:
        began = datetime(month // 100, month % 100, 1, tzinfo=UTC).timestamp()
        times += [
            began + int(digits[at : at + _DIGITS], 16) for at in range(0, len(digits), _DIGITS)
        ]
    after = float("-inf") if since is None else since.timestamp()
    return tuple(sorted(at for at in times if at >= after))


def stored_arrivals(feed_id: str, limit: int) -> Query[tuple[StoredArrival, ...]]:
    """What stored entries and fetches say about when the newest entries came out; the oldest first."""
    found = yield from rows(_ENTRIES, feed_id, limit)
    return tuple(
        StoredArrival(
            stated_at=instant_or_none(published if published is not None else updated),
            first_seen=instant(first_seen),
            previous_at=instant_or_none(previous),
        )
        for published, updated, first_seen, previous in reversed(found)
    )


def merge_times(winner: int, loser: int) -> Query[None]:
    """Give the times of one feed to another."""
    yield from write(_MERGE, winner, loser)


def purge_times(before: datetime) -> Query[int]:
    """Forget the months that ended before; how many rows went."""
    return write("DELETE FROM arrival_times WHERE month < $1", before.year * 100 + before.month)
