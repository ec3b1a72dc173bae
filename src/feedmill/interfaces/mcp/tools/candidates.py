"""Tools for the candidates of a window: look through them, and say what one thinks of them."""

from typing import Annotated, Final, Literal

from pydantic import Field

from feedmill.app.screeners import default_topics
from feedmill.engine.two_phase.candidate_file import select_candidates
from feedmill.engine.two_phase.sidecar_files import read_screenings, write_screenings
from feedmill.engine.two_phase.window_library import SavedWindow
from feedmill.errors import CursorError, UsageError
from feedmill.interfaces.mcp.shapes import CandidateDetail, CandidateList, JudgementInput, Recorded
from feedmill.interfaces.mcp.state import Call, mcp_state_of, program_of
from feedmill.interfaces.mcp.tool import tool
from feedmill.interfaces.mcp.tools.feeds_entries import ToolCursor, ToolLimit
from feedmill.interfaces.mcp.untrusted import candidate_row, score_row, source_row
from feedmill.model.candidate import WindowCandidate
from feedmill.model.screening import Score, Screening
from feedmill.publish.cursors import read_cursor, write_cursor
from feedmill.screen.injection_signs import signs_of
from feedmill.screen.texts import clean_line, screen_text_of

WindowId = Annotated[str, Field(min_length=1, max_length=64, description="From collect_window.")]
DecisionFilter = Literal["keep", "unsure", "drop", "unscreened"]

_CURSOR: Final = "candidates"
_DETAIL_CHARS: Final = 4_000
_USUAL: Final = {"keep": 0.9, "unsure": 0.5, "drop": 0.1}  # when the agent gives no figure


@tool("List candidates", "read", reads=True)
async def list_candidates(
    call: Call,
    window_id: WindowId,
    decision: Annotated[
        DecisionFilter | None, Field(description="Only these; `unscreened` has no suggestion yet.")
    ] = None,
    topic: str | None = None,
    min_score: Annotated[float, Field(ge=0.0, le=1.0)] = 0.0,
    new_only: Annotated[bool, Field(description="Without those that are stored already.")] = False,
    order: Annotated[Literal["id", "score"], Field(description="score: the best first.")] = "id",
    cursor: ToolCursor = None,
    limit: ToolLimit = None,
) -> CandidateList:
    """Look through the candidates of a window, page by page, with what screening suggests."""
    state = mcp_state_of(call)
    kept = await state.window_library.window(window_id)
    said = _screenings(kept)
    rows = [
        one
        for one in kept.file.candidates
        if not (new_only and one.is_known)
        and _fits(said.get(one.candidate_id), decision, topic, min_score)
    ]
    if order == "score":
        rows.sort(key=lambda one: -_score(said.get(one.candidate_id)))
    most = state.services.config.mcp.page_items
    at, size = _position(cursor), most if limit is None else min(limit, most)
    shown, chars = rows[at : at + size], state.services.config.mcp.text_chars
    after = str(at + size) if at + size < len(rows) else None
    return CandidateList(
        window_id=kept.id,
        total=len(rows),
        candidates=[
            candidate_row(one, said.get(one.candidate_id), max_chars=chars) for one in shown
        ],
        next_cursor=write_cursor(_CURSOR, after),
    )


@tool("Explain a candidate", "read", reads=True)
async def explain_candidate(call: Call, window_id: WindowId, candidate_id: int) -> CandidateDetail:
    """Show one candidate whole: its text, its source, and what each method said and why."""
    kept = await mcp_state_of(call).window_library.window(window_id)
    (candidate,) = select_candidates(kept.file, (candidate_id,))
    screening = _screenings(kept).get(candidate_id)
    return CandidateDetail(
        window_id=kept.id,
        candidate=candidate_row(candidate, screening, max_chars=_DETAIL_CHARS),
        source=source_row(kept.file.sources[candidate.source]),
        scores=[] if screening is None else [score_row(one) for one in screening.scores],
        untrusted={"dedupe_key": clean_line(candidate.dedupe_key, _DETAIL_CHARS)},
    )


@tool("Record decisions", "write", repeats=True)
async def record_decisions(
    call: Call,
    window_id: WindowId,
    decisions: Annotated[list[JudgementInput], Field(min_length=1, max_length=500)],
) -> Recorded:
    """Step 3: record your own judgements with their reasons, under the method `agent`.

    They replace earlier suggestions for the same candidates. They insert nothing.
    """
    state = mcp_state_of(call)
    kept = await state.window_library.window(window_id)
    ids = [one.candidate_id for one in decisions]
    if len(set(ids)) < len(ids):
        message = "each candidate can be judged once in one call"
        raise UsageError(message)
    candidates = {one.candidate_id: one for one in select_candidates(kept.file, ids)}
    before, by = _screenings(kept), f"agent: {program_of(call)}"
    made = [
        _judged(candidates[one.candidate_id], one, before.get(one.candidate_id), by)
        for one in decisions
    ]
    write_screenings(kept.path, kept.file, made, at=state.services.clock.now())
    kinds = [one.suggestion for one in made]
    return Recorded(
        window_id=kept.id,
        recorded=len(made),
        keep=kinds.count("keep"),
        unsure=kinds.count("unsure"),
        drop=kinds.count("drop"),
    )


CANDIDATE_TOOLS: Final = (list_candidates, explain_candidate, record_decisions)


def _screenings(kept: SavedWindow) -> dict[int, Screening]:
    return {one.candidate_id: one for one in read_screenings(kept.path, kept.file)}


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


def _position(cursor: str | None) -> int:
    found = read_cursor(_CURSOR, cursor) or "0"
    if not found.isdecimal():
        raise CursorError(cursor or "")
    return int(found)


def _judged(
    candidate: WindowCandidate, judgement: JudgementInput, before: Screening | None, by: str
) -> Screening:
    """The agent's word, beside what others said; a text that steers is never better than unsure."""
    ref, topic = candidate.candidate_id, judgement.topic
    signs = signs_of(screen_text_of(candidate), default_topics())
    is_suspicious = bool(signs) or (before is not None and before.is_suspicious)
    suggestion = judgement.decision
    score = _USUAL[suggestion] if judgement.score is None else judgement.score
    if suggestion == "keep" and is_suspicious:
        suggestion = "unsure"
    own = Score(
        ref=ref,
        topic=topic or "",
        method="agent",
        score=score,
        reason=judgement.reason,
        model_id=by,
    )
    others = () if before is None else tuple(s for s in before.scores if s.method != "agent")
    return Screening(
        candidate_id=ref,
        suggestion=suggestion,
        topic=topic,
        score=score,
        methods=(*dict.fromkeys(one.method for one in others), "agent"),
        reason=judgement.reason,
        evidence=() if before is None else before.evidence,
        scores=(*others, own),
        is_suspicious=is_suspicious,
        topic_set="" if before is None else before.topic_set,
        decided_by=by,
    )
