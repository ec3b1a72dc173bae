"""Store protocol: leases by name, for work that one process does at a time."""

from datetime import datetime
from typing import Protocol


class LeaseStore(Protocol):
    """Leases by name, for work that one process does at a time."""

    async def hold_lease(
        self, name: str, owner: str, *, now: datetime, until: datetime
    ) -> bool: ...  # False: somebody else has it
    async def end_lease(self, name: str, owner: str) -> None: ...
