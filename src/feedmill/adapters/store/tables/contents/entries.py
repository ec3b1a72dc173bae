"""Tables `entries`, `entry_revisions` and `articles` as programs and people read them, page by page.

A page is found by its key, never by counting rows, so the thousandth costs what the first does. Cursors
are opaque to callers (`paging`).
"""
# Tested in tests/contracts/store/

import re
from collections.abc import Sequence
from typing import Any, Final

from msgspec import json

from feedmill.adapters.store.statements import (
    Query,
    column,
    each_of,
    page_between,
    page_of,
    position,
    row,
    rows,
    title_search,
    value,
)
from feedmill.adapters.store.tables.codec import NEVER, Row, micros_or_none
from feedmill.adapters.store.tables.contents.entry_codec import (
    ARTICLES,
    ENTRY_ORDERS,
    FROM_ENTRIES,
    LAST_SEEN,
    REVISIONS,
    SEEN_COUNT,
    STORED_COLUMNS,
    article_of,
    article_position,
    revision_of,
    stored_of,
)
from feedmill.adapters.store.tables.contents.fulltexts import conditions as search_conditions
from feedmill.errors import UsageError
from feedmill.model.event import Revision, StoredArticle, StoredEntry
from feedmill.model.page import EntryFilter, LinePage, Page

_ENTRIES: Final = f"SELECT {STORED_COLUMNS}, e.entry_id {FROM_ENTRIES}"
# The entry of a public id, or the one that it became when their feeds were merged.
_CURRENT_UID: Final = (
    "e.entry_uid = coalesce((SELECT p.entry_uid FROM entry_aliases a"
    " JOIN entries p ON p.entry_id = a.entry_id WHERE a.entry_uid = $1), $1)"
)
_TAGGED: Final = "e.feed_no IN (SELECT feed_no FROM feed_tags WHERE tag = {})"
# Of the entries of an article that the list would show at any time, the one that came first.
_FIRST_OF_ARTICLE: Final = (
    "(e.same_as IS NULL OR NOT EXISTS (SELECT 1 FROM entries d WHERE d.entry_id < e.entry_id"
    " AND (d.entry_id = e.same_as OR d.same_as = e.same_as) AND {}))"
)
# Of the entries of a cluster that the list would show at any time, the one that stands for it, else the first.
_FIRST_OF_CLUSTER: Final = (
    "(e.cluster_no IS NULL OR NOT EXISTS (SELECT 1 FROM entries d JOIN clusters c ON c.cluster_no = d.cluster_no"
    " WHERE d.cluster_no = e.cluster_no AND d.entry_id <> e.entry_id AND {} AND (d.entry_id = c.representative_id"
    " OR (e.entry_id <> c.representative_id AND d.entry_id < e.entry_id))))"
)
_NUMBERS: Final = "SELECT e.title, e.entry_id FROM entries e"
_TERMS: Final = "SELECT entry_id, terms, full_terms FROM entry_search WHERE entry_id @in($1)"
_COMMON: Final = 500  # feeds of a tag
_RANKED: Final = 1_000  # matches that are compared by relevance: those that came in last
_MOST_DUPLICATES: Final = 200
_PROPOSED: Final = 1_000  # titles that are looked at together
# For a page of a search: words that stand in every entry have to be compared with each of them.
SEARCH_SEC: Final = 10.0


def entries(
    where: EntryFilter, *, after: str | None = None, before: str | None = None, limit: int = 100
) -> Query[Page[StoredEntry]]:
    """Entries that match the filter, in its order; `before` reads the page in front of a cursor.

    By arrival nothing comes in behind a cursor: what a page holds only ever becomes less.
    """
    if where.order == "relevance":
        return (yield from _most_relevant(where, after, limit))
    found = yield from _entry_rows(_ENTRIES, where, after, limit, before)
    return page_between(
        found,
        limit,
        lambda one: stored_of(one[:-1]),
        lambda one: _cursor_of(one, where),
        after=after,
        before=before,
    )


def entry_texts(
    where: EntryFilter, *, after: str | None = None, limit: int = 100
) -> Query[LinePage]:
    """The same entries as JSON."""
    page = yield from entries(where, after=after, limit=limit)
    return LinePage(lines=b"\n".join(map(json.encode, page.items)), next=page.next)


def entry_texts_of_sqlite(
    where: EntryFilter, *, after: str | None = None, limit: int = 100
) -> Query[LinePage]:
    """The same, written by SQLite: no value is made of a row only to be encoded again."""
    if where.order == "relevance":
        return (yield from entry_texts(where, after=after, limit=limit))
    keys, _ = ENTRY_ORDERS[where.order]
    place = " || '.' || ".join(keys)
    form = f"SELECT count(*), group_concat({place}, ' '), {_LINES} FROM ({{}}) n {_OF_NUMBERS}"
    select, texts, left = "SELECT e.entry_id FROM entries e", list[bytes](), limit
    while True:
        wanted = min(left, _LINES_AT_ONCE)
        ((found, places, lines),) = yield from _entry_rows(select, where, after, wanted, form=form)
        after, left = None, left - wanted
        if found > wanted:  # the last line only says that there are more
            after, lines = places.split()[wanted - 1], lines[: lines.rindex(b"\n")]
        texts += [lines] if found else []
        if after is None or not left:
            return LinePage(lines=b"\n".join(texts), next=after)


def entry(entry_uid: str) -> Query[StoredEntry | None]:
    """The entry of that public id; None also when retention deleted it."""
    found = yield from row(f"{_ENTRIES} WHERE {_CURRENT_UID}", entry_uid)
    return None if found is None else stored_of(found[:-1])


def entries_by_uid(entry_uids: Sequence[str]) -> Query[dict[str, StoredEntry]]:
    """The entries of these public ids, by them; one that retention deleted is left out."""
    found = yield from rows(f"{_ENTRIES} WHERE e.entry_uid @in($1)", list(entry_uids))
    known = {one[0]: stored_of(one[:-1]) for one in found}
    for missing in sorted(set(entry_uids) - known.keys()):  # those that became others in a merge
        become = yield from entry(missing)
        if become is not None:
            known[missing] = become
    return known


def slice_digests(feed_id: str) -> Query[frozenset[str]]:
    """The digests of the slices of the feed's last document."""
    found = yield from column(
        "SELECT e.slice_digest FROM entries e JOIN feeds f ON f.feed_no = e.feed_no WHERE f.id = $1"
        " AND e.in_document = 1 AND e.slice_digest IS NOT NULL AND e.removed_at IS NULL",
        feed_id,
    )
    return frozenset(found)


def revisions(entry_uid: str) -> Query[tuple[Revision, ...]]:
    """Earlier states of an entry, the oldest first."""
    return each_of(revision_of, f"{REVISIONS} WHERE {_CURRENT_UID} ORDER BY r.number", entry_uid)


def article_page(*, after: str | None = None, limit: int = 100) -> Query[Page[StoredArticle]]:
    """Articles with the entry that brought each, the last that came in first.

    Of an entry that was edited the article of its present text; earlier ones are kept to recognise copies of them.
    """
    entry_id, digest = article_position(after)
    found = yield from rows(
        f"{ARTICLES} WHERE (a.entry_id, a.article_hash) < ($1, $2)"
        " AND (e.entry_id IS NULL OR e.article_hash = a.article_hash)"
        " ORDER BY a.entry_id DESC, a.article_hash DESC LIMIT $3",
        entry_id,
        digest,
        limit + 1,
    )
    return page_of(found, limit, lambda one: article_of(one[1:]), lambda one: f"{one[0]}.{one[1]}")


def duplicates(entry_uid: str) -> Query[tuple[StoredEntry, ...]]:
    """The entries of other feeds that carry the same article, the first that came in first (D10).

    An entry whose address another feed's entry has points to it (`same_as`); an article names the entry that
    brought it. Both are followed, by index.
    """
    found = yield from row(
        "SELECT e.entry_id, e.same_as, a.entry_id FROM entries e"
        " LEFT JOIN articles a ON a.article_hash = e.article_hash WHERE e.entry_uid = $1",
        entry_uid,
    )
    if found is None:
        return ()
    own = found[0]
    roots = sorted({one for one in found if one is not None})
    pointing = yield from rows(
        "SELECT e.entry_id, e.same_as FROM entries e WHERE e.same_as @in($1) OR e.entry_id @in($1)"
        " ORDER BY e.entry_id LIMIT $2",
        roots,
        _MOST_DUPLICATES,
    )
    ids = {one for pair in pointing for one in pair if one is not None} | set(roots)
    return (
        yield from each_of(
            stored_of,
            f"SELECT {STORED_COLUMNS} {FROM_ENTRIES} WHERE e.entry_id @in($1) ORDER BY e.entry_id",
            sorted(ids - {own}),
        )
    )


def count_duplicates(article_hashes: Sequence[str]) -> Query[dict[str, int]]:
    """How many entries of other feeds carry each article; articles without any are left out."""
    found = yield from rows(
        "SELECT a.article_hash, count(*) FROM articles a JOIN entries e ON e.same_as = a.entry_id"
        " WHERE a.article_hash @in($1) GROUP BY a.article_hash",
        list(article_hashes),
    )
    return dict(found)


def _most_relevant(where: EntryFilter, after: str | None, limit: int) -> Query[Page[StoredEntry]]:
    """A page of matches, the best first and of equals the newest; the score is in the cursor."""
    query = where.query
    if query is None or where.ascending:
        message = "relevance is an order of a search, the best first"
        raise UsageError(message)
    start = position(after, 2) or (NEVER, NEVER)
    titled = (yield from title_search(where.text)) if where.text else None
    narrowed = () if titled is None else titled.conditions
    matches = yield from _beyond(_NUMBERS, where, None, _RANKED, False, narrowed)  # noqa: FBT003  # newest first
    numbers = [number for title, number in matches if titled is None or titled.match(title)]
    texts = yield from rows(_TERMS, numbers)
    from feedmill.search.query import score  # noqa: PLC0415  # see entry_search

    ranked = sorted(
        (score(query, terms + full if full and query.full_texts else terms), number)
        for number, terms, full in texts
    )
    chosen = [one for one in reversed(ranked) if one < start][: limit + 1]
    shown = yield from rows(f"{_ENTRIES} WHERE e.entry_id @in($1)", [one[1] for one in chosen])
    by_number = {one[-1]: one for one in shown}
    kept = [(*by_number[one[1]], one[0]) for one in chosen if one[1] in by_number]
    return page_of(kept, limit, lambda one: stored_of(one[:-2]), lambda one: f"{one[-1]}.{one[-2]}")


def _entry_rows(
    select: str,
    where: EntryFilter,
    after: str | None,
    limit: int,
    before: str | None = None,
    form: str = "{}",
) -> Query[list[Row]]:
    """Rows on one side of a cursor, and one more than asked for; `form` is the statement around theirs."""
    keys, _ = ENTRY_ORDERS[where.order]
    forwards = where.ascending != (before is not None)
    start = position(after if before is None else before, len(keys))
    if not where.text:
        return (yield from _beyond(select, where, start, limit + 1, forwards, (), form))
    ids = yield from _titled(where, start, limit + 1, forwards)
    listed = f"{select} WHERE e.entry_id @in($1) ORDER BY {_order(keys, forwards)}"
    return (yield from rows(form.format(listed), ids))


def _titled(
    where: EntryFilter,
    start: tuple[int, ...] | None,
    wanted: int,
    forwards: bool,  # a direction, passed on
) -> Query[list[int]]:
    """The numbers of the first entries with a word that starts with the text in their title.

    The database proposes, by a rule that leaves no match out; what counts is the rule of every store.
    """
    search = yield from title_search(where.text or "")
    keys, _ = ENTRY_ORDERS[where.order]
    select = f"SELECT e.title, {', '.join(keys)} {FROM_ENTRIES}"
    bite = wanted if search.is_exact else max(wanted, _PROPOSED)
    found: list[int] = []
    while True:
        proposed = yield from _beyond(select, where, start, bite, forwards, search.conditions)
        found += [one[-1] for one in proposed if search.match(one[0])]
        if len(proposed) < bite or len(found) >= wanted:
            return found[:wanted]
        start = proposed[-1][1:]


def _beyond(
    select: str,
    where: EntryFilter,
    start: tuple[int, ...] | None,
    wanted: int,
    forwards: bool,  # a direction, passed on
    conditions: Sequence[tuple[str, Any]],
    form: str = "{}",
) -> Query[list[Row]]:
    keys, _ = ENTRY_ORDERS[where.order]
    is_common = yield from _is_common_tag(where.tag)
    if where.query is not None:
        conditions = [*conditions, *(yield from search_conditions(where.query))]
    clauses, parameters = _clauses(where, conditions, is_common=is_common)
    if where.duplicates != "include":
        # What came in before the time that is asked for hides what repeats it, too.
        scope = [one for one in clauses if not one.startswith("e.first_seen ")]
        listed = re.sub(r"\be\.", "d.", " AND ".join(["TRUE", *scope]))
        clauses.append(_FIRST_OF_ARTICLE.format(listed))
        if where.duplicates == "cluster":
            # The entry that stands for the story may repeat an article: then the story is still shown.
            clauses[-1] = f"(e.cluster_no IS NOT NULL OR {clauses[-1]})"
            clauses.append(_FIRST_OF_CLUSTER.format(listed))
    # A list that begins at its start is read from the end of the index, like every other.
    start = start or ((-NEVER if forwards else NEVER),) * len(keys)
    places = ", ".join(f"${len(parameters) + at}" for at in range(1, len(keys) + 1))
    clauses.append(f"({', '.join(keys)}) {'>' if forwards else '<'} ({places})")
    listed = (
        f"{select} WHERE {' AND '.join(clauses)} ORDER BY {_order(keys, forwards)}"
        f" LIMIT ${len(parameters) + len(keys) + 1}"
    )
    return (
        yield from rows(
            form.format(listed),
            *parameters,
            *start,
            wanted,
            timeout_sec=None if where.query is None and where.text is None else SEARCH_SEC,
        )
    )


def _is_common_tag(tag: str | None) -> Query[bool]:
    """Whether so many feeds have the tag that their entries are found soonest among all, in order."""
    if tag is None:
        return False
    found = yield from value(
        "SELECT count(*) FROM (SELECT 1 FROM feed_tags WHERE tag = $1 LIMIT $2) x", tag, _COMMON
    )
    return bool(found == _COMMON)


def _clauses(
    where: EntryFilter, conditions: Sequence[tuple[str, Any]], *, is_common: bool
) -> tuple[list[str], list[Any]]:
    """The filter as SQL, and its parameters."""
    # The sign keeps SQLite from collecting and sorting the entries of every feed that has the tag.
    tagged = f"+{_TAGGED}" if is_common else _TAGGED
    pairs: list[tuple[str, Any]] = [
        ("e.feed_no = (SELECT feed_no FROM feeds WHERE id = {})", where.feed_id),
        (
            "e.feed_no IN (SELECT feed_no FROM feeds WHERE id @in({}))",
            None if where.feed_ids is None else list(where.feed_ids),
        ),
        (tagged, where.tag),
        ("@contains(e.categories, {})", where.category),
        ("@has_author(e.authors, {})", where.author),
        (
            "(lower(e.language) = {0} OR substr(lower(e.language), 1, length({0}) + 1) = {0} || '-')",
            None if where.language is None else where.language.lower(),
        ),
        ("e.first_seen >= {}", micros_or_none(where.since)),
        ("e.first_seen < {}", micros_or_none(where.until)),
        ("e.published_effective >= {}", micros_or_none(where.published_since)),
        ("e.published_effective < {}", micros_or_none(where.published_until)),
        *conditions,
    ]
    clauses: list[str] = []
    parameters: list[Any] = []
    for clause, given in pairs:
        if given is not None:
            values = given if isinstance(given, tuple) else (given,)
            places = range(len(parameters) + 1, len(parameters) + len(values) + 1)
            clauses.append(clause.format(*(f"${at}" for at in places)))
            parameters += values
    if where.has_enclosure is not None:
        clauses.append(f"e.enclosures IS {'NOT ' if where.has_enclosure else ''}NULL")
    if not where.include_removed:
        clauses.append("e.removed_at IS NULL")
    return clauses, parameters


def _order(keys: Sequence[str], forwards: bool) -> str:  # a direction, passed on
    return ", ".join(f"{key} {'ASC' if forwards else 'DESC'}" for key in keys)


def _cursor_of(one: Row, where: EntryFilter) -> str:
    _, places = ENTRY_ORDERS[where.order]
    return ".".join(str(one[place]) for place in places)


def _moment(column: str) -> str:
    """An instant as an encoder writes it: without a fraction when it is a whole second."""
    rest = f"(({column} % 1000000 + 1000000) % 1000000)"  # before 1970, too
    second = f"replace(datetime(({column} - {rest}) / 1000000, 'unixepoch'), ' ', 'T')"
    return (
        f"iif({column} IS NULL, NULL, iif({column} % 1000000 = 0,"
        f" replace(datetime({column} / 1000000, 'unixepoch'), ' ', 'T') || 'Z',"
        f" {second} || printf('.%06dZ', {rest})))"
    )


def _masked(column: str) -> str:
    """An address without its tokens. Python is called, and its lock waited for, only where there may be one."""
    return f"iif(instr({column}, '='), mask_address({column}), {column})"


_REF: Final = "json_object('fetch_id', {0}.fetch_id, 'offset', {0}.slice_offset, 'length', {0}.slice_length, 'note', NULL)"
# A stored entry as JSON, field by field in the order of StoredEntry. The lists are kept as JSON and
# `json` says so.
_JSON: Final = (
    "json_object("
    "'entry_uid', e.entry_uid, 'feed_id', f.id,"
    f" 'first_seen', {_moment('e.first_seen')}, 'last_seen', {_moment(f'({LAST_SEEN})')},"
    f" 'seen_count', {SEEN_COUNT}, 'content_hash', e.content_hash,"
    f" 'dedupe_key', {_masked('e.dedupe_key')}, 'match_confidence', e.match_confidence, 'guid', e.guid,"
    " 'link', e.link, 'canonical_link', e.canonical_link, 'title', e.title,"
    " 'summary', e.summary, 'content', e.content,"
    " 'authors', coalesce(json(e.authors), json_array()),"
    " 'categories', coalesce(json(e.categories), json_array()),"
    " 'enclosures', coalesce(json(e.enclosures), json_array()),"
    f" 'published', {_moment('e.published')}, 'updated', {_moment('e.updated')},"
    f" 'published_effective', {_moment('e.published_effective')},"
    " 'published_source', e.published_source, 'language', e.language, 'image', e.image,"
    " 'comments_url', e.comments_url, 'article_hash', e.article_hash, 'revisions', e.revisions,"
    f" 'removed_at', {_moment('e.removed_at')},"
    " 'raw_refs', CASE WHEN e.fetch_id IS NULL AND e.revisions = 0 THEN json_array()"
    f" WHEN e.revisions = 0 THEN json_array({_REF.format('e')}) ELSE (SELECT json_group_array({_REF.format('w')})"
    " FROM (SELECT e.fetch_id, e.slice_offset, e.slice_length WHERE e.fetch_id IS NOT NULL UNION ALL SELECT * FROM"
    " (SELECT v.fetch_id, v.slice_offset, v.slice_length FROM entry_revisions v WHERE v.entry_id = e.entry_id"
    " AND v.fetch_id IS NOT NULL ORDER BY v.number DESC LIMIT 19)) w) END,"
    f" 'backfill', json(iif(e.backfill, 'true', 'false')), 'feed_url', {_masked('f.url')},"
    " 'feed_title', f.title, 'article_id', coalesce(r.article_hash, e.article_hash, e.entry_uid),"
    " 'duplicate_of', r.entry_uid, 'cluster_id', 'c' || e.cluster_no"
    ")"
)
# A page is one row: for each row Python gives its lock up and takes it again, and may have to wait for it. The cast
# hands the bytes over as they are. SQLite keeps the order of a CROSS JOIN, so that it sorts numbers and no texts.
_LINES: Final = f"CAST(group_concat({_JSON}, char(10)) AS BLOB)"
_OF_NUMBERS: Final = (
    "CROSS JOIN entries e ON e.entry_id = n.entry_id CROSS JOIN feeds f ON f.feed_no = e.feed_no"
    " LEFT JOIN entries r ON r.entry_id = e.same_as"
)
_LINES_AT_ONCE: Final = 100  # what SQLite allows in a row, whatever the entries hold
