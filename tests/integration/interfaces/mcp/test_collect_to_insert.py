"""The whole way of an entry through the door for agents: nothing comes in without a person's yes."""

from pathlib import Path

import pytest
from tests.support.engine_harness import opened, titles
from tests.support.mcp_client import (
    ASK_CLIENT,
    ERAS,
    ON_TOPIC,
    Ask,
    Era,
    Person,
    agent,
    agent_over_stdio,
    collected,
    publish,
)

from feedmill.config import McpConfig

in_both_eras = pytest.mark.parametrize("mode", ERAS)


async def go_all_the_way(ask: Ask, person: Person, url: str) -> None:
    """Collect, screen, judge, confirm and insert one entry; then the same once more."""
    window = await collected(ask, url)
    screened = await ask("screen", window_id=window["window_id"], method="lexical")
    page = await ask("list_candidates", window_id=window["window_id"], order="score", limit=1)
    best = page["candidates"][0]
    judged = {"candidate_id": best["candidate_id"], "decision": "keep", "reason": "It is an LCA."}
    await ask("record_decisions", window_id=window["window_id"], decisions=[judged])
    chosen = {"window_id": window["window_id"], "candidate_ids": [best["candidate_id"]]}
    confirmed = await ask("confirm", **chosen)
    inserted = await ask("insert_selected", **chosen, ticket=confirmed["ticket"])

    assert (window["candidates"], window["sources_ok"], window["sources_failed"]) == (3, 1, 0)
    assert screened["keep"] + screened["unsure"] + screened["drop"] == 3
    assert best["untrusted"]["title"] == ON_TOPIC[0]
    assert confirmed["status"] == "confirmed"
    assert (inserted["new"], inserted["unchanged"], inserted["feeds_added"]) == (1, 0, 1)
    assert len(person.questions) == 1
    assert ON_TOPIC[0] in person.questions[0]

    again = await ask("confirm", **chosen)
    repeated = await ask("insert_selected", **chosen, ticket=again["ticket"])

    assert len(person.questions) == 2
    assert again["ticket"] != confirmed["ticket"]
    assert (repeated["new"], repeated["unchanged"]) == (0, 1)


@in_both_eras
async def test_an_agent_collects_screens_asks_and_inserts_over_http_and_a_second_time_inserts_nothing(
    tmp_path: Path, mode: Era
) -> None:
    person = Person()
    async with opened(tmp_path, mcp=ASK_CLIENT) as stage, agent(stage, person, mode=mode) as ask:
        await go_all_the_way(ask, person, publish(stage))

        assert titles(await stage.entries()) == [ON_TOPIC[0]]


async def test_a_window_of_all_subscriptions_leaves_out_what_an_insertion_left_behind(
    tmp_path: Path,
) -> None:
    person = Person()
    async with opened(tmp_path, mcp=ASK_CLIENT) as stage, agent(stage, person) as ask:
        await go_all_the_way(ask, person, publish(stage))
        day = {"start": "2025-10-13", "end": "2025-10-13"}

        alone = await ask.refusal("collect_window", **day)
        tagged = await ask("collect_window", tag="collected", **day)

        assert alone.startswith("usage: no sources")
        assert tagged["sources_ok"] == 1


@in_both_eras
async def test_an_agent_goes_the_same_way_over_standard_streams(tmp_path: Path, mode: Era) -> None:
    person = Person()
    async with (
        opened(tmp_path / "elsewhere") as stage,
        agent_over_stdio(tmp_path / "home", person, mode=mode, FEEDMILL_MCP_ASK="client") as ask,
    ):
        await go_all_the_way(ask, person, publish(stage))

        entries = (await ask("list_entries"))["entries"]
        assert [one["untrusted"]["title"] for one in entries] == [ON_TOPIC[0]]


@in_both_eras
@pytest.mark.parametrize(
    "person", [Person("decline"), Person(insert=False)], ids=["no", "unticked"]
)
async def test_a_person_who_says_no_leaves_no_ticket_and_no_entry(
    tmp_path: Path, mode: Era, person: Person
) -> None:
    async with opened(tmp_path, mcp=ASK_CLIENT) as stage, agent(stage, person, mode=mode) as ask:
        window = await collected(ask, publish(stage))

        answer = await ask("confirm", window_id=window["window_id"], candidate_ids=[1])

        assert (answer["status"], answer["ticket"]) == ("declined", None)
        assert await stage.entries() == []
        assert await stage.services.store.questions(stage.clock.now()) == ()


@in_both_eras
@pytest.mark.parametrize("person", [None, Person("cancel")], ids=["cannot ask", "not answered"])
async def test_without_an_answer_the_question_waits_for_a_terminal_and_the_agent_gets_no_ticket(
    tmp_path: Path, mode: Era, person: Person | None
) -> None:
    async with opened(tmp_path, mcp=ASK_CLIENT) as stage, agent(stage, person, mode=mode) as ask:
        window = await collected(ask, publish(stage))

        first = await ask("confirm", window_id=window["window_id"], candidate_ids=[2, 1])
        second = await ask("confirm", window_id=window["window_id"], candidate_ids=[1, 2, 2])

        assert (first["status"], first["ticket"]) == ("pending", None)
        assert f"feedmill confirm --code {first['question']}" in first["what_now"]
        assert second["question"] == first["question"]
        (waiting,) = await stage.services.store.questions(stage.clock.now())
        assert (waiting.code, waiting.candidate_ids) == (first["question"], (1, 2))


async def test_the_owner_can_send_every_question_to_the_terminal(tmp_path: Path) -> None:
    person = Person()
    async with opened(tmp_path, mcp=McpConfig()) as stage, agent(stage, person) as ask:
        window = await collected(ask, publish(stage))

        answer = await ask("confirm", window_id=window["window_id"], candidate_ids=[1])

        assert (answer["status"], person.questions) == ("pending", [])
