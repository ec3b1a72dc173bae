"""How many rows there are of each kind."""

# ruff: noqa: S608  # names come from the list below

from typing import Final

from feedmill.adapters.store.statements import Query, row

_TABLES: Final = {
    "feeds": "feeds",
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
    "paused": "feeds WHERE paused = 1",
}
_COUNTS: Final = "SELECT " + ", ".join(
    f"(SELECT count(*) FROM {table})" for table in _TABLES.values()
)


def counts() -> Query[dict[str, int]]:
    """How many rows there are of each kind; events also before they have a number."""
    found = yield from row(_COUNTS)
    return dict(zip(_TABLES, found or (), strict=True))
