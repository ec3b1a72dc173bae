"""Tables `standing_screens`, `held_entries`, `collected_documents` and `confirmations`: what is not an entry yet (001).

`confirmations` has questions to a person, and the hashes of the tickets that a yes makes.
"""
# Tested in tests/contracts/store/

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from feedmill.adapters.store import statements as sql
from feedmill.adapters.store.statements import Query, page_of
from feedmill.adapters.store.tables.codec import Row, RowCodec, blob_row, json_column, json_text
from feedmill.adapters.store.tables.running.blobs import INSERT as INSERT_BLOB
from feedmill.model.candidate import CollectedDocument, Question
from feedmill.model.feed import BlobRef
from feedmill.model.page import Page
from feedmill.model.screening import HeldEntry, LiveScreen, LiveScreenState, Screening, TopicSet

_COLLECTED: Final = RowCodec(
    CollectedDocument,
    "fetch_id url final_url fetched_at body_sha256 content_type",
    table="collected_documents",
)
_SCREEN: Final = RowCodec(
    LiveScreen,
    "id created_at feed_id tag keep_at method topics",
    table="standing_screens",
    topics=json_column(TopicSet),
)
_ENTRY: Final = RowCodec(
    HeldEntry,
    "feed_id entry_uid dedupe_key content_hash held_at fetch_id body_sha256 slice_offset"
    " title screening",
    table="held_entries",
    screening=json_column(Screening),
)
_OF_ENTRY: Final = _ENTRY.columns[1:]
# Another version of a held entry takes its place; one that was dropped stays dropped.
_HOLD: Final = f"""
{sql.insert_into("held_entries", ("feed_no", *_OF_ENTRY))}
    ON CONFLICT (feed_no, entry_uid) DO UPDATE SET
       {sql.excluded([one for one in _OF_ENTRY if one not in ("entry_uid", "held_at", "screening")])},
       screening = coalesce(excluded.screening, held_entries.screening)"""
_HELD: Final = f"""
SELECT h.held_no, f.id, {", ".join(f"h.{name}" for name in _OF_ENTRY)}
  FROM held_entries h JOIN feeds f ON f.feed_no = h.feed_no
 WHERE h.dropped = 0 AND h.held_no > $1 AND (CAST($2 AS text) IS NULL OR f.id = $2)
 ORDER BY h.held_no LIMIT $3"""
# One statement, so that screens and held entries are of one snapshot.
LIVE_SCREEN_STATE: Final = f"""
SELECT {_SCREEN.names()}, NULL AS entry_uid, NULL AS content_hash FROM standing_screens
 UNION ALL
SELECT NULL, 0, NULL, NULL, NULL, NULL, NULL, entry_uid, content_hash FROM held_entries
 WHERE feed_no = (SELECT feed_no FROM feeds WHERE id = $1)"""
_LAST: Final = 2**63 - 1

_QUESTION: Final = RowCodec(
    Question,
    "code window_id file_digest candidate_ids asked_by asked_at expires_at state"
    " answered_by answered_at shown ticket_expires_at",
    table="confirmations",
    candidate_ids=json_column(tuple[int, ...]),
)
_QUESTIONS: Final = f"SELECT {_QUESTION.names()} FROM confirmations"


def save_collected(document: CollectedDocument, blob: BlobRef) -> Query[None]:
    """Index a document that a window was collected from."""
    yield from sql.write(INSERT_BLOB, *blob_row(blob))
    yield from sql.write(
        sql.insert_into("collected_documents", _COLLECTED.columns), *_COLLECTED.row(document)
    )


def add_screen(screen: LiveScreen) -> Query[None]:
    """Store a live screen."""
    kept = yield from sql.storable(screen)
    yield from sql.write(sql.insert_into("standing_screens", _SCREEN.columns), *_SCREEN.row(kept))


def screens() -> Query[tuple[LiveScreen, ...]]:
    """Every live screen, the oldest first."""
    return sql.each_of(
        _SCREEN.value, f"SELECT {_SCREEN.names()} FROM standing_screens ORDER BY created_at, id"
    )


def remove_screen(screen_id: str) -> Query[bool]:
    """Delete a live screen; what it holds stays held."""
    return (yield from sql.write("DELETE FROM standing_screens WHERE id = $1", screen_id)) == 1


def hold(feed_no: int, entries: Sequence[HeldEntry]) -> Query[None]:
    """Hold entries for review."""
    kept = yield from sql.storable(tuple(entries))
    yield from sql.write_many(_HOLD, [(feed_no, *_ENTRY.row(one, *_OF_ENTRY)) for one in kept])


def release(feed_no: int, entry_uids: Sequence[str]) -> Query[None]:
    """Hold entries no longer: they are stored."""
    yield from sql.write(
        "DELETE FROM held_entries WHERE feed_no = $1 AND entry_uid @in($2)",
        feed_no,
        list(entry_uids),
    )


def held(
    *, feed_id: str | None = None, after: str | None = None, limit: int = 100
) -> Query[Page[HeldEntry]]:
    """Entries that wait for a decision, the oldest first."""
    since = min(int(after), _LAST) if after is not None and after.isdecimal() else 0
    found = yield from sql.rows(_HELD, since, feed_id, limit + 1)
    return page_of(found, limit, lambda one: _ENTRY.value(one[1:]), lambda one: f"{one[0]}")


def live_screen_state(feed_id: str) -> Query[LiveScreenState]:
    """Every screen, and what was ever held of a feed and not stored since."""
    return live_screen_state_of((yield from sql.rows(LIVE_SCREEN_STATE, feed_id)))


def live_screen_state_of(found: Sequence[Row]) -> LiveScreenState:
    """The state out of the rows of `LIVE_SCREEN_STATE`."""
    screened = [_SCREEN.value(one[:7]) for one in found if one[7] is None]
    return LiveScreenState(
        screens=tuple(sorted(screened, key=lambda screen: (screen.created_at, screen.id))),
        held={one[7]: one[8] for one in found if one[7] is not None},
    )


def reject_held(entry_uids: Sequence[str]) -> Query[int]:
    """Reject held entries; how many of them were waiting."""
    numbers = yield from sql.column(
        "SELECT held_no FROM held_entries"
        " WHERE entry_uid @in($1) AND dropped = 0 ORDER BY held_no @lock(FOR UPDATE)",
        list(entry_uids),
    )
    return (
        yield from sql.write("UPDATE held_entries SET dropped = 1 WHERE held_no @in($1)", numbers)
    )


def ask_question(question: Question) -> Query[Question]:
    """The question that is open for this selection already, or else this one, stored.

    Two processes that ask the same at one moment take turns, so that a person is asked once.
    """
    ids = json_text(question.candidate_ids)
    yield from sql.lock(
        "SELECT pg_advisory_xact_lock(hashtextextended('question/' || $1 || $2, 0))",
        question.file_digest,
        ids,
    )
    found = yield from sql.row(
        f"{_QUESTIONS} WHERE file_digest = $1 AND state = 'pending' AND candidate_ids = $2"
        " AND expires_at > $3",
        question.file_digest,
        ids,
        question.asked_at,
    )
    if found is not None:
        return _QUESTION.value(found)
    kept = yield from sql.storable(question)
    yield from sql.write(sql.insert_into("confirmations", _QUESTION.columns), *_QUESTION.row(kept))
    return question


def questions(now: datetime) -> Query[tuple[Question, ...]]:
    """Open questions, the oldest first."""
    return sql.each_of(
        _QUESTION.value,
        f"{_QUESTIONS} WHERE state = 'pending' AND expires_at > $1 ORDER BY asked_at, code",
        now,
    )


def question(code: str) -> Query[Question | None]:
    """The question of that code, whatever its state."""
    return sql.one_of(_QUESTION.value, f"{_QUESTIONS} WHERE code = $1", code)


def answer_question(answered: Question, *, ticket_sha256: str | None = None) -> Query[bool]:
    """Store the answer to a question that is still open; False when it is not."""
    assert answered.answered_at is not None
    return sql.write_one(
        "UPDATE confirmations SET state = $1, answered_by = $2, answered_at = $3, shown = $4,"
        " ticket_sha256 = $5, ticket_expires_at = $6"
        " WHERE code = $7 AND state = 'pending' AND expires_at > $3",
        answered.state,
        answered.answered_by,
        answered.answered_at,
        answered.shown,
        ticket_sha256,
        answered.ticket_expires_at,
        answered.code,
    )


def ticket(sha256: str) -> Query[Question | None]:
    """The question whose yes made the ticket of this hash."""
    return sql.one_of(_QUESTION.value, f"{_QUESTIONS} WHERE ticket_sha256 = $1", sha256)


def spend_ticket(sha256: str, now: datetime) -> Query[bool]:
    """Use a ticket; False when it was used before or has expired.

    One statement: of two at one moment the second waits for the row and finds it spent.
    """
    return sql.write_one(
        "UPDATE confirmations SET state = 'spent'"
        " WHERE ticket_sha256 = $1 AND state = 'confirmed' AND ticket_expires_at > $2",
        sha256,
        now,
    )
