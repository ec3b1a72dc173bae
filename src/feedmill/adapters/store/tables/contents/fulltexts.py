"""Tables `fulltexts`, the full text of an entry or why there is none, and `entry_search`, the tokens that searches find entries by.

Both have one row per entry, deleted with it. The index says which entries hold all tokens; what stands side by side, and what must not be there, is looked up in the tokens
themselves. So both databases find the same.
"""
# Tested in tests/contracts/store/test_fulltexts.py

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from feedmill.adapters.store import statements as sql
from feedmill.adapters.store.statements import Query, page_of
from feedmill.adapters.store.tables.codec import Row, RowCodec, blob_row, instant_or_none
from feedmill.adapters.store.tables.running.blobs import INSERT as INSERT_BLOB
from feedmill.adapters.store.tables.running.jobs import advance_job
from feedmill.canonicalise.urls import host_key_of
from feedmill.model.derived.fetched import FullText
from feedmill.model.derived.search import SearchQuery, Term
from feedmill.model.event import NewEvent
from feedmill.model.feed import BlobRef
from feedmill.model.page import Page
from feedmill.model.running.job import JobStep

_CODEC: Final = RowCodec(
    FullText,
    "entry_uid feed_id url final_url fetched_at extracted_at state reason detail"
    " http_status content_type body_sha256 title author published language paywalled words"
    " html extractor version selector canonical_url",
    table="fulltexts",
)
_OWN: Final = tuple(
    name for name in FullText.__struct_fields__ if name not in ("entry_uid", "feed_id")
)
_COLUMNS: Final = ("entry_id", "host", *_OWN)
_SELECT: Final = (
    f"SELECT e.entry_uid, f.id, {', '.join(f't.{name}' for name in _OWN)}, t.entry_id"
    " FROM fulltexts t JOIN entries e ON e.entry_id = t.entry_id"
    " JOIN feeds f ON f.feed_no = e.feed_no"
)
_SAVE: Final = (
    f"{sql.insert_into('fulltexts', _COLUMNS)} ON CONFLICT (entry_id)"
    f" DO UPDATE SET {sql.excluded(_COLUMNS[1:])}"
)

_REBUILD_SEC: Final = 3_600.0
ON_CONFLICT: Final = (
    "ON CONFLICT (entry_id) DO UPDATE SET terms = excluded.terms"
    " WHERE entry_search.terms <> excluded.terms"
)
_SAVE_TERMS: Final = (
    "INSERT INTO entry_search (entry_id, terms, full_terms) VALUES ($1, $2, $3) ON CONFLICT (entry_id)"
    " DO UPDATE SET terms = excluded.terms, full_terms = excluded.full_terms"
)
_TEXTS: Final = (
    "SELECT e.entry_id, e.title, e.summary, e.content, t.html FROM entries e"
    " LEFT JOIN fulltexts t ON t.entry_id = e.entry_id AND t.state = 'extracted'"
    " WHERE e.entry_id > $1{} ORDER BY e.entry_id LIMIT $2"
)
_MISSING: Final = "NOT EXISTS (SELECT 1 FROM entry_search s WHERE s.entry_id = e.entry_id)"
# Of the rows of two feeds that are merged: the full text of the one that goes, where the other has none.
KEEP_FULL_TERMS: Final = (
    "UPDATE entry_search SET full_terms = g.full_terms FROM @rows($1, gone bigint, kept bigint) AS p"
    " JOIN entry_search g ON g.entry_id = p.gone WHERE entry_search.entry_id = p.kept"
    " AND entry_search.full_terms IS NULL AND g.full_terms IS NOT NULL"
)


def save_full_text(
    found: FullText,
    *,
    blob: BlobRef | None = None,
    events: Sequence[NewEvent] = (),
    step: JobStep | None = None,
) -> Query[bool]:
    """Store a full text with its page and its event; False when the entry is gone or the job was lost."""
    if step is not None and not (yield from advance_job(step, found.extracted_at)):
        return False
    entry_id = yield from sql.value(
        "SELECT entry_id FROM entries WHERE entry_uid = $1 @lock(FOR KEY SHARE)", found.entry_uid
    )
    if entry_id is None:
        return False
    if blob is not None:
        yield from sql.write(INSERT_BLOB, *blob_row(blob))
    kept = yield from sql.storable(found)
    yield from sql.write(_SAVE, entry_id, host_key_of(kept.final_url), *_CODEC.row(kept, *_OWN))
    yield from index_full_text(entry_id, kept)
    cause = f"fulltext/{found.entry_uid}/{found.extracted_at.isoformat()}"
    yield from sql.append_events(events, cause)
    return True


def full_text(entry_uid: str) -> Query[FullText | None]:
    """The full text of an entry."""
    found = yield from sql.row(f"{_SELECT} WHERE e.entry_uid = $1", entry_uid)
    return None if found is None else _CODEC.value(found[:-1])


def full_texts_of(entry_uids: Sequence[str]) -> Query[dict[str, FullText]]:
    """The texts that were extracted for these entries, by their uid."""
    found = yield from sql.rows(
        f"{_SELECT} WHERE e.entry_uid @in($1) AND t.state = 'extracted'", list(entry_uids)
    )
    return {one[0]: _CODEC.value(one[:-1]) for one in found}


def full_texts(
    *, feed_id: str | None = None, after: str | None = None, limit: int = 100
) -> Query[Page[FullText]]:
    """Full texts of a feed or of all, in the order of their entries."""
    since = int(after) if after is not None and after.isdecimal() else 0
    found = yield from sql.rows(
        f"{_SELECT} WHERE t.entry_id > $1 AND (CAST($2 AS text) IS NULL OR f.id = $2)"
        " ORDER BY t.entry_id LIMIT $3",
        since,
        feed_id,
        limit + 1,
    )
    return page_of(found, limit, lambda one: _CODEC.value(one[:-1]), lambda one: f"{one[-1]}")


def last_page_at(url: str) -> Query[datetime | None]:
    """When the last page of the host of an address was fetched."""
    at = yield from sql.value(
        "SELECT max(fetched_at) FROM fulltexts WHERE host = $1", host_key_of(url)
    )
    return instant_or_none(at)


def conditions(query: SearchQuery) -> Query[list[tuple[str, tuple[str, ...]]]]:
    """The clause that lets matching entries through, with its parameters."""
    parameters: list[str] = [(yield from sql.index_query(query))]

    def stands(*terms: Term) -> str:
        held = []
        for term in terms:
            held += [f"@holds({column}, {{{len(parameters)}}})" for column in columns]
            parameters.append(term.needle)
        return f"({' OR '.join(held)})"

    columns = ("s.terms", "s.full_terms") if query.full_texts else ("s.terms",)
    checks = ["@searched({0})"]
    for clause in query.required:
        if any(len(term.tokens) > 1 for term in clause.terms):
            checks.append(stands(*clause.terms))
        elif not query.full_texts:  # the index holds full texts, too
            checks.append(f"(s.full_terms IS NULL OR {stands(*clause.terms)})")
    checks += [f"NOT {stands(term)}" for term in query.excluded]
    # Materialised: a planner without statistics would look at every entry instead of asking the index.
    found = f"WITH m AS MATERIALIZED (SELECT s.entry_id FROM {' AND '.join(checks)})"
    return [(f"e.entry_id IN ({found} SELECT entry_id FROM m)", tuple(parameters))]


def index_full_text(entry_id: int, found: FullText) -> Query[None]:
    """Index the full text of an entry that is indexed itself."""
    # Imported when they are used: their tables of characters take 9 ms at the start of every command.
    from feedmill.search.tokens import full_text_terms  # noqa: PLC0415

    if (yield from sql.value("SELECT 1 FROM entry_search WHERE entry_id = $1", entry_id)):
        terms = full_text_terms(found.html or "") if found.state == "extracted" else None
        yield from sql.write(
            "UPDATE entry_search SET full_terms = $2 WHERE entry_id = $1", entry_id, terms
        )


def index_entries(after: int, limit: int, *, missing: bool = False) -> Query[tuple[int, int]]:
    """Index entries anew, or those that are `missing`, after a number; how many, and the number of the last."""
    chosen = _TEXTS.format(f" AND {_MISSING}" if missing else "")
    found = yield from sql.rows(chosen, after, limit, timeout_sec=_REBUILD_SEC)
    yield from sql.write_many(_SAVE_TERMS, [_row(*one) for one in found])
    return len(found), found[-1][0] if found else after


def count_unindexed() -> Query[int]:
    """How many entries are not in the index."""
    found = yield from sql.rows(
        f"SELECT count(*) FROM entries e WHERE {_MISSING}", timeout_sec=_REBUILD_SEC
    )
    return int(found[0][0])


def rebuild_search_index() -> Query[None]:
    """Make the database's index anew from the tokens."""
    yield from sql.rows("@rebuild_index", timeout_sec=_REBUILD_SEC)


def _row(
    entry_id: int, title: str | None, summary: str | None, content: str | None, html: str | None
) -> Row:
    from feedmill.search.tokens import full_text_terms, search_terms  # noqa: PLC0415  # as above

    terms = search_terms(title, summary, content)
    return entry_id, terms, None if html is None else full_text_terms(html)
