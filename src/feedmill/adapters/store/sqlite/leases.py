"""Work that one of many does at a time, by a lease that ends by itself."""

import sqlite3
from datetime import datetime

from feedmill.adapters.store.tables.codec import micros


def hold(
    connection: sqlite3.Connection, name: str, owner: str, now: datetime, until: datetime
) -> bool:
    """Take a lease that nobody else has, or hold it longer; False when somebody else has it."""
    taken = connection.execute(
        "INSERT INTO leases (name, owner, until) VALUES (?1, ?2, ?3)"
        " ON CONFLICT (name) DO UPDATE SET owner = ?2, until = ?3"
        " WHERE owner = ?2 OR until <= ?4",
        (name, owner, micros(until), micros(now)),
    )
    return taken.rowcount == 1


def end(connection: sqlite3.Connection, name: str, owner: str) -> None:
    """Give a lease back; nothing happens when it is somebody else's."""
    connection.execute("DELETE FROM leases WHERE name = ? AND owner = ?", (name, owner))
