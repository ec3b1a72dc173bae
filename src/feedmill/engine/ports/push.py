"""Store protocol: subscriptions to WebSub hubs and the evidence about them."""
# Tested in tests/contracts/store/test_push.py

from typing import Protocol

from feedmill.model.push import HubTally, PushSubscription


class PushStore(Protocol):
    """Feeds at WebSub hubs."""

    async def add_push_subscription(self, new: PushSubscription) -> PushSubscription: ...
    async def push_subscription(self, token: str) -> PushSubscription | None: ...
    async def push_subscriptions(
        self, feed_id: str | None = None
    ) -> tuple[PushSubscription, ...]: ...  # the live one first
    async def change_push_subscription(
        self, changed: PushSubscription
    ) -> bool: ...  # its counters stay
    async def reject_push(self, subscription_id: int) -> None: ...
    async def hub_tallies(self, hub: str | None = None) -> tuple[HubTally, ...]: ...
