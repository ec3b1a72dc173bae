"""Confirmation of an insertion: a question to a person, and the one-time ticket that a yes gives.

A program may ask; only a person answers. A yes makes one ticket, good once, for a short time, and
only for the very selection that the person was shown.
"""

from datetime import datetime
from typing import Literal

from feedmill.model.base import Value

QuestionState = Literal[
    "pending",  # not answered yet
    "confirmed",  # a yes; its ticket was not used so far
    "declined",
    "spent",  # its ticket was used, and is worth nothing any more
]
TicketReason = Literal[
    "unknown-ticket",  # never made, or mistyped
    "ticket-spent",
    "ticket-expired",
    "other-selection",  # made for other candidates, or for another window
]


class Question(Value):
    """May these candidates be inserted? Who asked, who answered, and what came of it."""

    code: str  # what it is called; no secret
    window_id: str
    file_digest: str
    candidate_ids: tuple[int, ...]  # sorted, each once
    asked_by: str
    asked_at: datetime
    expires_at: datetime  # of the question, while it is pending
    state: QuestionState = "pending"
    answered_by: str | None = None
    answered_at: datetime | None = None
    shown: Literal["terminal", "mcp"] | None = None  # where the person saw what would be inserted
    ticket_expires_at: datetime | None = None
