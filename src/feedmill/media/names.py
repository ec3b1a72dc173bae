"""Readable names of files, `show/2026-11-16 title.ext`: safe on every file system, and unique."""

import re
import unicodedata
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

_SHOW_BYTES: Final = 100
_TITLE_BYTES: Final = 140  # with date, mark and ending far below the 255 of most file systems
_FORBIDDEN: Final = re.compile(r'[<>:"/\\|?*\x00-\x1f\x7f]')
_SPACES: Final = re.compile(r"\s+")
# Names of devices, whatever follows their first dot (Windows).
_DEVICES: Final = re.compile(r"(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?:\.|$)", re.IGNORECASE)
# Control, format (also those that turn the direction of text), surrogate, private and unassigned characters.
_INVISIBLE: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def link_names(
    show: str | None, title: str | None, published_at: datetime, ending: str, media_id: str
) -> Iterator[str]:
    """Names to try in this order; the last one is unique."""
    folder = safe_name(show or "", _SHOW_BYTES) or "untitled show"
    day = published_at.astimezone(UTC).date().isoformat()
    name = safe_name(title or "", _TITLE_BYTES) or "untitled"
    dotted = f".{ending}" if ending else ""
    yield f"{folder}/{day} {name}{dotted}"
    yield f"{folder}/{day} {name} [{media_id[:6]}]{dotted}"
    yield f"{folder}/{day} {name} [{media_id}]{dotted}"


def name_key(path: str) -> str:
    """What two names share when a file system may take them for one: case and composition."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", path).casefold())


def safe_name(text: str, max_bytes: int) -> str:
    """The text as one part of a path on any file system; "" when nothing of it is left."""
    composed = unicodedata.normalize("NFC", text[: 4 * max_bytes])
    visible = "".join(
        " " if character.isspace() else character
        for character in composed
        if character.isspace() or unicodedata.category(character) not in _INVISIBLE
    )
    plain = _SPACES.sub(" ", _FORBIDDEN.sub(" ", visible))
    cut = plain.strip(" .").encode()[:max_bytes].decode("utf-8", "ignore").strip(" .")
    return f"_{cut}" if _DEVICES.match(cut) else cut
