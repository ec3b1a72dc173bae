"""Store protocol: retention, consistency checks and row counts."""

from datetime import datetime
from typing import Protocol


class MaintenanceStore(Protocol):
    """Retention, consistency checks and row counts."""

    async def purge(self, *, before: datetime, now: datetime) -> dict[str, int]: ...
    async def problems(self) -> tuple[str, ...]: ...
    async def counts(self) -> dict[str, int]: ...
