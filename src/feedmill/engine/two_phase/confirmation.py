"""Confirmation by a person before a program inserts: questions, answers, one-time tickets (001).

    ask      a program asks to insert a selection; the question waits for an answer
    accept   a person accepts; a ticket is made, shown once, and stored as a hash
    decline  a person declines
    spend    the ticket comes back with the selection; it is valid once

A ticket is bound to the digest of the whole candidate file and to the candidates. For another
selection, a second time or too late it is refused before anything is written.
"""

import re
from base64 import b32encode
from collections.abc import Sequence
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Final, Literal, NamedTuple, NoReturn

from msgspec.structs import replace

from feedmill.config import McpConfig
from feedmill.engine.ports.feeds import ConfirmationStore
from feedmill.engine.ports.io import Clock
from feedmill.errors import (
    ConflictError,
    CrowdedError,
    NotFoundError,
    TicketError,
    UsageError,
)
from feedmill.model.candidate import Question, QuestionState, TicketReason
from feedmill.model.screening import Confirmation

QuestionShownIn = Literal["terminal", "mcp", "page"]

_CODE_CHARS: Final = 8  # a name among the questions that are open, no secret
_TICKET_CHARS: Final = 25  # 125 bits, which a person can still copy
_GROUP: Final = 5
_MAX_NAME_CHARS: Final = 100
_MOST_OPEN: Final = 50
_ASK_AGAIN_SEC: Final = 60.0


class Ticket(NamedTuple):
    """A ticket in plain text, known only now: with it that selection may be inserted, once."""

    question: Question
    ticket: str

    def __repr__(self) -> str:
        """Without the ticket: a value may end up in a log."""
        return f"Ticket(question={self.question!r})"


class SpentTicket(NamedTuple):
    """A ticket that was used before for the same selection."""

    question: str


async def ask_confirmation(
    window_id: str,
    file_digest: str,
    ids: Sequence[int],
    store: ConfirmationStore,
    clock: Clock,
    config: McpConfig,
    *,
    asked_by: str,
) -> Question:
    """The question about this selection: the one that waits already, or a new one."""
    if not ids:
        message = "a selection needs at least one candidate"
        raise UsageError(message)
    now = clock.now()
    question = Question(
        code=_letters(clock.new_secret(), _CODE_CHARS),
        window_id=window_id,
        file_digest=file_digest,
        candidate_ids=_sorted(ids),
        asked_by=_name(asked_by),
        asked_at=now,
        expires_at=now + timedelta(hours=config.question_hours),
    )
    await _check_open_questions(question, store)
    return await store.ask_question(question)


async def accept_question(
    code: str,
    store: ConfirmationStore,
    clock: Clock,
    config: McpConfig,
    *,
    by: str,
    shown: QuestionShownIn,
) -> Ticket:
    """A person accepts an open question; the ticket is in the result and nowhere else."""
    now = clock.now()
    until = now + timedelta(minutes=config.ticket_minutes)
    ticket = _letters(clock.new_secret(), _TICKET_CHARS)
    question = replace(
        _answered(await get_question(code, store), "confirmed", now, by=by, shown=shown),
        ticket_expires_at=until,
    )
    if not await store.answer_question(question, ticket_sha256=_hash(ticket)):
        raise _closed(code)
    return Ticket(question, "-".join(re.findall(f".{{1,{_GROUP}}}", ticket)))


async def decline_question(
    code: str, store: ConfirmationStore, clock: Clock, *, by: str, shown: QuestionShownIn
) -> Question:
    """A person declines an open question."""
    found = await get_question(code, store)
    question = _answered(found, "declined", clock.now(), by=by, shown=shown)
    if not await store.answer_question(question):
        raise _closed(code)
    return question


async def get_question(code: str, store: ConfirmationStore) -> Question:
    """The question that is called so; NotFoundError when there is none."""
    found = await store.question(code.strip().upper())
    if found is None:
        message = f"there is no question {code[:40]!r}"
        raise NotFoundError(message, "`feedmill confirm --list` shows those that are open")
    return found


async def spend_ticket(
    ticket: str, file_digest: str, ids: Sequence[int], store: ConfirmationStore, clock: Clock
) -> Confirmation | SpentTicket:
    """Take the ticket for this selection; TicketError when it does not hold for exactly that.

    A ticket that was spent on this very selection names its question, so that the caller can say
    what it did.
    """
    bare = "".join(ticket[:200].split()).replace("-", "").upper()
    now, digest = clock.now(), _hash(bare)
    question = await store.ticket(digest)
    reason = _refusal(question, file_digest, _sorted(ids), now)
    if reason is None and not await store.spend_ticket(digest, now):
        reason = "ticket-spent"  # spent by another request meanwhile
    if question is not None and reason == "ticket-spent":
        if (question.file_digest, question.candidate_ids) != (file_digest, _sorted(ids)):
            refuse_ticket("other-selection")
        return SpentTicket(question.code)
    if reason is not None or question is None:
        refuse_ticket(reason or "unknown-ticket")
    return Confirmation(
        confirmed_by=question.answered_by or "",
        confirmed_at=question.answered_at or now,
        file_digest=question.file_digest,
        candidate_ids=question.candidate_ids,
        shown=question.shown or "mcp",
        question=question.code,
    )


async def _check_open_questions(question: Question, store: ConfirmationStore) -> None:
    """CrowdedError when too many questions are open; one that is open already is no new one."""
    waiting = await store.questions(question.asked_at)
    same = (question.file_digest, question.candidate_ids)
    if len(waiting) >= _MOST_OPEN and same not in (
        (one.file_digest, one.candidate_ids) for one in waiting
    ):
        message = (
            f"{len(waiting)} questions are open already; answer some first: feedmill confirm --list"
        )
        raise CrowdedError(message, reason="too-many-questions", retry_after_sec=_ASK_AGAIN_SEC)


def _refusal(
    question: Question | None, file_digest: str, ids: tuple[int, ...], now: datetime
) -> TicketReason | None:
    if question is None or question.ticket_expires_at is None:
        return "unknown-ticket"
    if question.state == "spent":
        return "ticket-spent"
    if now >= question.ticket_expires_at:
        return "ticket-expired"
    if (question.file_digest, question.candidate_ids) != (file_digest, ids):
        return "other-selection"
    return None


def refuse_ticket(reason: TicketReason) -> NoReturn:
    """Raise the error for a ticket that is not valid."""
    words = {
        "unknown-ticket": "there is no such ticket",
        "ticket-spent": "the ticket was used before",
        "ticket-expired": "the ticket has expired",
        "other-selection": "the ticket was made for another selection",
    }
    message = f"{words[reason]}; nothing was inserted"
    raise TicketError(message, reason=reason)


def _answered(
    question: Question, state: QuestionState, now: datetime, *, by: str, shown: QuestionShownIn
) -> Question:
    return replace(question, state=state, answered_by=_name(by), answered_at=now, shown=shown)


def _closed(code: str) -> ConflictError:
    message = f"the question {code[:40]} was answered before, or has expired"
    return ConflictError(message, reason="not-open", hint="ask again for the same selection")


def _sorted(ids: Sequence[int]) -> tuple[int, ...]:
    return tuple(sorted(set(ids)))


def _name(text: str) -> str:
    """A name as it was given, without what a terminal would obey."""
    visible = "".join(char if char.isprintable() else " " for char in text[: _MAX_NAME_CHARS * 4])
    return " ".join(visible.split())[:_MAX_NAME_CHARS] or "unnamed"


def _letters(secret: str, chars: int) -> str:
    """Base32 letters and digits, which are easy to copy, out of 256 random bits."""
    return b32encode(sha256(secret.encode()).digest()).decode()[:chars]


def _hash(bare: str) -> str:
    # No salt and no slow hash: there are 125 bits to guess, and minutes to do it in.
    return sha256(bare.encode()).hexdigest()
