"""One cell's part of each list, with what it takes to make one list of several."""

# ruff: noqa: S608  # names come from the lists beside; values are parameters

from feedmill.adapters.store.cell import Cell
from feedmill.adapters.store.cell_pages import Placed
from feedmill.adapters.store.entry_rows import stored_of
from feedmill.adapters.store.paging import ARTICLES, article_of, article_position, position
from feedmill.adapters.store.postgres import holding, queries
from feedmill.adapters.store.postgres.pool import Connection
from feedmill.adapters.store.postgres.texts import storable
from feedmill.adapters.store.rows import FEED_COLUMNS, feed_of, micros
from feedmill.engine.ports import EntryFilter
from feedmill.model.event import StoredArticle, StoredEntry
from feedmill.model.feed import Feed
from feedmill.model.standing import HeldEntry


async def feeds(cell: Cell, tag: str | None, after: str, limit: int) -> list[Placed[Feed]]:
    """Feeds in the order in which they were added."""
    (last,) = position(after or None, 1) or (0,)
    tagged = "" if tag is None else "JOIN feed_tags t ON t.feed_no = f.feed_no AND t.tag = $3"
    words = () if tag is None else (storable(tag),)

    async def look(connection: Connection) -> list[Placed[Feed]]:
        rows = await connection.fetch(
            f"SELECT f.feed_no, {FEED_COLUMNS}"
            f" FROM feeds f JOIN feed_sched s ON s.feed_no = f.feed_no {tagged}"
            " WHERE f.feed_no > $1 ORDER BY f.feed_no LIMIT $2",
            last,
            limit + 1,
            *words,
        )
        found = [(row[0], feed_of(tuple(row)[1:])) for row in rows]
        return [Placed(f"{no}", (micros(feed.created_at),), feed) for no, feed in found]

    return await cell.ask(lambda store: store.database.read(look))


async def entries(
    cell: Cell, where: EntryFilter, place: str, limit: int, *, is_backwards: bool = False
) -> list[Placed[StoredEntry]]:
    """Entries on one side of a place, as they were read: away from it."""
    after, before = (None, place) if is_backwards else (place or None, None)

    async def look(connection: Connection) -> list[Placed[StoredEntry]]:
        rows = await queries.placed_rows(connection, where, after, limit, before)
        return [Placed(place, _order(place), stored_of(row)) for place, row in rows]

    return await cell.ask(lambda store: store.database.read(look))


async def articles(cell: Cell, after: str, limit: int) -> list[Placed[StoredArticle]]:
    """Articles, the last that came in first."""
    entry_id, digest = article_position(after or None)

    async def look(connection: Connection) -> list[Placed[StoredArticle]]:
        rows = await connection.fetch(
            f"{ARTICLES} WHERE (a.entry_id, a.article_hash) < ($1, $2)"
            " ORDER BY a.entry_id DESC, a.article_hash DESC LIMIT $3",
            entry_id,
            storable(digest),
            limit + 1,
        )
        found = [(f"{row[0]}.{row[1]}", article_of(tuple(row))) for row in rows]
        return [Placed(place, (micros(one.first_seen),), one) for place, one in found]

    return await cell.ask(lambda store: store.database.read(look))


async def held(cell: Cell, after: str, limit: int) -> list[Placed[HeldEntry]]:
    """What waits for somebody's word, the oldest first."""

    async def look(connection: Connection) -> list[Placed[HeldEntry]]:
        rows = await holding.placed_held(connection, None, after or None, limit)
        return [Placed(place, (micros(one.held_at),), one) for place, one in rows]

    return await cell.ask(lambda store: store.database.read(look))


def _order(place: str) -> tuple[int, ...]:
    """What entries are ordered by, without the number that only their cell knows."""
    return tuple(int(part) for part in place.split(".")[:-1])
