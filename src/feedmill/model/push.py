"""WebSub: subscriptions to hubs, their evidence, and what a poll or a ping adds to it (D41)."""
# Tested in tests/contracts/store/test_push.py

from datetime import datetime
from typing import Literal

from feedmill.model.base import Value

PushState = Literal[
    "asked",  # the hub was asked and has not verified yet
    "active",  # verified; the hub may push until `lease_until`
    "denied",  # the hub refuses this topic
    "unverified",  # the hub accepted the request and never verified it
    "failed",  # the hub could not be reached
    "ended",  # replaced by another hub or topic, or unsubscribed
    "unsubscribing",  # the hub was asked to stop
]


class PushSubscription(Value):
    """One feed at one hub; the token in the callback's path cannot be guessed."""

    token: str
    hub: str
    topic: str
    secret: str
    created_at: datetime
    id: int = 0
    feed_id: str | None = None  # None: the feed is gone
    state: PushState = "asked"
    asked_at: datetime | None = None
    verified_at: datetime | None = None
    lease_until: datetime | None = None
    last_error: str = ""
    last_push_at: datetime | None = None
    last_body_sha256: str | None = None  # of the last ping that was read
    pushes: int = 0  # pings with a valid signature
    rejected: int = 0  # pings with a bad or missing signature, or of another topic
    by_push: int = 0  # entries that a ping brought first
    by_poll: int = 0  # entries that a poll found first while the hub was subscribed
    streak: int = 0  # entries by push since the last entry by poll
    missed_at: datetime | None = None  # when a poll last found an entry first

    def __repr__(self) -> str:
        """Without secret and token: a value may end up in a log."""
        return f"PushSubscription(id={self.id}, hub={self.hub!r}, state={self.state!r})"


class PushEvidence(Value):
    """What a poll or a ping says about a hub, written in its transaction."""

    subscription_id: int
    at: datetime
    by_push: int = 0
    by_poll: int = 0
    body_sha256: str | None = None  # of a ping


class HubTally(Value):
    """All subscriptions at one hub together."""

    hub: str
    subscriptions: int = 0
    active: int = 0
    pushes: int = 0
    by_push: int = 0
    by_poll: int = 0
    verified_at: datetime | None = None  # the first
    last_push_at: datetime | None = None
    missed_at: datetime | None = None  # the last
