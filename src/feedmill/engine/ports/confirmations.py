"""Store protocol: questions to a person about candidates, and the tickets of their answers."""

from datetime import datetime
from typing import Protocol

from feedmill.model.confirmation import Question


class ConfirmationStore(Protocol):
    """Questions to a person about candidates, and the tickets of their answers."""

    async def ask_question(self, question: Question) -> Question: ...  # or the open one like it
    async def questions(self, now: datetime) -> tuple[Question, ...]: ...  # open, the oldest first
    async def question(self, code: str) -> Question | None: ...
    async def answer_question(
        self, answered: Question, *, ticket_sha256: str | None = None
    ) -> bool: ...  # False: it is not open any more
    async def ticket(self, sha256: str) -> Question | None: ...
    async def spend_ticket(self, sha256: str, now: datetime) -> bool: ...  # True once
