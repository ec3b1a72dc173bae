"""An adapter that is imported and made when one of its methods is first asked for.

A command that only reads the store starts without libcurl, the parsers and the screeners; what it does not use, it does
not wait for.
"""
# Tested in tests/unit/app/test_deferred.py

from collections.abc import Callable
from typing import Any


class Deferred:
    """Stands for what `make` returns; `close` does nothing when nothing was made."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._made: Any = None

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  # of any port
        if self._made is None:
            self._made = self._make()
        found = getattr(self._made, name)
        if callable(found):
            setattr(self, name, found)  # asked for once
        return found

    async def close(self) -> None:
        if self._made is not None:
            await self._made.close()
