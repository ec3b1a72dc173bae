"""Store protocol: live screens, the entries they hold, and documents collected before anything is stored (001)."""

from collections.abc import Sequence
from typing import Protocol

from feedmill.model.candidate import CollectedDocument
from feedmill.model.feed import BlobRef
from feedmill.model.live_screen import HeldEntry, Standing, StandingScreen
from feedmill.model.page import Page


class ScreenStore(Protocol):
    """Live screens, the entries they hold, and documents collected before anything is stored (001)."""

    async def keep_collected(self, document: CollectedDocument, blob: BlobRef) -> None: ...
    async def add_screen(self, screen: StandingScreen) -> None: ...
    async def screens(self) -> tuple[StandingScreen, ...]: ...
    async def remove_screen(self, screen_id: str) -> bool: ...
    async def held(
        self, *, feed_id: str | None = None, after: str | None = None, limit: int = 100
    ) -> Page[HeldEntry]: ...  # without those that were dropped, the oldest first
    async def standing(self, feed_id: str) -> Standing: ...
    async def drop_held(self, entry_uids: Sequence[str]) -> int: ...
