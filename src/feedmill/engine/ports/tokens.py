"""Store protocol: API tokens and the hashes of their secrets."""

from datetime import datetime
from typing import Protocol

from feedmill.model.token import Token, TokenSecret


class TokenStore(Protocol):
    """API tokens and the hashes of their secrets."""

    async def add_token(self, token: Token, sha256: str) -> None: ...
    async def tokens(self) -> tuple[Token, ...]: ...
    async def token_secrets(self, prefix: str) -> tuple[TokenSecret, ...]: ...  # by their hash
    async def rotate_token(
        self, token_id: str, sha256: str, *, old_until: datetime
    ) -> Token | None: ...  # the secret before lives until then, any older one ends now
    async def revoke_token(self, token_id: str, at: datetime) -> bool: ...
    async def touch_token(self, token_id: str, at: datetime) -> None: ...
