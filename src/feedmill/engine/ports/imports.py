"""Store protocol: progress of an import; `list_id` is a digest of the list."""

from collections.abc import Sequence
from typing import Protocol

from feedmill.model.feed import ImportedOutline


class ImportStore(Protocol):
    """Progress of an import; `list_id` is a digest of the list."""

    async def imported(self, list_id: str) -> tuple[ImportedOutline, ...]: ...
    async def note_imported(self, list_id: str, items: Sequence[ImportedOutline]) -> None: ...
