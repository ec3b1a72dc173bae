"""Table `import_outlines`: the outcome of each outline of an imported list, so that an interrupted
import continues.
"""

# ruff: noqa: S608  # names come from the lists below; values are parameters

from collections.abc import Sequence
from typing import Final

from feedmill.adapters.store.statements import Query, rows, storable, write_many
from feedmill.adapters.store.tables.codec import Row, instant, micros
from feedmill.model.feed import ImportedOutline

_RESULT_COLUMNS: Final = ("outcome", "feed_id", "reason", "detail", "at", "digest")
_KEEP: Final = (
    f"INSERT INTO import_outlines (list_id, @digest_and_text(url_hash, url), {', '.join(_RESULT_COLUMNS)})"
    " VALUES ($1, @digest_and_value($2), $3, $4, $5, $6, $7, $8)"
    " ON CONFLICT (list_id, @digest_or_text(url_hash, url)) DO UPDATE SET url = excluded.url, "
    + ", ".join(f"{name} = excluded.{name}" for name in _RESULT_COLUMNS)
)


def imported(list_id: str) -> Query[tuple[ImportedOutline, ...]]:
    """The outlines of a list that were processed, in the order of their URLs."""
    found = yield from rows(
        f"SELECT url, {', '.join(_RESULT_COLUMNS)} FROM import_outlines WHERE list_id = $1", list_id
    )
    return tuple(_outline_of(one) for one in sorted(found, key=lambda one: one[0]))


def note_imported(list_id: str, items: Sequence[ImportedOutline]) -> Query[None]:
    """Store the outcome of these outlines; of several for one URL the last counts."""
    kept = yield from storable(tuple(items))
    # In one order, so that two that write the same list never wait for each other in a circle.
    by_url = {one.url: (list_id, *_row_of(one)) for one in kept}
    yield from write_many(_KEEP, [by_url[url] for url in sorted(by_url)])


def _row_of(one: ImportedOutline) -> Row:
    return (one.url, one.outcome, one.feed_id, one.reason, one.detail, micros(one.at), one.digest)


def _outline_of(row: Row) -> ImportedOutline:
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
