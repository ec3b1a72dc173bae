"""Table `consumer_cursors`: how far each consumer has read the event log."""

from feedmill.adapters.store.statements import Query, value, write


def cursor(consumer: str) -> Query[int]:
    """The last sequence number that a consumer has read, 0 before it started."""
    found = yield from value("SELECT seq FROM consumer_cursors WHERE consumer = $1", consumer)
    return int(found or 0)


def set_cursor(consumer: str, seq: int) -> Query[None]:
    """Store how far a consumer has read; going back is allowed, to replay."""
    yield from write(
        "INSERT INTO consumer_cursors (consumer, seq) VALUES ($1, $2)"
        " ON CONFLICT (consumer) DO UPDATE SET seq = excluded.seq",
        consumer,
        seq,
    )
