"""What one refresh commits, and what the store answers."""
# Tested in tests/integration/engine/poll/test_lane_worker_host_pause.py

from feedmill.model.base import Value
from feedmill.model.event import NewEvent
from feedmill.model.feed import BlobRef, Feed, FetchRecord, HostPace, Lane, PushEvidence
from feedmill.model.identity import Changes, KnownEntry, Removed
from feedmill.model.running.job import JobStep, NewJob
from feedmill.model.schedule import Decision
from feedmill.model.screening import HeldEntry, LiveScreenState


class Refresh(Value):
    """Everything one refresh decided, to be committed as one: all of it or nothing."""

    lane: Lane | None  # None: outside the schedule (ingest-one, insert-selected)
    feed: Feed  # as it is after the refresh
    fetch: FetchRecord
    before: Feed | None = None  # the feed as it was read: what stayed the same need not be written
    decision: Decision | None = None
    blob: BlobRef | None = None
    changes: Changes | None = None  # None: no document was read
    removed: tuple[Removed, ...] = ()
    keep_revisions: int = 0  # of each entry; 0: all
    in_document: bool = False  # the changes are the feed's whole current document (D13)
    events: tuple[NewEvent, ...] = ()
    aliases: tuple[str, ...] = ()
    backfill: bool = False  # a page of the feed's archive: its entries are marked
    entries_only: bool = False  # the feed's own state is left alone: it was not polled
    held: tuple[HeldEntry, ...] = ()  # new entries that wait for a confirmation instead
    arrived: tuple[float, ...] = ()  # when new entries came out, in Unix seconds
    released: tuple[str, ...] = ()  # entry_uids that waited, and are stored with this
    job: JobStep | None = None  # how far the job has come that made this; fenced with it
    jobs: tuple[NewJob, ...] = ()  # queued with this
    push: PushEvidence | None = None  # what it says about the feed's hub
    release: HostPace | None = None  # the pace with which the lane goes back, once all is written


class Committed(Value):
    """What a commit did; `fenced` when the lane was lost and nothing was written."""

    fenced: bool = False
    duplicate: bool = False  # (feed_id, scheduled_at) had been committed before (D26)
    overtaken: frozenset[str] = frozenset()  # entries that another refresh had added meanwhile
    last_seq: int = 0  # 0 also where events get their numbers later (PostgreSQL)


class ExistingEntries(Value):
    """What the store knows about the entries of a document that was just read."""

    known: tuple[KnownEntry, ...] = ()
    articles: frozenset[str] = frozenset()
    screening: LiveScreenState | None = None  # None: it was not asked for


class StoredDocument(Value):
    """What the store has of a document that just came, and of the one before it."""

    blob: BlobRef | None = None  # where the body is kept, if it is
    rows: tuple[KnownEntry, ...] = ()  # of the feed's last document, without their keys
