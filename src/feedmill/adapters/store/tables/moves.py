"""Changes of address as rows and back."""

from datetime import timedelta
from typing import Final

from feedmill.adapters.store.tables.codec import (
    Row,
    instant,
    instant_or_none,
    micros,
    micros_or_none,
)
from feedmill.model.feed import Move

MOVE_COLUMNS: Final = "from_url, to_url, source, proof, moved_at, undone_at"
# When a feed that failed is asked at its new address: not at once, for that was just asked for its
# proof.
SOON: Final = timedelta(minutes=1)


def move_row(move: Move) -> Row:
    """The MOVE_COLUMNS of a move."""
    return (
        move.from_url,
        move.to_url,
        move.source,
        move.proof,
        micros(move.moved_at),
        micros_or_none(move.undone_at),
    )


def move_of(row: Row) -> Move:
    """The move of a row of MOVE_COLUMNS."""
    from_url, to_url, source, proof, moved_at, undone_at = row
    return Move(
        from_url=from_url,
        to_url=to_url,
        source=source,
        proof=proof,
        moved_at=instant(moved_at),
        undone_at=instant_or_none(undone_at),
    )
