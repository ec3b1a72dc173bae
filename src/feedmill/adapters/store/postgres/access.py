"""Tokens and the hashes of their secrets, as rows.

Whoever changes a token holds its row first, so that two rotations, or one and a revocation, take turns.
"""

# ruff: noqa: S608  # names come from the lists beside; values are parameters

from datetime import datetime

from feedmill.adapters.store.postgres.pool import Connection
from feedmill.adapters.store.postgres.text_sanitising import cleansed
from feedmill.adapters.store.tables.codec import instant_or_none, micros
from feedmill.adapters.store.tables.tokens import TOKEN_COLUMNS, token_of, token_row
from feedmill.model.token import Token, TokenSecret


async def add_token(connection: Connection, token: Token, sha256: str) -> None:
    """Keep a token and the hash of its secret."""
    await connection.execute(
        "INSERT INTO tokens (id, name, scopes, created_at, expires_at, revoked_at, last_used_at)"
        " VALUES ($1, $2, $3, $4, $5, $6, $7)",
        *token_row(cleansed(token)),
    )
    await _add_secret(connection, token.id, sha256)


async def tokens(connection: Connection) -> tuple[Token, ...]:
    """Every token there ever was, the oldest first."""
    rows = await connection.fetch(
        f"SELECT {TOKEN_COLUMNS} FROM tokens t ORDER BY t.created_at, t.id"
    )
    return tuple(token_of(tuple(row)) for row in rows)


async def token_secrets(connection: Connection, prefix: str) -> tuple[TokenSecret, ...]:
    """The secrets whose hash begins like that, with their tokens."""
    rows = await connection.fetch(
        f"SELECT s.sha256, s.valid_until, {TOKEN_COLUMNS} FROM token_secrets s"
        " JOIN tokens t ON t.id = s.token_id WHERE s.sha256 >= $1 AND s.sha256 < $2",
        prefix,
        prefix + "g",  # after every hexadecimal digit
    )
    return tuple(
        TokenSecret(
            sha256=sha256, valid_until=instant_or_none(valid_until), token=token_of(tuple(token))
        )
        for sha256, valid_until, *token in rows
    )


async def rotate_token(
    connection: Connection, token_id: str, sha256: str, old_until: datetime
) -> Token | None:
    """Add a secret and let the one before end; older ones that were still ending are dropped."""
    found = await connection.fetchrow(
        f"SELECT {TOKEN_COLUMNS} FROM tokens t WHERE t.id = $1 FOR UPDATE", token_id
    )
    if found is None:
        return None
    await connection.execute(
        "DELETE FROM token_secrets WHERE token_id = $1 AND valid_until IS NOT NULL", token_id
    )
    await connection.execute(
        "UPDATE token_secrets SET valid_until = $1 WHERE token_id = $2", micros(old_until), token_id
    )
    await _add_secret(connection, token_id, sha256)
    return token_of(tuple(found))


async def revoke_token(connection: Connection, token_id: str, at: datetime) -> bool:
    """End a token; False when there is none. The hashes of its secrets go, the row stays."""
    found = await connection.fetchval(
        "UPDATE tokens SET revoked_at = coalesce(revoked_at, $1) WHERE id = $2 RETURNING id",
        micros(at),
        token_id,
    )
    await connection.execute("DELETE FROM token_secrets WHERE token_id = $1", token_id)
    return found is not None


async def touch_token(connection: Connection, token_id: str, at: datetime) -> None:
    """Note that a token was used."""
    await connection.execute(
        "UPDATE tokens SET last_used_at = greatest(coalesce(last_used_at, 0), $1) WHERE id = $2",
        micros(at),
        token_id,
    )


async def _add_secret(connection: Connection, token_id: str, sha256: str) -> None:
    await connection.execute(
        "INSERT INTO token_secrets (sha256, token_id) VALUES ($1, $2)", sha256, token_id
    )
