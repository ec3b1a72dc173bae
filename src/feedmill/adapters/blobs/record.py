"""The record format: how a body is laid out in a segment, and how records are written and read.

    offset  bytes  what
         0      4  magic "fmRB"
         4      1  version: 1, or 2 for a record with a note
         5      1  coding: 0 raw, 1 zstd, 2 zstd with a prefix, 3 a note without its body
         6      2  length of the note; 0 in version 1
         8     32  SHA-256 of the body
        40      8  length of the payload
        48      8  length of the body
        56     32  SHA-256 of the prefix body, or zeros
        88     16  offset and length of the prefix's record, always earlier in the same segment
       104      4  CRC-32 of the payload
       108      4  CRC-32 of the 108 bytes before
       112         the payload: the note and the body, encoded together

A note says which fetch of which feed brought the body, so that a store can be restored from segments alone.
A body that is kept already gets a record with coding 3. The prefix is the note and the body of its record.
Numbers are little-endian. Both checksums start from the CRC-32 of the segment's name, which
is unknown outside: a body that imitates a record inside itself is never mistaken for one, and a
file under a wrong name is noticed.

Bodies are compressed with zstd, with the feed's previous body as the dictionary. Level 3 matters: level 1 misses most of what two versions of a feed share (8 : 1 against 25 : 1).

Segments lie in a `SegmentStorage`: a folder or a bucket. Everything that is done with sealed segments (reading, re-encoding, sweeping, verifying) is written
once, against this. All of it blocks; a storage is used on threads of its own.
"""
# Tested in tests/contracts/blobs/

import re
import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Final, Literal, NamedTuple, Protocol
from zlib import crc32

import zstandard

from feedmill.adapters.blobs.errors import not_a_segment_error, too_new_error
from feedmill.model.base import Value
from feedmill.model.feed import BlobRef
from feedmill.model.running.worker import Segment

BodyCoding = Literal["raw", "zstd", "zstd-prefix"]
RecordCoding = Literal["raw", "zstd", "zstd-prefix", "note"]
ReadAt = Callable[[int, int], bytes]  # (offset, length); short at the end of the segment

MAGIC: Final = b"fmRB"
VERSION: Final = 2
_HEAD: Final = struct.Struct("<4sBBH32sQQ32sQQI")
_CRC: Final = struct.Struct("<I")
HEADER_BYTES: Final = _HEAD.size + _CRC.size

_CODINGS: Final[tuple[RecordCoding, ...]] = ("raw", "zstd", "zstd-prefix", "note")
_NO_PREFIX: Final = bytes(32)
_WINDOW_BYTES: Final = 1 << 20

_LEVEL: Final = 3
_NARROW_BITS: Final = 18
_TABLE_BITS: Final = 22  # 4 M slots, 16 MB each while one body is written

Write = Callable[[bytes], None]

SEALED_SUFFIX: Final = ".seg"
PACKED_SUFFIX: Final = "-packed"  # the end of a name: what was re-encoded
_NAME: Final = re.compile(r"[0-9A-Za-z][0-9A-Za-z-]{0,99}")


class Header(Value):
    """What a record says about itself."""

    sha256: str
    coding: RecordCoding
    payload_length: int
    raw_length: int  # of the body
    payload_crc: int
    note_length: int = 0
    prefix_sha256: str | None = None
    prefix_offset: int = 0
    prefix_length: int = 0

    @property
    def length(self) -> int:
        """Of the whole record."""
        return HEADER_BYTES + self.payload_length


class IntactRecord(Value):
    """An intact record."""

    offset: int
    header: Header


class DamagedRange(Value):
    """Bytes that are no record."""

    offset: int
    length: int


class Item(NamedTuple):
    """What is to be written: a body, perhaps with a note; or a note about a body that is kept."""

    sha256: str
    body: bytes | None
    note: bytes = b""

    @property
    def size_bytes(self) -> int:
        """Of both together."""
        return len(self.body or b"") + len(self.note)


class RecordGroup:
    """Records for one segment, from `start` on; a body that is `known` there already is not repeated."""

    def __init__(
        self, segment: str, start: int = 0, known: Mapping[str, BlobRef] | None = None
    ) -> None:
        self.segment, self._known = segment, known or {}
        self.end = start
        self.added: dict[str, BlobRef] = {}
        self._chunks: list[bytes] = []

    def add(self, item: Item) -> BlobRef:
        """Where the record will lie."""
        sha256, body, note = item
        known = self._known.get(sha256) or self.added.get(sha256)
        if body is not None and known is not None:
            if note:  # another feed brought the same body
                self.add(item._replace(body=None))
            return known
        payload = note + (body or b"")
        header = write_header(
            payload,
            segment=self.segment,
            sha256=sha256,
            coding="note" if body is None else "raw",
            raw_length=len(body or b""),
            note_length=len(note),
        )
        ref = BlobRef(
            sha256=sha256,
            segment=self.segment,
            offset=self.end,
            length=HEADER_BYTES + len(payload),
            coding="raw",
            raw_length=len(body or b""),
        )
        self._chunks += (header, payload)
        if body is not None:
            self.added[sha256] = ref
        self.end += ref.length
        return ref

    def data(self) -> bytes:
        """Everything that was added, in one piece."""
        return b"".join(self._chunks)


def ref_of(record: IntactRecord, segment: str) -> BlobRef | None:
    """The index row of a record; None for a note without its body."""
    header = record.header
    if header.coding == "note":
        return None
    return BlobRef(
        sha256=header.sha256,
        segment=segment,
        offset=record.offset,
        length=header.length,
        coding=header.coding,
        raw_length=header.raw_length,
        prefix_sha256=header.prefix_sha256,
    )


def write_header(
    payload: bytes,
    *,
    segment: str,
    sha256: str,
    coding: RecordCoding,
    raw_length: int,
    note_length: int = 0,
    prefix: BlobRef | None = None,
) -> bytes:
    """The bytes that go before the payload."""
    seed = crc32(segment.encode())
    head = _HEAD.pack(
        MAGIC,
        VERSION if note_length else 1,
        _CODINGS.index(coding),
        note_length,
        bytes.fromhex(sha256),
        len(payload),
        raw_length,
        bytes.fromhex(prefix.sha256) if prefix else _NO_PREFIX,
        prefix.offset if prefix else 0,
        prefix.length if prefix else 0,
        crc32(payload, seed),
    )
    return head + _CRC.pack(crc32(head, seed))


def read_header(data: bytes, segment: str) -> Header | None:
    """What the first bytes say; None when they are not a record of this segment."""
    if len(data) < HEADER_BYTES or not data.startswith(MAGIC):
        return None
    head = data[: _HEAD.size]
    if _CRC.unpack_from(data, _HEAD.size)[0] != crc32(head, crc32(segment.encode())):
        return None
    _, version, coding, note, sha, payload, raw, prefix, at, length, crc = _HEAD.unpack(head)
    if version > VERSION or coding >= len(_CODINGS):
        raise too_new_error(segment)
    return Header(
        sha256=sha.hex(),
        coding=_CODINGS[coding],
        payload_length=payload,
        raw_length=raw,
        payload_crc=crc,
        note_length=note,
        prefix_sha256=None if prefix == _NO_PREFIX else prefix.hex(),
        prefix_offset=at,
        prefix_length=length,
    )


def payload_of(data: bytes, header: Header, segment: str) -> bytes | None:
    """The payload of a whole record; None when it is short or was altered."""
    payload = data[HEADER_BYTES : header.length]
    intact = crc32(payload, crc32(segment.encode())) == header.payload_crc
    return payload if intact and len(payload) == header.payload_length else None


def iterate_records(
    read_at: ReadAt, size: int, segment: str, *, payloads: bool = True
) -> Iterator[IntactRecord | DamagedRange]:
    """Every record and every hole, in order; `payloads=False` looks at headers only."""
    offset = 0
    while offset < size:
        step = _step(read_at, offset, size, segment, payloads=payloads)
        yield step
        offset += step.header.length if isinstance(step, IntactRecord) else step.length


def _step(
    read_at: ReadAt, offset: int, size: int, segment: str, *, payloads: bool
) -> IntactRecord | DamagedRange:
    data = read_at(offset, HEADER_BYTES)
    header = read_header(data, segment)
    if header is None:
        return DamagedRange(
            offset=offset, length=_next_record(read_at, offset + 1, size, segment) - offset
        )
    if offset + header.length > size:
        return DamagedRange(offset=offset, length=size - offset)
    if payloads and payload_of(read_at(offset, header.length), header, segment) is None:
        return DamagedRange(offset=offset, length=header.length)
    return IntactRecord(offset=offset, header=header)


def _next_record(read_at: ReadAt, offset: int, size: int, segment: str) -> int:
    """Where the next header stands, or the end: damage in the middle hides nothing behind it."""
    while offset < size:
        window = read_at(offset, _WINDOW_BYTES + HEADER_BYTES)
        at = window.find(MAGIC)
        while 0 <= at < _WINDOW_BYTES:
            if read_header(window[at : at + HEADER_BYTES], segment) is not None:
                return offset + at
            at = window.find(MAGIC, at + 1)
        offset += _WINDOW_BYTES
    return size


def compress(body: bytes, prefix: bytes | None) -> tuple[BodyCoding, bytes]:
    """The smallest form and its name; what does not shrink stays as it is."""
    if prefix:
        small = zstandard.ZstdCompressor(
            compression_params=_parameters(len(body), len(prefix)), dict_data=_dictionary(prefix)
        ).compress(body)
    else:
        small = zstandard.ZstdCompressor(level=_LEVEL).compress(body)
    if len(small) >= len(body):
        return "raw", body
    return ("zstd-prefix" if prefix else "zstd"), small


def decompress(payload: bytes, header: Header, prefix: bytes | None) -> bytes | None:
    """The note and the body again; None when the payload does not decode to the length that was promised."""
    if header.coding == "raw":
        return payload
    try:
        if zstandard.frame_content_size(payload) != header.note_length + header.raw_length:
            return None
        dictionary = _dictionary(prefix) if header.coding == "zstd-prefix" and prefix else None
        return zstandard.ZstdDecompressor(dict_data=dictionary).decompress(payload)
    except zstandard.ZstdError:
        return None


def _parameters(body: int, prefix: int) -> zstandard.ZstdCompressionParameters:
    """Level 3, with tables that see the whole prefix of a large body.

    The level's own tables hold 128 K positions: enough up to a quarter of a megabyte, while of a
    2 MB prefix nearly all is forgotten before it is used (4.9 : 1 against 1,160 : 1).
    """
    bits = (body + prefix).bit_length()
    if bits <= _NARROW_BITS:
        return zstandard.ZstdCompressionParameters.from_level(
            _LEVEL, source_size=body, dict_size=prefix
        )
    tables = min(bits, _TABLE_BITS)
    return zstandard.ZstdCompressionParameters.from_level(
        _LEVEL,
        source_size=body,
        dict_size=prefix,
        window_log=min(bits, 27),
        hash_log=tables,
        chain_log=tables,
    )


def _dictionary(prefix: bytes) -> zstandard.ZstdCompressionDict:
    return zstandard.ZstdCompressionDict(prefix, dict_type=zstandard.DICT_TYPE_RAWCONTENT)


class SegmentSource(Protocol):
    """Whatever gives the bytes of segments."""

    def reading(self, name: str) -> AbstractContextManager[ReadAt]:
        """Bytes by range; BlobMoved, at the latest with the first of them, when it is gone."""


class SegmentStorage(SegmentSource, Protocol):
    """Where the segments of one raw store lie."""

    def size(self, name: str) -> int:
        """Of a segment, in bytes; BlobMoved when it is gone."""

    def writing(self, name: str) -> AbstractContextManager[Write]:
        """A new segment, there and sealed at the end; nothing of it when that went wrong."""

    def adopt(self, name: str, data: bytes) -> None:
        """Keep a whole sealed segment of another storage under its name; one that is there is fine."""

    def segments(self) -> list[Segment]:
        """All segments, oldest first."""

    def unknown_files(self) -> list[str]:
        """Names of things that feedmill did not put there."""

    def is_sealed(self, name: str) -> bool:
        """True for a complete segment; BlobMoved when it is gone."""

    def marked_at(self, name: str) -> datetime | None:
        """Since when nothing points into the segment, if it was noted."""

    def mark_for_deletion(self, name: str, now: datetime) -> None:
        """Note that nothing points into the segment."""

    def unmark(self, name: str) -> None:
        """Something points into the segment after all."""

    def remove(self, name: str) -> None:
        """Delete a sealed segment; one that is gone already is fine."""

    def owner(self) -> str | None:
        """The store that indexes these segments; None when it was never written."""

    def set_owner(self, store_id: str, *, instead_of: str | None) -> str:
        """Write the owner, unless it is not `instead_of`; the one that is there afterwards."""


def decode_owner(data: bytes) -> str | None:
    """The id in the file of the owner; None when it is empty. Damaged octets make it that of another store."""
    text = data.decode("ascii", "replace").strip()
    return "".join(one if one.isprintable() else "\ufffd" for one in text) or None


def is_segment_name(name: str) -> bool:
    """True for what can be the name of a segment; it never leads anywhere else."""
    return _NAME.fullmatch(name) is not None


def check_segment_name(name: str) -> str:
    """The name, when it is one."""
    if not is_segment_name(name):
        raise not_a_segment_error(name)
    return name
