"""Store protocol: the pace of a host, for requests that no lane makes."""

from datetime import datetime
from typing import Protocol

from feedmill.model.feed import HostPace


class HostStore(Protocol):
    """The pace of a host, for requests that no lane makes."""

    async def host_pace(self, url: str) -> HostPace | None: ...  # as last stored
    async def limit_host(self, url: str, until: datetime, reason: str | None = None) -> None: ...
