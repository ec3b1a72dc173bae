"""Tools confirm and insert_selected: a person is asked, and what they confirmed is inserted.

The agent gets `pending` and the code of the question. The person answers with `feedmill confirm` on a
terminal or in the console, and the ticket is shown there alone. Only with `mcp.ask = "client"` the
agent's own program is asked to show the question (elicitation): it may answer without showing it, so
that setting trusts the program like the person. A question closes with its answer: sending an old
answer again asks again.
"""

from typing import Annotated, Final, Literal, NamedTuple

from mcp.server.mcpserver import (
    AcceptedElicitation,
    DeclinedElicitation,
    Elicit,
    ElicitationResult,
    Resolve,
)
from pydantic import BaseModel, Field

from feedmill.app.settings import user_name
from feedmill.engine.service.auth import require_scope
from feedmill.engine.two_phase.candidates import select_candidates
from feedmill.engine.two_phase.confirmation import (
    SpentTicket,
    accept_question,
    ask_confirmation,
    decline_question,
    refuse_ticket,
    spend_ticket,
)
from feedmill.engine.two_phase.insert_selected import insert_selected
from feedmill.engine.two_phase.review import suspicious_ids
from feedmill.engine.two_phase.sidecar_files import SavedWindow, first_result
from feedmill.interfaces.mcp.tool import (
    Call,
    CandidateIds,
    WindowId,
    caller_of,
    is_stdio,
    mcp_state_of,
    program_of,
    tool,
    translate_errors,
)
from feedmill.interfaces.mcp.untrusted import Row
from feedmill.model.base import fields_of
from feedmill.model.candidate import Question, WindowCandidate
from feedmill.model.screening import Confirmation, InsertResult
from feedmill.screen.language import clean_line

_MOST_SHOWN: Final = 30  # candidates that a question can show; more are shown on a terminal
_TITLE_CHARS: Final = 120
_FEED_CHARS: Final = 60
_URL_CHARS: Final = 200
_AT_THE_TERMINAL: Final = (
    "Nothing is inserted yet. Ask the person to run `feedmill confirm --code {code}` on a terminal "
    "of their own, or to open Review in the console, and to give you the ticket that it shows. You "
    "cannot confirm for them."
)


class ConfirmationForm(BaseModel):
    """The form that the person fills in."""

    insert: bool = Field(title="Insert these entries", description="Yes stores all of them.")


class NotAsked(NamedTuple):
    """The client cannot or may not ask: a person has to answer on a terminal."""

    code: str


async def question_to_ask(call: Call, window_id: str, candidate_ids: list[int]) -> Question:
    """The open question about this selection; the window is verified first."""
    with translate_errors("confirm"):
        require_scope(caller_of(call), "write")
        state = mcp_state_of(call)
        kept = await state.window_library.window(window_id, checked=True)
        select_candidates(kept.file, candidate_ids)
        return await ask_confirmation(
            kept.id,
            kept.file.digest,
            candidate_ids,
            state.services.store,
            state.services.clock,
            state.services.config.mcp,
            asked_by=program_of(call),
        )


async def answer_of_person(
    call: Call, question: Annotated[Question, Resolve(question_to_ask)]
) -> Elicit[ConfirmationForm] | NotAsked:
    """Elicit the answer through the client, if it can; the question lists every candidate."""
    with translate_errors("confirm"):
        state = mcp_state_of(call)
        is_allowed = state.services.config.mcp.ask == "client"
        if not is_allowed or not _can_ask(call) or len(question.candidate_ids) > _MOST_SHOWN:
            return NotAsked(question.code)
        kept = await state.window_library.window(question.window_id)
        return Elicit(_words(question, kept), ConfirmationForm)


@tool("Ask the person to confirm", "write")
async def confirm(
    call: Call,
    window_id: WindowId,
    candidate_ids: CandidateIds,
    question: Annotated[Question, Resolve(question_to_ask)],
    answer: Annotated[ElicitationResult[ConfirmationForm], Resolve(answer_of_person)],
) -> Row:
    """Step 4: ask the person whether exactly these candidates may be inserted.

    `confirmed` returns a ticket that is valid once, for this selection, for a few minutes. `pending`
    means that the person has to answer on a terminal: give them `what_now`, and wait.
    """
    del window_id, candidate_ids  # the question holds them, sorted
    said: object = answer.data if isinstance(answer, AcceptedElicitation) else answer
    match said:
        case ConfirmationForm(insert=True):
            return await _yes(call, question)
        case ConfirmationForm() | DeclinedElicitation():
            return await _no(call, question)
        case _:  # not asked, or not answered: the question stays open
            return _confirmed("pending", question, _AT_THE_TERMINAL.format(code=question.code))


@tool("Insert what was confirmed", "write", repeats=True)
async def insert_selected_(
    call: Call,
    window_id: WindowId,
    candidate_ids: CandidateIds,
    ticket: Annotated[str, Field(min_length=1, max_length=200, description="From the person.")],
) -> Row:
    """Step 5: insert the candidates that the person confirmed, with the ticket of that answer.

    The ticket is valid once and only for exactly this selection. Sent again, it inserts nothing and
    returns what it did the first time.
    """
    state = mcp_state_of(call)
    kept = await state.window_library.window(window_id, checked=True)
    select_candidates(kept.file, candidate_ids)
    confirmation = await spend_ticket(
        ticket, kept.file.digest, candidate_ids, state.services.store, state.services.clock
    )
    if isinstance(confirmation, SpentTicket):
        before = first_result(kept.path, confirmation.question)
        if before is None or before.result is None:
            refuse_ticket("ticket-spent")
        return _inserted(kept, before, before.result, is_repeat=True)
    done = await insert_selected(
        kept.file, candidate_ids, confirmation, state.services, path=kept.path
    )
    return _inserted(kept, confirmation, done)


def _inserted(
    kept: SavedWindow, confirmation: Confirmation, done: InsertResult, *, is_repeat: bool = False
) -> Row:
    counts = "new updated unchanged skipped feeds_added entry_uids selected skipped_reasons"
    return {
        "window_id": kept.id,
        "candidate_ids": confirmation.candidate_ids,
        **fields_of(done, counts),
        **fields_of(confirmation, "confirmed_by confirmed_at"),
        "is_repeat": is_repeat,
    }


def _can_ask(call: Call) -> bool:
    """True when the client supports elicitation forms."""
    capabilities = call.client_capabilities
    able = None if capabilities is None else capabilities.elicitation
    return able is not None and (able.form is not None or able.url is None)


async def _yes(call: Call, question: Question) -> Row:
    made = await accept_question(
        question.code,
        mcp_state_of(call).services.store,
        mcp_state_of(call).services.clock,
        mcp_state_of(call).services.config.mcp,
        by=_answered_by(call),
        shown="mcp",
    )
    words = "Call insert_selected with this ticket and exactly these ids."
    return _confirmed("confirmed", made.question, words, ticket=made.ticket)


async def _no(call: Call, question: Question) -> Row:
    services = mcp_state_of(call).services
    closed = await decline_question(
        question.code, services.store, services.clock, by=_answered_by(call), shown="mcp"
    )
    words = "The person declined. Insert nothing of this selection; ask them what they want."
    return _confirmed("declined", closed, words)


def _answered_by(call: Call) -> str:
    """Through whom the answer came: a token's name or this account, never a name the client sent."""
    caller = caller_of(call)
    if caller is None or is_stdio(caller):
        return f"through the MCP client that {user_name()} started"
    return f"through the MCP client with the token {caller.name}"


def _confirmed(
    status: Literal["confirmed", "declined", "pending"],
    question: Question,
    what_now: str,
    *,
    ticket: str | None = None,
) -> Row:
    return {
        "status": status,
        "question": question.code,  # not the ticket
        "window_id": question.window_id,
        "candidate_ids": question.candidate_ids,
        "ticket": ticket,
        "expires_at": None if ticket is None else question.ticket_expires_at,
        "what_now": what_now,
    }


def _words(question: Question, kept: SavedWindow) -> str:
    """The text of the question; always the same for the same question."""
    shown = select_candidates(kept.file, question.candidate_ids)
    suspicious = suspicious_ids(kept, shown)
    rows = "\n".join(_line(one, is_suspicious=one.candidate_id in suspicious) for one in shown)
    return (
        f"{question.asked_by} asks to insert {len(question.candidate_ids)} entries "
        f"(question {question.code}). The titles are the publishers' own words:\n{rows}"
    )


def _line(candidate: WindowCandidate, *, is_suspicious: bool) -> str:
    mark = "[WARNING: this text tries to steer its reader] " if is_suspicious else ""
    day = "undated" if candidate.published_at is None else f"{candidate.published_at:%Y-%m-%d}"
    title = clean_line(candidate.title or "(no title)", _TITLE_CHARS)
    feed = clean_line(candidate.feed_title or "", _FEED_CHARS)
    url = clean_line(candidate.url or "", _URL_CHARS)
    return f"{candidate.candidate_id}. {mark}{day} | {title} | {feed} | {url}"
