"""Tables `tokens` and `token_secrets`: API tokens and the hashes of their secrets.

A token's row is locked before it is changed, so that two rotations, or one and a revocation, take turns.
"""
# Tested in tests/contracts/store/

from datetime import datetime
from typing import Final

from feedmill.adapters.store.statements import Query, each_of, row, rows, storable, write
from feedmill.adapters.store.tables.codec import RowCodec, instant_or_none, json_column
from feedmill.model.running.webhook import Scope, Token, TokenSecret

_TOKEN: Final = RowCodec(
    Token,
    "id name scopes created_at expires_at revoked_at last_used_at",
    table="tokens",
    scopes=json_column(tuple[Scope, ...]),
)
_COLUMNS: Final = _TOKEN.names("t.")


def add_token(token: Token, sha256: str) -> Query[None]:
    """Store a token and the hash of its secret."""
    token = yield from storable(token)
    yield from write("INSERT INTO tokens VALUES ($1, $2, $3, $4, $5, $6, $7)", *_TOKEN.row(token))
    yield from _add_secret(token.id, sha256)


def tokens() -> Query[tuple[Token, ...]]:
    """Every token, revoked ones included, the oldest first."""
    return each_of(_TOKEN.value, f"SELECT {_COLUMNS} FROM tokens t ORDER BY t.created_at, t.id")


def token_secrets(prefix: str) -> Query[tuple[TokenSecret, ...]]:
    """The secrets whose hash starts with the prefix, with their tokens."""
    found = yield from rows(
        f"SELECT s.sha256, s.valid_until, {_COLUMNS} FROM token_secrets s"
        " JOIN tokens t ON t.id = s.token_id WHERE s.sha256 >= $1 AND s.sha256 < $2",
        prefix,
        prefix + "g",  # after every hexadecimal digit
    )
    return tuple(
        TokenSecret(
            sha256=sha256,
            valid_until=instant_or_none(valid_until),
            token=_TOKEN.value(tuple(token)),
        )
        for sha256, valid_until, *token in found
    )


def rotate_token(token_id: str, sha256: str, *, old_until: datetime) -> Query[Token | None]:
    """Add a secret and let the one before it expire; older ones that were expiring are deleted.

    None when there is no such token.
    """
    found = yield from row(
        f"SELECT {_COLUMNS} FROM tokens t WHERE t.id = $1 @lock(FOR UPDATE)", token_id
    )
    if found is None:
        return None
    yield from write(
        "DELETE FROM token_secrets WHERE token_id = $1 AND valid_until IS NOT NULL", token_id
    )
    yield from write(
        "UPDATE token_secrets SET valid_until = $1 WHERE token_id = $2", old_until, token_id
    )
    yield from _add_secret(token_id, sha256)
    return _TOKEN.value(found)


def revoke_token(token_id: str, at: datetime) -> Query[bool]:
    """Revoke a token; False when there is none. The hashes of its secrets go, the row stays."""
    revoked = yield from write(
        "UPDATE tokens SET revoked_at = coalesce(revoked_at, $1) WHERE id = $2", at, token_id
    )
    yield from write("DELETE FROM token_secrets WHERE token_id = $1", token_id)
    return revoked == 1


def touch_token(token_id: str, at: datetime) -> Query[None]:
    """Record that a token was used."""
    yield from write(
        "UPDATE tokens SET last_used_at = @greatest(coalesce(last_used_at, 0), $1) WHERE id = $2",
        at,
        token_id,
    )


def open_session(token_id: str, sha256: str, *, until: datetime, now: datetime) -> Query[None]:
    """Add a secret of the token that expires by itself; those that have expired are deleted."""
    yield from write(
        "DELETE FROM token_secrets WHERE token_id = $1 AND valid_until < $2", token_id, now
    )
    yield from write("INSERT INTO token_secrets VALUES ($1, $2, $3)", sha256, token_id, until)


def close_session(sha256: str) -> Query[None]:
    """Delete a secret that expires."""
    yield from write(
        "DELETE FROM token_secrets WHERE sha256 = $1 AND valid_until IS NOT NULL", sha256
    )


def _add_secret(token_id: str, sha256: str) -> Query[None]:
    yield from write("INSERT INTO token_secrets VALUES ($1, $2, NULL)", sha256, token_id)
