"""Tokens and the hashes of their secrets, as rows."""

import sqlite3
from datetime import datetime

from feedmill.adapters.store.tables.codec import instant_or_none, micros
from feedmill.adapters.store.tables.tokens import TOKEN_COLUMNS, token_of, token_row
from feedmill.model.token import Token, TokenSecret


def add_token(connection: sqlite3.Connection, token: Token, sha256: str) -> None:
    """Keep a token and the hash of its secret."""
    connection.execute("INSERT INTO tokens VALUES (?, ?, ?, ?, ?, ?, ?)", token_row(token))
    connection.execute("INSERT INTO token_secrets VALUES (?, ?, NULL)", (sha256, token.id))


def tokens(connection: sqlite3.Connection) -> tuple[Token, ...]:
    """Every token there ever was, the oldest first."""
    rows = connection.execute(f"SELECT {TOKEN_COLUMNS} FROM tokens t ORDER BY t.created_at, t.id")  # noqa: S608  # names from beside
    return tuple(token_of(row) for row in rows)


def token_secrets(connection: sqlite3.Connection, prefix: str) -> tuple[TokenSecret, ...]:
    """The secrets whose hash begins like that, with their tokens."""
    rows = connection.execute(
        f"SELECT s.sha256, s.valid_until, {TOKEN_COLUMNS} FROM token_secrets s"  # noqa: S608
        " JOIN tokens t ON t.id = s.token_id WHERE s.sha256 >= ? AND s.sha256 < ?",
        (prefix, prefix + "g"),  # after every hexadecimal digit
    )
    return tuple(
        TokenSecret(
            sha256=sha256, valid_until=instant_or_none(valid_until), token=token_of(tuple(token))
        )
        for sha256, valid_until, *token in rows
    )


def rotate_token(
    connection: sqlite3.Connection, token_id: str, sha256: str, old_until: datetime
) -> Token | None:
    """Add a secret and let the one before end; older ones that were still ending are dropped."""
    row = connection.execute(f"SELECT {TOKEN_COLUMNS} FROM tokens t WHERE t.id = ?", (token_id,))  # noqa: S608
    found = row.fetchone()
    if found is None:
        return None
    connection.execute(
        "DELETE FROM token_secrets WHERE token_id = ? AND valid_until IS NOT NULL", (token_id,)
    )
    connection.execute(
        "UPDATE token_secrets SET valid_until = ? WHERE token_id = ?", (micros(old_until), token_id)
    )
    connection.execute("INSERT INTO token_secrets VALUES (?, ?, NULL)", (sha256, token_id))
    return token_of(found)


def revoke_token(connection: sqlite3.Connection, token_id: str, at: datetime) -> bool:
    """End a token; False when there is none. The hashes of its secrets go, the row stays."""
    connection.execute("DELETE FROM token_secrets WHERE token_id = ?", (token_id,))
    done = connection.execute(
        "UPDATE tokens SET revoked_at = coalesce(revoked_at, ?) WHERE id = ?",
        (micros(at), token_id),
    )
    return done.rowcount == 1


def touch_token(connection: sqlite3.Connection, token_id: str, at: datetime) -> None:
    """Note that a token was used."""
    connection.execute(
        "UPDATE tokens SET last_used_at = max(coalesce(last_used_at, 0), ?) WHERE id = ?",
        (micros(at), token_id),
    )
