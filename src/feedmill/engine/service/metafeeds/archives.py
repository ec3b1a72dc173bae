"""Archive documents of metafeeds: which period each holds, and which one comes before and after it (RFC 5005 §4).

The current document and the archive documents behind it hold every entry. What is where follows from the entries
themselves (publish/metafeeds/archives.py), so nothing is stored, and a removed entry is missing from its document only.
"""

from datetime import datetime
from typing import Final, NamedTuple

from feedmill.engine.run.services import Services
from feedmill.engine.service.collections import Collection, filter_of
from feedmill.model.event import StoredEntry
from feedmill.publish.metafeeds.archives import Period, periods_around

_BEGINNING: Final = "0.0.0"  # before every entry


class Archives(NamedTuple):
    """The archive documents of one collection, of `size` entries each at most."""

    query: Collection
    size: int
    services: Services

    async def around(self, at: datetime) -> Period:
        """The one with what came in at an instant: the longest period that holds no more than a page."""
        period, *shorter = periods_around(at)
        for one in shorter:
            held = await self._entries(since=period.start, until=period.end, limit=self.size + 1)
            if len(held) <= self.size:
                break
            period = one
        return period

    async def before(self, period: Period) -> Period | None:
        """The one with the next older entries."""
        found = await self._entries(until=period.start, limit=1)
        return await self.around(found[0].first_seen) if found else None

    async def after(self, period: Period) -> Period | None:
        """The one with the next newer entries; None when the current document holds them."""
        current = await self._entries(limit=self.size + 1)
        if len(current) <= self.size:
            return None
        last = await self.around(current[self.size].first_seen)
        found = await self._entries(since=period.end, limit=1, oldest=True)
        following = await self.around(found[0].first_seen) if found else None
        return following if following is not None and following.start <= last.start else None

    async def _entries(
        self,
        *,
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int,
        oldest: bool = False,
    ) -> tuple[StoredEntry, ...]:
        where = filter_of(self.query, since=since, until=until)
        before = _BEGINNING if oldest else None
        return (await self.services.store.entries(where, before=before, limit=limit)).items
