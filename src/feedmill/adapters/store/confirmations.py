"""Questions to a person and the hashes of their tickets, as rows."""

import sqlite3
from datetime import datetime
from typing import Final

import msgspec

from feedmill.adapters.store.rows import (
    Row,
    instant,
    instant_or_none,
    json_text,
    micros,
    micros_or_none,
)
from feedmill.model.confirmation import Question

_COLUMNS: Final = (
    "code, window_id, file_digest, candidate_ids, asked_by, asked_at, expires_at,"
    " state, answered_by, answered_at, shown, ticket_expires_at"
)
_ids: Final = msgspec.json.Decoder(tuple[int, ...]).decode


def ask(connection: sqlite3.Connection, question: Question) -> Question:
    """The question that is open for this selection already, or else this one, kept."""
    ids = json_text(question.candidate_ids)
    found = connection.execute(
        f"SELECT {_COLUMNS} FROM confirmations"  # noqa: S608  # names from above
        " WHERE file_digest = ? AND state = 'pending' AND candidate_ids = ? AND expires_at > ?",
        (question.file_digest, ids, micros(question.asked_at)),
    ).fetchone()
    if found is not None:
        return _question_of(found)
    row = (
        question.code,
        question.window_id,
        question.file_digest,
        ids,
        question.asked_by,
        micros(question.asked_at),
        micros(question.expires_at),
        question.state,
        question.answered_by,
        micros_or_none(question.answered_at),
        question.shown,
        micros_or_none(question.ticket_expires_at),
    )
    connection.execute(
        f"INSERT INTO confirmations ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608
        row,
    )
    return question


def questions(connection: sqlite3.Connection, now: datetime) -> tuple[Question, ...]:
    """Those that wait for an answer, the oldest first."""
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM confirmations"  # noqa: S608
        " WHERE state = 'pending' AND expires_at > ? ORDER BY asked_at, code",
        (micros(now),),
    )
    return tuple(_question_of(row) for row in rows)


def question(connection: sqlite3.Connection, code: str) -> Question | None:
    """One of them, whatever came of it."""
    row = connection.execute(
        f"SELECT {_COLUMNS} FROM confirmations WHERE code = ?",  # noqa: S608
        (code,),
    ).fetchone()
    return None if row is None else _question_of(row)


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
        f"SELECT {_COLUMNS} FROM confirmations WHERE ticket_sha256 = ?",  # noqa: S608
        (sha256,),
    ).fetchone()
    return None if row is None else _question_of(row)


def spend(connection: sqlite3.Connection, sha256: str, now: datetime) -> bool:
    """Take a ticket; False when somebody took it before, or when it is too old."""
    done = connection.execute(
        "UPDATE confirmations SET state = 'spent'"
        " WHERE ticket_sha256 = ? AND state = 'confirmed' AND ticket_expires_at > ?",
        (sha256, micros(now)),
    )
    return done.rowcount == 1


def _question_of(row: Row) -> Question:
    code, window_id, digest, ids, by, at, until, state, answered_by, answered_at, shown, ends = row
    return Question(
        code=code,
        window_id=window_id,
        file_digest=digest,
        candidate_ids=_ids(ids),
        asked_by=by,
        asked_at=instant(at),
        expires_at=instant(until),
        state=state,
        answered_by=answered_by,
        answered_at=instant_or_none(answered_at),
        shown=shown,
        ticket_expires_at=instant_or_none(ends),
    )
