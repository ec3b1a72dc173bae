"""Types and names of files of entries.

Media types: what the first bytes of a file say, and the endings of names that go with them.

Readable names of files, `show/2026-11-16 title.ext`: safe on every file system, and unique.
"""

import re
import unicodedata
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

HEAD_BYTES: Final = 4_096  # of a file, to say what it is

_ENDINGS: Final = {
    "mp3": "audio/mpeg",
    "m4a": "audio/mp4",
    "m4b": "audio/mp4",
    "aac": "audio/aac",
    "ogg": "audio/ogg",
    "oga": "audio/ogg",
    "opus": "audio/opus",
    "flac": "audio/flac",
    "wav": "audio/wav",
    "aiff": "audio/aiff",
    "mp4": "video/mp4",
    "m4v": "video/mp4",
    "mov": "video/quicktime",
    "webm": "video/webm",
    "mkv": "video/x-matroska",
    "ogv": "video/ogg",
    "avi": "video/x-msvideo",
    "mpeg": "video/mpeg",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "png": "image/png",
    "gif": "image/gif",
    "webp": "image/webp",
    "svg": "image/svg+xml",
    "pdf": "application/pdf",
    "epub": "application/epub+zip",
    "zip": "application/zip",
    "txt": "text/plain",
    "vtt": "text/vtt",
    "srt": "application/x-subrip",
    "json": "application/json",
    "html": "text/html",
}
_SAME: Final = {
    "audio/mp3": "audio/mpeg",
    "audio/x-mp3": "audio/mpeg",
    "audio/mpeg3": "audio/mpeg",
    "audio/x-m4a": "audio/mp4",
    "audio/m4a": "audio/mp4",
    "audio/wave": "audio/wav",
    "audio/x-wav": "audio/wav",
    "audio/x-flac": "audio/flac",
    "audio/aacp": "audio/aac",
    "application/ogg": "audio/ogg",
    "application/x-matroska": "video/x-matroska",
    "image/jpg": "image/jpeg",
}
_FIRST_ENDING: Final = {kind: ending for ending, kind in reversed(_ENDINGS.items())}
_MARKUP: Final = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<!--.{0,1000}?-->\s*)*<(?:!doctype\s+html|html|head|body|\?xml|rss)\b",
    re.IGNORECASE | re.DOTALL,
)
_TEXT: Final = re.compile(rb"[\t\n\r\x20-\x7e\x80-\xff]+")
_BINARY: Final = ("audio/", "video/")  # never all text, whatever word they begin with
_NAME_ENDING: Final = re.compile(r"\.([A-Za-z0-9]{1,5})$")
_SHOW_BYTES: Final = 100
_TITLE_BYTES: Final = 140  # with date, mark and ending far below the 255 of most file systems
_FORBIDDEN: Final = re.compile(r'[<>:"/\\|?*\x00-\x1f\x7f]')
_SPACES: Final = re.compile(r"\s+")
# Names of devices, whatever follows their first dot (Windows).
_DEVICES: Final = re.compile(r"(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?:\.|$)", re.IGNORECASE)
# Control, format (also those that turn the direction of text), surrogate, private and unassigned characters.
_INVISIBLE: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def sniff_type(head: bytes) -> str | None:
    """The media type that the first bytes of a file show; None when they show none.

    Pages and other texts are text/html and text/plain, whatever they call themselves.
    """
    if _MARKUP.match(head):
        return "text/html"
    kind = _magic_type(head)
    if _is_text(head) and (kind is None or kind.startswith(_BINARY)):
        return "text/plain"
    return kind


def usual_type(kind: str | None) -> str | None:
    """The usual name of a media type, without its parameters; None when it is none."""
    name = (kind or "").partition(";")[0].strip().lower()
    return _SAME.get(name, name) or None


def media_type_of_name(url: str) -> str:
    """The media type that the ending of an address suggests; "" when it suggests none."""
    return _ENDINGS.get(_ending_of(url), "")


def ending_for(kind: str | None, url: str) -> str:
    """The ending of the name of a file of this type; "" when nothing suggests one."""
    known = _FIRST_ENDING.get(usual_type(kind) or "")
    if known is not None:
        return known
    ending = _ending_of(url)
    return ending if ending in _ENDINGS else ""


def _magic_type(head: bytes) -> str | None:
    import puremagic  # noqa: PLC0415  # 6 ms that commands without media do not need

    try:
        best = puremagic.magic_string(head)[0]
    except (puremagic.PureError, ValueError):  # unknown, or nothing at all
        return None
    return usual_type(best.mime_type) or _ENDINGS.get(best.extension.strip(".").lower())


def _ending_of(url: str) -> str:
    path = url.partition("?")[0].partition("#")[0]
    found = _NAME_ENDING.search(path.rpartition("/")[2])
    return found[1].lower() if found else ""


def _is_text(head: bytes) -> bool:
    """True when it is all text: printable, and UTF-8 up to a character that is cut at its end."""
    if _TEXT.fullmatch(head) is None:
        return False
    try:
        head.decode()
    except UnicodeDecodeError as problem:
        return problem.start >= len(head) - 3
    return True


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
