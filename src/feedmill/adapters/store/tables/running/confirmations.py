"""Table `confirmations`: questions to a person, and the hashes of the tickets that a yes makes."""
# Tested in tests/contracts/store/

from datetime import datetime
from typing import Final

from feedmill.adapters.store import statements as sql
from feedmill.adapters.store.statements import Query
from feedmill.adapters.store.tables.codec import RowCodec, json_column, json_text
from feedmill.model.candidate import Question

_QUESTION: Final = RowCodec(
    Question,
    "code window_id file_digest candidate_ids asked_by asked_at expires_at state"
    " answered_by answered_at shown ticket_expires_at",
    table="confirmations",
    candidate_ids=json_column(tuple[int, ...]),
)
_COLUMNS: Final = _QUESTION.names()


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
        f"SELECT {_COLUMNS} FROM confirmations"
        " WHERE file_digest = $1 AND state = 'pending' AND candidate_ids = $2 AND expires_at > $3",
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
        f"SELECT {_COLUMNS} FROM confirmations"
        " WHERE state = 'pending' AND expires_at > $1 ORDER BY asked_at, code",
        now,
    )


def question(code: str) -> Query[Question | None]:
    """The question of that code, whatever its state."""
    return sql.one_of(
        _QUESTION.value, f"SELECT {_COLUMNS} FROM confirmations WHERE code = $1", code
    )


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
    return sql.one_of(
        _QUESTION.value, f"SELECT {_COLUMNS} FROM confirmations WHERE ticket_sha256 = $1", sha256
    )


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
