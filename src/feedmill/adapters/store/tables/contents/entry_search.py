"""Table `entry_search`: the tokens of entries, found by the index of each database.

The index says which entries hold all tokens; what stands side by side, and what must not be there, is looked up in the tokens
themselves. So both databases find the same. Rows go with their entries.
"""
# Tested in tests/contracts/store/test_search.py

from typing import Final

from feedmill.adapters.store import statements as sql
from feedmill.adapters.store.statements import Query
from feedmill.adapters.store.tables.codec import Row
from feedmill.model.derived.fetched import FullText
from feedmill.model.derived.search import SearchQuery, Term

_REBUILD_SEC: Final = 3_600.0
ON_CONFLICT: Final = (
    "ON CONFLICT (entry_id) DO UPDATE SET terms = excluded.terms"
    " WHERE entry_search.terms <> excluded.terms"
)
_SAVE: Final = (
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
    yield from sql.write_many(_SAVE, [_row(*one) for one in found])
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
