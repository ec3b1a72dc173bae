"""Ports: files that are downloaded, while they arrive and afterwards; and the store that knows them."""
# Tested in tests/contracts/

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Protocol

from feedmill.model.derived import fetched
from feedmill.model.event import NewEvent
from feedmill.model.page import Page
from feedmill.model.running.job import JobStep


class PartialFile(Protocol):
    """A download under way: on local disk, this process's alone until it is closed."""

    @property
    def size_bytes(self) -> int: ...
    @property
    def state(self) -> fetched.PartialState | None: ...  # None: nothing is known of what is there
    def restart(self, state: fetched.PartialState) -> None: ...  # empty again
    def go_on(self, state: fetched.PartialState) -> None: ...
    def write(self, chunk: bytes) -> None: ...  # OSError when the disk is full
    def sha256(self) -> str: ...  # of all bytes so far
    async def head(self, length: int) -> bytes: ...
    async def digest(self, algorithm: str) -> str: ...
    @property
    def path(self) -> Path: ...
    def sync(self) -> None: ...
    def forget(self) -> None: ...  # its file has another name now
    def remove(self) -> None: ...  # for good
    def close(self) -> None: ...  # what is there stays, for another attempt


class MediaFiles(Protocol):
    """Files by content: the same file is kept once, however many entries have it."""

    @property
    def place(self) -> str: ...  # a folder or an address, as it may be shown
    @property
    def boot(self) -> str: ...  # names the time since the machine was started
    async def open_partial(self, name: str) -> PartialFile | None: ...  # None: it is in use
    async def drop_partials(self, *, keep: Collection[str]) -> int: ...
    # durable when it returns; the partial file is gone then
    async def keep(self, partial: PartialFile, sha256: str) -> None: ...
    # NotKeptError when it is not there
    async def read(self, sha256: str, start: int = 0, length: int | None = None) -> bytes: ...
    async def delete(self, sha256s: Sequence[str]) -> None: ...
    async def sizes(self) -> dict[str, int]: ...  # of all that is there, by digest
    async def verify(self, sha256: str) -> str | None: ...  # what is wrong with it
    async def link(self, path: str, sha256: str) -> None: ...  # a readable name
    async def links(self) -> frozenset[str]: ...
    async def unlink(self, paths: Collection[str]) -> None: ...


class MediaStore(Protocol):
    """The table of files: wanted, kept, or why not."""

    async def queue_media(
        self, wanted: Sequence[fetched.WantedFile], *, now: datetime
    ) -> int: ...  # rows and their jobs; those that are there already stay as they are
    async def media_item(self, media_id: str) -> fetched.MediaItem | None: ...
    async def media_items(
        self, where: fetched.MediaFilter, *, after: str | None = None, limit: int = 100
    ) -> Page[fetched.MediaItem]: ...  # newest first
    async def media_usage(self) -> fetched.MediaUsage: ...
    # how many bytes are missing; 0: so many are this download's now
    async def reserve_media(self, media_id: str, size_bytes: int, *, quota: int) -> int: ...
    async def oldest_media(self, limit: int) -> tuple[fetched.MediaFile, ...]: ...
    # rows lose their file; those whose entry is not older than `before` stay
    async def prune_media(
        self,
        *,
        now: datetime,
        sha256s: Sequence[str] = (),
        media_ids: Sequence[str] = (),
        before: datetime | None = None,
    ) -> int: ...
    async def media_beyond(
        self, feed_id: str, newest: int
    ) -> tuple[str, ...]: ...  # ids of files of older entries than the newest with a file
    # False: the same content is being deleted at this moment
    async def begin_media_file(self, sha256: str, size_bytes: int, *, now: datetime) -> bool: ...
    # With the first name that is free; None: gone, or the job was lost.
    async def save_media(
        self,
        item: fetched.MediaItem,
        *,
        names: Sequence[str] = (),
        events: Sequence[NewEvent] = (),
        step: JobStep | None = None,
    ) -> fetched.MediaItem | None: ...
    async def save_media_progress(self, media_id: str, received_bytes: int) -> None: ...
    async def retry_media(self, media_id: str, *, now: datetime) -> bool: ...
    # contents that no row has any more; their files are deleted, then they are forgotten
    async def release_media_files(self, *, before: datetime) -> tuple[str, ...]: ...
    async def forget_media_files(self, sha256s: Sequence[str]) -> None: ...
    async def media_files(
        self, *, after: str = "", limit: int = 1000
    ) -> tuple[fetched.MediaFile, ...]: ...  # that are kept, by digest
    async def media_links(self) -> Mapping[str, str]: ...  # readable names and their digests
    async def fail_media_without_job(self, *, now: datetime) -> int: ...  # of jobs that ended badly
    async def media_downloads(self) -> frozenset[str]: ...  # ids that wait or are under way
