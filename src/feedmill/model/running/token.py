"""API tokens, their scopes, and the authenticated caller of a request."""
# Tested in tests/unit/docs/test_reference.py

from datetime import datetime
from typing import Final, Literal

from feedmill.model.base import Value

Scope = Literal[
    "read",  # look at everything but tokens and webhooks
    "write",  # and change subscriptions
    "admin",  # and manage webhooks and whatever else holds a secret
]

_RANK: Final[dict[str, int]] = {"read": 1, "write": 2, "admin": 3}


class Token(Value):
    """A token without its secret, which is shown once and not stored."""

    id: str
    name: str
    scopes: tuple[Scope, ...]
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    last_used_at: datetime | None = None  # to the minute or so

    def holds(self, now: datetime) -> bool:
        """True while it is neither revoked nor expired."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


class TokenSecret(Value):
    """The SHA-256 of one secret of a token; during a rotation it has two."""

    sha256: str
    token: Token
    valid_until: datetime | None = None  # None: as long as the token


class Caller(Value):
    """The authenticated caller of a request."""

    token_id: str
    name: str
    scopes: tuple[Scope, ...]

    def may(self, scope: Scope) -> bool:
        """True when a scope that the caller has includes this one: admin > write > read."""
        return max((_RANK[own] for own in self.scopes), default=0) >= _RANK[scope]
