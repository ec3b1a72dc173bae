"""Content codings, applied to a body: the publisher's side of what the fetcher undoes.

Deterministic: the same body gives the same octets, so that validators stay true.
"""

import gzip
import zlib
from collections.abc import Callable
from typing import Final

import brotli
import zstandard

from feedmill_demo.server.script import ContentCoding


def encode(body: bytes, codings: tuple[ContentCoding, ...]) -> bytes:
    """The body with every coding applied, first to last."""
    for coding in codings:
        body = _ENCODERS[coding](body)
    return body


def coding_names(codings: tuple[ContentCoding, ...]) -> str:
    """What Content-Encoding says about them."""
    return ", ".join("deflate" if coding == "raw-deflate" else coding for coding in codings)


def _gzip(body: bytes) -> bytes:
    return gzip.compress(body, 6, mtime=0)


def _raw_deflate(body: bytes) -> bytes:
    # Some servers leave out the zlib wrapper that RFC 9110 8.4.1.2 asks for.
    deflater = zlib.compressobj(6, zlib.DEFLATED, -zlib.MAX_WBITS)
    return deflater.compress(body) + deflater.flush()


def _brotli(body: bytes) -> bytes:
    packed: bytes = brotli.compress(body, quality=5)
    return packed


def _zstd(body: bytes) -> bytes:
    return zstandard.ZstdCompressor(level=3).compress(body)


_ENCODERS: Final[dict[ContentCoding, Callable[[bytes], bytes]]] = {
    "gzip": _gzip,
    "x-gzip": _gzip,
    "deflate": zlib.compress,
    "raw-deflate": _raw_deflate,
    "br": _brotli,
    "zstd": _zstd,
}
