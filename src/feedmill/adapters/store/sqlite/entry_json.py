"""Entries as JSON that SQLite writes by itself: no value is made of a row only to be encoded again."""

# names come from the lists below and beside; values are parameters

from typing import Final

from feedmill.adapters.store.statements import Query
from feedmill.adapters.store.tables.entries import FROM_ENTRIES, entry_rows
from feedmill.adapters.store.tables.entry_codec import LAST_SEEN, SEEN_COUNT
from feedmill.adapters.store.tables.paging import ENTRY_ORDERS, page_of
from feedmill.model.base import EntryFilter, Page


def entry_texts(
    where: EntryFilter, *, after: str | None = None, limit: int = 100
) -> Query[Page[bytes]]:
    """Entries that match the filter as JSON, the last that came in first."""
    keys, _ = ENTRY_ORDERS[where.newest_first]
    select = f"SELECT {_JSON}, {', '.join(keys)} {FROM_ENTRIES}"
    found = yield from entry_rows(select, where, after, limit)
    return page_of(found, limit, lambda row: row[0], lambda row: ".".join(map(str, row[1:])))


def _moment(column: str) -> str:
    """An instant as an encoder writes it: without a fraction when it is a whole second."""
    rest = f"(({column} % 1000000 + 1000000) % 1000000)"  # before 1970, too
    second = f"replace(datetime(({column} - {rest}) / 1000000, 'unixepoch'), ' ', 'T')"
    return (
        f"iif({column} IS NULL, NULL, iif({column} % 1000000 = 0,"
        f" replace(datetime({column} / 1000000, 'unixepoch'), ' ', 'T') || 'Z',"
        f" {second} || printf('.%06dZ', {rest})))"
    )


# A stored entry as JSON, field by field in the order of StoredEntry. The lists are kept as JSON and
# `json` says so; the cast hands the bytes over as they are.
_JSON: Final = (
    "CAST(json_object("
    "'entry_uid', e.entry_uid, 'feed_id', f.id,"
    f" 'first_seen', {_moment('e.first_seen')}, 'last_seen', {_moment(f'({LAST_SEEN})')},"
    f" 'seen_count', {SEEN_COUNT}, 'content_hash', e.content_hash,"
    " 'dedupe_key', e.dedupe_key, 'match_confidence', e.match_confidence, 'guid', e.guid,"
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
    " 'raw_refs', iif(e.fetch_id IS NULL, json_array(), json_array(json_object("
    "'fetch_id', e.fetch_id, 'offset', e.slice_offset, 'length', e.slice_length, 'note', NULL)))"
    ") AS BLOB)"
)
