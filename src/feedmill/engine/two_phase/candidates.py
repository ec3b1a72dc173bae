"""Candidates of a window, and the file that they are kept in (001).

Turns read documents into the candidates of a window (half-open, in UTC, 001): selected by date, deduplicated, numbered.

Within a source one identity is one candidate, whatever number of its documents carry it. Between
sources one address is one candidate; the other sources are noted. The rules are those of identify/.

Candidate file format: a collected window as JSON with a checksum; any changed byte is refused (001).

The digest protects against accidents; it is no signature: a user who may write the file may also
collect. Screenings, selections and confirmations are beside it, see sidecar_files.py.
"""

import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, NoReturn, TypeVar

import msgspec
from msgspec.structs import replace

from feedmill.engine.documents.read_document import (
    ComparedDocument,
    candidate_of,
    publication_date_of,
)
from feedmill.engine.run.atomic_file import write_file
from feedmill.errors import CandidateError
from feedmill.model.base import Value, fields_of
from feedmill.model.candidate import (
    SCHEMA,
    CandidateFile,
    CandidateReason,
    SourceReport,
    Window,
    WindowCandidate,
)
from feedmill.model.identity import Added, Change, Identified, Revised, UnchangedEntry
from feedmill.model.screening import Screening

_HINT: Final = "write a day like 2026-01-05 or an instant like 2026-01-05T08:00Z"
MAX_FILE_BYTES: Final = 512 * 1024 * 1024
T = TypeVar("T")

_AGAIN: Final = "collect the window again: feedmill collect-window"
_SUMMARY: Final = 280  # characters of a compact candidate


def window_between(start: str, end: str | None, *, now: datetime) -> Window:
    """From a day or an instant up to another, or up to now.

    A day begins at midnight UTC, and an end that is a day includes it: it means the next midnight.
    """
    since = _instant(start, "start")
    until = now.astimezone(UTC) if end is None else _instant(end, "end", days=1)
    return _checked(since, until)


def window_of_last(span: timedelta, *, now: datetime) -> Window:
    """The time up to now."""
    until = now.astimezone(UTC)
    try:
        return _checked(until - span, until)
    except OverflowError:
        raise_candidate_error("bad-window", "the window begins before the year 1", _HINT)


def is_within(window: Window, at: datetime) -> bool:
    """Whether an instant lies in the window: its start does, its end does not."""
    return window.start <= at < window.end


def _checked(start: datetime, end: datetime) -> Window:
    if end <= start:
        message = f"the window from {_shown(start)} to {_shown(end)} is empty"
        raise_candidate_error("bad-window", message, "its end has to be after its start")
    return Window(start=start, end=end)


def _instant(text: str, name: str, *, days: int = 0) -> datetime:
    """An instant, or the midnight so many days after the one that a day begins with."""
    words = text.strip()
    try:
        with suppress(ValueError):
            return datetime.combine(date.fromisoformat(words), time(), UTC) + timedelta(days=days)
        found = datetime.fromisoformat(words)
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError):
        raise_candidate_error(
            "bad-window", f"the {name} {words[:40]!r} is neither a day nor an instant", _HINT
        )


def _shown(at: datetime) -> str:
    return at.isoformat().replace("+00:00", "Z")


_EPOCH: Final = datetime(1, 1, 1, tzinfo=UTC)


class CandidateDraft(Value):
    """A candidate without its number, and what it is recognised by in other sources."""

    candidate: WindowCandidate
    link: str | None
    article_hash: str | None


def drafts_of(
    read: ComparedDocument,
    window: Window | None,
    *,
    source: int,
    document: int,
    feed_title: str | None,
) -> tuple[CandidateDraft, ...]:
    """The entries of a document that lie in the window or have no date; repeats are left out."""
    found = (_draft(change, source, document, feed_title) for change in read.changes.changes)
    return tuple(draft for draft in found if draft is not None and _is_wanted(draft, window))


def covers_start(read: ComparedDocument, start: datetime) -> bool:
    """Whether a document goes back to an instant: something in it is older."""
    dates = [publication_date_of(item.entry) for item in identified_items(read)]
    return any(at is not None and at < start for at in dates)


def identified_items(read: ComparedDocument) -> tuple[Identified, ...]:
    """Every item of a document that was read without any being skipped as known."""
    found = (getattr(change, "seen", None) for change in read.changes.changes)
    return tuple(item for item in found if isinstance(item, Identified))


def merge_drafts(drafts: Iterable[CandidateDraft]) -> tuple[WindowCandidate, ...]:
    """Candidates with their numbers: the newest first, the undated last, each address once."""
    kept: list[WindowCandidate] = []
    own: dict[tuple[int, str], int] = {}
    shared: dict[str, int] = {}
    for draft in drafts:
        one = draft.candidate
        names = [name for name in (draft.link, draft.article_hash) if name is not None]
        at = own.get((one.source, one.dedupe_key))
        if at is None:
            at = next((shared[name] for name in names if name in shared), None)
            if at is not None and kept[at].source == one.source:
                at = None  # two entries of one feed about one page stay two (D8)
        if at is None:
            at = len(kept)
            kept.append(one)
        elif one.source != kept[at].source:
            also = tuple(dict.fromkeys((*kept[at].also_in, one.source)))
            kept[at] = replace(kept[at], also_in=also)
        own[one.source, one.dedupe_key] = at
        for name in names:
            shared.setdefault(name, at)
    ordered = sorted(kept, key=_order)
    return tuple(replace(one, candidate_id=number) for number, one in enumerate(ordered, 1))


def with_counts(
    reports: Sequence[SourceReport],
    drafts: Sequence[CandidateDraft],
    candidates: Sequence[WindowCandidate],
) -> tuple[SourceReport, ...]:
    """The reports with what became of each source's entries."""
    dated = Counter(one.candidate.source for one in drafts if not one.candidate.is_undated)
    undated = Counter(one.candidate.source for one in drafts if one.candidate.is_undated)
    kept = Counter(one.source for one in candidates)
    return tuple(
        replace(
            report,
            in_window=dated[at],
            undated=undated[at],
            repeats=dated[at] + undated[at] - kept[at],
        )
        for at, report in enumerate(reports)
    )


def _draft(
    change: Change, source: int, document: int, feed_title: str | None
) -> CandidateDraft | None:
    if not isinstance(change, Added | Revised | UnchangedEntry) or change.seen is None:
        return None
    seen = change.seen
    candidate = candidate_of(change, seen, feed_title=feed_title, source=source, document=document)
    link = None if seen.link_is_shared else seen.link
    return CandidateDraft(
        candidate=candidate, link=link, article_hash=None if link is None else seen.article_hash
    )


def _is_wanted(draft: CandidateDraft, window: Window | None) -> bool:
    at = draft.candidate.published_at
    return window is None or at is None or is_within(window, at)


def _order(one: WindowCandidate) -> tuple[bool, float, int]:
    at = one.published_at or _EPOCH
    return (one.published_at is None, -(at - _EPOCH).total_seconds(), one.source)


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
    shape = fields_of(candidate, "candidate_id title published_at feed_title url")
    more = fields_of(
        candidate,
        "summary categories is_undated is_known is_known_elsewhere",
        summary=summary if len(summary) <= _SUMMARY else summary[: _SUMMARY - 1] + "…",
    )
    if screening is not None:
        score = round(screening.score, 3)
        more |= fields_of(screening, "suggestion topic score reason", score=score)
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
