"""Webhooks: endpoints, delivery state, dead letters. API tokens, their scopes, and the caller of a request."""
# Tested in tests/contracts/store/test_tokens_and_webhooks.py
# Tested in tests/unit/docs/test_reference.py

from datetime import datetime
from typing import Final, Literal

from feedmill.model.base import Value
from feedmill.model.event import Event, EventType

EventFormat = Literal["plain", "cloudevents"]
EventPayload = Literal["compact", "full"]  # full: with whole entries
DeliveryFormat = Literal[EventFormat, "websub"]  # websub: the content of a topic of our hub
WebhookState = Literal["active", "paused"]
PauseReason = Literal[
    "by-hand",  # an administrator paused it
    "gone",  # it answered 410: it wants no more
]
Scope = Literal[
    "read",  # look at everything but tokens and webhooks
    "write",  # and change subscriptions
    "admin",  # and manage webhooks and whatever else holds a secret
]

_RANK: Final[dict[str, int]] = {"read": 1, "write": 2, "admin": 3}


class WebhookSecret(Value):
    """A signing secret; during a rotation there are two, and the older one expires."""

    value: str
    valid_until: datetime | None = None

    def __repr__(self) -> str:
        """Without the secret: a value may end up in a log."""
        return f"WebhookSecret(valid_until={self.valid_until!r})"


class Webhook(Value):
    """A registered endpoint: its event filter, its secrets and its delivery state."""

    id: str
    url: str  # without credentials
    created_at: datetime
    secrets: tuple[WebhookSecret, ...]  # the newest first
    types: tuple[EventType, ...] = ()  # empty: all
    feed_id: str | None = None
    tag: str | None = None
    format: DeliveryFormat = "plain"
    payload: EventPayload = "compact"
    state: WebhookState = "active"
    paused_reason: PauseReason | None = None
    cursor: int = 0  # the number of the last event that is settled
    attempts: int = 0  # that failed in a row, of the batch it waits for
    next_attempt_at: datetime | None = None
    last_delivery_at: datetime | None = None
    last_result: str | None = None  # "delivered", "gone" or the reason of the failure
    last_status: int | None = None
    topic: str | None = None  # of a subscriber of our hub
    expires_at: datetime | None = None  # the end of its lease


class TopicContent(Value):
    """What the subscribers of a topic are sent."""

    body: bytes
    content_type: str
    links: str  # the Link header


class DeadLetter(Value):
    """A batch that was given up, kept whole so that it can be sent again later."""

    id: str  # the delivery's
    webhook_id: str
    events: tuple[Event, ...]
    reason: str
    attempts: int
    died_at: datetime
    status: int | None = None
    detail: str = ""


class Settlement(Value):
    """The result of one delivery attempt, written in one transaction: cursor, state, dead letter."""

    webhook_id: str
    after: int  # the cursor that the attempt began at; another one by now: nothing is written
    upto: int  # the cursor from now on
    at: datetime
    result: str | None = None  # None: nothing was sent, only passed over
    status: int | None = None
    attempts: int = 0
    next_attempt_at: datetime | None = None
    pause: PauseReason | None = None
    letter: DeadLetter | None = None


class Delivery(Value):
    """One delivery attempt as it is reported to listeners; holds no secret."""

    webhook_id: str
    host: str
    delivery_id: str
    events: int
    last_seq: int
    result: str
    status: int | None = None
    detail: str = ""
    attempts: int = 0
    wait_sec: float = 0.0
    buried: bool = False


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
