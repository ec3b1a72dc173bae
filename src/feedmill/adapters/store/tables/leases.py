"""Table `leases`: work that one process does at a time, by a lease that expires."""

from datetime import datetime

from feedmill.adapters.store.statements import Query, write
from feedmill.adapters.store.tables.codec import micros


def take_lease(name: str, owner: str, *, now: datetime, until: datetime) -> Query[bool]:
    """Take a free or expired lease, or extend one's own; False when another owner has it."""
    changed = yield from write(
        "INSERT INTO leases (name, owner, until) VALUES ($1, $2, $3)"
        " ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, until = excluded.until"
        " WHERE leases.owner = excluded.owner OR leases.until <= $4",
        name,
        owner,
        micros(until),
        micros(now),
    )
    return changed == 1


def release_lease(name: str, owner: str) -> Query[None]:
    """Give a lease back; nothing happens when another owner has it."""
    yield from write("DELETE FROM leases WHERE name = $1 AND owner = $2", name, owner)
