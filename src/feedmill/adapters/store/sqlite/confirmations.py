"""Questions to a person and the hashes of their tickets, as rows."""

import sqlite3
from datetime import datetime

from feedmill.adapters.store.tables.codec import json_text, micros, micros_or_none
from feedmill.adapters.store.tables.confirmations import QUESTION_COLUMNS, question_of, question_row
from feedmill.model.confirmation import Question


def ask(connection: sqlite3.Connection, question: Question) -> Question:
    """The question that is open for this selection already, or else this one, kept."""
    ids = json_text(question.candidate_ids)
    found = connection.execute(
        f"SELECT {QUESTION_COLUMNS} FROM confirmations"  # noqa: S608  # names from beside
        " WHERE file_digest = ? AND state = 'pending' AND candidate_ids = ? AND expires_at > ?",
        (question.file_digest, ids, micros(question.asked_at)),
    ).fetchone()
    if found is not None:
        return question_of(found)
    connection.execute(
        f"INSERT INTO confirmations ({QUESTION_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608
        question_row(question),
    )
    return question


def questions(connection: sqlite3.Connection, now: datetime) -> tuple[Question, ...]:
    """Those that wait for an answer, the oldest first."""
    rows = connection.execute(
        f"SELECT {QUESTION_COLUMNS} FROM confirmations"  # noqa: S608
        " WHERE state = 'pending' AND expires_at > ? ORDER BY asked_at, code",
        (micros(now),),
    )
    return tuple(question_of(row) for row in rows)


def question(connection: sqlite3.Connection, code: str) -> Question | None:
    """One of them, whatever came of it."""
    row = connection.execute(
        f"SELECT {QUESTION_COLUMNS} FROM confirmations WHERE code = ?",  # noqa: S608
        (code,),
    ).fetchone()
    return None if row is None else question_of(row)


def answer(connection: sqlite3.Connection, answered: Question, ticket_sha256: str | None) -> bool:
    """Note the answer to a question that is still open; False when it is not."""
    assert answered.answered_at is not None
    done = connection.execute(
        "UPDATE confirmations SET state = ?, answered_by = ?, answered_at = ?, shown = ?,"
        " ticket_sha256 = ?, ticket_expires_at = ?"
        " WHERE code = ? AND state = 'pending' AND expires_at > ?",
        (
            answered.state,
            answered.answered_by,
            micros(answered.answered_at),
            answered.shown,
            ticket_sha256,
            micros_or_none(answered.ticket_expires_at),
            answered.code,
            micros(answered.answered_at),
        ),
    )
    return done.rowcount == 1


def ticket(connection: sqlite3.Connection, sha256: str) -> Question | None:
    """The question whose yes made the ticket of this hash."""
    row = connection.execute(
        f"SELECT {QUESTION_COLUMNS} FROM confirmations WHERE ticket_sha256 = ?",  # noqa: S608
        (sha256,),
    ).fetchone()
    return None if row is None else question_of(row)


def spend(connection: sqlite3.Connection, sha256: str, now: datetime) -> bool:
    """Take a ticket; False when somebody took it before, or when it is too old."""
    done = connection.execute(
        "UPDATE confirmations SET state = 'spent'"
        " WHERE ticket_sha256 = ? AND state = 'confirmed' AND ticket_expires_at > ?",
        (sha256, micros(now)),
    )
    return done.rowcount == 1
