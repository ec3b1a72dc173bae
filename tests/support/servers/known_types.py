"""Types of PostgreSQL that asyncpg asks every connection about again: a fifth of what a test costs the server.

The types that every database has are asked for once in a test process. Those that one database has, if any, are asked for as ever.
"""

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any, Final

import pytest
from asyncpg.connection import Connection

_FIRST_OF_A_DATABASE: Final = 16_384  # below, numbers are those of PostgreSQL itself


def remember_types(patch: pytest.MonkeyPatch) -> None:
    """Answer from memory what another connection of this process has asked."""
    known: dict[frozenset[int], Any] = {}
    ask = Connection._introspect_types  # type: ignore[attr-defined]

    async def remembered(self: object, wanted: Iterable[int], timeout: float | None) -> Any:  # noqa: ASYNC109
        numbers = frozenset(wanted)
        if numbers in known:
            return known[numbers], SimpleNamespace(name="asked before")
        types, statement = await ask(self, numbers, timeout)
        if max(numbers) < _FIRST_OF_A_DATABASE:
            known[numbers] = types
        return types, statement

    patch.setattr(Connection, "_introspect_types", remembered)
