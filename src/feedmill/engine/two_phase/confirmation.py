"""Nothing is inserted for a program before a person said yes: questions, answers and tickets (001).

    ask      a program wants to insert a selection; the question waits
    accept   a person says yes; a ticket is made, told once, and kept as a hash
    decline  a person says no
    spend    the ticket comes back with the selection; it is taken, and never again

A ticket is bound to the digest of the whole candidate file and to the candidates. For another
selection, a second time or too late it is refused before anything is written.
"""

import re
from base64 import b32encode
from collections.abc import Sequence
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Final, Literal, NamedTuple

from msgspec.structs import replace

from feedmill.engine.run.services import Services
from feedmill.errors import (
    ConflictError,
    CrowdedError,
    NotFoundError,
    TicketError,
    UsageError,
)
from feedmill.model.confirmation import Question, QuestionState, TicketReason
from feedmill.model.screening import Confirmation

QuestionShownIn = Literal["terminal", "mcp"]

_CODE_CHARS: Final = 8  # a name among the questions that are open, no secret
_TICKET_CHARS: Final = 25  # 125 bits, which a person can still copy
_GROUP: Final = 5
_MAX_NAME_CHARS: Final = 100
_MOST_OPEN: Final = 50
_ASK_AGAIN_SEC: Final = 60.0


class Ticket(NamedTuple):
    """The one moment at which a ticket is known: whoever sees it may insert that selection, once."""

    question: Question
    ticket: str

    def __repr__(self) -> str:
        """Without the ticket: a value may end up in a log."""
        return f"Ticket(question={self.question!r})"


async def ask_confirmation(
    window_id: str, file_digest: str, ids: Sequence[int], services: Services, *, asked_by: str
) -> Question:
    """The question about this selection: the one that waits already, or a new one."""
    if not ids:
        message = "a selection needs at least one candidate"
        raise UsageError(message)
    now = services.clock.now()
    question = Question(
        code=_letters(services.clock.new_secret(), _CODE_CHARS),
        window_id=window_id,
        file_digest=file_digest,
        candidate_ids=_sorted(ids),
        asked_by=_name(asked_by),
        asked_at=now,
        expires_at=now + timedelta(hours=services.config.mcp.question_hours),
    )
    await _make_sure_of_room(question, services)
    return await services.store.ask_question(question)


async def accept_question(
    code: str, services: Services, *, by: str, shown: QuestionShownIn
) -> Ticket:
    """A person's yes to an open question; the ticket is told here and nowhere else."""
    now = services.clock.now()
    until = now + timedelta(minutes=services.config.mcp.ticket_minutes)
    ticket = _letters(services.clock.new_secret(), _TICKET_CHARS)
    question = replace(
        _answered(await get_question(code, services), "confirmed", now, by=by, shown=shown),
        ticket_expires_at=until,
    )
    if not await services.store.answer_question(question, ticket_sha256=_hash(ticket)):
        raise _closed(code)
    return Ticket(question, "-".join(re.findall(f".{{1,{_GROUP}}}", ticket)))


async def decline_question(
    code: str, services: Services, *, by: str, shown: QuestionShownIn
) -> Question:
    """A person's no to an open question."""
    found = await get_question(code, services)
    question = _answered(found, "declined", services.clock.now(), by=by, shown=shown)
    if not await services.store.answer_question(question):
        raise _closed(code)
    return question


async def get_question(code: str, services: Services) -> Question:
    """The question that is called so; NotFoundError when there is none."""
    found = await services.store.question(code.strip().upper())
    if found is None:
        message = f"there is no question {code[:40]!r}"
        raise NotFoundError(message, "`feedmill confirm --list` shows those that are open")
    return found


async def spend_ticket(
    ticket: str, file_digest: str, ids: Sequence[int], services: Services
) -> Confirmation:
    """Take the ticket for this selection; TicketError when it does not hold for exactly that."""
    now, digest = services.clock.now(), _hash(_bare(ticket))
    question = await services.store.ticket(digest)
    reason = _refusal(question, file_digest, _sorted(ids), now)
    if reason is None and not await services.store.spend_ticket(digest, now):
        reason = "ticket-spent"  # somebody was quicker
    if reason is not None or question is None:
        raise _refused(reason or "unknown-ticket")
    return Confirmation(
        confirmed_by=question.answered_by or "",
        confirmed_at=question.answered_at or now,
        file_digest=question.file_digest,
        candidate_ids=question.candidate_ids,
        shown=question.shown or "mcp",
    )


async def _make_sure_of_room(question: Question, services: Services) -> None:
    """CrowdedError when a person would have to read too much; a question that waits is no new one."""
    waiting = await services.store.questions(question.asked_at)
    same = (question.file_digest, question.candidate_ids)
    if len(waiting) >= _MOST_OPEN and same not in (
        (one.file_digest, one.candidate_ids) for one in waiting
    ):
        message = f"{len(waiting)} questions wait for an answer already"
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


def _refused(reason: TicketReason) -> TicketError:
    words = {
        "unknown-ticket": "there is no such ticket",
        "ticket-spent": "the ticket was used before",
        "ticket-expired": "the ticket is too old",
        "other-selection": "the ticket was made for another selection",
    }
    return TicketError(f"{words[reason]}; nothing was inserted", reason=reason)


def _answered(
    question: Question, state: QuestionState, now: datetime, *, by: str, shown: QuestionShownIn
) -> Question:
    return replace(question, state=state, answered_by=_name(by), answered_at=now, shown=shown)


def _closed(code: str) -> ConflictError:
    message = f"the question {code[:40]} was answered before, or is too old"
    return ConflictError(message, reason="not-open", hint="let the program ask again")


def _sorted(ids: Sequence[int]) -> tuple[int, ...]:
    return tuple(sorted(set(ids)))


def _name(text: str) -> str:
    """A name as it was given, without what a terminal would obey."""
    visible = "".join(char if char.isprintable() else " " for char in text[: _MAX_NAME_CHARS * 4])
    return " ".join(visible.split())[:_MAX_NAME_CHARS] or "somebody"


def _letters(secret: str, chars: int) -> str:
    """Capital letters and digits that nobody confuses, out of 256 random bits."""
    return b32encode(sha256(secret.encode()).digest()).decode()[:chars]


def _bare(ticket: str) -> str:
    return "".join(ticket[:200].split()).replace("-", "").upper()


def _hash(bare: str) -> str:
    # No salt and no slow hash: there are 125 bits to guess, and minutes to do it in.
    return sha256(bare.encode()).hexdigest()
