"""Tool insert_selected: insert candidates that a person confirmed."""

from typing import Annotated

from pydantic import Field

from feedmill.engine.two_phase.candidate_file import select_candidates
from feedmill.engine.two_phase.confirmation import (
    spend_ticket,
)
from feedmill.engine.two_phase.insert_selected import insert_selected
from feedmill.engine.two_phase.sidecar_files import record_confirmation
from feedmill.interfaces.mcp.arguments import CandidateIds, WindowId
from feedmill.interfaces.mcp.shapes import InsertAnswer
from feedmill.interfaces.mcp.state import Call, mcp_state_of
from feedmill.interfaces.mcp.tool import tool


@tool("Insert what was confirmed", "write", repeats=True)
async def insert_selected_(
    call: Call,
    window_id: WindowId,
    candidate_ids: CandidateIds,
    ticket: Annotated[str, Field(min_length=1, max_length=200, description="From the person.")],
) -> InsertAnswer:
    """Step 5: insert the candidates that the person confirmed, with the ticket of that answer.

    The ticket is valid once and only for exactly this selection. Entries already stored are not
    inserted again.
    """
    state = mcp_state_of(call)
    kept = await state.window_library.window(window_id, checked=True)
    select_candidates(kept.file, candidate_ids)
    confirmation = await spend_ticket(
        ticket, kept.file.digest, candidate_ids, state.services.store, state.services.clock
    )
    record_confirmation(kept.path, confirmation)
    done = await insert_selected(kept.file, candidate_ids, confirmation, state.services)
    return InsertAnswer(
        window_id=kept.id,
        candidate_ids=list(confirmation.candidate_ids),
        new=done.new,
        updated=done.updated,
        unchanged=done.unchanged,
        skipped=done.skipped,
        feeds_added=done.feeds_added,
        entry_uids=list(done.entry_uids),
        confirmed_by=confirmation.confirmed_by,
        confirmed_at=confirmation.confirmed_at,
    )
