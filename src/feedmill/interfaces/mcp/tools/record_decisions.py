"""Tool record_decisions: the agent's own judgements of candidates."""
# Tested in tests/integration/interfaces/mcp/

from typing import Annotated, Final

from pydantic import Field

from feedmill.app.screeners import default_topics
from feedmill.engine.two_phase.candidate_file import select_candidates
from feedmill.engine.two_phase.sidecar_files import write_screenings
from feedmill.errors import UsageError
from feedmill.interfaces.mcp.shapes import JudgementInput, Recorded
from feedmill.interfaces.mcp.tool import Call, WindowId, mcp_state_of, program_of, tool
from feedmill.interfaces.mcp.tools.candidates import screenings_of
from feedmill.model.candidate import WindowCandidate
from feedmill.model.screening import Score, Screening
from feedmill.screen.injection_signs import signs_of
from feedmill.screen.texts import screen_text_of

_USUAL: Final = {"keep": 0.9, "unsure": 0.5, "drop": 0.1}  # when the agent gives no figure


@tool("Record decisions", "write", repeats=True, replaces=True)
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
        message = "duplicate candidate_id: each candidate can be judged once per call"
        raise UsageError(message)
    candidates = {one.candidate_id: one for one in select_candidates(kept.file, ids)}
    before, by = screenings_of(kept), f"agent: {program_of(call)}"
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
