"""Questions, answers and tickets by themselves, with a clock moved by hand."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from tests.support.engine_harness import Stage, opened

from feedmill.engine.two_phase.candidates import with_checksum
from feedmill.engine.two_phase.confirmation import (
    Ticket,
    accept_question,
    ask_confirmation,
    decline_question,
    get_question,
    spend_ticket,
)
from feedmill.engine.two_phase.sidecar_files import WindowLibrary
from feedmill.errors import ConflictError, NotFoundError, TicketError, UsageError
from feedmill.model.candidate import SCHEMA, CandidateFile, Question, Window
from feedmill.model.screening import Confirmation

WINDOW, DIGEST = "0123456789abcdef", "d1" * 32
Story = Callable[[Stage], Awaitable[None]]


@pytest.fixture
def told(tmp_path: Path) -> Callable[[Story], None]:
    def tell(story: Story) -> None:
        async def whole() -> None:
            async with opened(tmp_path) as stage:
                await story(stage)

        asyncio.run(whole())

    return tell


async def asked(stage: Stage, *ids: int, by: str = "a program") -> Question:
    return await ask_confirmation(
        WINDOW,
        DIGEST,
        ids or (2, 1),
        stage.services.store,
        stage.services.clock,
        stage.services.config.mcp,
        asked_by=by,
    )


async def confirmed(stage: Stage, *ids: int) -> Ticket:
    question = await asked(stage, *ids)
    return await accept_question(
        question.code,
        stage.services.store,
        stage.services.clock,
        stage.services.config.mcp,
        by="Ada",
        shown="terminal",
    )


def test_a_yes_says_who_when_and_what_was_shown(told: Callable[[Story], None]) -> None:
    async def story(stage: Stage) -> None:
        made = await confirmed(stage)
        stage.later(minutes=1)

        confirmation = await spend_ticket(
            made.ticket, DIGEST, [1, 2], stage.services.store, stage.services.clock
        )

        assert isinstance(confirmation, Confirmation)
        assert confirmation.confirmed_by == "Ada"
        assert confirmation.confirmed_at == made.question.answered_at
        assert (confirmation.file_digest, confirmation.candidate_ids) == (DIGEST, (1, 2))
        assert confirmation.shown == "terminal"

    told(story)


def test_a_ticket_is_never_part_of_what_is_printed_of_it(told: Callable[[Story], None]) -> None:
    async def story(stage: Stage) -> None:
        made = await confirmed(stage)

        assert made.ticket not in repr(made)

    told(story)


def test_an_answer_to_a_question_that_is_closed_or_too_old_is_refused(
    told: Callable[[Story], None],
) -> None:
    async def story(stage: Stage) -> None:
        made = await confirmed(stage)
        old = await asked(stage, 5)
        stage.later(hours=24)

        for code in (made.question.code, old.code):
            with pytest.raises(ConflictError) as refused:
                await accept_question(
                    code,
                    stage.services.store,
                    stage.services.clock,
                    stage.services.config.mcp,
                    by="Ada",
                    shown="mcp",
                )
            assert refused.value.reason == "not-open"
            with pytest.raises(ConflictError):
                await decline_question(
                    code, stage.services.store, stage.services.clock, by="Ada", shown="mcp"
                )

    told(story)


def test_a_question_needs_candidates_and_an_answer_a_question(
    told: Callable[[Story], None],
) -> None:
    async def story(stage: Stage) -> None:
        with pytest.raises(UsageError):
            await ask_confirmation(
                WINDOW,
                DIGEST,
                [],
                stage.services.store,
                stage.services.clock,
                stage.services.config.mcp,
                asked_by="a program",
            )
        with pytest.raises(NotFoundError):
            await get_question("NOSUCH", stage.services.store)

    told(story)


def test_a_declined_question_leaves_no_ticket(told: Callable[[Story], None]) -> None:
    async def story(stage: Stage) -> None:
        question = await asked(stage)
        await decline_question(
            question.code, stage.services.store, stage.services.clock, by="", shown="mcp"
        )

        with pytest.raises(TicketError) as refused:
            await spend_ticket(
                question.code, DIGEST, [1, 2], stage.services.store, stage.services.clock
            )

        assert refused.value.reason == "unknown-ticket"
        assert (await get_question(question.code, stage.services.store)).answered_by == "unnamed"

    told(story)


def test_names_are_kept_without_what_a_terminal_would_obey(told: Callable[[Story], None]) -> None:
    async def story(stage: Stage) -> None:
        question = await asked(stage, by="\x1b]0;owned\x07 agent\n" + "x" * 500)

        assert question.asked_by.isprintable()
        assert len(question.asked_by) == 100

    told(story)


def test_a_window_on_the_shelf_is_the_one_of_its_name(told: Callable[[Story], None]) -> None:
    async def story(stage: Stage) -> None:
        shelf = WindowLibrary(stage.services.config)
        kept = await shelf.save(window_file(stage, "first"))
        other = await shelf.save(window_file(stage, "second"))
        assert (await shelf.window(kept.id)).file == kept.file
        assert set(await shelf.ids()) == {kept.id, other.id}

        kept.path.write_bytes(other.path.read_bytes())

        with pytest.raises(NotFoundError):
            await shelf.window(kept.id, checked=True)

    told(story)


def window_file(stage: Stage, prompt: str) -> CandidateFile:
    """A window in which nothing was published."""
    now = stage.clock.now()
    return with_checksum(
        CandidateFile(
            schema=SCHEMA,
            created_at=now,
            window=Window(start=now, end=now),
            topics=(),
            prompt=prompt,
            sources=(),
            candidates=(),
        )
    )
