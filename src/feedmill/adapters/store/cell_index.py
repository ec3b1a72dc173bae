"""The raw store's index over several cells: each has the bodies that its own fetches brought.

A body that two cells fetched is in both, maybe at two places. So a place is let go when nobody points at
it, and a body when no cell needs it.
"""

from collections.abc import Sequence
from datetime import datetime

from feedmill.adapters.store.cell_routes import Routes
from feedmill.adapters.store.postgres.store import PostgresStore
from feedmill.model.feed import BlobRef


class CellIndex:
    """The part of `engine.ports.Store` about raw bodies."""

    def __init__(self, routes: Routes) -> None:
        self._routes = routes

    async def blob(self, sha256: str) -> BlobRef | None:
        """Where a body lies."""
        return await self._routes.anywhere(lambda s: s.blob(sha256))

    async def blobs(self, *, segment: str | None = None) -> tuple[BlobRef, ...]:
        """Where all bodies lie, or those of one segment, in the order of the bytes."""
        found = await self._routes.all(lambda s: s.blobs(segment=segment))
        every = dict.fromkeys(ref for refs in found for ref in refs)
        return tuple(sorted(every, key=lambda ref: (ref.segment, ref.offset)))

    async def move_blobs(self, refs: Sequence[BlobRef]) -> None:
        """Note that bodies lie elsewhere now; one that was forgotten meanwhile stays so."""
        await self._routes.all(lambda s: s.move_blobs(refs))

    async def forget_blobs(self, sha256s: Sequence[str]) -> None:
        """Note that bodies are gone."""
        await self._routes.all(lambda s: s.forget_blobs(sha256s))

    async def spent_blobs(self, *, keep_last: int, before: datetime) -> tuple[str, ...]:
        """Bodies that retention no longer keeps for any feed of any cell (D13)."""
        spent = await self._routes.all(lambda s: s.spent_blobs(keep_last=keep_last, before=before))
        every = dict.fromkeys(sha256 for found in spent for sha256 in found)
        had = await self._routes.all(lambda s: _had(s, list(every)))
        needed = {
            sha256
            for there, gone in zip(had, spent, strict=True)
            for sha256 in there - frozenset(gone)
        }
        return tuple(sha256 for sha256 in every if sha256 not in needed)

    async def raw_chains(self, segments: Sequence[str]) -> tuple[tuple[BlobRef, str | None], ...]:
        """The bodies of these segments per feed, oldest first, each with the one before it."""
        chains: dict[str, tuple[BlobRef, str | None]] = {}
        for found in await self._routes.all(lambda s: s.raw_chains(segments)):
            for ref, before in found:
                chains.setdefault(ref.sha256, (ref, before))
        return tuple(chains.values())


async def _had(store: PostgresStore, sha256s: Sequence[str]) -> frozenset[str]:
    """Those of the bodies that the cell has."""
    rows = await store.database.read(
        lambda c: c.fetch("SELECT sha256 FROM blobs WHERE sha256 = ANY($1::text[])", sha256s)
    )
    return frozenset(row[0] for row in rows)
