"""Ports: the extractor of full texts, and the store that keeps them."""
# Tested in tests/contracts/store/test_fulltexts.py

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from feedmill.model.derived.full_text import ExtractedText, FullText, NoFullText, PageTask
from feedmill.model.event import NewEvent
from feedmill.model.feed import BlobRef
from feedmill.model.page import Page
from feedmill.model.running.job import JobStep


class Extractor(Protocol):
    """The text of a page, sanitised; a page that breaks it costs a deadline and nothing else."""

    async def extract(self, task: PageTask) -> ExtractedText | NoFullText: ...


class FullTextStore(Protocol):
    """Full texts, one per entry."""

    async def save_full_text(
        self,
        found: FullText,
        *,
        blob: BlobRef | None = None,
        events: Sequence[NewEvent] = (),
        step: JobStep | None = None,
    ) -> bool: ...  # False: the entry is gone, or the job was lost
    async def full_text(self, entry_uid: str) -> FullText | None: ...
    async def full_texts_of(
        self, entry_uids: Sequence[str]
    ) -> dict[str, FullText]: ...  # that were extracted
    async def full_texts(
        self, *, feed_id: str | None = None, after: str | None = None, limit: int = 100
    ) -> Page[FullText]: ...
    async def last_page_at(self, url: str) -> datetime | None: ...  # of the host of the address
