"""Tools list_candidates and explain_candidate."""
# Tested in tests/integration/interfaces/mcp/

from typing import Annotated, Final, Literal

from pydantic import Field

from feedmill.engine.two_phase.candidate_file import select_candidates
from feedmill.engine.two_phase.sidecar_files import read_screenings
from feedmill.engine.two_phase.window_library import SavedWindow
from feedmill.errors import CursorError
from feedmill.interfaces.mcp.shapes import CandidateDetail, CandidateList
from feedmill.interfaces.mcp.tool import (
    Call,
    ToolCursor,
    ToolLimit,
    WindowId,
    mcp_state_of,
    page_size,
    tool,
)
from feedmill.interfaces.mcp.untrusted import candidate_row, score_row, source_row
from feedmill.model.screening import Screening
from feedmill.publish.cursors import read_cursor, write_cursor
from feedmill.screen.texts import clean_line

DecisionFilter = Literal["keep", "unsure", "drop", "unscreened"]
_CURSOR: Final = "candidates"
_DETAIL_CHARS: Final = 4_000


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
) -> CandidateList:
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
    at, size = _position(cursor), page_size(limit, state.services)
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
    """Show one candidate: its text, its source, and the score and reason of each method."""
    kept = await mcp_state_of(call).window_library.window(window_id)
    (candidate,) = select_candidates(kept.file, (candidate_id,))
    screening = screenings_of(kept).get(candidate_id)
    return CandidateDetail(
        window_id=kept.id,
        candidate=candidate_row(candidate, screening, max_chars=_DETAIL_CHARS),
        source=source_row(kept.file.sources[candidate.source]),
        scores=[] if screening is None else [score_row(one) for one in screening.scores],
        untrusted={"dedupe_key": clean_line(candidate.dedupe_key, _DETAIL_CHARS)},
    )


def screenings_of(kept: SavedWindow) -> dict[int, Screening]:
    """The screening of each candidate that has one."""
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
