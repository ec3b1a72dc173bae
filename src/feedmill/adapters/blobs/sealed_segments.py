"""What is done with sealed segments: read, verify, pack, sweep.

A body is read by range, with both checksums and the hash checked every time. A packed segment is self-contained: a record names the place of its prefix in the same segment, so
a body can be read although its predecessor was forgotten by the index.

Packing puts the versions of each feed together, each compressed against the one before. The order that loses nothing, even if a process reads or dies meanwhile:

    write the new segment → sync → move the index → drop the old one after a grace period

A crash before the index moves leaves a segment that nothing points into; it is swept like any.

A sweep decides whether to keep, re-encode or delete a segment, given what the index still points to. A
process may have read a pointer just before the index forgot it, and commit it just after. So a segment
without pointers is condemned first, and goes when it is still without them after the grace period, which
is much longer than any refresh.
"""
# Tested in tests/contracts/blobs/

from collections import OrderedDict
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Final

from feedmill.adapters.blobs.errors import damaged_error
from feedmill.adapters.blobs.record import (
    HEADER_BYTES,
    PACKED_SUFFIX,
    DamagedRange,
    Header,
    IntactRecord,
    ReadAt,
    SegmentSource,
    SegmentStorage,
    Write,
    compress,
    decompress,
    iterate_records,
    payload_of,
    read_header,
    write_header,
)
from feedmill.errors import BlobError, BlobMoved
from feedmill.model.feed import BlobRef
from feedmill.model.running.worker import BlobFault, BlobProblem, Fate

MAX_CHAIN: Final = 20  # bodies from one that stands alone to the last that leans on it
# Versions of a feed follow one another: the last one is what matters.
_KEPT_BYTES: Final = 4 * 1024 * 1024

_FAULTS: dict[str, BlobFault] = {"moved": "missing", "damaged": "damaged"}

Bodies = Sequence[tuple[BlobRef, str | None]]


MIN_LIVE: Final = 0.5

_BUFFER_BYTES: Final = 256 * 1024


class BodyReader:
    """Reads many bodies in one go; consecutive versions of a feed are decoded once each."""

    def __init__(self, source: SegmentSource) -> None:
        self._source = source
        self._opened: dict[str, ReadAt] = {}
        self._open = ExitStack()
        self._kept: OrderedDict[tuple[str, int], bytes] = OrderedDict()
        self._kept_bytes = 0

    def body(self, ref: BlobRef, prefix: bytes | None = None) -> bytes:
        """The exact bytes; BlobMoved when the segment is gone, BlobError when they are spoiled."""
        return self.note_and_body(ref, prefix)[1]

    def note_and_body(self, ref: BlobRef, prefix: bytes | None = None) -> tuple[bytes, bytes]:
        """The note of a record, empty when it has none, and the exact bytes of its body."""
        link = self._link(ref.segment, ref.offset, ref.length)
        if (link.header.sha256, link.header.raw_length) != (ref.sha256, ref.raw_length):
            raise damaged_error(ref.segment, ref.offset, "another body lies there")
        both = link.decode(self._prefix(link, ref.segment) if prefix is None else prefix)
        at = link.header.note_length
        body = None if both is None else both[at:] if at else both
        # The bodies on the way need no look: a wrong one would have made this one wrong.
        if both is None or body is None or sha256(body).hexdigest() != ref.sha256:
            raise damaged_error(ref.segment, ref.offset, "the body does not match its hash")
        self._keep((ref.segment, ref.offset), both)
        return both[:at], body

    def close(self) -> None:
        """Give the segments back."""
        self._open.close()

    def _prefix(self, link: "_Link", segment: str) -> bytes | None:
        """The body that a record leans on, decoded along the chain; None for one that stands alone."""
        chain: list[_Link] = []
        body: bytes | None = None
        while body is None and link.header.prefix_sha256 is not None:
            body = self._kept.get((segment, link.header.prefix_offset))
            if body is None:
                link = self._before(link, segment, len(chain) + 1)
                chain.append(link)
        for link in reversed(chain):
            body = link.decode(body)
            self._keep((segment, link.offset), body or b"")
        return body

    def _before(self, link: "_Link", segment: str, depth: int) -> "_Link":
        header = link.header
        if header.prefix_offset >= link.offset or depth >= MAX_CHAIN:
            raise damaged_error(segment, link.offset, "its prefix is not where it can be")
        return self._link(segment, header.prefix_offset, header.prefix_length)

    def _link(self, segment: str, offset: int, length: int) -> "_Link":
        data = self._read_at(segment)(offset, length)
        header = read_header(data, segment)
        if header is None:
            raise damaged_error(segment, offset, "no record begins there")
        payload = payload_of(data, header, segment)
        if payload is None or header.length != length:
            raise damaged_error(segment, offset, "the record is cut off or altered")
        return _Link(offset, header, payload)

    def _read_at(self, segment: str) -> ReadAt:
        if segment not in self._opened:
            self._opened[segment] = self._open.enter_context(self._source.reading(segment))
        return self._opened[segment]

    def _keep(self, place: tuple[str, int], body: bytes) -> None:
        self._kept_bytes += len(body) - len(self._kept.pop(place, b""))
        self._kept[place] = body
        while self._kept_bytes > _KEPT_BYTES and len(self._kept) > 1:
            _, oldest = self._kept.popitem(last=False)
            self._kept_bytes -= len(oldest)


@contextmanager
def open_reader(source: SegmentSource) -> Iterator[BodyReader]:
    """A reader that gives its segments back at the end."""
    made = BodyReader(source)
    try:
        yield made
    finally:
        made.close()


class _Link:
    """One record of a chain, checked but not decoded."""

    def __init__(self, offset: int, header: Header, payload: bytes) -> None:
        self.offset, self.header, self.payload = offset, header, payload

    def decode(self, prefix: bytes | None) -> bytes | None:
        return decompress(self.payload, self.header, prefix)


def verify_segments(
    storage: SegmentStorage, refs: Sequence[BlobRef], only: Collection[str] | None = None
) -> tuple[BlobProblem, ...]:
    """Every index row read and hashed, every record of every sealed segment accounted for.

    With `only`, of these segments; `refs` are the rows that point into them.
    Segments that are still written are checked through the index only: their last records may be
    on their way into it. A row that is `missing` may have moved since it was listed.
    """
    by_segment: dict[str, list[BlobRef]] = {}
    for ref in refs:
        by_segment.setdefault(ref.segment, []).append(ref)
    problems: list[BlobProblem] = []
    for rows in by_segment.values():
        problems += _rows(storage, sorted(rows, key=lambda ref: ref.offset))
    indexed = {ref.sha256 for ref in refs}
    known = {(problem.segment, problem.offset) for problem in problems}
    listed = [one.name for one in storage.segments() if one.sealed] if only is None else only
    for name in listed:
        found = _records(storage, name, indexed)
        problems += [one for one in found if (one.segment, one.offset) not in known]
    for name in storage.unknown_files() if only is None else ():
        detail = "feedmill did not put this here"
        problems.append(BlobProblem(fault="foreign", segment=name, detail=detail))
    return tuple(problems)


def _rows(storage: SegmentStorage, refs: Sequence[BlobRef]) -> Iterator[BlobProblem]:
    with open_reader(storage) as source:
        for ref in refs:
            problem = _row(source, ref)
            if problem is not None:
                yield problem


def _row(source: BodyReader, ref: BlobRef) -> BlobProblem | None:
    try:
        source.body(ref)
    except BlobError as error:
        return BlobProblem(
            fault=_FAULTS.get(error.reason, "unreadable"),
            segment=ref.segment,
            detail=str(error),
            offset=ref.offset,
            sha256=ref.sha256,
        )
    return None


def _records(storage: SegmentStorage, name: str, indexed: set[str]) -> list[BlobProblem]:
    """Damage and orphans of one segment; a body on which another leans is no orphan."""
    try:
        with storage.reading(name) as read_at:
            steps = list(iterate_records(read_at, storage.size(name), name))
    except BlobMoved:  # dropped since they were listed
        return []
    except BlobError as error:
        return [BlobProblem(fault="unreadable", segment=name, detail=str(error))]
    needed = {step.header.prefix_sha256 for step in steps if isinstance(step, IntactRecord)}
    return [
        _unaccounted(name, step)
        for step in steps
        if isinstance(step, DamagedRange)
        or not (
            step.header.coding == "note"
            or step.header.sha256 in indexed
            or step.header.sha256 in needed
        )
    ]


def _unaccounted(name: str, step: IntactRecord | DamagedRange) -> BlobProblem:
    if isinstance(step, DamagedRange):
        detail = f"{step.length} bytes that are no record"
        return BlobProblem(fault="damaged", segment=name, detail=detail, offset=step.offset)
    return BlobProblem(
        fault="orphan",
        segment=name,
        detail="the index does not know this body",
        offset=step.offset,
        sha256=step.header.sha256,
    )


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
