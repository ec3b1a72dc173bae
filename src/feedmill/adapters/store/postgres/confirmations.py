"""Questions to a person and the hashes of their tickets, as rows."""

# ruff: noqa: S608  # names come from the lists beside; values are parameters

from datetime import datetime

from feedmill.adapters.store.postgres.pool import Connection
from feedmill.adapters.store.postgres.text_sanitising import cleansed, storable
from feedmill.adapters.store.tables.codec import json_text, micros, micros_or_none
from feedmill.adapters.store.tables.confirmations import QUESTION_COLUMNS, question_of, question_row
from feedmill.model.confirmation import Question


async def ask(connection: Connection, question: Question) -> Question:
    """The question that is open for this selection already, or else this one, kept.

    Two who ask the same at one moment take turns, so that one person is asked once.
    """
    ids = json_text(question.candidate_ids)
    await connection.execute(
        "SELECT pg_advisory_xact_lock(hashtextextended('question/' || $1 || $2, 0))",
        question.file_digest,
        ids,
    )
    found = await connection.fetchrow(
        f"SELECT {QUESTION_COLUMNS} FROM confirmations"
        " WHERE file_digest = $1 AND state = 'pending' AND candidate_ids = $2 AND expires_at > $3",
        question.file_digest,
        ids,
        micros(question.asked_at),
    )
    if found is not None:
        return question_of(tuple(found))
    await connection.execute(
        f"INSERT INTO confirmations ({QUESTION_COLUMNS})"
        " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
        *question_row(cleansed(question)),
    )
    return question


async def questions(connection: Connection, now: datetime) -> tuple[Question, ...]:
    """Those that wait for an answer, the oldest first."""
    rows = await connection.fetch(
        f"SELECT {QUESTION_COLUMNS} FROM confirmations"
        " WHERE state = 'pending' AND expires_at > $1 ORDER BY asked_at, code",
        micros(now),
    )
    return tuple(question_of(tuple(row)) for row in rows)


async def question(connection: Connection, code: str) -> Question | None:
    """One of them, whatever came of it."""
    row = await connection.fetchrow(
        f"SELECT {QUESTION_COLUMNS} FROM confirmations WHERE code = $1", storable(code)
    )
    return None if row is None else question_of(tuple(row))


async def answer(connection: Connection, answered: Question, ticket_sha256: str | None) -> bool:
    """Note the answer to a question that is still open; False when it is not."""
    assert answered.answered_at is not None
    row = (
        answered.state,
        answered.answered_by,
        micros(answered.answered_at),
        answered.shown,
        ticket_sha256,
        micros_or_none(answered.ticket_expires_at),
        answered.code,
    )
    done = await connection.fetchval(
        "UPDATE confirmations SET state = $1, answered_by = $2, answered_at = $3, shown = $4,"
        " ticket_sha256 = $5, ticket_expires_at = $6"
        " WHERE code = $7 AND state = 'pending' AND expires_at > $3 RETURNING 1",
        *cleansed(row),
    )
    return done is not None


async def ticket(connection: Connection, sha256: str) -> Question | None:
    """The question whose yes made the ticket of this hash."""
    row = await connection.fetchrow(
        f"SELECT {QUESTION_COLUMNS} FROM confirmations WHERE ticket_sha256 = $1", sha256
    )
    return None if row is None else question_of(tuple(row))


async def spend(connection: Connection, sha256: str, now: datetime) -> bool:
    """Take a ticket; False when somebody took it before, or when it is too old.

    One statement: of two at one moment the second waits for the row and finds it spent.
    """
    done = await connection.fetchval(
        "UPDATE confirmations SET state = 'spent'"
        " WHERE ticket_sha256 = $1 AND state = 'confirmed' AND ticket_expires_at > $2 RETURNING 1",
        sha256,
        micros(now),
    )
    return done is not None
