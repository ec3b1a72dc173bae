"""Candidate file format: a collected window as JSON with a checksum; any changed byte is refused (001).

The digest protects against accidents; it is no signature: a user who may write the file may also
collect. Screenings, selections and confirmations are beside it, see sidecar_files.py.
"""

import zlib
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, NoReturn, TypeVar

import msgspec
from msgspec.structs import replace

from feedmill.engine.run.atomic_file import write_file
from feedmill.errors import CandidateError
from feedmill.model.base import Value
from feedmill.model.candidate import SCHEMA, CandidateFile, CandidateReason, WindowCandidate
from feedmill.model.screening import Screening

MAX_FILE_BYTES: Final = 512 * 1024 * 1024
T = TypeVar("T")

_AGAIN: Final = "collect the window again: feedmill collect-window"
_SUMMARY: Final = 280  # characters of a compact candidate


class _Named(msgspec.Struct):
    schema: Any = None


def with_checksum(file: CandidateFile) -> CandidateFile:
    """The file with its digest."""
    blank = replace(file, schema=SCHEMA, digest="")
    return replace(blank, digest=sha256(encode_canonical(blank)).hexdigest())


def decode_candidates(data: bytes, name: str = "the file") -> CandidateFile:
    """The window in these bytes; CandidateError when they are not exactly what was written."""
    if len(data) > MAX_FILE_BYTES:
        raise_candidate_error(
            "too-large", f"{name} has {len(data):,} bytes; {MAX_FILE_BYTES:,} is the most"
        )
    file = decode_with_schema(data, name, SCHEMA, CandidateFile)
    if with_checksum(file).digest != file.digest or encode_canonical(file) != data:
        raise_candidate_error("changed", f"{name} was changed after it was collected", _AGAIN)
    return file


def write_candidates(path: Path, file: CandidateFile) -> None:
    """Write the file whole or not at all."""
    write_file(path, encode_canonical(file))


def read_candidates(path: Path) -> CandidateFile:
    """The window that was written there; CandidateError with its reason when it is refused."""
    return decode_candidates(read_file_limited(path, MAX_FILE_BYTES), str(path))


def pack_body(body: bytes) -> bytes:
    """A raw document as it travels in the file."""
    return zlib.compress(body, 6)


def unpack_body(packed: bytes, body_sha256: str, max_bytes: int) -> bytes:
    """The exact bytes again, bounded and checked against their hash."""
    unpacker = zlib.decompressobj()
    try:
        body = unpacker.decompress(packed, max_bytes)
    except zlib.error:
        body = b""
    if sha256(body).hexdigest() != body_sha256:
        message = f"the document {body_sha256[:12]}… in the file is not the one that was fetched"
        raise_candidate_error("changed", message, _AGAIN)
    return body


def select_candidates(file: CandidateFile, ids: Iterable[int]) -> tuple[WindowCandidate, ...]:
    """The candidates of these ids in the file's order; CandidateError when one is unknown."""
    wanted = frozenset(ids)
    unknown = sorted(wanted.difference(one.candidate_id for one in file.candidates))
    if unknown:
        some = ", ".join(map(str, unknown[:20])) + (", …" if len(unknown) > 20 else "")
        message = f"the file has no candidate {some}; nothing was written"
        raise_candidate_error("unknown-id", message, "`feedmill review` shows the ids there are")
    return tuple(one for one in file.candidates if one.candidate_id in wanted)


def summarise_candidate(
    candidate: WindowCandidate, screening: Screening | None = None
) -> dict[str, Any]:
    """What is needed to decide on one candidate; 001's five names always, the rest if any."""
    summary = candidate.summary or ""
    shape: dict[str, Any] = {
        "candidate_id": candidate.candidate_id,
        "title": candidate.title,
        "published_at": candidate.published_at,
        "feed_title": candidate.feed_title,
        "url": candidate.url,
    }
    more: dict[str, Any] = {
        "summary": summary if len(summary) <= _SUMMARY else summary[: _SUMMARY - 1] + "…",
        "categories": candidate.categories,
        "is_undated": candidate.is_undated,
        "is_known": candidate.is_known,
        "is_known_elsewhere": candidate.is_known_elsewhere,
    }
    if screening is not None:
        more |= {
            "suggestion": screening.suggestion,
            "topic": screening.topic,
            "score": round(screening.score, 3),
            "reason": screening.reason,
        }
    return shape | {name: value for name, value in more.items() if value}


def _named_schema(data: bytes) -> object:
    try:
        return msgspec.json.decode(data, type=_Named).schema
    except msgspec.ValidationError:
        msgspec.json.decode(data)  # what only begins like JSON is told to be none
        raise


def raise_candidate_error(reason: CandidateReason, message: str, hint: str = "") -> NoReturn:
    """Raise the error for a window or a selection that is refused."""
    raise CandidateError(message, reason=reason, hint=hint) from None


def encode_canonical(value: Value) -> bytes:
    """A value as its one canonical encoding."""
    return msgspec.json.format(msgspec.json.encode(value), indent=1) + b"\n"


def decode_with_schema(data: bytes, name: str, schema: str, kind: type[T]) -> T:
    """A value of one schema; what else the bytes may be is said by the reason."""
    try:
        named = _named_schema(data)
    except msgspec.ValidationError:
        raise_candidate_error("malformed", f"{name} is JSON, but not {schema}")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        is_cut = "truncated" in str(problem) and data.lstrip()[:1] == b"{"
        if is_cut:
            raise_candidate_error(
                "truncated", f"{name} is incomplete: it was not written to its end", _AGAIN
            )
        raise_candidate_error("not-json", f"{name} is not JSON ({problem})")
    if named != schema:
        shown = repr(named)[:80] if named is not None else "no schema at all"
        message = f"{name} has {shown}; this version of feedmill reads {schema!r}"
        raise_candidate_error("other-schema", message, _AGAIN)
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise_candidate_error("malformed", f"{name} is not valid {schema}: {problem}", _AGAIN)


def read_file_limited(path: Path, max_bytes: int) -> bytes:
    """What a file holds, within a limit."""
    try:
        with path.open("rb") as source:
            data = source.read(max_bytes + 1)
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        raise_candidate_error("not-there", f"the file {path} does not exist")
    if len(data) > max_bytes:
        raise_candidate_error("too-large", f"{path} has more than {max_bytes:,} bytes")
    return data
