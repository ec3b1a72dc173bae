"""Table `import_outlines`: the outcome of each outline of an imported list, so that an interrupted
import continues.
"""
# Tested in tests/contracts/store/

from collections.abc import Sequence
from typing import Final

from feedmill.adapters.store.statements import Query, rows, storable, write_many
from feedmill.adapters.store.tables.codec import RowCodec
from feedmill.model.feed import ImportedOutline

_OUTLINE: Final = RowCodec(
    ImportedOutline, "url outcome feed_id reason detail at digest", table="import_outlines"
)
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
        f"SELECT {_OUTLINE.names()} FROM import_outlines WHERE list_id = $1", list_id
    )
    return tuple(_OUTLINE.value(one) for one in sorted(found, key=lambda one: one[0]))


def save_imported(list_id: str, items: Sequence[ImportedOutline]) -> Query[None]:
    """Store the outcome of these outlines; of several for one URL the last counts."""
    kept = yield from storable(tuple(items))
    # In one order, so that two that write the same list never wait for each other in a circle.
    by_url = {one.url: (list_id, *_OUTLINE.row(one)) for one in kept}
    yield from write_many(_KEEP, [by_url[url] for url in sorted(by_url)])
