"""Lists of feeds for people: searched, filtered, sorted and counted, a page at a time.

The place of a page is found on narrow rows (an index, `feed_sched`, `feed_aliases`), and only the feeds of
the page are read whole; so a page of 100,000 feeds costs little more than one of a hundred.
"""
# Tested in tests/contracts/store/test_feed_lists.py

from datetime import datetime
from typing import Any, Final

from feedmill.adapters.store.statements import Query, escape_like, row, rows, value
from feedmill.adapters.store.tables.codec import NEVER, feed_of, micros
from feedmill.adapters.store.tables.subscriptions.feeds import FEED_SELECT
from feedmill.adapters.store.tables.subscriptions.moves import NOT_MERGED
from feedmill.errors import CursorError
from feedmill.model.feed import Feed
from feedmill.model.page import FeedFilter, FeedOrder, Page
from feedmill.model.running.figures import FeedCounts

_NAME: Final = "lower(substr(coalesce(f.title, f.url), 1, 100))"
_KEYS: Final[dict[FeedOrder, str]] = {
    "name": _NAME,
    "added": "f.feed_no",
    "next-poll": "s.next_run_at",
    "failures": "f.consecutive_failures",
}
# The second of two values is the instant at which the circuit opened, the only text among them.
CIRCUIT_OPEN: Final = "f.errors IS NOT NULL AND f.errors LIKE '%\"%'"
_STATES: Final = {
    "failing": "f.health <> 'active'",
    "backing-off": "f.health = 'backing-off'",
    "suspect": "f.health = 'suspect'",
    "gone": "f.health = 'gone'",
    "paused": "f.paused = 1",
    "circuit-open": CIRCUIT_OPEN,
    # Its site was searched for another address.
    "lost": "f.health <> 'active' AND f.move LIKE '%\"source\":\"site\"%'",
}
# By number, so that SQLite begins with the few feeds of the host and not with all feeds.
_HOST: Final = (
    "f.feed_no IN (SELECT feed_no FROM feed_sched WHERE lane_id IN"
    " (SELECT lane_id FROM lanes WHERE lane_key = {} OR lane_key LIKE {} ESCAPE '!'))"
)
LATE: Final = "s.paused = 0 AND s.next_run_at + f.interval_sec * 1000000 < {}"


def find_feeds(
    where: FeedFilter, *, after: str | None = None, limit: int = 100
) -> Query[Page[Feed]]:
    """Feeds that match the filter, in its order."""
    found = yield from _places(where, after, limit + 1)
    shown = found[:limit]
    whole = yield from rows(f"{FEED_SELECT} WHERE f.feed_no @in($1)", [one[0] for one in shown])
    by_number = {one[0]: feed_of(one[1:]) for one in whole}
    return Page(
        items=tuple(by_number[one[0]] for one in shown if one[0] in by_number),
        next=_cursor(shown[-1]) if len(found) > limit and shown else None,
    )


def count_feeds(where: FeedFilter, *, at_most: int | None = None) -> Query[int]:
    """How many feeds match the filter; counting ends at `at_most`."""
    clauses, parameters = _clauses(where)
    chosen = f"FROM {_tables(where, sorted_by=None)}{_and(clauses)}"
    if at_most is not None:
        chosen = f"FROM (SELECT 1 {chosen} LIMIT ${len(parameters) + 1}) x"
        parameters.append(at_most)
    found: int = yield from value(f"SELECT count(*) {chosen}", *parameters)
    return found


def feed_states() -> Query[dict[str, int]]:
    """How many feeds there are, are paused or have an open circuit; of the rest, how many were never polled or are
    of each health but `active`.
    """
    total = yield from value("SELECT count(*) FROM feed_sched")
    merged = yield from value("SELECT count(*) FROM merged_feeds")
    paused = yield from value(f"SELECT count(*) FROM feeds f WHERE f.paused = 1 AND {NOT_MERGED}")
    unwell = yield from rows(
        f"SELECT f.health, count(*) FROM feeds f WHERE f.health <> 'active' AND f.paused = 0 AND {NOT_MERGED}"
        " GROUP BY f.health"
    )
    tripped = yield from value(
        f"SELECT count(*) FROM feeds f WHERE {CIRCUIT_OPEN} AND {NOT_MERGED}"
    )
    new = yield from value(
        "SELECT count(*) FROM feeds f WHERE f.last_fetch_at IS NULL AND f.health = 'active' AND f.paused = 0"
        f" AND {NOT_MERGED}"
    )
    counts = {"feeds": total - merged, "paused": paused, "circuit-open": tripped}
    return {**counts, "never-polled": new, **dict(unwell)}


def feed_counts(now: datetime) -> Query[FeedCounts]:
    """Feeds by health, and how many are due, late and held now."""
    healths = ", ".join(
        f"count(CASE WHEN f.paused = 0 AND f.health = '{one}' THEN 1 END)"
        for one in ("active", "backing-off", "suspect", "gone")
    )
    late = LATE.format("$1")
    found = yield from row(
        f"SELECT count(*), count(CASE WHEN f.paused <> 0 THEN 1 END), {healths},"
        " count(CASE WHEN f.last_fetch_at IS NULL THEN 1 END),"
        " count(CASE WHEN s.paused = 0 AND s.next_run_at <= $1 THEN 1 END),"
        f" count(CASE WHEN {late} THEN 1 END),"
        " count(CASE WHEN s.paused = 0 AND s.next_run_at <= $1 AND l.next_ok_at > $1"
        " AND l.blocked_reason IS NOT NULL THEN 1 END),"
        f" count(CASE WHEN {CIRCUIT_OPEN} THEN 1 END)"
        " FROM feeds f JOIN feed_sched s ON s.feed_no = f.feed_no"
        f" JOIN lanes l ON l.lane_id = s.lane_id WHERE {NOT_MERGED}",
        now,
    )
    return FeedCounts(**dict(zip(FeedCounts.__struct_fields__, found or (), strict=True)))


def _places(where: FeedFilter, after: str | None, wanted: int) -> Query[list[Any]]:
    """The numbers of the feeds beyond a cursor, with what they are sorted by."""
    key, sign = _KEYS[where.order], "<" if where.descending else ">"
    direction = "DESC" if where.descending else "ASC"
    clauses, parameters = _clauses(where)
    start = _position(where.order, after)
    if start is not None:
        places = (f"${len(parameters) + 1}", f"${len(parameters) + 2}")
        clauses.append(f"({key}, f.feed_no) {sign} ({', '.join(places)})")
        parameters += start
    return rows(
        f"SELECT f.feed_no, {key} FROM {_tables(where, where.order)}{_and(clauses)}"
        f" ORDER BY {key} {direction}, f.feed_no {direction} LIMIT ${len(parameters) + 1}",
        *parameters,
        wanted,
    )


def _tables(where: FeedFilter, sorted_by: FeedOrder | None) -> str:
    is_scheduled = where.late_at is not None or sorted_by == "next-poll"
    return "feeds f JOIN feed_sched s ON s.feed_no = f.feed_no" if is_scheduled else "feeds f"


def _clauses(where: FeedFilter) -> tuple[list[str], list[Any]]:
    """The filter as SQL, and its parameters."""
    clauses: list[str] = [NOT_MERGED]
    parameters: list[Any] = []

    def place(given: object) -> str:
        parameters.append(given)
        return f"${len(parameters)}"

    if where.order == "failures":
        clauses.append("f.consecutive_failures > 0")
    if where.state is not None:
        clauses.append(_STATES[where.state])
    if where.tag is not None:
        tag = place(where.tag)
        clauses.append(f"f.feed_no IN (SELECT feed_no FROM feed_tags WHERE tag = {tag})")
    if where.host is not None:
        shards = f"{escape_like(where.host)}#%"
        clauses.append(_HOST.format(place(where.host), place(shards)))
    if where.late_at is not None:
        clauses.append(LATE.format(place(micros(where.late_at))))
    if where.text:
        named, at = [], []
        for text in _spellings(where.text):
            pattern = place(f"%{escape_like(text)}%")
            named.append(f"f.title @like {pattern} ESCAPE '!'")
            at.append(f"a.url @like {pattern} ESCAPE '!'")
        clauses.append(
            f"({' OR '.join(named)} OR f.feed_no IN"
            f" (SELECT a.feed_no FROM feed_aliases a WHERE {' OR '.join(at)}))"
        )
    return clauses, parameters


def _spellings(text: str) -> tuple[str, ...]:
    """The text as it may stand there: SQLite's LIKE ignores the case of ASCII letters only."""
    if text.isascii():
        return (text,)
    return tuple(dict.fromkeys((text, text.lower(), text.capitalize(), text.upper())))


def _and(clauses: list[str]) -> str:
    return f" WHERE {' AND '.join(clauses)}" if clauses else ""


def _cursor(place: Any) -> str:  # noqa: ANN401  # a row
    number, key = place
    return f"{number}.{key.encode().hex() if isinstance(key, str) else key}"


def _position(order: FeedOrder, cursor: str | None) -> tuple[Any, int] | None:
    """Where a page begins; CursorError for a cursor of another list or order."""
    if cursor is None:
        return None
    number, _, key = cursor.partition(".")
    try:
        at = bytes.fromhex(key).decode() if order == "name" else int(key)
        if not 0 <= int(number) <= NEVER or (isinstance(at, int) and abs(at) > NEVER):
            raise ValueError  # noqa: TRY301  # one refusal for all of them
        return at, int(number)
    except ValueError:
        raise CursorError(cursor) from None
