"""Two-phase collection: a window of candidates and the candidate file, before anything is stored (001).

Everything that insertion needs is in the file, so that a window can be screened, reviewed and
confirmed on another day and on another machine. `digest` is over all of it: a file that was
changed by hand, cut short or written by another version is refused as a whole.

A program may ask for an insertion; only a person answers. A yes makes one ticket, good once, for a short
time, and only for the very selection that the person was shown.
"""
# Tested in tests/integration/interfaces/cli/commands/two_phase/test_screen_and_models.py

from datetime import datetime
from typing import Literal

from msgspec import UNSET, UnsetType

from feedmill.model.base import Value
from feedmill.model.screening import Topic

SCHEMA = "feedmill-candidates/1"

SourceOutcome = Literal["ok", "failed"]

CandidateReason = Literal[
    "bad-window",  # no window: it cannot be read, or nothing lies in it
    "not-there",  # there is no such file
    "not-json",
    "truncated",  # it begins like a candidate file and breaks off
    "other-schema",
    "malformed",  # JSON of the right schema that lacks what the schema has
    "changed",  # not what was written: its digest, or its bytes, are others
    "too-large",
    "other-file",  # a selection, screening or confirmation that belongs to another file
    "bad-selection",  # no list of candidate ids
    "unknown-id",  # the file has no candidate of that number
    "not-confirmed",  # without a confirmation
    "not-reviewed",  # the whole window at once, neither screened nor reviewed
    "raw-missing",  # the document is neither in the file nor in the raw store
    "no-such-item",  # the document does not hold the candidate, as it is read today
]


QuestionState = Literal[
    "pending",  # not answered yet
    "confirmed",  # a yes; its ticket was not used so far
    "declined",
    "spent",  # its ticket was used, and is worth nothing any more
]

TicketReason = Literal[
    "unknown-ticket",  # never made, or mistyped
    "ticket-spent",
    "ticket-expired",
    "other-selection",  # made for other candidates, or for another window
]


class Window(Value):
    """Half-open: from `start`, up to but without `end`; both in UTC."""

    start: datetime
    end: datetime


class SourceReport(Value):
    """What came of one source; a source that failed costs only itself."""

    url: str
    outcome: SourceOutcome
    feed_id: str | None = None  # of a subscription
    feed_title: str | None = None
    final_url: str | None = None
    fetch_id: str | None = None  # the raw document's, when it was kept
    body_sha256: str | None = None
    http_status: int | None = None
    reason: str = ""
    detail: str = ""
    items: int = 0  # in the document
    in_window: int = 0
    undated: int = 0
    repeats: int = 0  # in the window, and in another of its documents or sources as well
    pages: int = 0  # documents that were read (RFC 5005)
    reaches_back: bool = False  # something in it is older than the window
    note: str = ""  # what a person should know of a source that is ok


class CollectedDocument(Value):
    """One raw document of a source; its exact bytes travel with the file."""

    source: int  # index into `sources`
    url: str  # asked for, without credentials
    final_url: str
    fetched_at: datetime
    body_sha256: str
    content_type: str | None = None
    fetch_id: str = ""  # in the raw store of the engine that collected it
    body: bytes = b""  # compressed with zlib; empty: only the raw store has it


class WindowCandidate(Value):
    """One entry that may be stored once it is confirmed."""

    candidate_id: int  # from 1, in this file
    title: str | None
    published_at: datetime | None
    feed_title: str | None
    url: str | None
    summary: str | None
    categories: tuple[str, ...]
    dedupe_key: str
    source: int  # index into `sources`
    is_undated: bool = False  # no usable date: shown, never silently in or out
    is_known: bool = False  # stored already under the same identity
    slice_offset: int | None = None  # its exact bytes in the raw document
    slice_length: int | None = None
    language: str | None = None
    document: int = 0  # index into `documents`
    also_in: tuple[int, ...] = ()  # other sources that carry it
    is_known_elsewhere: bool = False  # another feed brought the same article


class CandidateFile(Value):
    """A collected window."""

    schema: str
    created_at: datetime
    window: Window
    topics: tuple[str, ...]  # ids of the topic set it was collected for
    prompt: str
    sources: tuple[SourceReport, ...]
    candidates: tuple[WindowCandidate, ...]
    digest: str = ""  # SHA-256 over the file with this field empty
    documents: tuple[CollectedDocument, ...] = ()  # that candidates were found in
    # The chosen topics, whole; a file of before, or one for the bundled topics, has none.
    topic_set: tuple[Topic, ...] | UnsetType = UNSET


class Question(Value):
    """May these candidates be inserted? Who asked, who answered, and what came of it."""

    code: str  # what it is called; no secret
    window_id: str
    file_digest: str
    candidate_ids: tuple[int, ...]  # sorted, each once
    asked_by: str
    asked_at: datetime
    expires_at: datetime  # of the question, while it is pending
    state: QuestionState = "pending"
    answered_by: str | None = None
    answered_at: datetime | None = None
    # where the person saw what would be inserted
    shown: Literal["terminal", "mcp", "page"] | None = None
    ticket_expires_at: datetime | None = None
