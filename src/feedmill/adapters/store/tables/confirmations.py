"""Questions to a person as rows and back."""

from typing import Final

import msgspec

from feedmill.adapters.store.tables.codec import (
    Row,
    instant,
    instant_or_none,
    json_text,
    micros,
    micros_or_none,
)
from feedmill.model.confirmation import Question

QUESTION_COLUMNS: Final = (
    "code, window_id, file_digest, candidate_ids, asked_by, asked_at, expires_at,"
    " state, answered_by, answered_at, shown, ticket_expires_at"
)
_ids: Final = msgspec.json.Decoder(tuple[int, ...]).decode


def question_row(question: Question) -> Row:
    """The QUESTION_COLUMNS of a question."""
    return (
        question.code,
        question.window_id,
        question.file_digest,
        json_text(question.candidate_ids),
        question.asked_by,
        micros(question.asked_at),
        micros(question.expires_at),
        question.state,
        question.answered_by,
        micros_or_none(question.answered_at),
        question.shown,
        micros_or_none(question.ticket_expires_at),
    )


def question_of(row: Row) -> Question:
    """The question of a row of QUESTION_COLUMNS."""
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
