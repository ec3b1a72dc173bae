"""Tools list_candidates, explain_candidate and record_decisions: candidates, and what the agent judges of them."""
# Tested in tests/integration/interfaces/mcp/

from typing import Annotated, Final, Literal

from pydantic import BaseModel, Field

from feedmill.app.screeners import default_topics
from feedmill.engine.two_phase.candidates import select_candidates
from feedmill.engine.two_phase.sidecar_files import write_screenings
from feedmill.errors import UsageError
from feedmill.interfaces.mcp.tool import (
    Call,
    ToolCursor,
    ToolLimit,
    WindowId,
    mcp_state_of,
    page_size,
    position_of,
    program_of,
    tool,
)
from feedmill.interfaces.mcp.tools.screen import counts_of, screenings_of
from feedmill.interfaces.mcp.untrusted import NOTICE, Row, candidate_row, score_row, source_row
from feedmill.model.candidate import WindowCandidate
from feedmill.model.screening import Score, Screening
from feedmill.publish.to_json import write_cursor
from feedmill.screen.injection_signs import signs_of
from feedmill.screen.language import clean_line, screen_text_of

DecisionFilter = Literal["keep", "unsure", "drop", "unscreened"]
_CURSOR: Final = "candidates"
_DETAIL_CHARS: Final = 4_000
_USUAL: Final = {"keep": 0.9, "unsure": 0.5, "drop": 0.1}  # when the agent gives no figure


@tool("List candidates", "read", reads=True)
async def list_candidates(
    call: Call,
    window_id: WindowId,
    decision: Annotated[
        DecisionFilter | None,
        Field(description="Only candidates with this suggestion; `unscreened`: without one."),
    ] = None,
    topic: str | None = None,
    min_score: Annotated[float, Field(ge=0.0, le=1.0)] = 0.0,
    new_only: Annotated[
        bool, Field(description="Leave out candidates that are already stored.")
    ] = False,
    order: Annotated[Literal["id", "score"], Field(description="score: best first.")] = "id",
    cursor: ToolCursor = None,
    limit: ToolLimit = None,
) -> Row:
    """List the candidates of a window with their screening suggestions, by pages."""
    state = mcp_state_of(call)
    kept = await state.window_library.window(window_id)
    said = screenings_of(kept)
    rows = [
        one
        for one in kept.file.candidates
        if not (new_only and one.is_known)
        and _fits(said.get(one.candidate_id), decision, topic, min_score)
    ]
    if order == "score":
        rows.sort(key=lambda one: -_score(said.get(one.candidate_id)))
    at, size = position_of(_CURSOR, cursor), page_size(limit, state.services)
    shown, chars = rows[at : at + size], state.services.config.mcp.text_chars
    after = str(at + size) if at + size < len(rows) else None
    return {
        "window_id": kept.id,
        "total": len(rows),  # on all pages
        "candidates": [
            candidate_row(one, said.get(one.candidate_id), max_chars=chars) for one in shown
        ],
        "next_cursor": write_cursor(_CURSOR, after),
        "notice": NOTICE,
    }


@tool("Explain a candidate", "read", reads=True)
async def explain_candidate(call: Call, window_id: WindowId, candidate_id: int) -> Row:
    """Show one candidate: its text, its source, and the score and reason of each method."""
    kept = await mcp_state_of(call).window_library.window(window_id)
    (candidate,) = select_candidates(kept.file, (candidate_id,))
    screening = screenings_of(kept).get(candidate_id)
    return {
        "window_id": kept.id,
        "candidate": candidate_row(candidate, screening, max_chars=_DETAIL_CHARS),
        "source": source_row(kept.file.sources[candidate.source]),
        "scores": [] if screening is None else [score_row(one) for one in screening.scores],
        "untrusted": {"dedupe_key": clean_line(candidate.dedupe_key, _DETAIL_CHARS)},
        "notice": NOTICE,
    }


def _fits(
    screening: Screening | None,
    decision: DecisionFilter | None,
    topic: str | None,
    min_score: float,
) -> bool:
    if screening is None:
        return decision in (None, "unscreened") and topic is None and min_score <= 0
    return (
        (decision is None or screening.suggestion == decision)
        and (topic is None or screening.topic == topic)
        and screening.score >= min_score
    )


def _score(screening: Screening | None) -> float:
    return -1.0 if screening is None else screening.score


class JudgementInput(BaseModel, extra="forbid"):
    """Your own judgement of one candidate, over title, summary, categories and feed together."""

    candidate_id: int
    decision: Literal["keep", "unsure", "drop"]
    reason: str = Field(min_length=3, max_length=500, description="Why, in your own words.")
    topic: str | None = Field(default=None, max_length=100)
    score: float | None = Field(
        default=None, ge=0.0, le=1.0, description="How sure you are that it is on topic."
    )


@tool("Record decisions", "write", repeats=True, replaces=True)
async def record_decisions(
    call: Call,
    window_id: WindowId,
    decisions: Annotated[list[JudgementInput], Field(min_length=1, max_length=500)],
) -> Row:
    """Step 3: record your own judgements with their reasons, under the method `agent`.

    They replace earlier suggestions for the same candidates. They insert nothing.
    """
    state = mcp_state_of(call)
    kept = await state.window_library.window(window_id)
    ids = [one.candidate_id for one in decisions]
    if len(set(ids)) < len(ids):
        message = "duplicate candidate_id: each candidate can be judged once per call"
        raise UsageError(message)
    candidates = {one.candidate_id: one for one in select_candidates(kept.file, ids)}
    before, by = screenings_of(kept), f"agent: {program_of(call)}"
    made = [
        _judged(candidates[one.candidate_id], one, before.get(one.candidate_id), by)
        for one in decisions
    ]
    write_screenings(kept.path, kept.file, made, at=state.services.clock.now())
    return {"window_id": kept.id, "recorded": len(made), **counts_of(made)}


def _judged(
    candidate: WindowCandidate, judgement: JudgementInput, before: Screening | None, by: str
) -> Screening:
    """The agent's judgement beside other scores; a suspicious text is at most unsure."""
    ref, topic = candidate.candidate_id, judgement.topic
    signs = signs_of(screen_text_of(candidate), default_topics())
    is_suspicious = bool(signs) or (before is not None and before.is_suspicious)
    suggestion = judgement.decision
    score = _USUAL[suggestion] if judgement.score is None else judgement.score
    reason = judgement.reason
    others = () if before is None else tuple(s for s in before.scores if s.method != "agent")
    is_contradiction = (
        before is not None and bool(others) and {before.suggestion, suggestion} == {"keep", "drop"}
    )
    if is_contradiction and before is not None:
        reason = f"{judgement.reason}; screening disagrees: {before.reason}"
    if is_contradiction or (suggestion == "keep" and is_suspicious):
        suggestion = "unsure"
    own = Score(
        ref=ref,
        topic=topic or "",
        method="agent",
        score=score,
        reason=judgement.reason,
        model_id=by,
    )
    return Screening(
        candidate_id=ref,
        suggestion=suggestion,
        topic=topic,
        score=score,
        methods=(*dict.fromkeys(one.method for one in others), "agent"),
        reason=reason,
        evidence=() if before is None else before.evidence,
        scores=(*others, own),
        is_suspicious=is_suspicious,
        topic_set="" if before is None else before.topic_set,
        decided_by=by,
    )
