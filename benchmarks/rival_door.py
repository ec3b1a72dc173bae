"""The same list of entries served by FastAPI with pydantic models, as its own tutorial has it.

`python -m benchmarks.rival_door DATABASE PORT`. It reads the same rows of the same SQLite file, in
a thread, and lets the framework check and write the answer. uvicorn runs it with its defaults.
"""

import json
import sqlite3
import sys
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_SELECT: Final = """
SELECT e.entry_uid, f.id AS feed_id, e.first_seen, e.last_seen, e.seen_count, e.content_hash,
       e.dedupe_key, e.match_confidence, e.guid, e.link, e.canonical_link, e.title, e.summary,
       e.content, e.authors, e.categories, e.enclosures, e.published, e.updated,
       e.published_effective, e.published_source, e.language, e.image, e.comments_url,
       e.article_hash, e.revisions, e.removed_at, e.fetch_id, e.slice_offset, e.slice_length,
       e.entry_id
  FROM entries e JOIN feeds f ON f.feed_no = e.feed_no
 WHERE e.removed_at IS NULL ORDER BY e.first_seen DESC, e.entry_id DESC LIMIT ?
"""
_MOMENTS: Final = (
    "first_seen", "last_seen", "published", "updated", "published_effective", "removed_at",
)  # fmt: skip
_LISTS: Final = ("authors", "categories", "enclosures")


class Author(BaseModel):
    name: str | None = None
    email: str | None = None
    uri: str | None = None


class Enclosure(BaseModel):
    url: str
    type: str | None = None
    length: int | None = None


class RawRef(BaseModel):
    fetch_id: str
    offset: int | None = None
    length: int | None = None
    note: str | None = None


class Entry(BaseModel):
    entry_uid: str
    feed_id: str
    first_seen: datetime
    last_seen: datetime
    seen_count: int
    content_hash: str | None
    dedupe_key: str
    match_confidence: str
    guid: str | None = None
    link: str | None = None
    canonical_link: str | None = None
    title: str | None = None
    summary: str | None = None
    content: str | None = None
    authors: list[Author] = []
    categories: list[str] = []
    enclosures: list[Enclosure] = []
    published: datetime | None = None
    updated: datetime | None = None
    published_effective: datetime | None = None
    published_source: str | None = None
    language: str | None = None
    image: str | None = None
    comments_url: str | None = None
    article_hash: str | None = None
    revisions: int = 0
    removed_at: datetime | None = None
    raw_refs: list[RawRef] = []


class Page(BaseModel):
    items: list[Entry]
    next: str | None = None


def main() -> None:
    database, port = sys.argv[1], int(sys.argv[2])
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True, check_same_thread=False)
    connection.row_factory = sqlite3.Row

    def entries(limit: int = 100) -> Page:
        rows = connection.execute(_SELECT, (limit + 1,)).fetchall()
        items = [Entry(**_fields(row)) for row in rows[:limit]]
        following = f"{rows[limit - 1]['first_seen']}.{rows[limit - 1]['entry_id']}"
        return Page(items=items, next=following if len(rows) > limit else None)

    app = FastAPI()
    app.add_api_route("/entries", entries)  # what `@app.get` does
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="error")


def _fields(row: sqlite3.Row) -> dict[str, Any]:
    found = dict(row)
    for name in _MOMENTS:
        if found[name] is not None:
            found[name] = _EPOCH + timedelta(microseconds=found[name])
    for name in _LISTS:
        found[name] = json.loads(found[name]) if found[name] else []
    ref = {"offset": found.pop("slice_offset"), "length": found.pop("slice_length")}
    fetch_id = found.pop("fetch_id")
    found["raw_refs"] = [{"fetch_id": fetch_id, **ref}] if fetch_id else []
    return found


if __name__ == "__main__":
    main()
