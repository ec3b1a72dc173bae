"""Table `confirmations`: questions to a person, and the hashes of the tickets that a yes makes."""
# Tested in tests/contracts/store/

# ruff: noqa: S608  # names come from the list below; values are parameters

from datetime import datetime
from typing import Final

from feedmill.adapters.store.statements import Query, lock, row, rows, slots, storable, write
from feedmill.adapters.store.tables.codec import (
    RowCodec,
    json_column,
    json_text,
    micros,
    micros_or_none,
)
from feedmill.model.candidate import Question

_QUESTION: Final = RowCodec(
    Question,
    "code window_id file_digest candidate_ids asked_by asked_at expires_at state"
    " answered_by answered_at shown ticket_expires_at",
    candidate_ids=json_column(tuple[int, ...]),
)
_COLUMNS: Final = _QUESTION.names()


def ask_question(question: Question) -> Query[Question]:
    """The question that is open for this selection already, or else this one, stored.

    Two processes that ask the same at one moment take turns, so that a person is asked once.
    """
    ids = json_text(question.candidate_ids)
    yield from lock(
        "SELECT pg_advisory_xact_lock(hashtextextended('question/' || $1 || $2, 0))",
        question.file_digest,
        ids,
    )
    found = yield from row(
        f"SELECT {_COLUMNS} FROM confirmations"
        " WHERE file_digest = $1 AND state = 'pending' AND candidate_ids = $2 AND expires_at > $3",
        question.file_digest,
        ids,
        micros(question.asked_at),
    )
    if found is not None:
        return _QUESTION.value(found)
    kept = yield from storable(question)
    yield from write(
        f"INSERT INTO confirmations ({_COLUMNS}) VALUES ({slots(12)})", *_QUESTION.row(kept)
    )
    return question


def questions(now: datetime) -> Query[tuple[Question, ...]]:
    """Open questions, the oldest first."""
    found = yield from rows(
        f"SELECT {_COLUMNS} FROM confirmations"
        " WHERE state = 'pending' AND expires_at > $1 ORDER BY asked_at, code",
        micros(now),
    )
    return tuple(_QUESTION.value(one) for one in found)


def question(code: str) -> Query[Question | None]:
    """The question of that code, whatever its state."""
    found = yield from row(f"SELECT {_COLUMNS} FROM confirmations WHERE code = $1", code)
    return None if found is None else _QUESTION.value(found)


def answer_question(answered: Question, *, ticket_sha256: str | None = None) -> Query[bool]:
    """Store the answer to a question that is still open; False when it is not."""
    assert answered.answered_at is not None
    changed = yield from write(
        "UPDATE confirmations SET state = $1, answered_by = $2, answered_at = $3, shown = $4,"
        " ticket_sha256 = $5, ticket_expires_at = $6"
        " WHERE code = $7 AND state = 'pending' AND expires_at > $3",
        answered.state,
        answered.answered_by,
        micros(answered.answered_at),
        answered.shown,
        ticket_sha256,
        micros_or_none(answered.ticket_expires_at),
        answered.code,
    )
    return changed == 1


def ticket(sha256: str) -> Query[Question | None]:
    """The question whose yes made the ticket of this hash."""
    found = yield from row(f"SELECT {_COLUMNS} FROM confirmations WHERE ticket_sha256 = $1", sha256)
    return None if found is None else _QUESTION.value(found)


def spend_ticket(sha256: str, now: datetime) -> Query[bool]:
    """Use a ticket; False when it was used before or has expired.

    One statement: of two at one moment the second waits for the row and finds it spent.
    """
    changed = yield from write(
        "UPDATE confirmations SET state = 'spent'"
        " WHERE ticket_sha256 = $1 AND state = 'confirmed' AND ticket_expires_at > $2",
        sha256,
        micros(now),
    )
    return changed == 1
