"""Port: time, waiting and new ids."""
# Tested in tests/contracts/

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """Time and ids: the only source of time and randomness."""

    def now(self) -> datetime: ...
    def monotonic(self) -> float: ...
    def new_id(self) -> str: ...
    def new_secret(self) -> str: ...  # 256 bits
    async def sleep(self, seconds: float) -> None: ...
