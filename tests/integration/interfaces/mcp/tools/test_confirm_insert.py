"""A ticket is worth one insertion of one selection, soon; everything else leaves the store as it was."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import MCPError
from mcp_types import ElicitResult, InputRequiredResult
from tests.support.engine_harness import Stage, opened
from tests.support.mcp_client import ASK_CLIENT, Ask, Person, agent, collected, publish

from feedmill.engine.two_phase.confirmation import ask_confirmation as ask_person

Confirmed = Callable[[], AbstractAsyncContextManager[tuple[Stage, Ask, str, str]]]
YES = ElicitResult(action="accept", content={"insert": True})


@pytest.fixture
def confirmed(tmp_path: Path) -> Confirmed:
    """A person has confirmed candidates 1 and 2 of a window: the window and the ticket."""

    @asynccontextmanager
    async def opening() -> AsyncIterator[tuple[Stage, Ask, str, str]]:
        async with opened(tmp_path, mcp=ASK_CLIENT) as stage, agent(stage, Person()) as ask:
            window = (await collected(ask, publish(stage)))["window_id"]
            answer = await ask("confirm", window_id=window, candidate_ids=[1, 2])
            yield stage, ask, window, answer["ticket"]

    return opening


async def test_an_invented_ticket_inserts_nothing(confirmed: Confirmed) -> None:
    async with confirmed() as (stage, ask, window, ticket):
        changed = ("B" if ticket[0] != "B" else "C") + ticket[1:]
        for invented in (changed, ticket[:-1], "yes", "confirmed", "-" * 29):
            words = await ask.refusal(
                "insert_selected", window_id=window, candidate_ids=[1, 2], ticket=invented
            )
            assert words.startswith("unknown-ticket: ")

        assert await stage.entries() == []


async def test_a_spent_ticket_inserts_nothing_and_says_what_it_did_the_first_time(
    confirmed: Confirmed,
) -> None:
    async with confirmed() as (stage, ask, window, ticket):
        chosen = {"window_id": window, "candidate_ids": [2, 1], "ticket": ticket}
        await ask("insert_selected", **chosen)

        again = await ask("insert_selected", **chosen)

        assert (again["is_repeat"], again["new"]) == (True, 2)
        assert len(await stage.entries()) == 2


async def test_of_two_insertions_at_once_one_has_the_ticket(confirmed: Confirmed) -> None:
    async with confirmed() as (stage, ask, window, ticket):
        chosen = {"window_id": window, "candidate_ids": [1, 2], "ticket": ticket}

        answers = await asyncio.gather(*(ask.call("insert_selected", **chosen) for _ in range(4)))

        done = [one.structured_content for one in answers if not one.is_error]
        assert sum(not one["is_repeat"] for one in done) == 1
        assert len(await stage.entries()) == 2


@pytest.mark.parametrize("others", [[1], [1, 2, 3], [3], [1, 3]], ids=str)
async def test_a_ticket_holds_for_no_other_selection_and_is_not_used_up_by_trying(
    confirmed: Confirmed, others: list[int]
) -> None:
    async with confirmed() as (stage, ask, window, ticket):
        words = await ask.refusal(
            "insert_selected", window_id=window, candidate_ids=others, ticket=ticket
        )

        assert words.startswith("other-selection: ")
        assert await stage.entries() == []
        done = await ask("insert_selected", window_id=window, candidate_ids=[1, 2], ticket=ticket)
        assert done["new"] == 2


async def test_a_ticket_holds_for_no_other_window(confirmed: Confirmed) -> None:
    async with confirmed() as (stage, ask, _, ticket):
        stage.later(seconds=1)
        other = (await collected(ask, publish(stage, "/other")))["window_id"]

        words = await ask.refusal(
            "insert_selected", window_id=other, candidate_ids=[1, 2], ticket=ticket
        )

        assert words.startswith("other-selection: ")
        assert await stage.entries() == []


async def test_a_ticket_grows_old(confirmed: Confirmed) -> None:
    async with confirmed() as (stage, ask, window, ticket):
        stage.later(minutes=15)

        words = await ask.refusal(
            "insert_selected", window_id=window, candidate_ids=[1, 2], ticket=ticket
        )

        assert words.startswith("ticket-expired: ")
        assert await stage.entries() == []


async def test_a_ticket_may_be_typed_by_a_person(confirmed: Confirmed) -> None:
    async with confirmed() as (_, ask, window, ticket):
        typed = f" {ticket.replace('-', ' ').lower()}\n"

        done = await ask("insert_selected", window_id=window, candidate_ids=[1, 2], ticket=typed)

        assert done["new"] == 2


async def test_a_window_that_was_changed_after_the_yes_is_refused(confirmed: Confirmed) -> None:
    async with confirmed() as (stage, ask, window, ticket):
        path = Path(stage.config.store.home) / "windows" / f"{window}.json"
        path.write_bytes(path.read_bytes().replace(b"The derby", b"The Derby"))

        words = await ask.refusal(
            "insert_selected", window_id=window, candidate_ids=[1, 2], ticket=ticket
        )

        assert words.startswith("changed: ")
        assert await stage.entries() == []


async def test_no_file_of_the_mill_holds_a_ticket(confirmed: Confirmed) -> None:
    async with confirmed() as (stage, _, __, ticket):
        files = _files(Path(stage.config.store.home))

        assert any(b"confirmations" in data for data in files)
        for spelling in (ticket, ticket.replace("-", "")):
            assert not any(spelling.encode() in data for data in files)


async def test_an_unknown_candidate_is_refused_before_anybody_is_asked(tmp_path: Path) -> None:
    person = Person()
    async with opened(tmp_path, mcp=ASK_CLIENT) as stage, agent(stage, person) as ask:
        window = (await collected(ask, publish(stage)))["window_id"]

        words = await ask.refusal("confirm", window_id=window, candidate_ids=[1, 99])

        assert words.startswith("unknown-id: ")
        assert person.questions == []


async def test_an_answer_that_is_sent_again_asks_again(tmp_path: Path) -> None:
    async with opened(tmp_path, mcp=ASK_CLIENT) as stage, agent(stage, Person()) as ask:
        window = (await collected(ask, publish(stage)))["window_id"]
        chosen = {"window_id": window, "candidate_ids": [1]}
        asked = await _confirm(ask, chosen)
        assert isinstance(asked, InputRequiredResult)
        (key,) = asked.input_requests or {}
        first = await _confirm(ask, chosen, {key: YES}, asked.request_state)
        assert first.structured_content["status"] == "confirmed"

        replayed = await _confirm(ask, chosen, {key: YES}, asked.request_state)

        assert isinstance(replayed, InputRequiredResult)
        with pytest.raises(MCPError, match="requestState"):
            await _confirm(ask, {**chosen, "candidate_ids": [2]}, {key: YES}, asked.request_state)


async def test_a_yes_without_a_question_is_no_yes(tmp_path: Path) -> None:
    async with opened(tmp_path, mcp=ASK_CLIENT) as stage, agent(stage, Person()) as ask:
        window = (await collected(ask, publish(stage)))["window_id"]
        answer = await _confirm(
            ask,
            {"window_id": window, "candidate_ids": [1]},
            {"feedmill.interfaces.mcp.tools.confirm:answer_of_person": YES},
        )

        assert isinstance(answer, InputRequiredResult)


async def test_a_person_is_not_buried_under_questions(tmp_path: Path) -> None:
    async with opened(tmp_path, mcp=ASK_CLIENT) as stage, agent(stage) as ask:
        window = (await collected(ask, publish(stage)))["window_id"]
        for number in range(50):
            stage.later(seconds=1)
            await _wait_for_answer(stage, f"digest {number}")

        words = await ask.refusal("confirm", window_id=window, candidate_ids=[1])

        assert words.startswith("too-many-questions: ")
        stage.later(hours=25)
        answer = await ask("confirm", window_id=window, candidate_ids=[1])
        assert answer["status"] == "pending"


def _files(home: Path) -> list[bytes]:
    return [path.read_bytes() for path in home.rglob("*") if path.is_file()]


async def _wait_for_answer(stage: Stage, digest: str) -> None:
    services = stage.services
    await ask_person(
        "0" * 16,
        digest,
        [1],
        services.store,
        services.clock,
        services.config.mcp,
        asked_by="somebody",
    )


async def _confirm(
    ask: Ask, arguments: dict[str, Any], responses: Any = None, state: str | None = None
) -> Any:
    """One round of the call, as it goes over the wire."""
    return await ask.client.session.call_tool(
        "confirm",
        arguments,
        input_responses=responses,
        request_state=state,
        allow_input_required=True,
    )
