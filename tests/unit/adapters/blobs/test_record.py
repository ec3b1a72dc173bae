"""The record format: what is written is walked again, and only that."""

from hashlib import sha256

from hypothesis import given
from hypothesis import strategies as st

from feedmill.adapters.blobs.record import (
    HEADER_BYTES,
    MAGIC,
    DamagedRange,
    IntactRecord,
    iterate_records,
    payload_of,
    read_header,
    write_header,
)
from feedmill.model.feed import BlobRef
from feedmill.model.running.worker import Segment, created_at

_NAME = "0192-test"
_payloads = st.lists(st.binary(max_size=200), max_size=6)


def record(payload: bytes, segment: str = _NAME) -> bytes:
    digest = sha256(payload).hexdigest()
    header = write_header(
        payload, segment=segment, sha256=digest, coding="raw", raw_length=len(payload)
    )
    return header + payload


def walked(data: bytes, *, payloads: bool = True) -> list[IntactRecord | DamagedRange]:
    def read_at(offset: int, length: int) -> bytes:
        return data[offset : offset + length]

    return list(iterate_records(read_at, len(data), _NAME, payloads=payloads))


def test_a_header_tells_everything_that_was_written() -> None:
    prefix = BlobRef(
        sha256="ab" * 32, segment=_NAME, offset=7, length=9, coding="zstd", raw_length=1
    )
    header = write_header(
        b"pay",
        segment=_NAME,
        sha256="cd" * 32,
        coding="zstd-prefix",
        raw_length=1 << 40,
        prefix=prefix,
    )

    read = read_header(header + b"pay", _NAME)
    assert read is not None
    assert len(header) == HEADER_BYTES == 112
    assert (read.sha256, read.coding, read.raw_length) == ("cd" * 32, "zstd-prefix", 1 << 40)
    assert (read.prefix_sha256, read.prefix_offset, read.prefix_length) == ("ab" * 32, 7, 9)
    assert read.length == HEADER_BYTES + 3
    assert payload_of(header + b"pay", read, _NAME) == b"pay"
    assert payload_of(header + b"pax", read, _NAME) is None
    assert payload_of(header + b"pa", read, _NAME) is None


def test_a_record_of_another_segment_is_none_of_ours() -> None:
    assert read_header(record(b"x", "0192-other"), _NAME) is None


@given(_payloads)
def test_every_record_is_found_again(payloads: list[bytes]) -> None:
    steps = walked(b"".join(map(record, payloads)))

    assert [step.header.sha256 for step in steps if isinstance(step, IntactRecord)] == [
        sha256(payload).hexdigest() for payload in payloads
    ]
    assert not any(isinstance(step, DamagedRange) for step in steps)


@given(_payloads, st.data())
def test_a_cut_anywhere_costs_only_the_record_that_was_cut(
    payloads: list[bytes], data: st.DataObject
) -> None:
    records = list(map(record, payloads))
    whole = b"".join(records)
    cut = data.draw(st.integers(0, len(whole)))

    found = [step for step in walked(whole[:cut]) if isinstance(step, IntactRecord)]

    ends = [sum(map(len, records[: at + 1])) for at in range(len(records))]
    assert len(found) == sum(end <= cut for end in ends)


@given(st.lists(st.binary(max_size=200), min_size=1, max_size=6), st.data())
def test_an_altered_byte_costs_only_the_record_it_lies_in(
    payloads: list[bytes], data: st.DataObject
) -> None:
    whole = bytearray(b"".join(map(record, payloads)))
    at = data.draw(st.integers(0, len(whole) - 1))
    whole[at] ^= data.draw(st.integers(1, 255))

    steps = walked(bytes(whole))

    assert sum(isinstance(step, IntactRecord) for step in steps) == len(payloads) - 1
    assert sum(
        step.length if isinstance(step, DamagedRange) else step.header.length for step in steps
    ) == (len(whole))


@given(st.binary(max_size=500), st.binary(max_size=100))
def test_a_walk_over_anything_ends_and_covers_it(before: bytes, payload: bytes) -> None:
    steps = walked(before + record(payload))

    assert isinstance(steps[-1], IntactRecord)
    assert steps[-1].offset == len(before)


def test_a_body_cannot_pass_a_record_of_its_own_off_as_ours() -> None:
    forged = record(b"evil", "")
    torn = record(forged * 20 + MAGIC)[:-3]

    assert not any(isinstance(step, IntactRecord) for step in walked(torn))


def test_a_record_beyond_a_long_hole_is_found() -> None:
    hole = bytes(3 << 20) + MAGIC
    data = record(b"a") + hole + record(b"b")

    offsets = [step.offset for step in walked(data) if isinstance(step, IntactRecord)]

    assert offsets == [0, HEADER_BYTES + 1 + len(hole)]


def test_headers_alone_are_enough_to_count() -> None:
    data = bytearray(record(b"body") * 2)
    data[HEADER_BYTES] ^= 1

    assert len([step for step in walked(bytes(data)) if isinstance(step, IntactRecord)]) == 1
    assert len(walked(bytes(data), payloads=False)) == 2


def test_the_name_of_a_segment_tells_when_it_was_made() -> None:
    made = Segment(
        name="0199e0f5-1c00-7000-8000-000000000000", size_bytes=1, sealed=True, packed=False
    )

    assert made.created_at is not None
    assert made.created_at.year == 2025
    assert created_at("short") is None
    assert created_at("0001") is None
