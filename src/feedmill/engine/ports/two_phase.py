"""Ports: screeners, live screens with the entries they hold, collected documents, confirmations."""
# Tested in tests/contracts/

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from feedmill.model import screening
from feedmill.model.candidate import CollectedDocument, Question
from feedmill.model.feed import BlobRef
from feedmill.model.page import Page


class ScreenStore(Protocol):
    """Live screens, the entries they hold, and documents collected before anything is stored (001)."""

    async def save_collected(self, document: CollectedDocument, blob: BlobRef) -> None: ...
    async def add_screen(self, screen: screening.LiveScreen) -> None: ...
    async def screens(self) -> tuple[screening.LiveScreen, ...]: ...
    async def remove_screen(self, screen_id: str) -> bool: ...
    async def held(
        self, *, feed_id: str | None = None, after: str | None = None, limit: int = 100
    ) -> Page[screening.HeldEntry]: ...  # without those that were dropped, the oldest first
    async def live_screen_state(self, feed_id: str) -> screening.LiveScreenState: ...
    async def reject_held(self, entry_uids: Sequence[str]) -> int: ...


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


class Screener(Protocol):
    """One method of judging texts by topics; a text that it cannot judge has no score."""

    name: screening.Method
    failure: str  # why texts of the last call have no score; empty when all is well

    async def score(
        self, texts: Sequence[screening.ScreenText], topics: screening.TopicSet
    ) -> tuple[screening.Score, ...]: ...
    async def close(self) -> None: ...
