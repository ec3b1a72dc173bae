"""Collected windows on disk: the library in the home folder, and the files beside a candidate file (001).

    candidates.json                  the window itself, see candidates.py
    candidates.screening.json        suggestions for its candidates, the newest for each
    candidates.selected.txt          ids that were selected
    candidates.confirmations.jsonl   who confirmed what, when, and where it was shown

Each names the digest of the window that it belongs to.

An agent is given the id of a window and never a path: it cannot make feedmill read or write any
other file. The id is the beginning of the digest over the whole file, so it names this content and
no other.
"""

import asyncio
import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final, Literal, NamedTuple

import msgspec

from feedmill.config import Config
from feedmill.engine.run.atomic_file import write_file
from feedmill.engine.two_phase.candidates import (
    decode_with_schema,
    encode_canonical,
    raise_candidate_error,
    read_candidates,
    read_file_limited,
    select_candidates,
    write_candidates,
)
from feedmill.errors import NotFoundError
from feedmill.model.base import Value
from feedmill.model.candidate import CandidateFile
from feedmill.model.screening import Confirmation, Screening, Topic

SCREENING_SCHEMA: Final = "feedmill-screening/1"
SELECTION_SCHEMA: Final = "feedmill-selection/1"
MAX_RECORD_BYTES: Final = 64 * 1024 * 1024

_MOST_IDS: Final = 1_000_001  # of one selection
_ID: Final = re.compile(r"[0-9]{1,12}")

SelectionShownIn = Literal["terminal", "page", "command-line", "mcp", "unreviewed"]
_SHOWN: Final[dict[str, SelectionShownIn]] = {"terminal": "terminal", "page": "page"}
WINDOWS_FOLDER: Final = "windows"

_ID_CHARS: Final = 16
_WINDOW_ID: Final = re.compile(r"[0-9a-f]{16}")


class Selection(Value):
    """Selected ids, and where the candidates were shown."""

    ids: tuple[int, ...]
    shown: SelectionShownIn


class Screenings(Value):
    """Suggestions for the candidates of one file."""

    schema: str
    file_digest: str
    screened_at: datetime
    screenings: tuple[Screening, ...]
    # by id; topics may be given to `screen` alone
    topic_names: dict[str, str] = msgspec.field(default_factory=dict)


def screening_path(path: Path) -> Path:
    """The path of the suggestions for a candidate file."""
    return path.with_name(f"{path.stem}.screening.json")


def selection_path(path: Path) -> Path:
    """The path of the ids that were selected in a terminal review."""
    return path.with_name(f"{path.stem}.selected.txt")


def confirmations_path(path: Path) -> Path:
    """The path of the record of confirmations."""
    return path.with_name(f"{path.stem}.confirmations.jsonl")


def write_screenings(
    path: Path,
    file: CandidateFile,
    screenings: Sequence[Screening],
    *,
    at: datetime,
    topics: Sequence[Topic] = (),
) -> Path:
    """Keep suggestions beside the candidate file at `path`; the newest on each candidate holds."""
    select_candidates(file, (one.candidate_id for one in screenings))
    before = _read_record(path, file)
    merged = {one.candidate_id: one for one in (*before.screenings, *screenings)}
    record = Screenings(
        schema=SCREENING_SCHEMA,
        file_digest=file.digest,
        screened_at=at,
        screenings=tuple(merged[number] for number in sorted(merged)),
        topic_names=before.topic_names | {one.id: one.name for one in topics},
    )
    beside = screening_path(path)
    write_file(beside, encode_canonical(record))
    return beside


def read_screenings(path: Path, file: CandidateFile) -> tuple[Screening, ...]:
    """The suggestions beside the candidate file at `path`; none when it was not screened yet."""
    return _read_record(path, file).screenings


def read_topic_names(path: Path, file: CandidateFile) -> dict[str, str]:
    """The names of topics by id, as they were when the candidate file at `path` was screened."""
    return _read_record(path, file).topic_names


def _read_record(path: Path, file: CandidateFile) -> Screenings:
    beside = screening_path(path)
    if not beside.exists():
        return Screenings(
            schema=SCREENING_SCHEMA,
            file_digest=file.digest,
            screened_at=file.created_at,
            screenings=(),
        )
    record = decode_with_schema(
        read_file_limited(beside, MAX_RECORD_BYTES * 8), str(beside), SCREENING_SCHEMA, Screenings
    )
    if record.file_digest != file.digest:
        message = f"{beside} belongs to another window than {path}"
        raise_candidate_error("other-file", message, f"screen it again: feedmill screen {path}")
    return record


def encode_selection(file: CandidateFile, ids: Iterable[int], shown: SelectionShownIn) -> bytes:
    """Ids as a file that `insert-selected` takes, bound to the window they were chosen from."""
    head = [f"# {SELECTION_SCHEMA}", f"# file {file.digest}", f"# shown {shown}"]
    lines = [*head, *map(str, sorted(set(ids)))]
    return ("\n".join(lines) + "\n").encode()


def read_selection(path: Path, file: CandidateFile) -> Selection:
    """The ids in a file: one a line or separated by commas, ranges too, or a JSON list."""
    data = read_file_limited(path, MAX_RECORD_BYTES)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise_candidate_error("bad-selection", f"{path} is not a list of candidate ids")
    notes = [line.lstrip("# ").split() for line in text.splitlines() if line.startswith("#")]
    said = {note[0]: note[1] for note in notes if len(note) == 2}
    if said.get("file", file.digest) != file.digest:
        message = f"{path} was selected from another window; nothing was written"
        raise_candidate_error("other-file", message, "select again: feedmill review")
    plain = "\n".join(line.partition("#")[0] for line in text.splitlines())
    ids = parse_ids(plain.strip().removeprefix("[").removesuffix("]"), str(path))
    return Selection(ids=ids, shown=_SHOWN.get(said.get("shown", ""), "command-line"))


def parse_ids(text: str, name: str = "the selection") -> tuple[int, ...]:
    """Ids as people write them: 3,7,12 or 3-9 or one a line; each once, in their order."""
    found: dict[int, None] = {}
    spelled = 0
    for word in text.replace(",", " ").split():
        first, dash, last = word.partition("-")
        numbers = (first, last if dash else first)
        if not all(_ID.fullmatch(number) for number in numbers):
            message = f"{name}: {word[:40]!r} is not a candidate id"
            raise_candidate_error("bad-selection", message, "write ids like 3,7,12 or 3-9")
        low, high = (int(number) for number in numbers)
        spelled += high - low + 1
        # Counted before it is spelled out: a few bytes can name the same million again and again.
        if high < low or spelled > _MOST_IDS:
            raise_candidate_error(
                "bad-selection", f"{name}: {word[:40]!r} is not a range of candidate ids"
            )
        found |= dict.fromkeys(range(low, high + 1))
    if not found:
        raise_candidate_error(
            "bad-selection", f"{name} names no candidate", "write ids like 3,7,12"
        )
    return tuple(found)


def record_confirmation(path: Path, confirmation: Confirmation) -> Path:
    """Add a line to the record beside the candidate file at `path`; nothing in it is rewritten."""
    beside = confirmations_path(path)
    with beside.open("ab") as record:
        record.write(msgspec.json.encode(confirmation) + b"\n")
    return beside


def was_reviewed(path: Path, file: CandidateFile) -> bool:
    """Whether every candidate was screened, or the window was reviewed on a terminal or a page (001)."""
    screened = {one.candidate_id for one in read_screenings(path, file)}
    reviewed = any(
        one.file_digest == file.digest and one.shown in ("terminal", "page")
        for one in read_confirmations(path)
    )
    return reviewed or screened.issuperset(one.candidate_id for one in file.candidates)


def first_result(path: Path, question: str) -> Confirmation | None:
    """The record of the insertion that a question's ticket was spent on; None before its end."""
    found = (one for one in read_confirmations(path) if one.question == question)
    return next((one for one in found if one.result is not None), None)


def read_confirmations(path: Path) -> tuple[Confirmation, ...]:
    """Every confirmation of the candidate file at `path`, the oldest first."""
    beside = confirmations_path(path)
    if not beside.exists():
        return ()
    lines = read_file_limited(beside, MAX_RECORD_BYTES).splitlines()
    try:
        return tuple(msgspec.json.decode(line, type=Confirmation) for line in lines if line)
    except msgspec.DecodeError as problem:
        raise_candidate_error("malformed", f"{beside} is not a record of confirmations: {problem}")


class SavedWindow(NamedTuple):
    """A window in the library."""

    id: str
    path: Path
    file: CandidateFile


class WindowLibrary:
    """Windows by their ids; the last ones that were read are cached."""

    def __init__(self, config: Config) -> None:
        self._folder = Path(config.store.home) / WINDOWS_FOLDER
        self._keep = max(1, config.mcp.windows_keep)
        self._cached: dict[str, tuple[tuple[int, int], CandidateFile]] = {}

    async def save(self, file: CandidateFile) -> SavedWindow:
        """Save a window; the oldest ones are deleted when there are too many."""
        window_id = file.digest[:_ID_CHARS]
        path = self._path(window_id)
        await asyncio.to_thread(self._write, path, file)
        return SavedWindow(window_id, path, file)

    async def window(self, window_id: str, *, checked: bool = False) -> SavedWindow:
        """The window of that id; NotFoundError without one, CandidateError when it was changed.

        `checked` reads and proves the whole file again, bypassing the cache: before an insertion.
        """
        name = window_id.strip().lower()
        if _WINDOW_ID.fullmatch(name) is None:
            raise _unknown(window_id)
        if checked:
            self._cached.pop(name, None)
        path = self._path(name)
        return SavedWindow(name, path, await asyncio.to_thread(self._read, name, path))

    async def ids(self) -> tuple[str, ...]:
        """Every window there is, the newest first."""
        paths = await asyncio.to_thread(self._newest_first)
        return tuple(path.stem for path in paths)

    def _path(self, window_id: str) -> Path:
        return self._folder / f"{window_id}.json"

    def _write(self, path: Path, file: CandidateFile) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        write_candidates(path, file)
        for old in self._newest_first()[self._keep :]:
            for gone in (old, screening_path(old), selection_path(old), confirmations_path(old)):
                gone.unlink(missing_ok=True)

    def _read(self, window_id: str, path: Path) -> CandidateFile:
        """The file as it is now: the cached one is used while the file is unchanged."""
        try:
            found = path.stat()
        except FileNotFoundError:
            raise _unknown(window_id) from None
        stamp = (found.st_mtime_ns, found.st_size)
        known = self._cached.get(window_id)
        if known is not None and known[0] == stamp:
            return known[1]
        file = read_candidates(path)
        if not file.digest.startswith(window_id):  # a good file under another's name
            raise _unknown(window_id)
        self._cached = {**dict(list(self._cached.items())[-1:]), window_id: (stamp, file)}
        return file

    def _newest_first(self) -> list[Path]:
        found = [path for path in self._folder.glob("*.json") if _WINDOW_ID.fullmatch(path.stem)]
        return sorted(found, key=lambda path: (path.stat().st_mtime_ns, path.stem), reverse=True)


def _unknown(window_id: str) -> NotFoundError:
    message = f"there is no window {window_id[:40]!r}"
    return NotFoundError(message, "collect_window makes one and returns its id")
