"""Work that one of many does at a time, by a lease that ends by itself."""

from datetime import datetime

from feedmill.adapters.store.postgres.pool import Connection
from feedmill.adapters.store.tables.codec import micros


async def hold(
    connection: Connection, name: str, owner: str, now: datetime, until: datetime
) -> bool:
    """Take a lease that nobody else has, or hold it longer; False when somebody else has it."""
    taken = await connection.fetchval(
        "INSERT INTO leases AS held (name, owner, until) VALUES ($1, $2, $3)"
        " ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, until = excluded.until"
        " WHERE held.owner = excluded.owner OR held.until <= $4 RETURNING 1",
        name,
        owner,
        micros(until),
        micros(now),
    )
    return taken is not None


async def end(connection: Connection, name: str, owner: str) -> None:
    """Give a lease back; nothing happens when it is somebody else's."""
    await connection.execute("DELETE FROM leases WHERE name = $1 AND owner = $2", name, owner)
