"""Raw document sink beside the NDJSON files (002 §9.3): each document once, as a file of its own.

For batch consumers that want the bytes as files: out/raw/2025-10-14/<fetch_id>.blob.
Off by default; the raw store holds the same bytes in a fifth of the space and less.
"""
# Tested in tests/integration/adapters/sinks/test_ndjson.py

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from feedmill.adapters.files import PRIVATE_FILE, make_folder, sync_folder
from feedmill.adapters.sinks.ndjson import disk_error
from feedmill.model.event import Event

ReadRaw = Callable[[str], Awaitable[bytes | None]]


class RawCopySink:
    """Writes the documents that events point at; `read` gives the body of a fetch."""

    def __init__(self, folder: Path, read: ReadRaw, name: str = "raw-copies") -> None:
        self.name = name
        self._folder = folder / "raw"
        self._read = read

    async def deliver(self, events: Sequence[Event]) -> None:
        """Copy what is not there yet; a body that retention took in the meantime is left out."""
        wanted = {ref: event for event in events for ref in _fetch_ids(event)}
        for fetch_id, event in wanted.items():
            path = self._folder / f"{event.occurred_at:%Y-%m-%d}" / f"{fetch_id}.blob"
            if await asyncio.to_thread(path.exists):
                continue
            body = await self._read(fetch_id)
            if body is not None:
                await asyncio.to_thread(_write, path, body)

    async def close(self) -> None:
        """Nothing is held open between deliveries."""


def _fetch_ids(event: Event) -> list[str]:
    refs = event.data.get("raw_refs") or []
    return [str(ref["fetch_id"]) for ref in refs]


def _write(path: Path, body: bytes) -> None:
    """The whole file or none: a reader never sees half of it."""
    partial = path.with_suffix(".part")
    try:
        make_folder(path.parent)
        partial.unlink(missing_ok=True)  # a link that another user put there, or half a file
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with open(os.open(partial, flags, PRIVATE_FILE), "wb") as file:  # noqa: PTH123  # by descriptor
            file.write(body)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
        sync_folder(path.parent)
    except OSError as problem:
        raise disk_error(path, problem) from problem
