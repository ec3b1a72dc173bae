"""Bodies made small and whole again."""

from hashlib import shake_256

from hypothesis import given
from hypothesis import strategies as st

from feedmill.adapters.blobs.record import BodyCoding, Header, compress, decompress


def header(coding: BodyCoding, raw_length: int) -> Header:
    return Header(sha256="", coding=coding, payload_length=0, raw_length=raw_length, payload_crc=0)


@given(st.binary(max_size=2000), st.none() | st.binary(max_size=2000))
def test_squeezing_loses_nothing(body: bytes, prefix: bytes | None) -> None:
    coding, payload = compress(body, prefix)

    assert decompress(payload, header(coding, len(body)), prefix) == body
    assert len(payload) <= len(body)


def test_what_does_not_shrink_stays_as_it_is() -> None:
    noise = shake_256(b"noise").digest(1000)

    assert compress(noise, None) == ("raw", noise)
    assert compress(b"", b"prefix") == ("raw", b"")


def test_a_large_body_leans_on_the_whole_of_a_large_prefix() -> None:
    old = shake_256(b"large").digest(3_000_000)
    new = b"<item>new</item>" + old

    coding, payload = compress(new, old)

    assert coding == "zstd-prefix"
    assert len(payload) < len(new) / 100
    assert decompress(payload, header(coding, len(new)), old) == new


def test_a_payload_that_is_no_zstd_or_of_another_length_is_refused() -> None:
    _, payload = compress(b"a" * 1000, None)

    assert decompress(b"nonsense", header("zstd", 1000), None) is None
    assert decompress(payload, header("zstd", 999), None) is None
    assert decompress(payload[:-4], header("zstd", 1000), None) is None
