"""Keeps entries as encoded JSON, so that a page of entries that were shown before needs their versions only.

A version is everything in an entry's JSON that may change without its content, and the fetch that brought the
content: no fetch is committed twice (D26), so another content has another fetch. The memory is bounded, and what was
shown longest ago makes room. An entry is kept when it is shown for the second time, so reading everything once
displaces nothing.
"""
# Tested in tests/contracts/store/test_store.py

import threading
from collections.abc import Iterable, Sequence
from typing import Final

from feedmill.adapters.store.tables.codec import Row
from feedmill.adapters.store.tables.contents.entry_codec import LAST_SEEN, SEEN_COUNT

# The number of the entry is the first, its revisions the second, its fetch the third. Retention deletes revisions,
# and the places of their documents are part of an entry: one that has any is not kept.
VERSION_COLUMNS: Final = (
    "e.entry_id", "e.revisions", "e.fetch_id", LAST_SEEN, SEEN_COUNT, "e.guid", "e.first_seen",
    "e.published_effective", "e.removed_at", "e.cluster_no", "r.entry_uid", "r.article_hash", "f.id", "f.url", "f.title",
)  # fmt: skip
MAX_BYTES: Final = 32 << 20
_ENTRY_BYTES: Final = 700  # what the version and the tables take beside the text
_SEEN_ONCE: Final = 100_000  # numbers of entries


class EntryTextCache:
    """The JSON of entries by their number; used by several threads."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes, self._bytes = max_bytes, 0
        self._texts: dict[int, tuple[Row, bytes]] = {}  # what was shown last is last
        self._once: set[int] = set()
        self._lock = threading.Lock()

    def get(self, versions: Sequence[Row]) -> dict[int, bytes]:
        """The texts of the entries that are kept in these versions, by the entries' numbers."""
        found, texts = dict[int, bytes](), self._texts
        with self._lock:
            for version in versions:
                kept = texts.get(version[0])
                if kept is not None and kept[0] == version:
                    texts[version[0]] = texts.pop(version[0])
                    found[version[0]] = kept[1]
        return found

    def put(self, read: Iterable[tuple[Row, bytes]]) -> None:
        """Keep the texts of entries that were read before, each with the version that was read with it."""
        with self._lock:
            for version, text in read:
                number, revisions, fetch_id, *_ = version
                if revisions or fetch_id is None:
                    continue
                if number not in self._once:
                    if len(self._once) >= _SEEN_ONCE:
                        self._once.clear()
                    self._once.add(number)
                    continue
                self._drop(number)
                self._texts[number] = version, text
                self._bytes += len(text) + _ENTRY_BYTES
            while self._bytes > self._max_bytes:
                self._drop(next(iter(self._texts)))

    def _drop(self, number: int) -> None:
        kept = self._texts.pop(number, None)
        if kept is not None:
            self._bytes -= len(kept[1]) + _ENTRY_BYTES
