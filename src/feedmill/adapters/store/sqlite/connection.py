"""Connections to one SQLite file, and what its errors mean to us.

WAL lets readers go on while one process writes. `synchronous=NORMAL` loses nothing that was
committed when a process dies, kill -9 included: the pages are with the operating system by then.
A power cut may take the last transactions (never the file's integrity, and no event that was read:
`event_log.WalSync`); `full` syncs the log at every commit, and is several times slower when transactions are small.

Identity keys are found by a number of 64 bits (`key_hash`), so that the text of a key is stored once. The number is not unique: a lookup compares the text, too, and keys that share a number differ in `lookup_no`.
Keys that come in together should stand on the same pages of the index, so the number begins with what they
share: 16 bits of the host and 10 of the text up to the last part of its path, or 26 of the text without its
last characters where there is no address. The other 38 bits are of the whole text: a publisher that wants a
thousand keys with one number has to try 2^48 texts.

Numbers are stored, so this function does not change; another one would come with a migration.
"""
# Tested in tests/integration/adapters/store/test_migrate.py

import errno
import os
import re
import sqlite3
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Final, Literal, TypeVar
from zlib import crc32

import msgspec

from feedmill.adapters.store.statements import begins_word
from feedmill.errors import CORRUPT, DAMAGE_HINT, DAMAGED_ROW, StoreError
from feedmill.model.addresses import mask_address

T = TypeVar("T")

Synchronous = Literal["normal", "full"]
Connect = Callable[[], sqlite3.Connection]

MEMORY: Final = ":memory:"
# What a query raises because of the file that it reads: SQLite's own, and values that are none of ours.
FROM_STORE: Final = (sqlite3.Error, msgspec.DecodeError, UnicodeDecodeError)
PARAMETERS: Final = 500  # of one IN (…): far below SQLite's limit, and few shapes to prepare

_BAD_VALUES: Final = ("Could not decode to UTF-8", "malformed JSON")  # of an OperationalError
_BAD_INDEX: Final = "invalid fts5 file format"  # what a search index says that lost its settings
_CHECKPOINT_BYTES: Final = 40 * 1024 * 1024  # of log, then it is written into the file
_BUSY_SLICE_SEC: Final = 1.0  # one wait inside SQLite; the writer repeats it up to its patience
_NO_SPACE: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_REASONS: Final = {
    sqlite3.SQLITE_BUSY: ("busy", "another program is holding the database; end it or wait"),
    sqlite3.SQLITE_LOCKED: ("busy", "another program is holding the database; end it or wait"),
    sqlite3.SQLITE_INTERRUPT: ("busy", "the search takes too long; use rarer words, or fewer"),
    sqlite3.SQLITE_FULL: ("disk-full", "the disk is full; free some space, nothing was lost"),
    sqlite3.SQLITE_IOERR: ("io-error", "the disk gave an error; check it, nothing was written"),
    sqlite3.SQLITE_READONLY: ("read-only", "the file cannot be written; check its permissions"),
    sqlite3.SQLITE_PERM: ("read-only", "the file cannot be written; check its permissions"),
    sqlite3.SQLITE_CANTOPEN: (
        "cannot-open",
        "the file cannot be opened; check path and permissions",
    ),
    sqlite3.SQLITE_CORRUPT: (CORRUPT, "the file is damaged; restore it from a copy"),
    sqlite3.SQLITE_NOTADB: (CORRUPT, "the file is no database; point feedmill somewhere else"),
}

_NO_DATABASE_HINT: Final = (
    "put a backup back, or move the file away and fill a new store with `feedmill restore`:"
    " docs/how-to/back-up-and-restore.md"
)

# Adds a key that no entry has; the single writer asks and inserts in one statement of one transaction.
ADD_KEY: Final = (
    "INSERT INTO entry_identities (entry_id, lookup_hash, lookup_no, key_type, key_value)"
    " SELECT ?3, h, (SELECT coalesce(max(i.lookup_no) + 1, 0) FROM entry_identities i WHERE i.lookup_hash = h), ?1, ?2"
    " FROM (SELECT key_hash(CAST(?1 || ':' || ?2 AS BLOB)) AS h) WHERE NOT EXISTS (SELECT 1 FROM entry_identities i"
    " WHERE i.lookup_hash = h AND i.key_type = ?1 AND i.key_value = ?2)"
)

_TEXT_BITS: Final = 38
_STEM_BITS: Final = 10
_ENDING: Final = 4  # characters in which ids of one feed differ, as a rule
_host: Final = re.compile(rb"//(?:www\.)?([^/]*)").search
_stem: Final = re.compile(rb".*[/:?=#]", re.DOTALL).match


def connect(path: str, *, synchronous: Synchronous = "normal") -> sqlite3.Connection:
    """A connection that writes; transactions are begun by hand."""
    return translated(path, lambda: _connect(path, synchronous=synchronous))


def connect_reader(path: str) -> sqlite3.Connection:
    """A connection that only reads; it never waits for a writer."""
    connection = connect(path)
    connection.execute("PRAGMA query_only = ON")
    # SQLite forgets these pages after every write, and the system keeps them anyway: a
    # reader that goes through everything must not fill its memory with them.
    connection.execute("PRAGMA cache_size = -8192")
    return connection


def translated(path: str, action: Callable[[], T]) -> T:
    """What the action returns; SQLite's errors become StoreError."""
    try:
        return action()
    except sqlite3.Error as error:
        raise store_error(error, path) from error


def store_error(error: BaseException, path: str = "the store") -> StoreError:
    """The error in our words, with a stable reason."""
    if isinstance(error, StoreError):
        return error
    if isinstance(error, msgspec.DecodeError | UnicodeDecodeError) or is_bad_value(error):
        message = f"{path}: a row cannot be read ({type(error).__name__}: {_words_of(error)})"
        return StoreError(message, reason=DAMAGED_ROW, hint=DAMAGE_HINT)
    code = _system_code(error) if isinstance(error, OSError) else error_code(error)
    reason, advice = _REASONS.get(code, ("failed", "this is a fault in feedmill"))
    hint = DAMAGE_HINT if reason == CORRUPT else ""
    if code == sqlite3.SQLITE_NOTADB:
        hint = _NO_DATABASE_HINT
    return StoreError(
        f"{path}: {advice} ({type(error).__name__}: {error})", reason=reason, hint=hint
    )


def error_code(error: BaseException) -> int:
    """SQLite's primary result code, 0 for an error that is not SQLite's."""
    if isinstance(error, sqlite3.Error) and str(error).startswith(_BAD_INDEX):
        return sqlite3.SQLITE_CORRUPT
    code = getattr(error, "sqlite_errorcode", None)
    if code == sqlite3.SQLITE_IOERR_SHMSIZE:  # no room for the 32 kB beside the log
        return sqlite3.SQLITE_FULL
    return code & 0xFF if isinstance(code, int) else 0


def is_damage(error: sqlite3.Error) -> bool:
    """True when a page or a value of the file cannot be read; others can."""
    return error_code(error) == sqlite3.SQLITE_CORRUPT or is_bad_value(error)


def is_bad_value(error: BaseException) -> bool:
    """True when a value of the file is no text or no JSON, where a statement takes it for one."""
    return isinstance(error, sqlite3.Error) and str(error).startswith(_BAD_VALUES)


def _words_of(error: BaseException) -> str:
    """What an error says, without the value that it quotes."""
    return str(error).partition(" with text ")[0]


def is_busy(error: BaseException) -> bool:
    """True when another program holds the lock: waiting helps."""
    return error_code(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def _system_code(error: OSError) -> int:
    return sqlite3.SQLITE_FULL if error.errno in _NO_SPACE else sqlite3.SQLITE_IOERR


def is_read_only(path: str) -> bool:
    """True for a file that is there and cannot be written, or whose folder cannot: a copy, a mounted snapshot."""
    if path == MEMORY or not Path(path).exists():
        return False
    return not (os.access(path, os.W_OK) and os.access(Path(path).parent, os.W_OK))


def _target(path: str) -> str:
    """What SQLite opens. Beside a file that cannot be written it cannot make the index of its log either."""
    if not is_read_only(path):
        return path
    has_log = Path(f"{path}-wal").exists()
    return f"{Path(path).resolve().as_uri()}?mode=ro{'' if has_log else '&immutable=1'}"


def _connect(path: str, *, synchronous: Synchronous) -> sqlite3.Connection:
    target = _target(path)
    connection = sqlite3.connect(
        target,
        uri=target != path,
        timeout=_BUSY_SLICE_SEC,
        isolation_level=None,
        check_same_thread=False,  # a connection belongs to one thread, and is closed by another
        cached_statements=256,
    )
    try:
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute(f"PRAGMA synchronous = {synchronous}")
        connection.execute("PRAGMA cache_size = -65536")
        connection.execute("PRAGMA temp_store = MEMORY")
        (page_bytes,) = connection.execute("PRAGMA page_size").fetchone()
        connection.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_BYTES // page_bytes}")
        connection.execute("PRAGMA journal_size_limit = 67108864")
        connection.create_function("begins_word", 2, begins_word, deterministic=True)
        connection.create_function("key_hash", 1, key_hash, deterministic=True)
        connection.create_function("mask_address", 1, mask_address, deterministic=True)
    except BaseException:
        connection.close()
        raise
    return connection


def key_hash(text: bytes) -> int:
    """The number of a key, given as `type:value`. Octets, because a damaged text may be no UTF-8."""
    address, stem = _host(text), _stem(text)
    if address is None or stem is None:
        place = crc32(text[:-_ENDING]) >> 6
    else:
        place = (crc32(address[1]) >> 16) << _STEM_BITS | crc32(stem[0]) & (1 << _STEM_BITS) - 1
    whole = int.from_bytes(sha256(text).digest()[:8], "big")
    return (place << _TEXT_BITS | whole >> 64 - _TEXT_BITS) - (1 << 63)
