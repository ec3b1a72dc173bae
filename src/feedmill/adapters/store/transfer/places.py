"""Which stores a move is between: sqlite:PATH and postgresql://…"""

from pathlib import Path
from typing import Final, NamedTuple

from feedmill.errors import UsageError
from feedmill.observe.masking import database_address

_FILE: Final = "sqlite:"
_SERVERS: Final = ("postgresql://", "postgres://")


class Places(NamedTuple):
    """The file that is left and the database that is moved into."""

    path: Path
    url: str

    @property
    def source(self) -> str:
        """The old store as it may be told."""
        return f"{_FILE}{self.path}"

    @property
    def target(self) -> str:
        """The new store as it may be told."""
        return database_address(self.url)


def read_places(source: str, target: str, database: str) -> Places:
    """The two stores; UsageError when they are none that a move is between.

    A folder is the home of a mill, whose file is called `database`.
    """
    if source.startswith(_SERVERS) and target.startswith(_SERVERS):
        message = "a move is from SQLite to PostgreSQL; between two PostgreSQLs use pg_dump"
        raise UsageError(message)
    if source.startswith(_SERVERS) and target.startswith(_FILE):
        message = "a move is from SQLite to PostgreSQL, and there is no way back into a file"
        raise UsageError(message)
    if not source.removeprefix(_FILE) or not source.startswith(_FILE):
        message = (
            f"{_shown(source)} is no store to move from; write sqlite:feedmill-data/feedmill.db"
        )
        raise UsageError(message)
    if not target.startswith(_SERVERS):
        message = f"{_shown(target)} is no store to move into; write postgresql://user@host/name"
        raise UsageError(message)
    path = Path(source.removeprefix(_FILE))
    return Places(path / database if path.is_dir() else path, target)


def _shown(place: str) -> str:
    return repr(database_address(place) if "://" in place else place)
