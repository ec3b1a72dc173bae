"""API tokens: issue, rotate, revoke, authenticate, scopes, rate limit per caller.

Only the SHA-256 of a secret is stored. A presented secret is hashed, rows are found by the
beginning of that hash, and the whole is compared in constant time: what timing could show an
attacker is part of a hash of 256 random bits, and worth nothing.
"""

import asyncio
import hmac
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from hashlib import sha256
from typing import Final

from msgspec.structs import replace

from feedmill.config import AccessConfig
from feedmill.engine.ports.io import Clock
from feedmill.engine.ports.maintenance import TokenStore
from feedmill.errors import AccessError, NotFoundError, StoreError, UsageError
from feedmill.fetch.guard import parse_ip_address
from feedmill.model.base import Value
from feedmill.model.running.webhook import Caller, Scope, Token, TokenSecret

TOKEN_PREFIX: Final = "fm_"  # noqa: S105  # what a token begins with
SESSION_PREFIX: Final = "fms_"  # what the secret of a session begins with
HASH_PREFIX_CHARS: Final = 16

_MAX_SECRET_CHARS: Final = 128
_MAX_NAME_CHARS: Final = 100
_TOUCH_EVERY: Final = timedelta(minutes=1)
_TOUCH_SEC: Final = 0.5  # a busy store does not delay a caller that only reads
_MAX_BUCKETS: Final = 10_000


class IssuedToken(Value):
    """A token and its secret: the one moment at which both are known."""

    token: Token
    secret: str

    def __repr__(self) -> str:
        """Without the secret: a value may end up in a log."""
        return f"IssuedToken(token={self.token!r})"


async def issue_token(
    name: str,
    scopes: Sequence[Scope],
    store: TokenStore,
    clock: Clock,
    *,
    expires_in: timedelta | None = None,
) -> IssuedToken:
    """Make a token; its secret is in the result and nowhere else."""
    if not name.strip() or len(name) > _MAX_NAME_CHARS or not name.isprintable():
        message = f"a token needs a name of 1 to {_MAX_NAME_CHARS} printable characters"
        raise UsageError(message)
    if not scopes:
        message = "a token needs a scope: read, write or admin"
        raise UsageError(message)
    if expires_in is not None and expires_in <= timedelta(0):
        message = "a token cannot expire before it is made"
        raise UsageError(message)
    now = clock.now()
    token = Token(
        id=clock.new_id(),
        name=name.strip(),
        scopes=tuple(sorted(set(scopes))),
        created_at=now,
        expires_at=None if expires_in is None else now + expires_in,
    )
    secret = TOKEN_PREFIX + clock.new_secret()
    await store.add_token(token, _hash(secret))
    return IssuedToken(token=token, secret=secret)


async def rotate_token(
    token_id: str, overlap: timedelta, store: TokenStore, clock: Clock
) -> IssuedToken:
    """Give a token another secret; the one before is good until the overlap ends."""
    now = clock.now()
    if overlap < timedelta(0):
        message = "an overlap cannot be negative"
        raise UsageError(message)
    if not (await get_token(token_id, store)).holds(now):
        message = f"token {token_id} has expired or was revoked; create another"
        raise UsageError(message)
    secret = TOKEN_PREFIX + clock.new_secret()
    token = await store.rotate_token(token_id, _hash(secret), old_until=now + overlap)
    if token is None:
        raise _unknown(token_id)
    return IssuedToken(token=token, secret=secret)


async def revoke_token(token_id: str, store: TokenStore, clock: Clock) -> Token:
    """End a token with all its secrets, at once."""
    token = await get_token(token_id, store)
    now = clock.now()
    await store.revoke_token(token_id, now)
    return token if token.revoked_at is not None else replace(token, revoked_at=now)


async def get_token(token_id: str, store: TokenStore) -> Token:
    """The token of that id; NotFoundError when there is none."""
    found = [token for token in await store.tokens() if token.id == token_id]
    if not found:
        raise _unknown(token_id)
    return found[0]


async def authenticate(presented: str | None, store: TokenStore, clock: Clock) -> Caller | None:
    """The caller behind a presented secret; None when it is missing, wrong, revoked or too old."""
    return await _caller_of(presented, TOKEN_PREFIX, store, clock)


async def open_session(caller: Caller, lasts: timedelta, store: TokenStore, clock: Clock) -> str:
    """The secret of a new session of a caller with a token: a cookie, and no bearer token.

    Only its hash is stored. It ends by itself, when the token is rotated or revoked, or by
    `close_session`.
    """
    secret, now = SESSION_PREFIX + clock.new_secret(), clock.now()
    await store.open_session(caller.token_id, _hash(secret), until=now + lasts, now=now)
    return secret


async def authenticate_session(
    secret: str | None, store: TokenStore, clock: Clock
) -> Caller | None:
    """The caller of a session; None when there is none, or it has ended."""
    return await _caller_of(secret, SESSION_PREFIX, store, clock)


async def close_session(secret: str, store: TokenStore) -> None:
    """End a session at once."""
    await store.close_session(_hash(secret))


async def _caller_of(
    presented: str | None, prefix: str, store: TokenStore, clock: Clock
) -> Caller | None:
    if presented is None or not _is_secret(presented, prefix):
        return None
    digest = _hash(presented)
    found = None
    for kept in await store.token_secrets(digest[:HASH_PREFIX_CHARS]):
        if hmac.compare_digest(kept.sha256, digest):
            found = kept
    if found is None or not _holds(found, clock):
        return None
    await _touch(found.token, store, clock)
    return Caller(token_id=found.token.id, name=found.token.name, scopes=found.token.scopes)


def require_scope(caller: Caller | None, scope: Scope) -> Caller:
    """The caller, who may; AccessError with `unauthenticated` (401) or `forbidden` (403) otherwise."""
    if caller is None:
        message = "this request needs a token"
        hint = "send `Authorization: Bearer fm_…`; `feedmill token create` makes one"
        raise AccessError(message, reason="unauthenticated", hint=hint)
    if not caller.may(scope):
        message = f"the token {caller.name!r} does not allow this: it needs the scope {scope}"
        hint = f"`feedmill token create NAME --scope {scope}` makes one that does"
        raise AccessError(message, reason="forbidden", hint=hint)
    return caller


async def check_binding(host: str, store: TokenStore, clock: Clock) -> None:
    """Nothing on loopback; UsageError for a wider address while there is no token that holds (D30)."""
    if is_loopback(host):
        return
    now = clock.now()
    if not any(token.holds(now) for token in await store.tokens()):
        message = f"{host} can be reached from other machines, and there is no token yet"
        error = UsageError(message)
        error.hint = "make one first: feedmill token create NAME --scope read"
        raise error


def is_loopback(host: str) -> bool:
    """True for an address that only this machine reaches; a name is believed when it is localhost."""
    address = parse_ip_address(host.removeprefix("[").removesuffix("]"))
    return host == "localhost" if address is None else address.is_loopback


class RateLimiter:
    """Token bucket per caller: requests per second with a burst."""

    def __init__(self, config: AccessConfig, clock: Clock) -> None:
        self._rate, self._clock = config.requests_per_sec, clock
        self._burst = max(1.0, float(config.burst))
        self._buckets: dict[str, tuple[float, float]] = {}  # level, and when it was measured

    def admit(self, caller: str) -> float:
        """0.0 when the caller may go on, else the seconds until it may: a Retry-After."""
        if self._rate <= 0:
            return 0.0
        now = self._clock.monotonic()
        level, since = self._buckets.pop(caller, (self._burst, now))
        level = min(self._burst, level + (now - since) * self._rate)
        admitted = level >= 1.0
        self._buckets[caller] = (level - 1.0 if admitted else level, now)
        self._make_room()
        return 0.0 if admitted else (1.0 - level) / self._rate

    def _make_room(self) -> None:
        """Forget the callers of longest ago; by then their bucket is full again, or nearly."""
        while len(self._buckets) > _MAX_BUCKETS:
            del self._buckets[next(iter(self._buckets))]


def _is_secret(presented: str, prefix: str) -> bool:
    return (
        presented.startswith(prefix) and len(presented) <= _MAX_SECRET_CHARS and presented.isascii()
    )


def _hash(secret: str) -> str:
    # No salt and no slow hash: there are 256 bits to guess, not a word.
    return sha256(secret.encode()).hexdigest()


def _holds(kept: TokenSecret, clock: Clock) -> bool:
    now = clock.now()
    return kept.token.holds(now) and (kept.valid_until is None or now < kept.valid_until)


async def _touch(token: Token, store: TokenStore, clock: Clock) -> None:
    """Note the use now and then; a store that cannot write locks no caller out."""
    now, last = clock.now(), token.last_used_at
    if last is not None and now - last < _TOUCH_EVERY:
        return
    with suppress(StoreError, TimeoutError):
        async with asyncio.timeout(_TOUCH_SEC):
            await store.touch_token(token.id, now)


def _unknown(token_id: str) -> NotFoundError:
    return NotFoundError(f"there is no token {token_id!r}", "`feedmill token list` shows all")
