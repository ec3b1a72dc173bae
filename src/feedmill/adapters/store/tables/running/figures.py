"""Figures of polls: `feed_sched.today_*`, `feed_days`, `feed_failures` and `poll_totals`.

The figures of a feed's present day stand beside its schedule, in a row that every poll writes anyway; the
first poll of another day moves them to `feed_days`. The view `feed_figures` has both. Hours of one feed are
read from its fetches. Hours of all feeds are rows of `poll_totals`, several for one hour (`TotalsWriter`)
until housekeeping adds them up, first by the hour and later by the day.

A writer keeps the sum of its hour in memory and writes it with every group of commits, in the same
transaction: nothing is read, and writers never wait for each other. When it is unknown whether a
transaction counted, the row stays as it is and a new one is begun, so that no poll is counted twice
or lost.
"""
# Tested in tests/contracts/store/test_figures.py

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from secrets import randbits
from typing import Any, Final

import msgspec
from msgspec.structs import astuple

from feedmill.adapters.store import statements as sql
from feedmill.adapters.store.statements import Query
from feedmill.adapters.store.tables.codec import Row, RowCodec, instant, json_text, micros
from feedmill.fetch.figures import TotalsCounter, poll_values, sum_totals, sum_values
from feedmill.model.feed import FetchRecord
from feedmill.model.running.figures import (
    BudgetCounts,
    FailureCount,
    FeedRank,
    Figures,
    FiguresAt,
    Freshness,
    StoreSizes,
    TopBy,
    Totals,
    TotalsAt,
)

COLUMNS: Final = Figures.__struct_fields__
HOUR_SEC: Final = 3_600
DAY_SEC: Final = 86_400
_WRITER_BITS: Final = 62
COMPACTED: Final = 0  # the writer of a row that housekeeping has added up

_MAXIMA: Final = frozenset({"elapsed_ms_max", "lag_max"})
_LAST: Final = frozenset({"interval_sec", "ewma_sec"})
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_DAY: Final = timedelta(days=1)
_HOUR: Final = timedelta(hours=1)
_MICROS: Final = 1_000_000
_FEED_NO: Final = "(SELECT feed_no FROM feeds WHERE id = $1)"
_totals: Final = msgspec.json.Decoder(Totals).decode


def day_of(at: datetime) -> int:
    """The number of the day since 1970, in UTC."""
    return (at - _EPOCH) // _DAY


def day_start(day: int) -> datetime:
    """The first instant of a day."""
    return _EPOCH + day * _DAY


def hour_of(at: datetime) -> datetime:
    """The first instant of the hour."""
    return _EPOCH + (at - _EPOCH) // _HOUR * _HOUR


# what a commit writes, in the words of each database


def assignments(
    given: Callable[[str], str], *, greatest: str, own: str = "today_", row: str = ""
) -> str:
    """`column = column and what is given`, for each figure of a row."""

    def combined(name: str) -> str:
        mine, more = f"{row}{own}{name}", given(name)
        if name in _MAXIMA:
            return f"{greatest}({mine}, {more})"
        return f"coalesce({more}, {mine})" if name in _LAST else f"{mine} + {more}"

    return ", ".join(f"{own}{name} = {combined(name)}" for name in COLUMNS)


def keep_day(where: str, *, greatest: str) -> str:
    """Move the present figures of the feeds to their day."""
    kept = ", ".join(f"today_{name}" for name in COLUMNS)
    more = assignments(lambda name: f"excluded.{name}", greatest=greatest, own="", row="feed_days.")
    return (
        f"INSERT INTO feed_days (feed_no, day, {', '.join(COLUMNS)})"
        f" SELECT feed_no, today, {kept} FROM feed_sched WHERE {where} AND today IS NOT NULL"
        f" ON CONFLICT (day, feed_no) DO UPDATE SET {more}"
    )


def resume_day(where: str) -> str:
    """Take the figures of the day that begins: a clock that stepped comes to a day for the second time."""
    return f"DELETE FROM feed_days {where} RETURNING feed_days.feed_no, {', '.join(COLUMNS)}"


def resumed(kept: Sequence[Any], values: Sequence[Any]) -> Row:
    """The figures of a day that goes on with one more poll; `kept` begins with the feed."""
    return astuple(sum_values([kept[1:], values]))


FAILURE_COLUMNS: Final = ("day", "feed_no", "outcome", "status", "polls")


def count_failures(source: str) -> str:
    """Count failed polls; `source` is VALUES or SELECT of FAILURE_COLUMNS."""
    return (
        f"INSERT INTO feed_failures ({', '.join(FAILURE_COLUMNS)}) {source}"
        " ON CONFLICT (day, feed_no, outcome, status)"
        " DO UPDATE SET polls = feed_failures.polls + excluded.polls"
    )


def failure_row(day: int, feed_no: int, fetch: FetchRecord) -> Row:
    """The FAILURE_COLUMNS of one poll."""
    return (day, feed_no, fetch.outcome, fetch.http_status or 0, 1)


TOTALS_COLUMNS: Final = ("start", "span_sec", "writer", "totals")
SAVE_TOTALS: Final = (
    f"{sql.insert_into('poll_totals', TOTALS_COLUMNS)}"
    " ON CONFLICT (start, span_sec, writer) DO UPDATE SET totals = excluded.totals"
)


class TotalsWriter:
    """The sum of one writer's hour, and the polls that its present transaction adds to it."""

    def __init__(self) -> None:
        self._pending: list[tuple[FetchRecord, Sequence[Any]]] = []
        self._start_anew(None)

    def begin(self) -> None:
        """A transaction begins; when the last one may not have counted, so does another row."""
        if self._pending:
            self._start_anew(None)
            self._pending = []

    def add(self, fetch: FetchRecord, values: Sequence[Any]) -> None:
        """Count a poll with its `poll_values` in this transaction."""
        self._pending.append((fetch, values))

    def rows(self) -> list[Row]:
        """What the transaction writes: start, span, writer and totals of each hour it adds to."""
        found: list[Row] = []
        touched = False
        for fetch, values in self._pending:
            hour = hour_of(fetch.fetched_at)
            if hour != self._hour:
                if touched:
                    found.append(self._row())
                self._start_anew(hour)
            self._counter.add_poll(fetch, values)
            touched = True
        if touched:
            found.append(self._row())
        return found

    def committed(self) -> None:
        """The transaction counted."""
        self._pending = []

    def _start_anew(self, hour: datetime | None) -> None:
        self._writer, self._hour, self._counter = randbits(_WRITER_BITS), hour, TotalsCounter()

    def _row(self) -> Row:
        start = 0 if self._hour is None else micros(self._hour)
        return (start, HOUR_SEC, self._writer, json_text(self._counter.totals))


# what interfaces read


def feed_days(feed_id: str, *, since: datetime, until: datetime) -> Query[tuple[FiguresAt, ...]]:
    """The figures of a feed by the day, the oldest first."""
    found = yield from sql.rows(
        f"SELECT day, {', '.join(COLUMNS)} FROM feed_figures WHERE feed_no = {_FEED_NO}"
        " AND day >= $2 AND day < $3 ORDER BY day",
        feed_id,
        day_of(since),
        day_of(until - timedelta(microseconds=1)) + 1,
    )
    days: dict[int, list[Row]] = {}  # two rows where a clock went back over days
    for day, *values in found:
        days.setdefault(day, []).append(tuple(values))
    return tuple(
        FiguresAt(start=day_start(day), figures=sum_values(values)) for day, values in days.items()
    )


_POLL: Final = RowCodec(
    FetchRecord,
    "scheduled_at fetched_at outcome http_status elapsed_ms wire_length content_length entries_new entries_updated"
    " interval_sec saved_bytes retries",
    *("fetch_id", "feed_id", "url", "final_url"),  # figures do not ask for them
    table="fetches",
)


def feed_hours(feed_id: str, *, since: datetime, until: datetime) -> Query[tuple[FiguresAt, ...]]:
    """The figures of a feed by the hour, read from its fetches, the oldest first."""
    found = yield from sql.rows(
        f"SELECT {_POLL.names()} FROM fetches WHERE feed_no = {_FEED_NO} AND decision IS NOT NULL"
        " AND scheduled_at >= $2 AND scheduled_at < $4 AND fetched_at >= $3 AND fetched_at < $4"
        " ORDER BY scheduled_at",
        feed_id,
        since - _DAY,  # a poll may be late; the index is by schedule
        since,
        until,
    )
    hours: dict[datetime, list[Sequence[Any]]] = {}
    for one in found:
        fetch = _POLL.value(one, "", "", "", "")
        hours.setdefault(hour_of(fetch.fetched_at), []).append(poll_values(fetch))
    return tuple(
        FiguresAt(start=start, figures=sum_values(hours[start])) for start in sorted(hours)
    )


def feed_failures(
    feed_id: str, *, since: datetime, until: datetime
) -> Query[tuple[FailureCount, ...]]:
    """How polls of a feed failed, by outcome and status, the most frequent first."""
    found = yield from sql.rows(
        "SELECT outcome, status, CAST(sum(polls) AS bigint) FROM feed_failures"
        f" WHERE feed_no = {_FEED_NO} AND day >= $2 AND day <= $3"
        " GROUP BY outcome, status ORDER BY 3 DESC, outcome, status",
        feed_id,
        day_of(since),
        day_of(until),
    )
    return tuple(
        FailureCount(outcome=outcome, status=status or None, count=count)
        for outcome, status, count in found
    )


def host_failures(
    *, since: datetime, until: datetime, limit: int = 20
) -> Query[tuple[FailureCount, ...]]:
    """How polls failed, by host, outcome and status, the most frequent first."""
    found = yield from sql.rows(
        "SELECT l.lane_key, x.outcome, x.status, CAST(sum(x.polls) AS bigint),"
        " count(DISTINCT x.feed_no) FROM feed_failures x"
        " JOIN feed_sched s ON s.feed_no = x.feed_no JOIN lanes l ON l.lane_id = s.lane_id"
        " WHERE x.day >= $1 AND x.day <= $2 GROUP BY l.lane_key, x.outcome, x.status"
        " ORDER BY 4 DESC, l.lane_key, x.outcome, x.status LIMIT $3",
        day_of(since),
        day_of(until),
        limit,
    )
    return tuple(
        FailureCount(
            outcome=outcome,
            status=status or None,
            count=count,
            host=_host_of(lane_key),
            feeds=feeds,
        )
        for lane_key, outcome, status, count, feeds in found
    )


def poll_totals(*, since: datetime, until: datetime) -> Query[tuple[TotalsAt, ...]]:
    """The totals of all feeds by the hour, or by the day where hours are not kept any more."""
    found = yield from sql.rows(
        "SELECT start, totals FROM poll_totals WHERE start >= $1 AND start < $2 ORDER BY start",
        since,
        until,
    )
    return tuple(
        TotalsAt(start=instant(start), totals=totals)
        for start, totals in _summed((start, text) for start, text in found)
    )


# What feeds are ordered by, and which rows count for it.
_FAILED: Final = "failed_ours + failed_theirs + failed_host"
_RANKS: Final[dict[TopBy, tuple[str, str]]] = {
    "new": ("sum(entries_new)", "entries_new > 0"),
    "bytes": ("sum(bytes_in)", "bytes_in > 0"),
    "errors": (f"sum({_FAILED})", f"{_FAILED} > 0"),
    "ours": ("sum(failed_ours)", "failed_ours > 0"),
    "latency": ("sum(elapsed_ms) * 1.0 / sum(polls)", "polls > 0"),
    "lag": ("max(lag_max)", "lag_max > 0"),
    "polls": ("sum(polls)", "polls > 0"),
    "saved": ("sum(bytes_saved)", "bytes_saved > 0"),
}


def top_feeds(
    by: TopBy, *, since: datetime, until: datetime, limit: int = 20
) -> Query[tuple[FeedRank, ...]]:
    """The feeds with the most of something in whole days, the first first; none that has nothing of it."""
    rank, counts = _RANKS[by]
    days = (day_of(since), day_of(until))
    ranked = yield from sql.rows(
        f"SELECT feed_no, CAST({rank} AS double precision) AS rank FROM feed_figures"
        f" WHERE day >= $1 AND day <= $2 AND {counts} GROUP BY feed_no"
        " ORDER BY 2 DESC, feed_no LIMIT $3",
        *days,
        limit,
    )
    numbers = [feed_no for feed_no, _ in ranked]
    known = yield from sql.rows(
        "SELECT f.feed_no, f.id, f.url, f.title, l.lane_key FROM feeds f"
        " JOIN feed_sched s ON s.feed_no = f.feed_no JOIN lanes l ON l.lane_id = s.lane_id"
        " WHERE f.feed_no @in($1)",
        numbers,
    )
    values = yield from _values_of(numbers, days)
    feeds = {feed_no: rest for feed_no, *rest in known}
    return tuple(
        FeedRank(
            feed_id=feeds[feed_no][0],
            url=feeds[feed_no][1],
            title=feeds[feed_no][2],
            host=_host_of(feeds[feed_no][3]),
            value=most,
            figures=sum_values(values[feed_no]),
        )
        for feed_no, most in ranked
        if feed_no in feeds
    )


def _values_of(feed_nos: list[int], days: tuple[int, int]) -> Query[dict[int, list[Row]]]:
    """The figures of some feeds by the day, the latest last."""
    found: dict[int, list[Row]] = {feed_no: [] for feed_no in feed_nos}
    earlier = yield from sql.rows(
        f"SELECT feed_no, {', '.join(COLUMNS)} FROM feed_days"
        " WHERE feed_no @in($1) AND day >= $2 AND day <= $3 ORDER BY day",
        feed_nos,
        *days,
    )
    present = yield from sql.rows(
        f"SELECT feed_no, {', '.join(f'today_{name}' for name in COLUMNS)} FROM feed_sched"
        " WHERE feed_no @in($1) AND today >= $2 AND today <= $3",
        feed_nos,
        *days,
    )
    for feed_no, *values in (*earlier, *present):
        found[feed_no].append(tuple(values))
    return found


def budget_counts(day: datetime, *, target: float) -> Query[BudgetCounts]:
    """Polls of one day that count for the error budget, and feeds that used up more than `target`."""
    counted = "polls - failed_theirs - failed_host"
    found = yield from sql.row(
        f"SELECT count(*), count(CASE WHEN failed_ours > $2 * ({counted}) THEN 1 END),"
        f" CAST(coalesce(sum({counted}), 0) AS bigint),"
        " CAST(coalesce(sum(failed_ours), 0) AS bigint) FROM feed_figures WHERE day = $1",
        day_of(day),
        target,
    )
    return BudgetCounts(**dict(zip(BudgetCounts.__struct_fields__, found or (), strict=True)))


def freshness(
    day: datetime, *, now: datetime | None, initial_interval_sec: float
) -> Query[Freshness]:
    """Of the feeds that were subscribed to or polled on the day, those with a late poll, or overdue at `now`.

    A feed that was never polled waits for the initial interval.
    """
    found = yield from sql.row(
        "SELECT count(*), count(CASE WHEN (s.today = $1 AND s.today_late > 0)"
        " OR s.next_run_at + coalesce(s.today_interval_sec, $3) * 1000000 < $2"
        " OR s.feed_no IN (SELECT d.feed_no FROM feed_days d WHERE d.day = $1 AND d.late > 0)"
        " THEN 1 END) FROM feed_sched s JOIN feeds f ON f.feed_no = s.feed_no WHERE s.paused = 0"
        " AND (f.created_at < $4 OR s.today = $1"
        " OR s.feed_no IN (SELECT d.feed_no FROM feed_days d WHERE d.day = $1))",
        day_of(day),
        0 if now is None else micros(now),
        float(initial_interval_sec),
        micros(day + _DAY),
    )
    return Freshness(**dict(zip(Freshness.__struct_fields__, found or (), strict=True)))


def store_sizes() -> Query[StoreSizes]:
    """Bytes of the database and of the raw documents."""
    found = yield from sql.row(
        "SELECT @database_bytes, CAST(coalesce(sum(length), 0) AS bigint), count(*) FROM blobs"
    )
    return StoreSizes(**dict(zip(StoreSizes.__struct_fields__, found or (), strict=True)))


# housekeeping


def compact_figures(*, now: datetime, hours_until: datetime, days_until: datetime) -> Query[int]:
    """Add up the rows of one hour, hours that are old by the day, and drop days that are older.

    An hour is left alone while processes may still add to it. How many rows went.
    """
    gone = yield from sql.write("DELETE FROM feed_days WHERE day < $1", day_of(days_until))
    gone += yield from sql.write("DELETE FROM feed_failures WHERE day < $1", day_of(days_until))
    gone += yield from sql.write("DELETE FROM poll_totals WHERE start < $1", days_until)
    settled = micros(hour_of(now) - _HOUR)
    several = yield from sql.column(
        "SELECT start FROM poll_totals WHERE span_sec = $1 AND start < $2"
        " GROUP BY start HAVING count(*) > 1",
        HOUR_SEC,
        settled,
    )
    for start in several:
        gone += yield from _add_up(start, start + HOUR_SEC * _MICROS, HOUR_SEC)
    old = micros(day_start(day_of(hours_until)))
    days = yield from sql.column(
        f"SELECT DISTINCT start - start % {DAY_SEC * _MICROS} FROM poll_totals"
        " WHERE span_sec = $1 AND start < $2",
        HOUR_SEC,
        min(old, settled),
    )
    for start in days:
        gone += yield from _add_up(start, start + DAY_SEC * _MICROS, DAY_SEC)
    return gone


def _add_up(start: int, until: int, span_sec: int) -> Query[int]:
    """Replace the rows from `start` on by one; how many rows fewer that is."""
    found = yield from sql.rows(
        "SELECT start, totals FROM poll_totals WHERE start >= $1 AND start < $2 @lock(FOR UPDATE)",
        start,
        until,
    )
    totals = sum_totals(_totals(text) for _, text in found)
    yield from sql.write("DELETE FROM poll_totals WHERE start >= $1 AND start < $2", start, until)
    yield from sql.write(SAVE_TOTALS, start, span_sec, COMPACTED, json_text(totals))
    return len(found) - 1


def _summed(found: Iterable[tuple[int, str]]) -> list[tuple[int, Totals]]:
    """The totals of each start, from any number of rows."""
    by_start: dict[int, list[Totals]] = {}
    for start, text in found:
        by_start.setdefault(start, []).append(_totals(text))
    return [
        (start, several[0] if len(several) == 1 else sum_totals(several))
        for start, several in by_start.items()
    ]


def _host_of(lane_key: str) -> str:
    """The host of a lane; a large host has several lanes."""
    return lane_key.partition("#")[0]
