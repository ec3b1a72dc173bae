"""Decides whether a file that arrived is the one that was wanted: its length, its digest, its first bytes."""

import re
from base64 import b64decode
from binascii import Error as Base64Error
from typing import Final

from feedmill.media.types import sniff_type, usual_type
from feedmill.model.base import Value
from feedmill.model.derived.media import MediaFailure

_SRI: Final = re.compile(r"(sha256|sha384|sha512)-([A-Za-z0-9+/]{20,100}={0,2})")
_TEXTS: Final = ("text/", "application/json", "application/xhtml+xml", "application/xml")


class GoodFile(Value):
    """The file is whole and what it should be."""

    media_type: str | None


class BadFile(Value):
    """Why the file is not kept."""

    reason: MediaFailure
    detail: str = ""


def judge_file(
    head: bytes,
    size_bytes: int,
    *,
    total: int | None,
    feed_type: str | None,
    sent_type: str | None,
) -> GoodFile | BadFile:
    """The verdict on a download that has ended; `total` is the length that the server named.

    The length in the feed counts for nothing: most publishers guess it.
    """
    if size_bytes == 0:
        return BadFile(reason="empty")
    if total is not None and size_bytes != total:
        return BadFile(reason="truncated", detail=f"{size_bytes} of {total} bytes")
    found, asked = sniff_type(head), usual_type(feed_type) or ""
    is_text = found is not None and found.startswith(_TEXTS)
    if found == "text/html" or (is_text and not asked.startswith(_TEXTS)):
        return BadFile(reason="not-media", detail=f"the server sent {found}")
    return GoodFile(media_type=found or usual_type(sent_type) or asked or None)


def expected_digest(integrity: str | None) -> tuple[str, str] | None:
    """The strongest digest of an integrity attribute, as algorithm and hexadecimal; None: it has none."""
    found = []
    for algorithm, text in _SRI.findall(integrity or ""):
        try:
            found.append((algorithm, b64decode(text, validate=True).hex()))
        except Base64Error:
            continue
    return max(found, default=None)
