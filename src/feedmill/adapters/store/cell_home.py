"""What belongs to no host lives in the first cell: tokens, webhooks, questions, screens, imports, cursors.

Each of these asks the home and nobody else.
"""

from collections.abc import Sequence
from datetime import datetime

from feedmill.adapters.store.cell import Cell
from feedmill.engine.ports import Page
from feedmill.model.access import Token, TokenSecret
from feedmill.model.candidate import CollectedDocument
from feedmill.model.confirmation import Question
from feedmill.model.feed import BlobRef, ImportedOutline
from feedmill.model.standing import StandingScreen
from feedmill.model.webhook import DeadLetter, Settlement, Webhook


class HomeStore:
    """The part of `engine.ports.Store` that the home cell answers alone."""

    def __init__(self, home: Cell) -> None:
        self._home = home

    # what an import remembers

    async def imported(self, list_id: str) -> tuple[ImportedOutline, ...]:
        """The outlines of a list that were dealt with."""
        return await self._home.ask(lambda s: s.imported(list_id))

    async def note_imported(self, list_id: str, items: Sequence[ImportedOutline]) -> None:
        """Remember what became of these outlines."""
        await self._home.ask(lambda s: s.note_imported(list_id, items))

    # how far others have read

    async def cursor(self, consumer: str) -> int:
        """How far a consumer has read, 0 before it began."""
        return await self._home.ask(lambda s: s.cursor(consumer))

    async def set_cursor(self, consumer: str, seq: int) -> None:
        """Remember how far a consumer has read; going back is allowed, to replay."""
        await self._home.ask(lambda s: s.set_cursor(consumer, seq))

    # who may ask

    async def add_token(self, token: Token, sha256: str) -> None:
        """Keep a token and the hash of its secret."""
        await self._home.ask(lambda s: s.add_token(token, sha256))

    async def tokens(self) -> tuple[Token, ...]:
        """Every token there ever was, the oldest first."""
        return await self._home.ask(lambda s: s.tokens())

    async def token_secrets(self, prefix: str) -> tuple[TokenSecret, ...]:
        """The secrets whose hash begins like that, with their tokens."""
        return await self._home.ask(lambda s: s.token_secrets(prefix))

    async def rotate_token(
        self, token_id: str, sha256: str, *, old_until: datetime
    ) -> Token | None:
        """Add a secret to a token and let the one before end; None when there is no such token."""
        return await self._home.ask(lambda s: s.rotate_token(token_id, sha256, old_until=old_until))

    async def revoke_token(self, token_id: str, at: datetime) -> bool:
        """End a token and forget its secrets; False when there is none."""
        return await self._home.ask(lambda s: s.revoke_token(token_id, at))

    async def touch_token(self, token_id: str, at: datetime) -> None:
        """Note that a token was used."""
        await self._home.ask(lambda s: s.touch_token(token_id, at))

    # who said yes

    async def ask_question(self, question: Question) -> Question:
        """The question that is open for this selection already, or else this one, kept."""
        return await self._home.ask(lambda s: s.ask_question(question))

    async def questions(self, now: datetime) -> tuple[Question, ...]:
        """Those that wait for an answer, the oldest first."""
        return await self._home.ask(lambda s: s.questions(now))

    async def question(self, code: str) -> Question | None:
        """One of them, whatever came of it."""
        return await self._home.ask(lambda s: s.question(code))

    async def answer_question(
        self, answered: Question, *, ticket_sha256: str | None = None
    ) -> bool:
        """Note the answer to a question that is still open; False when it is not."""
        return await self._home.ask(
            lambda s: s.answer_question(answered, ticket_sha256=ticket_sha256)
        )

    async def ticket(self, sha256: str) -> Question | None:
        """The question whose yes made the ticket of this hash."""
        return await self._home.ask(lambda s: s.ticket(sha256))

    async def spend_ticket(self, sha256: str, now: datetime) -> bool:
        """Take a ticket; False when somebody took it before, or when it is too old."""
        return await self._home.ask(lambda s: s.spend_ticket(sha256, now))

    # who is told

    async def webhook(self, webhook_id: str) -> Webhook | None:
        """The webhook of that id."""
        return await self._home.ask(lambda s: s.webhook(webhook_id))

    async def webhooks(self) -> tuple[Webhook, ...]:
        """All of them, the oldest first."""
        return await self._home.ask(lambda s: s.webhooks())

    async def change_webhook(self, webhook: Webhook) -> bool:
        """Write what its owner decides; False when it is gone. The cursor is left alone."""
        return await self._home.ask(lambda s: s.change_webhook(webhook))

    async def remove_webhook(self, webhook_id: str) -> bool:
        """Forget a webhook with its cursor and its dead letters; False when there is none."""
        return await self._home.ask(lambda s: s.remove_webhook(webhook_id))

    async def hold_webhooks(self, owner: str, *, now: datetime, until: datetime) -> frozenset[str]:
        """Lease every active webhook that nobody else holds; those that are ours now."""
        return await self._home.ask(lambda s: s.hold_webhooks(owner, now=now, until=until))

    async def release_webhooks(self, owner: str) -> None:
        """Give back what is leased."""
        await self._home.ask(lambda s: s.release_webhooks(owner))

    async def settle_webhook(self, settlement: Settlement) -> bool:
        """Write what an attempt came to; False when the cursor was moved meanwhile."""
        return await self._home.ask(lambda s: s.settle_webhook(settlement))

    async def dead_letters(
        self, webhook_id: str, *, after: str | None = None, limit: int = 100
    ) -> Page[DeadLetter]:
        """What was given up, the oldest first."""
        return await self._home.ask(lambda s: s.dead_letters(webhook_id, after=after, limit=limit))

    async def forget_dead_letters(self, letter_ids: Sequence[str]) -> int:
        """Drop letters; how many there were."""
        return await self._home.ask(lambda s: s.forget_dead_letters(letter_ids))

    # what is collected before anything is stored

    async def keep_collected(self, document: CollectedDocument, blob: BlobRef) -> None:
        """Index a document that a window was collected from."""
        await self._home.ask(lambda s: s.keep_collected(document, blob))

    async def add_screen(self, screen: StandingScreen) -> None:
        """Keep a standing screen."""
        await self._home.ask(lambda s: s.add_screen(screen))

    async def screens(self) -> tuple[StandingScreen, ...]:
        """Every standing screen, the oldest first."""
        return await self._home.ask(lambda s: s.screens())

    async def remove_screen(self, screen_id: str) -> bool:
        """Forget a standing screen; what it holds stays held."""
        return await self._home.ask(lambda s: s.remove_screen(screen_id))

    # whose turn it is

    async def hold_lease(self, name: str, owner: str, *, now: datetime, until: datetime) -> bool:
        """Take a lease that nobody else has, or hold it longer; False when somebody else has it."""
        return await self._home.ask(lambda s: s.hold_lease(name, owner, now=now, until=until))

    async def end_lease(self, name: str, owner: str) -> None:
        """Give a lease back."""
        await self._home.ask(lambda s: s.end_lease(name, owner))
