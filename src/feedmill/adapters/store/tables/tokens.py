"""Tokens as rows and back."""

from typing import Final

import msgspec

from feedmill.adapters.store.tables.codec import (
    Row,
    instant,
    instant_or_none,
    json_text,
    micros,
    micros_or_none,
)
from feedmill.model.token import Scope, Token

TOKEN_COLUMNS: Final = (
    "t.id, t.name, t.scopes, t.created_at, t.expires_at, t.revoked_at, t.last_used_at"  # noqa: S105  # names of columns
)
_scopes: Final = msgspec.json.Decoder(tuple[Scope, ...]).decode


def token_row(token: Token) -> Row:
    """A row of tokens."""
    return (
        token.id,
        token.name,
        json_text(token.scopes),
        micros(token.created_at),
        micros_or_none(token.expires_at),
        micros_or_none(token.revoked_at),
        micros_or_none(token.last_used_at),
    )


def token_of(row: Row) -> Token:
    """The token of a row of TOKEN_COLUMNS."""
    token_id, name, scopes, created_at, expires_at, revoked_at, last_used_at = row
    return Token(
        id=token_id,
        name=name,
        scopes=_scopes(scopes),
        created_at=instant(created_at),
        expires_at=instant_or_none(expires_at),
        revoked_at=instant_or_none(revoked_at),
        last_used_at=instant_or_none(last_used_at),
    )
