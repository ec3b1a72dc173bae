"""Recomputes the service levels of a day from the fetch records of a SQLite store, without feedmill.

    python -m tools.service_levels feedmill-data/feedmill.db
    python -m tools.service_levels feedmill-data/feedmill.db --day 2026-03-01 --now 2026-03-01T18:00:00Z

It shares no code with the program: its own list of faults, its own percentile over every single
latency, its own reading of intervals. Latencies are exact here and rounded up to a bucket of 19 %
there; everything else has to be equal, also for days between which the clock stepped. The records of a
removed feed are deleted: its latencies are not known here, and stay in those of the program.
"""

import argparse
import json
import sqlite3
from datetime import UTC, datetime, timedelta
from math import ceil
from typing import Any

ANSWERED = ("fresh", "unchanged", "same-body")
OURS = [
    "malformed-url",
    "unsafe-character",
    "too-long",
    "scheme",
    "empty-host",
    "bad-host",
    "non-canonical-ipv4",
    "dotless-name",
    "local-name",
    "bad-port",
    "private-address",
    "too-large",
    "headers-too-large",
]
HOST = [
    "timeout-connect",
    "timeout",
    "too-slow",
    "dns-failure",
    "unresolved",
    "bad-address",
    "connection-failed",
    "tls-failure",
    "protocol-error",
    "rate-limited",
    "unavailable",
    "server-error",
]
WRONG_REQUEST = (400, 405, 406, *range(411, 418), 421, 422, 431)
INITIAL_INTERVAL_SEC = 900.0


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("database", help="the SQLite file of a home folder")
    parser.add_argument("--day", help="YYYY-MM-DD in UTC; today by default")
    parser.add_argument("--now", help="the instant at which overdue feeds are looked for")
    given = parser.parse_args()
    now = datetime.fromisoformat(given.now) if given.now else datetime.now(UTC)  # noqa: TID251  # a command asks about now
    day = datetime.fromisoformat(given.day).replace(tzinfo=UTC) if given.day else now
    connection = sqlite3.connect(f"file:{given.database}?mode=ro", uri=True)
    print(json.dumps(recomputed(connection, day, now), indent=2))


def recomputed(connection: sqlite3.Connection, day: datetime, now: datetime) -> dict[str, Any]:
    """The three levels of the day; overdue feeds count when `now` is on it."""
    start = day.replace(hour=0, minute=0, second=0, microsecond=0)
    polls = connection.execute(
        "SELECT feed_no, outcome, http_status, elapsed_ms, content_length,"
        " (fetched_at - scheduled_at) / 1e6, interval_sec FROM fetches WHERE decision IS NOT NULL"
        " AND fetched_at >= ? AND fetched_at < ?",
        (_micros(start), _micros(start + timedelta(days=1))),
    ).fetchall()
    return {
        "fetch-latency": _latencies(polls),
        "failed-fetches": _failures(polls),
        "scheduler-freshness": _freshness(
            connection, polls, start, now if start <= now < start + timedelta(days=1) else None
        )
        if start <= now
        else {"feeds": 0, "missed": 0, "value": None},
    }


def _latencies(polls: list[Any]) -> dict[str, dict[str, float]]:
    by_class: dict[str, list[int]] = {}
    for _, outcome, _, elapsed_ms, length, _, _ in polls:
        if outcome in ANSWERED:
            size = length or 0
            name = (
                "none"
                if size == 0
                else "100kB"
                if size <= 1e5
                else "1MB"
                if size <= 1e6
                else "larger"
            )
            by_class.setdefault(name, []).append(elapsed_ms)
    return {
        name: {"polls": len(several), "p99_ms": sorted(several)[ceil(0.99 * len(several)) - 1]}
        for name, several in by_class.items()
    }


def _failures(polls: list[Any]) -> dict[str, float]:
    counted: dict[int, int] = {}
    ours: dict[int, int] = {}
    feeds = set()
    for feed_no, outcome, status, *_ in polls:
        feeds.add(feed_no)
        is_ours = outcome in OURS or (outcome == "client-error" and status in WRONG_REQUEST)
        if outcome in ANSWERED or is_ours:
            counted[feed_no] = counted.get(feed_no, 0) + 1
        if is_ours:
            ours[feed_no] = ours.get(feed_no, 0) + 1
    over = [feed_no for feed_no, count in ours.items() if count > 0.02 * counted[feed_no]]
    total = sum(counted.values())
    return {
        "feeds": len(feeds),
        "polls": total,
        "failed_ours": sum(ours.values()),
        "missed": len(over),
        "value": round(sum(ours.values()) / total, 6) if total else 0.0,
    }


def _freshness(
    connection: sqlite3.Connection, polls: list[Any], start: datetime, now: datetime | None
) -> dict[str, float | None]:
    late = {
        feed_no
        for feed_no, *_, delay_sec, interval_sec in polls
        if interval_sec and round(delay_sec / interval_sec, 4) > 1
    }
    feeds = connection.execute(
        "SELECT s.feed_no, s.next_run_at, (SELECT x.decision FROM fetches x WHERE x.feed_no = s.feed_no"
        " AND x.decision IS NOT NULL ORDER BY x.scheduled_at DESC LIMIT 1)"
        " FROM feed_sched s JOIN feeds f ON f.feed_no = s.feed_no WHERE s.paused = 0"
        " AND (f.created_at < ? OR EXISTS (SELECT 1 FROM fetches x WHERE x.feed_no = s.feed_no"
        " AND x.decision IS NOT NULL AND x.fetched_at >= ? AND x.fetched_at < ?))",
        (day_end := _micros(start + timedelta(days=1)), _micros(start), day_end),
    ).fetchall()
    for feed_no, next_run_at, decision in feeds if now is not None else ():
        interval_sec = _chosen_interval(decision)
        if now is not None and next_run_at + interval_sec * 1e6 < _micros(now):
            late.add(feed_no)
    missed = len(late & {feed_no for feed_no, _, _ in feeds})
    value = round(1 - missed / len(feeds), 6) if feeds else None
    return {"feeds": len(feeds), "missed": missed, "value": value}


def _chosen_interval(decision: str | None) -> float:
    """Of the state after the decision, which is its fifth part; empty where it stayed as it was, in the second."""
    if decision is None:
        return INITIAL_INTERVAL_SEC
    parts = json.loads(decision)
    return float((parts[4] or parts[1])[0])


def _micros(at: datetime) -> int:
    return round(at.timestamp() * 1e6)


if __name__ == "__main__":
    main()
