"""Worker processes with their lanes and readiness; segments of the raw store with their faults; transfers of stores."""
# Tested in tests/contracts/store/test_workers.py
# Tested in tests/integration/adapters/store/transfer/test_copy_compare.py

from datetime import UTC, datetime, timedelta
from typing import Any, Final, Literal

from feedmill.model.base import Value

WorkerRole = Literal["run", "worker", "api", "relay"]
POLLING_ROLES: Final[tuple[WorkerRole, ...]] = ("run", "worker")  # that hold lanes
Fate = Literal[
    "open",  # a process still appends to it
    "kept",
    "rewrite",  # worth re-encoding: never packed yet, or mostly bodies that were forgotten
    "condemned",  # nothing points into it; it goes when that still holds after the grace period
    "dropped",
]

BlobFault = Literal[
    "missing",  # the index points into a segment that is not there
    "damaged",  # bytes that are not what was written, or not what the index says
    "unreadable",  # the disk refuses to give them
    "orphan",  # intact, but the index does not know it: a crash before the commit, or forgotten
    "foreign",  # something in the raw store that is not ours
]


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MS_DIGITS: Final = 12  # of a UUIDv7, without the hyphen: milliseconds since 1970
DifferenceKind = Literal["missing", "extra", "changed"]  # of a row in the new store


class Worker(Value):
    """A running process; for display and lane affinity only, nothing relies on it being true."""

    name: str  # as lanes name their owner
    role: WorkerRole
    version: str
    started_at: datetime
    seen_at: datetime  # its last sign of life
    draining: bool = False


class HeldLane(Value):
    """A lane that a worker has leased."""

    key: str
    until: datetime  # when the lease ends
    epoch: int
    feeds: int  # that belong to it


class WorkerView(Value):
    """A worker with its lanes; `worker` is None when the holder of the lanes is not registered."""

    name: str
    worker: Worker | None
    lanes: tuple[HeldLane, ...] = ()


UnreadyReason = Literal["starting", "draining", "stalled", "too-slow"]


class Unready(Value):
    """One reason why a process is not ready: an UnreadyReason, or the reason of a failing store, disk or bus."""

    reason: str
    part: str  # store, raw, polls, webhooks, bus, or what the run calls the part that waits
    detail: str = ""


class Readiness(Value):
    """The answer of /readyz."""

    ready: bool
    role: WorkerRole
    name: str  # of the process, as lanes name their owner
    reasons: tuple[Unready, ...] = ()


class Segment(Value):
    """One run of bodies; immutable once it is sealed."""

    name: str
    size_bytes: int
    sealed: bool
    packed: bool  # re-encoded with prefixes, self-contained
    condemned_at: datetime | None = None

    @property
    def created_at(self) -> datetime | None:
        """The instant in its name, a UUID of version 7; None when there is none."""
        return created_at(self.name)


def created_at(segment: str) -> datetime | None:
    """The instant in the name of a segment, a UUID of version 7; None when there is none."""
    digits = segment.replace("-", "")[:_MS_DIGITS]
    try:
        made = _EPOCH + timedelta(milliseconds=int(digits, 16))
    except (ValueError, OverflowError):
        return None
    return made if len(digits) == _MS_DIGITS else None


class StoreIdentity(Value):
    """Which store this is; the raw store that it indexes carries the same id (D36)."""

    id: str
    raw_place: str | None  # the raw store that is known to carry it


class RawNote(Value):
    """What the raw store remembers about the fetch that brought a body: an encoded FetchNote."""

    sha256: str
    note: bytes


class CheckedRows(Value):
    """What is wrong with some rows of a table, one sentence each."""

    rows: int = 0
    problems: tuple[str, ...] = ()
    last_key: tuple[Any, ...] | None = None  # of the last of them; None: the table ends with them


class PurgeCuts(Value):
    """Instants before which each kind of row may go (D13)."""

    entries: datetime  # last seen
    fetches: datetime
    events: datetime  # that every reader with a cursor has read
    unread_events: datetime  # a cursor that is further behind does not hold the log any more
    revisions: datetime | None = None  # replaced; None: they stay
    identities: datetime | None = None  # of deleted entries, last seen; None: they stay


class RawOwner(Value):
    """Whose raw store this is, as the store that was opened sees it."""

    is_ours: bool
    place: str
    store_id: str
    owner: str | None = None  # the store that the raw store names; None: it names none
    segments: int = 0  # when it is not ours
    indexed: int = 0  # of them, how many this store's index knows


class BlobProblem(Value):
    """One thing that does not hold between the index and the bytes."""

    fault: BlobFault
    segment: str
    detail: str  # for a person
    offset: int | None = None
    sha256: str | None = None


class CopiedTable(Value):
    """Rows of one kind: how many there are, and how many of them came over this time."""

    name: str
    rows: int
    copied: int = 0
    # twins of another row, once their characters were replaced; ever since it began
    folded: int = 0
    replaced: int = 0  # characters that became U+FFFD, ever since it began


class RowDifference(Value):
    """The first row of a kind that is not the same in both stores."""

    kind: DifferenceKind
    key: str  # JSON
    columns: tuple[str, ...] = ()  # those that differ, when the row is changed


class ComparedTable(Value):
    """Rows of one kind in two stores: their numbers, and a SHA-256 over all of them in one order."""

    name: str
    rows_from: int
    rows_to: int
    digest_from: str
    digest_to: str
    folded: int = 0  # rows of the old store that another row of the new one speaks for
    differing: int = 0
    first: RowDifference | None = None

    @property
    def is_same(self) -> bool:
        """True when no row differs."""
        return self.differing == 0


class Transfer(Value):
    """A move from one store to another, as far as it has come."""

    source: str
    target: str
    tables: tuple[CopiedTable, ...]
    compared: tuple[ComparedTable, ...] = ()
    migrations: tuple[str, ...] = ()  # of the new store: applied now, or to be applied
    resumed: bool = False
    ended: bool = False  # everything is over there, and was compared

    @property
    def is_same(self) -> bool:
        """True when no row differs in what was compared."""
        return all(table.is_same for table in self.compared)
