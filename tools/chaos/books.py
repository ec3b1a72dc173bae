"""The evidence, read from files and from the database with plain SQL: none of the engine's code."""

import json
import re
from collections.abc import Iterable
from datetime import datetime
from heapq import merge
from pathlib import Path
from typing import Final

import asyncpg
from tests.support.consumer_journal import done_by
from tools.chaos.diary import faults_of
from tools.chaos.judge import Asked, Evidence, Lost, Ran

from feedmill.adapters.store.tables.codec import micros
from feedmill.adapters.store.tables.subscriptions.fetches import decision_of

PRESS: Final = "press.log"
DIARY: Final = "diary.log"
WAITS: Final = "waits.log"
JOURNALS: Final = "journals"
TAP: Final = "tap"
_HOST: Final = re.compile(r"127\.0\.3\.\d+")
_FEED: Final = re.compile(r"/feed/(\d+)$")
_SPARE_US: Final = 5_000_000  # between being due and being taken, on a busy machine
_RUNS: Final = (
    "SELECT feed_no, scheduled_at, fetched_at, http_status, decision FROM fetches"
    " ORDER BY fetched_at"
)
_LATE: Final = "SELECT count(*) FROM lanes WHERE claim_at < $1"


class PressLog:
    """The publisher's log, read as it grows."""

    def __init__(self, folder: Path) -> None:
        self._path, self._read = folder / PRESS, 0
        self.began: dict[int, list[str]] = {}
        self.ended: dict[int, list[str]] = {}

    def follow(self) -> None:
        """Take what was written since the last time."""
        with self._path.open("rb") as file:
            file.seek(self._read)
            data = file.read()
        whole = data[: data.rfind(b"\n") + 1]
        self._read += len(whole)
        for kind, number, *rest in (line.split() for line in whole.decode("ascii").splitlines()):
            (self.began if kind == "B" else self.ended)[int(number)] = rest

    def open_by(self, worker: str) -> int:
        """How many requests of a worker wait for their answer."""
        self.follow()
        late = self.began.keys() - self.ended.keys()
        return sum(self.began[number][4] == worker for number in late)

    def requests(self) -> list[Asked]:
        """All requests; one without an end in the log had none when the publisher ended."""
        self.follow()
        return [
            _asked(number, words, self.ended.get(number)) for number, words in self.began.items()
        ]


async def evidence_of(
    folder: Path, dsn: str, *, readers: Iterable[str], tap: Path | None = None
) -> Evidence:
    """Everything that a trial has left."""
    faults, said = faults_of(folder / DIARY), _said(folder)
    leaving_at = min((one.began_at for one in faults if one.kind == "end"), default=0)
    connection = await asyncpg.connect(dsn, timeout=30)
    try:
        feeds = await connection.fetch("SELECT feed_no, url FROM feeds")
        runs = await connection.fetch(_RUNS)
        due = await connection.fetch("SELECT feed_no, next_run_at FROM feed_sched")
        entries = await connection.fetch("SELECT feed_no, guid, entry_uid FROM entries")
        log = await connection.fetch("SELECT seq, id, type, entry_uid FROM events ORDER BY seq")
        unnumbered = await connection.fetchval("SELECT count(*) FROM outbox")
        late = await connection.fetchval(_LATE, leaving_at - _SPARE_US)
    finally:
        await connection.close()
    numbers = {row[0]: _number(row[1]) for row in feeds}
    return Evidence(
        asked=PressLog(folder).requests(),
        ran=[
            Ran(numbers[row[0]], row[1], row[2], row[3], _next_of(row[2], row[4])) for row in runs
        ],
        due={numbers[row[0]]: row[1] for row in due},
        stored=[(numbers[row[0]], row[1]) for row in entries],
        entry_ids=[row[2] for row in entries],
        log=[(row[0], row[1], row[2], row[3]) for row in log],
        unnumbered=unnumbered,
        read=_read_by(folder, readers, tap),
        faults=faults,
        lost=[found for who, line in said if (found := _lost(who, line)) is not None],
        waits=_waits(folder / WAITS),
        refused=sum(_says(line, b"fenced") for _, line in said),
        surprises=sum(b'"event": "unexpected error"' in line for _, line in said),
        late=late,
    )


def _said(folder: Path) -> list[tuple[str, bytes]]:
    """Every line of every worker's log, with the worker's name."""
    logs = sorted(folder.glob("worker*.log"))
    return [(path.stem, line) for path in logs for line in path.read_bytes().splitlines()]


def _waits(path: Path) -> dict[str, list[tuple[int, float]]]:
    """By worker, how long it had waited for a processor at each look."""
    looks: dict[str, list[tuple[int, float]]] = {}
    for who, at, waited in (line.split() for line in path.read_text("ascii").splitlines()):
        looks.setdefault(who, []).append((int(at), float(waited)))
    return looks


def _read_by(
    folder: Path, readers: Iterable[str], tap: Path | None
) -> dict[str, list[tuple[int, str]]]:
    read = {name: done_by(folder / JOURNALS, name) for name in readers}
    if tap is not None:  # a file for each day; merging keeps the order of a file, right or wrong
        read[TAP] = list(merge(*map(_lines_of, sorted(tap.glob("*.ndjson")))))
    return read


def _asked(number: int, began: list[str], ended: list[str] | None) -> Asked:
    since, since_at, host, feed, worker = began
    until, until_at, status, pause, items, how = ended or (since, since_at, "0", "0", "0", "cut")
    return Asked(
        number=number,
        host=host,
        feed=int(feed),
        worker=worker,
        began=int(since) / 1e9,
        began_at=int(since_at),
        ended=int(until) / 1e9,
        ended_at=int(until_at),
        status=int(status) if how == "sent" else 0,
        pause_sec=int(pause),
        items=int(items),
    )


def _number(url: str) -> int:
    match = _FEED.search(url)
    return int(match[1]) if match else -1


def _next_of(fetched_at: int, decision: str | None) -> int | None:
    return None if decision is None else micros(decision_of("", fetched_at, decision).next_poll_at)


def _lost(worker: str, line: bytes) -> Lost | None:
    """The lease that a worker says that it lost, or by which a commit of it was refused."""
    if b'"lease lost"' not in line and not _says(line, b"fenced"):
        return None
    told = json.loads(line)
    host = told.get("lane") or told["url"]
    at = datetime.fromisoformat(told["timestamp"])
    feed = _number(told["url"]) if "url" in told else None
    return Lost(_HOST.findall(host)[0], int(at.timestamp() * 1_000_000), worker, feed)


def _says(line: bytes, name: bytes) -> bool:
    return b'"%s":true' % name in line or b'"%s": true' % name in line


def _lines_of(path: Path) -> list[tuple[int, str]]:
    told = [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]]
    return [(event["seq"], event["id"]) for event in told]
