"""Checks of a store: every row is read, invariants that no constraint of the schema enforces hold; and the catalogue of tables.

Every row of every table is read through the codecs of the program, page by page, and what cannot be read is named.
A row is read as it is stored: on SQLite texts come as bytes, so that one that is not UTF-8 is found in its column. A column
without a codec is checked for what all its values have to be: JSON, or an instant.

The catalogue (`TABLES`) is what a move carries, too: every table of both stores, in an order that foreign keys allow.
Rows have one shape in both, so a table is described by what differs: texts that the new store finds
by their digest, JSON that it has to be able to read, and what belongs to a process of the old store
and means nothing in the new one. Signs of life (`workers`) and turns (`leases`) stay behind.
The schedule comes last: a worker that is started on the new store too early finds nothing to poll.
"""
# Tested in tests/contracts/store/test_damaged_rows.py

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import Struct, field

from feedmill.adapters.store.statements import Query, row, rows, value
from feedmill.adapters.store.tables.codec import CODECS, UNREADABLE, Row, RowCodec, instant
from feedmill.adapters.store.tables.subscriptions.fetches import decision_of
from feedmill.adapters.store.tables.subscriptions.moves import NOT_MERGED
from feedmill.errors import FeedmillError
from feedmill.model.addresses import mask_address
from feedmill.model.running.worker import CheckedRows

_CHECKS: Final = {
    "identities point at no entry": """
        SELECT count(*) FROM entry_identities i
         WHERE NOT EXISTS (SELECT 1 FROM entries e WHERE e.entry_id = i.entry_id)
           AND NOT EXISTS (SELECT 1 FROM tombstones t WHERE t.entry_id = i.entry_id)""",
    "entries have no identity": """
        SELECT count(*) FROM entries e WHERE NOT EXISTS
               (SELECT 1 FROM entry_identities i WHERE i.entry_id = e.entry_id)""",
    "entries are alive and expired at once": """
        SELECT count(*) FROM entries e JOIN tombstones t ON t.entry_id = e.entry_id""",
    "former ids point at no entry": """
        SELECT count(*) FROM entry_aliases a
         WHERE NOT EXISTS (SELECT 1 FROM entries e WHERE e.entry_id = a.entry_id)
           AND NOT EXISTS (SELECT 1 FROM tombstones t WHERE t.entry_id = a.entry_id)""",
    "feeds have no schedule": """
        SELECT count(*) FROM feeds f WHERE NOT EXISTS
               (SELECT 1 FROM feed_sched s WHERE s.feed_no = f.feed_no)""",
    "feeds would be polled late, because their lane sleeps too long": """
        SELECT count(*) FROM feed_sched s JOIN lanes l ON l.lane_id = s.lane_id
         WHERE s.paused = 0 AND l.owner IS NULL
           AND l.claim_at > s.next_run_at AND l.claim_at > coalesce(l.next_ok_at, 0)""",
    "feeds are not known under their own address": """
        SELECT count(*) FROM feeds f WHERE NOT EXISTS
               (SELECT 1 FROM feed_aliases a WHERE a.url = f.url AND a.feed_no = f.feed_no)
           AND NOT EXISTS (SELECT 1 FROM merged_feeds m WHERE m.feed_no = f.feed_no)""",
    "full texts have no text": """
        SELECT count(*) FROM fulltexts WHERE state = 'extracted' AND html IS NULL""",
    "entries are in a cluster that is gone": """
        SELECT count(*) FROM entries e WHERE e.cluster_no IS NOT NULL AND NOT EXISTS
               (SELECT 1 FROM clusters c WHERE c.cluster_no = e.cluster_no)""",
    "stored media have no file": """
        SELECT count(*) FROM media m WHERE m.state = 'stored' AND NOT EXISTS
               (SELECT 1 FROM media_files c WHERE c.sha256 = m.sha256 AND c.state = 'kept')""",
    "jobs run without a lease": """
        SELECT count(*) FROM jobs WHERE state = 'running' AND lease_until IS NULL""",
    "jobs belong to feeds that are gone": """
        SELECT count(*) FROM jobs j WHERE j.feed_id IS NOT NULL AND NOT EXISTS
               (SELECT 1 FROM feeds f WHERE f.id = j.feed_id)""",
}


class Table(Struct, frozen=True, kw_only=True):
    """One kind of rows; `key` is unique, and both stores are read in its order."""

    name: str
    key: tuple[str, ...]
    source: str = ""  # its name in SQLite, where that is another
    number: str | None = None  # the column that the new store counts on by itself
    digests: Mapping[str, str] = field(default_factory=dict)  # a column: the text it is a digest of
    copies: Mapping[str, str] = field(default_factory=dict)  # a column: the one it has to equal
    json: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()  # columns that SQLite alone has, made of others
    blank: tuple[str, ...] = ()  # of a process that is gone: NULL in the new store
    free_text: tuple[str, ...] = ()  # of the key: chosen by users
    unique: tuple[str, ...] = ()  # what two rows may share once their NUL was replaced

    @property
    def old_name(self) -> str:
        """The table in SQLite."""
        return self.source or self.name


TABLES: Final = (
    Table(
        name="lanes",
        key=("lane_id",),
        number="lane_id",
        copies={"host": "lane_key"},
        json=("limited_urls",),
        blank=("owner",),
    ),
    Table(
        name="feeds",
        key=("feed_no",),
        number="feed_no",
        json=(
            "tags", "overrides", "vary", "hints", "hubs", "ignored_guids", "ignored_links", "move",
            "arrivals", "errors", "quota", "volatile_fields",
        ),
    ),
    Table(name="arrival_times", key=("feed_no", "month")),
    Table(
        name="feed_tags",
        key=("feed_no", "tag"),
        free_text=("tag",),
        unique=("feed_no", "tag"),
    ),
    Table(
        name="feed_aliases",
        key=("feed_no", "url_hash"),
        digests={"url_hash": "url"},
        unique=("url_hash",),
    ),
    Table(name="feed_moves", key=("move_id",), number="move_id"),
    Table(name="merged_feeds", key=("feed_no",), json=("aliases", "given_tags")),
    Table(name="header_blocks", key=("block_id",), number="block_id", json=("block",)),
    Table(
        name="fetches",
        key=("feed_no", "scheduled_at"),
        number="fetch_no",
        json=("request_delta", "response_delta", "hops", "repairs", "decision"),
    ),
    Table(name="feed_days", key=("day", "feed_no")),
    Table(name="feed_failures", key=("day", "feed_no", "outcome", "status")),
    Table(name="poll_totals", key=("start", "span_sec", "writer"), json=("totals",)),
    Table(
        name="entries",
        key=("entry_id",),
        number="entry_id",
        json=("authors", "categories", "enclosures", "field_digests"),
    ),
    Table(name="tombstones", key=("entry_id",)),
    Table(
        name="entry_identities",
        key=("entry_id", "key_type", "key_hash"),
        digests={"key_hash": "key_value"},
        left_out=("lookup_hash", "lookup_no"),
        unique=("key_hash", "key_type"),
    ),
    Table(name="articles", key=("article_hash",)),
    Table(name="entry_revisions", key=("entry_id", "number"), json=("changed",)),
    Table(name="entry_aliases", key=("entry_uid",)),
    Table(name="fulltexts", key=("entry_id",)),
    Table(name="entry_search", key=("entry_id",)),
    Table(name="cluster_sketches", key=("entry_id",)),
    Table(name="cluster_keys", key=("entry_id", "key")),
    Table(name="cluster_edges", key=("entry_id", "other_id")),
    Table(name="clusters", key=("cluster_no",)),
    Table(name="media", key=("media_no",), number="media_no"),
    Table(name="media_files", key=("sha256",)),
    Table(name="events", source="outbox", key=("seq",), json=("data",)),
    Table(
        name="consumer_cursors",
        key=("consumer",),
        free_text=("consumer",),
        unique=("consumer",),
    ),
    Table(name="blobs", key=("sha256",)),
    Table(name="adopted_blobs", key=("sha256",)),
    Table(name="released_segments", key=("segment",)),
    Table(
        name="import_outlines",
        key=("list_id", "url_hash"),
        digests={"url_hash": "url"},
        unique=("list_id", "url_hash"),
    ),
    Table(name="tokens", key=("id",), json=("scopes",)),
    Table(name="token_secrets", key=("sha256",)),
    Table(
        name="webhooks",
        key=("id",),
        json=("secrets", "types"),
        blank=("owner", "lease_until"),
    ),
    Table(name="dead_letters", key=("number",), number="number", json=("events",)),
    Table(name="confirmations", key=("code",), json=("candidate_ids",)),
    Table(name="collected_documents", key=("collected_no",), number="collected_no"),
    Table(name="standing_screens", key=("id",), json=("topics",)),
    Table(name="held_entries", key=("held_no",), number="held_no", json=("screening",)),
    Table(
        name="jobs",
        key=("job_id",),
        number="job_id",
        json=("payload", "cursor", "progress"),
        blank=("owner",),
        unique=("kind", "key"),
    ),
    Table(name="job_budgets", key=("kind", "host", "day")),
    Table(name="push_subscriptions", key=("subscription_id",), number="subscription_id"),
    Table(name="feed_sched", key=("feed_no",)),
)  # fmt: skip

# What stays: processes of the old store, and how each store keeps itself.
LEFT_BEHIND: Final = frozenset({"workers", "leases", "schema_versions", "store_identity"})


ROWS_AT_ONCE: Final = 200
_TABLES: Final = {table.name: table for table in TABLES} | {
    name: Table(name=name, key=()) for name in sorted(LEFT_BEHIND)
}
# What grows with the time that a store is used; the rest is read in moments.
_LARGE: Final = frozenset(
    {"entries", "entry_revisions", "entry_identities", "entry_search", "fetches", "header_blocks"}
    | {"events", "articles", "tombstones", "blobs", "feed_days", "cluster_keys", "cluster_sketches"}
)
_INSTANTS: Final = ("_at", "_seen", "until")  # how their names end
_SECRETS: Final = frozenset({"code", "sha256"})  # of a key

Key = tuple[int | str, ...]


class Catalogue(NamedTuple):
    """Where a database lists the columns of a table: name, type, place in the primary key or 0."""

    columns: str
    is_sqlite: bool = False


SQLITE: Final = Catalogue(
    "SELECT name, type, pk FROM pragma_table_info($1) ORDER BY cid", is_sqlite=True
)
POSTGRES: Final = Catalogue(
    "SELECT a.attname, format_type(a.atttypid, NULL),"
    " coalesce(array_position(i.indkey::int2[], a.attnum) + 1, 0)"
    " FROM pg_attribute a LEFT JOIN pg_index i ON i.indrelid = a.attrelid AND i.indisprimary"
    " WHERE a.attrelid = to_regclass($1) AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum"
)


def tables_to_check(*, large: bool = True) -> tuple[str, ...]:
    """The tables in the order in which they are checked, with or without the large ones."""
    return tuple(name for name in _TABLES if large or name not in _LARGE)


def check_rows(catalogue: Catalogue, name: str, after: Row | None = None) -> Query[CheckedRows]:
    """What cannot be read among the next rows of a table, and the key of the last one; None at the end."""
    table = _TABLES[name]
    stored = table.old_name if catalogue.is_sqlite else name
    columns = yield from rows(catalogue.columns, stored)
    keys = [one[0] for one in sorted(columns, key=lambda one: one[2]) if one[2]] or [*table.key]
    texts = {one[0] for one in columns if one[1] == "TEXT"} if catalogue.is_sqlite else set()
    shown = [f'CAST("{one[0]}" AS BLOB)' if one[0] in texts else f'"{one[0]}"' for one in columns]
    places = [
        f"CAST(${at} AS TEXT)" if one in texts else f"${at}" for at, one in enumerate(keys, start=2)
    ]
    order = ", ".join(f'"{one}"' for one in keys)
    where = "" if after is None else f" WHERE ({order}) > ({', '.join(places)})"
    found = yield from rows(
        f"SELECT {', '.join(shown)} FROM {stored}{where} ORDER BY {order} LIMIT $1",
        ROWS_AT_ONCE,
        *(after or ()),
    )
    names = [one[0] for one in columns]
    check = _RowCheck(table, names, keys, texts)
    is_last = len(found) < ROWS_AT_ONCE
    return CheckedRows(
        rows=len(found),
        problems=tuple(one for row in found for one in check.problems(row)),
        last_key=None if is_last else tuple(found[-1][names.index(key)] for key in keys),
    )


class _RowCheck:
    """The checks of one table."""

    def __init__(
        self, table: Table, names: Sequence[str], keys: Sequence[str], texts: set[str]
    ) -> None:
        self._table, self._names, self._keys, self._texts = table, names, keys, texts
        self._codecs: dict[str, RowCodec[Any]] = {}
        for codec in CODECS.get(table.name, ()):
            for name in codec.columns:
                self._codecs.setdefault(name, codec)

    def problems(self, row: Row) -> list[str]:
        """One sentence for each column of the row that cannot be read."""
        values, found = dict(zip(self._names, row, strict=True)), list[str]()
        for name, kept in values.items():
            try:
                why = None if kept is None else self._problem(name, kept)
            except UNREADABLE as error:
                why = f"holds no valid value ({error})"
            except FeedmillError:  # a secret whose key is not at hand
                continue
            if why is not None:
                found.append(f"{self._table.name}: the row with {self._key(values)}: {name} {why}")
        return found

    def _problem(self, name: str, value: Any) -> str | None:  # noqa: ANN401  # of any column
        if name in self._texts:
            value = value.decode()
        if name in self._codecs:
            return self._codecs[name].problem_of(name, value)
        if name.endswith(_INSTANTS):
            instant(value)
        elif name == "decision":
            decision_of("", 0, value)
        elif name in self._table.json:
            msgspec.json.decode(value)
        return None

    def _key(self, values: Mapping[str, Any]) -> str:
        return ", ".join(f"{key} {_shown(key, values[key])}" for key in self._keys)


def _shown(key: str, value: Any) -> str:  # noqa: ANN401  # of any column
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if isinstance(value, str):
        value = f"{value[:8]}…" if key in _SECRETS else mask_address(value)
    return repr(value)


def _gaps(table: str) -> str:
    """How many numbers are missing; `log.rewound` leaps, and what it leaps over is not missing."""
    return f"""
        SELECT coalesce(max(seq) - min(seq) + 1 - count(*), 0) - coalesce((
               SELECT sum(r.seq - 1 - coalesce(
                      (SELECT max(p.seq) FROM {table} p WHERE p.seq < r.seq), r.seq - 1))
                 FROM {table} r WHERE r.type = 'log.rewound'), 0)
          FROM {table}"""


_SQLITE_CHECKS: Final = {
    **_CHECKS,
    "events are missing from the log": _gaps("outbox"),
    "identity keys are not found by their hash": """
        SELECT count(*) FROM entry_identities
         WHERE lookup_hash <> key_hash(CAST(key_type || ':' || key_value AS BLOB))""",
    "identity keys are registered twice": """
        SELECT count(*) FROM (SELECT 1 FROM entry_identities WHERE lookup_hash IN
               (SELECT lookup_hash FROM entry_identities GROUP BY lookup_hash HAVING count(*) > 1)
         GROUP BY key_type, key_value HAVING count(*) > 1)""",
}
_POSTGRES_CHECKS: Final = {
    **_CHECKS,
    "events are missing from the log": _gaps("events"),
    "numbers were given to no event, or given twice": """
        SELECT abs(h.seq - coalesce((SELECT max(seq) FROM events), h.seq)) FROM log_head h""",
    "events have waited for a number for more than five minutes: a transaction that began"
    " before them is still open (see pg_stat_activity.backend_xid)": """
        SELECT count(*) FROM outbox WHERE occurred_at < feedmill_now() - 300000000""",
    "fetches are of feeds that are gone": """
        SELECT count(*) FROM fetches x WHERE NOT EXISTS
               (SELECT 1 FROM feeds f WHERE f.feed_no = x.feed_no)""",
    "fetches have lost their headers": """
        SELECT count(*) FROM fetches x
         WHERE NOT EXISTS (SELECT 1 FROM header_blocks h WHERE h.block_id = x.request_block)
            OR NOT EXISTS (SELECT 1 FROM header_blocks h WHERE h.block_id = x.response_block)
            OR (x.arrivals_block IS NOT NULL AND NOT EXISTS
                (SELECT 1 FROM header_blocks h WHERE h.block_id = x.arrivals_block))""",
}


_COUNTED: Final = {
    "feeds": f"feeds f WHERE {NOT_MERGED}",
    "lanes": "lanes",
    "entries": "entries",
    "identities": "entry_identities",
    "tombstones": "tombstones",
    "articles": "articles",
    "revisions": "entry_revisions",
    "fetches": "fetches",
    "decisions": "schedule_decisions",
    "events": "@all_events AS e",
    "blobs": "blobs",
    "paused": f"feeds f WHERE f.paused = 1 AND {NOT_MERGED}",
    "fulltexts": "fulltexts WHERE state = 'extracted'",
    "clusters": "clusters",
    "media": "media WHERE state = 'stored'",
    "jobs": "jobs WHERE state IN ('queued', 'running')",
}

_COUNTS: Final = "SELECT " + ", ".join(
    f"(SELECT count(*) FROM {table})" for table in _COUNTED.values()
)


def sqlite_pages(*, quick: bool = False) -> Query[tuple[str, ...]]:
    """What SQLite finds wrong with the pages of its file; the quick check does not compare indexes with their tables."""
    check = "quick_check" if quick else "integrity_check"
    return tuple(text for (text,) in (yield from rows(f"PRAGMA {check}")) if text != "ok")


def sqlite_problems() -> Query[tuple[str, ...]]:
    """What is wrong with the rows of a SQLite file, one sentence each; empty when they are consistent."""
    broken = yield from rows("PRAGMA foreign_key_check")
    found = [
        f"{table}: row {row} points at nothing in {parent}" for table, row, parent, _ in broken
    ]
    return (*found, *(yield from _broken(_SQLITE_CHECKS)))


def postgres_problems() -> Query[tuple[str, ...]]:
    """What is wrong with a PostgreSQL database, one sentence each; empty when it is consistent."""
    return _broken(_POSTGRES_CHECKS)


def counts() -> Query[dict[str, int]]:
    """How many rows there are of each kind; events also before they have a number."""
    found = yield from row(_COUNTS)
    return dict(zip(_COUNTED, found or (), strict=True))


def _broken(checks: Mapping[str, str]) -> Query[tuple[str, ...]]:
    found = []
    for words, statement in checks.items():
        if count := (yield from value(statement)):
            found.append(f"{count} {words}")
    return tuple(found)
