"""Re-encodes sealed segments: the versions of each feed together, each compressed against the one before.

The order that loses nothing, even if a process reads or dies meanwhile:

    write the new segment → sync → move the index → drop the old one after a grace period

A crash before the index moves leaves a segment that nothing points into; it is swept like any.

A sweep decides whether to keep, re-encode or delete a segment, given what the index still points to. A
process may have read a pointer just before the index forgot it, and commit it just after. So a segment
without pointers is condemned first, and goes when it is still without them after the grace period, which
is much longer than any refresh.
"""
# Tested in tests/contracts/blobs/

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Final

from feedmill.adapters.blobs.read import MAX_CHAIN, BodyReader, open_reader
from feedmill.adapters.blobs.record import (
    HEADER_BYTES,
    PACKED_SUFFIX,
    IntactRecord,
    SegmentSource,
    SegmentStorage,
    Write,
    compress,
    iterate_records,
    write_header,
)
from feedmill.errors import BlobError, BlobMoved
from feedmill.model.feed import BlobRef
from feedmill.model.running.worker import Fate

Bodies = Sequence[tuple[BlobRef, str | None]]


MIN_LIVE: Final = 0.5

_BUFFER_BYTES: Final = 256 * 1024


def sweep(
    storage: SegmentStorage, name: str, live: Sequence[BlobRef], *, now: datetime, grace: timedelta
) -> Fate:
    """Condemn, drop or absolve a segment, and say which; `rewrite` asks the caller to re-encode."""
    try:
        return _fate(storage, name, live, now=now, grace=grace)
    except BlobMoved:  # another process sweeps the same place
        return "dropped"


def reencode(
    storage: SegmentStorage, name: str, bodies: Bodies, source: SegmentSource | None = None
) -> tuple[BlobRef, ...]:
    """Where the bodies lie in the new, sealed segment; without those that cannot be read.

    Each comes with the hash of its feed's previous body, which must come earlier in the list;
    a body whose predecessor is not in the list stands alone. They are read from `source` when
    there is a nearer one than the storage itself.
    """
    with storage.writing(name) as write, open_reader(source or storage) as old:
        return _Packing(name, write, bodies, old).run()


class _Packing:
    """One new segment in the making."""

    def __init__(self, name: str, write: Write, bodies: Bodies, source: BodyReader) -> None:
        self._name, self._write, self._source = name, write, source
        self._bodies = bodies
        self._old = {ref.sha256: ref for ref, _ in bodies}
        self._new: dict[str, BlobRef] = {}
        self._depth: dict[str, int] = {}
        self._chunks: list[bytes] = []
        self._buffered = self._end = 0
        self._last_sha256, self._last_body = "", b""

    def run(self) -> tuple[BlobRef, ...]:
        for ref, previous in self._bodies:
            with suppress(BlobError):  # of reading; verify tells about it, the others go on
                if ref.sha256 not in self._new:
                    self._add(ref, previous)
        self._flush()
        return tuple(self._new.values())

    def _add(self, ref: BlobRef, previous: str | None) -> None:
        note, body = self._source.note_and_body(ref)
        both = note + body if note else body
        before = self._prefix(previous)
        coding, payload = compress(both, self._body(before) if before else None)
        leaning = before if coding == "zstd-prefix" else None
        header = write_header(
            payload,
            segment=self._name,
            sha256=ref.sha256,
            coding=coding,
            raw_length=len(body),
            note_length=len(note),
            prefix=leaning,
        )
        self._new[ref.sha256] = BlobRef(
            sha256=ref.sha256,
            segment=self._name,
            offset=self._end,
            length=HEADER_BYTES + len(payload),
            coding=coding,
            raw_length=len(body),
            prefix_sha256=leaning.sha256 if leaning else None,
        )
        self._depth[ref.sha256] = self._depth[leaning.sha256] + 1 if leaning else 1
        self._append(header, payload)
        self._last_sha256, self._last_body = ref.sha256, both

    def _body(self, ref: BlobRef) -> bytes:
        """A body of the new segment with its note: mostly the one that was added just now."""
        if ref.sha256 == self._last_sha256:
            return self._last_body
        return b"".join(self._source.note_and_body(self._old[ref.sha256]))

    def _prefix(self, previous: str | None) -> BlobRef | None:
        """The previous body in this segment, unless the chain to it is long enough."""
        before = self._new.get(previous) if previous else None
        if before is None or before.raw_length == 0 or self._depth[before.sha256] >= MAX_CHAIN:
            return None
        return before

    def _append(self, header: bytes, payload: bytes) -> None:
        self._chunks += (header, payload)
        self._buffered += len(header) + len(payload)
        self._end += len(header) + len(payload)
        if self._buffered >= _BUFFER_BYTES:
            self._flush()

    def _flush(self) -> None:
        self._write(b"".join(self._chunks))
        self._chunks.clear()
        self._buffered = 0


def _fate(
    storage: SegmentStorage, name: str, live: Sequence[BlobRef], *, now: datetime, grace: timedelta
) -> Fate:
    if not storage.is_sealed(name):
        return "open"
    since = storage.marked_at(name)
    if live:
        if since is not None:
            storage.unmark(name)
        return "kept" if name.endswith(PACKED_SUFFIX) and _dense(storage, name, live) else "rewrite"
    if since is None:
        storage.mark_for_deletion(name, now)
        since = now
    if now - since < grace:
        return "condemned"
    storage.remove(name)
    return "dropped"


def _dense(storage: SegmentStorage, name: str, live: Sequence[BlobRef]) -> bool:
    """True when the live bodies are at least half of it, stored or decoded.

    Decoded lengths decide: of a chain, the oldest body goes first and is most of the stored bytes,
    while the others still need it. Rewriting at that moment would be rewriting for ever.
    """
    size = storage.size(name)
    if sum(ref.length for ref in live) >= MIN_LIVE * size:
        return True
    with storage.reading(name) as read_at:
        steps = iterate_records(read_at, size, name, payloads=False)
        total = sum(step.header.raw_length for step in steps if isinstance(step, IntactRecord))
    return sum(ref.raw_length for ref in live) >= MIN_LIVE * total
