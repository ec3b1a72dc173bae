"""The tools as a client sees them: described, paged, bounded, and honest about mistakes."""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import MCPError
from tests.support.engine_harness import Stage, opened
from tests.support.feed_documents import item, numbered, rss
from tests.support.mcp_client import OFF_TOPIC, ON_TOPIC, Ask, agent, collected, publish
from tests.support.waiting import wait_until

from feedmill.config import McpConfig
from feedmill.engine.subscribe.add_feed import subscribe_unchecked
from feedmill.engine.two_phase.confirmation import accept_question
from feedmill.interfaces.mcp.tools import windows
from feedmill_demo.server.script import document

CHANGING = {"collect_window", "screen", "record_decisions", "confirm", "insert_selected"}
REPLACING = {"collect_window", "screen", "record_decisions"}  # what was there before
LOOKING = {
    "list_windows", "list_topics", "list_candidates", "explain_candidate", "list_feeds", "get_feed",
    "explain_feed", "list_entries", "get_entry", "discover_feeds",
}  # fmt: skip

Story = Callable[[Stage, Ask], Awaitable[None]]


@pytest.fixture
def told(tmp_path: Path) -> Callable[[Story], None]:
    def tell(story: Story) -> None:
        async def whole() -> None:
            async with opened(tmp_path) as stage, agent(stage) as ask:
                await story(stage, ask)

        asyncio.run(whole())

    return tell


def test_every_tool_says_what_it_does_to_the_world_and_what_it_answers(
    told: Callable[[Story], None],
) -> None:
    async def story(_: Stage, ask: Ask) -> None:
        tools = {tool.name: tool for tool in (await ask.client.list_tools()).tools}

        assert set(tools) == CHANGING | LOOKING
        for name, tool in tools.items():
            assert tool.annotations is not None
            assert tool.annotations.read_only_hint is (name in LOOKING)
            assert tool.annotations.destructive_hint is (name in REPLACING)
            assert len(tool.description or "") > 30
        outward = {name for name, tool in tools.items() if tool.annotations.open_world_hint}  # type: ignore[union-attr]  # asserted above
        assert outward == {"collect_window", "screen", "discover_feeds"}
        assert "comes from feeds on the web" in (ask.client.instructions or "")

    told(story)


def test_the_list_of_tools_costs_a_model_less_than_12_kb(told: Callable[[Story], None]) -> None:
    async def story(_: Stage, ask: Ask) -> None:
        listed = await ask.client.list_tools()

        assert len(listed.model_dump_json(by_alias=True, exclude_none=True)) < 12_000

    told(story)


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("confirm", {"window_id": "0" * 16}, "invalid-argument: candidate_ids: required"),
        (
            "list_feeds",
            {"bogus": 1},
            "unknown-argument: 'bogus'; the arguments are: tag, cursor, limit",
        ),
        ("nonsense", {}, "unknown-tool: there is no tool 'nonsense'"),
        ("list_windows", {"limit": 0}, "invalid-argument: limit: should be greater"),
        ("list_windows", {"limit": "many"}, "invalid-argument: limit: should be a valid integer"),
    ],
)
def test_an_error_begins_with_its_reason_and_quotes_no_library(
    told: Callable[[Story], None], name: str, arguments: dict[str, Any], words: str
) -> None:
    async def story(_: Stage, ask: Ask) -> None:
        result = await ask.call(name, **arguments)
        said = "".join(getattr(block, "text", "") for block in result.content)

        assert result.is_error
        assert said.startswith(words)
        assert not {"pydantic", "Input", "Field", "unable"} & set(said.split())

    told(story)


def test_windows_are_listed_by_pages_and_as_a_resource(told: Callable[[Story], None]) -> None:
    async def story(stage: Stage, ask: Ask) -> None:
        for at in range(3):
            stage.later(seconds=1)
            await collected(ask, publish(stage, f"/w{at}"))

        first = await ask("list_windows", limit=2)
        rest = await ask("list_windows", limit=2, cursor=first["next_cursor"])
        listed = [str(one.uri) for one in (await ask.client.list_resources()).resources]
        read = {
            uri: json.loads((await ask.client.read_resource(uri)).contents[0].text)  # type: ignore[union-attr]  # text
            for uri in listed
        }
        prompt = await ask.client.get_prompt(
            "screen_window", {"window_id": first["windows"][0]["window_id"]}
        )

        assert (len(first["windows"]), len(rest["windows"])) == (2, 1)
        assert rest["next_cursor"] is None
        assert listed == ["feedmill://windows", "feedmill://topics", "feedmill://feeds"]
        assert len(read["feedmill://windows"]["windows"]) == 3
        assert len(read["feedmill://topics"]["topics"]) == 6
        assert read["feedmill://feeds"]["feeds"] == []
        assert "record_decisions" in str(prompt.messages[0].content)
        assert await ask.refusal("list_windows", cursor="x") != ""
        with pytest.raises(MCPError, match="not-found: there is no window 'w'"):
            await ask.client.get_prompt("screen_window", {"window_id": "w"})

    told(story)


def test_an_agent_that_only_reads_the_instructions_reaches_an_insertion(
    told: Callable[[Story], None],
) -> None:
    """It calls what each numbered step names, in their order, with what earlier answers gave it."""

    async def story(stage: Stage, ask: Ask) -> None:
        instructions = ask.client.instructions or ""
        steps = re.findall(r"^\d\. (\w+)", instructions, re.MULTILINE)
        known: dict[str, Any] = {
            "feeds": [publish(stage)],
            "start": "2025-10-13",
            "end": "2025-10-13",
        }
        known |= {"candidate_ids": [1], "method": "lexical"}
        known["decisions"] = [{"candidate_id": 1, "decision": "keep", "reason": "on topic"}]
        schemas = {one.name: one.input_schema for one in (await ask.client.list_tools()).tools}
        for step in steps:
            wanted = schemas[step]["properties"]
            answer = await ask(step, **{name: known[name] for name in wanted if name in known})
            known |= {name: value for name, value in answer.items() if value is not None}
            if known.get("status") == "pending" and "ticket" not in known:
                services = stage.services
                made = await accept_question(
                    answer["question"], services.store, services.clock, services.config.mcp,
                    by="a person", shown="terminal",
                )  # fmt: skip
                known["ticket"] = made.ticket

        assert steps == [
            "collect_window",
            "screen",
            "record_decisions",
            "confirm",
            "insert_selected",
        ]
        assert known["confirmed_by"] == "a person"
        assert len(await stage.entries()) == 1

    told(story)


def test_nothing_that_only_a_person_may_say_is_an_argument(told: Callable[[Story], None]) -> None:
    async def story(_: Stage, ask: Ask) -> None:
        tools = {tool.name: tool for tool in (await ask.client.list_tools()).tools}

        asked = {name: set(tools[name].input_schema["properties"]) for name in CHANGING}

        assert asked["confirm"] == {"window_id", "candidate_ids"}
        assert asked["insert_selected"] == {"window_id", "candidate_ids", "ticket"}

    told(story)


def test_feeds_and_entries_are_listed_page_by_page(told: Callable[[Story], None]) -> None:
    async def story(stage: Stage, ask: Ask) -> None:
        feed = await stage.add("/feed", document(numbered(1, 2, 3)))
        await stage.poll(feed)

        first = await ask("list_entries", limit=2)
        second = await ask("list_entries", limit=2, cursor=first["next_cursor"])
        feeds = await ask("list_feeds")
        entry = await ask("get_entry", entry_uid=first["entries"][0]["entry_uid"])
        words = await ask("explain_feed", feed_id=feed.id)
        shown = await ask("get_feed", feed_id=feed.id)

        assert [len(page["entries"]) for page in (first, second)] == [2, 1]
        assert second["next_cursor"] is None
        assert [one["feed_id"] for one in feeds["feeds"]] == [feed.id]
        assert entry["entry"]["untrusted"]["feed_title"] == "Paper"
        assert words["schedule"]
        assert words["kind"] == "well"
        assert (shown["type"], shown["last_status"]) == ("rss", 200)

    told(story)


def test_entries_are_searched_and_filtered(told: Callable[[Story], None]) -> None:
    async def story(stage: Stage, ask: Ask) -> None:
        await stage.poll(await stage.add("/feed", document(numbered(1, 2, 3))))

        found = await ask("list_entries", query='"title 2"')
        none = await ask("list_entries", query="title", category="absent")
        oldest = await ask("list_entries", order="first_seen", oldest_first=True)

        assert [one["untrusted"]["title"] for one in found["entries"]] == ["Title 2"]
        assert none["entries"] == []
        assert len(oldest["entries"]) == 3

    told(story)


@pytest.mark.parametrize("text", ["null", "[77]", '{"a": 1}'])
def test_a_text_that_reads_like_json_is_searched_for_as_it_stands(
    told: Callable[[Story], None], text: str
) -> None:
    async def story(stage: Stage, ask: Ask) -> None:
        titles = (item(1, title="One"), item(2, title=f"Two {text}"))
        await stage.poll(await stage.add("/feed", document(rss(*titles))))

        found = await ask("list_entries", query=text)

        assert [one["untrusted"]["title"] for one in found["entries"]] == [f"Two {text}"]

    told(story)


def test_a_long_text_is_cut_and_said_to_be(told: Callable[[Story], None]) -> None:
    async def story(stage: Stage, ask: Ask) -> None:
        feed = await stage.add("/feed", document(rss(item(1, text="<p>" + "word " * 400))))
        await stage.poll(feed)
        listed = (await ask("list_entries"))["entries"][0]

        cut = await ask("get_entry", entry_uid=listed["entry_uid"], max_chars=100)
        whole = await ask("get_entry", entry_uid=listed["entry_uid"])

        assert len(listed["untrusted"]["summary"]) <= McpConfig().text_chars
        assert (len(cut["entry"]["untrusted"]["summary"]) <= 100, cut["is_cut"]) == (True, True)
        assert (len(whole["entry"]["untrusted"]["summary"]) > 1_900, whole["is_cut"]) == (
            True,
            False,
        )

    told(story)


def test_candidates_are_filtered_by_what_was_said_of_them(told: Callable[[Story], None]) -> None:
    async def story(stage: Stage, ask: Ask) -> None:
        window = (await collected(ask, publish(stage)))["window_id"]
        before = await ask("list_candidates", window_id=window, decision="unscreened")
        ids = {c["untrusted"]["title"]: c["candidate_id"] for c in before["candidates"]}
        said = [
            {
                "candidate_id": ids[ON_TOPIC[0]],
                "decision": "keep",
                "reason": "An LCA.",
                "topic": "lca",
            },
            {"candidate_id": ids[OFF_TOPIC[0]], "decision": "drop", "reason": "Football."},
        ]
        await ask("record_decisions", window_id=window, decisions=said)

        kept = await ask("list_candidates", window_id=window, decision="keep")
        by_topic = await ask("list_candidates", window_id=window, topic="lca", min_score=0.5)
        rest = await ask("list_candidates", window_id=window, decision="unscreened")
        first = await ask("list_candidates", window_id=window, limit=2)
        last = await ask("list_candidates", window_id=window, limit=2, cursor=first["next_cursor"])

        assert before["total"] == 3
        assert [c["candidate_id"] for c in kept["candidates"]] == [ids[ON_TOPIC[0]]]
        assert kept["candidates"][0]["opinion"]["methods"] == ["agent"]
        assert kept["candidates"][0]["opinion"]["decided_by"].startswith("agent: ")
        assert by_topic["candidates"] == kept["candidates"]
        assert rest["total"] == 1
        assert (len(first["candidates"]), len(last["candidates"])) == (2, 1)
        assert last["next_cursor"] is None

    told(story)


def test_what_an_agent_judged_stays_when_the_window_is_screened_again(
    told: Callable[[Story], None],
) -> None:
    async def story(stage: Stage, ask: Ask) -> None:
        window = (await collected(ask, publish(stage)))["window_id"]
        judged = {"candidate_id": 1, "decision": "drop", "reason": "I have read it.", "score": 0.0}
        await ask("screen", window_id=window, method="lexical")
        await ask("record_decisions", window_id=window, decisions=[judged])

        screened = await ask("screen", window_id=window, method="lexical", topics=["lca"])
        shown = await ask("explain_candidate", window_id=window, candidate_id=1)

        assert screened["methods"] == ["agent", "lexical"]
        assert shown["candidate"]["opinion"]["untrusted"]["reason"] == "I have read it."
        assert {score["method"] for score in shown["scores"]} >= {"agent"}

    told(story)


def test_a_topic_of_ones_own_is_screened_for(told: Callable[[Story], None]) -> None:
    async def story(stage: Stage, ask: Ask) -> None:
        window = (await collected(ask, publish(stage)))["window_id"]
        football = {
            "id": "football",
            "name": "Football",
            "description": "Matches and tables of football leagues.",
            "examples": [
                "Two late goals decided the derby.",
                "The teams stay at the top of the table after a draw.",
                "A goal in the last minute won the match.",
            ],
        }

        await ask(
            "screen",
            window_id=window,
            method="lexical",
            own_topics=[football],
            topics=["football"],
        )
        page = await ask("list_candidates", window_id=window, order="score")
        weak = await ask(
            "screen", window_id=window, method="lexical", own_topics=[{**football, "examples": []}]
        )

        assert page["candidates"][0]["untrusted"]["title"] == OFF_TOPIC[0]
        assert any("weak" in warning for warning in weak["warnings"])

    told(story)


MISTAKES: list[tuple[str, dict[str, Any], str]] = [
    ("get_feed", {"feed_id": "nobody"}, "not-found: "),
    ("get_entry", {"entry_uid": "nothing"}, "not-found: "),
    ("list_entries", {"cursor": "made-up"}, "bad-cursor: "),
    ("list_entries", {"feed_id": "nobody"}, "not-found: "),
    ("list_entries", {"feed_id": ""}, "not-found: "),
    ("list_entries", {"since": "2025-10-13T00:00:00"}, "usage: "),
    ("list_entries", {"category": ""}, "usage: category is empty"),
    ("list_feeds", {"tag": " "}, "usage: tag is empty"),
    ("list_entries", {"order": "relevance"}, "usage: relevance is the order of a search: give one"),
    ("list_entries", {"query": "a", "oldest_first": True}, "usage: a search by relevance has the"),
    ("list_candidates", {"window_id": "0123456789abcdef"}, "not-found: "),
    ("list_candidates", {"window_id": "../../../etc/passwd"}, "not-found: "),
    ("screen", {"window_id": "0123456789ABCDEF"}, "not-found: "),
    ("collect_window", {"last_days": 1}, "usage: "),  # no subscription, no address
    ("collect_window", {"feeds": ["http://127.0.0.1/"]}, "usage: "),  # no span
    ("collect_window", {"feeds": ["x"], "start": "soon"}, "bad-window: "),
    (
        "collect_window",
        {"feeds": ["x"], "start": "2025-01-02", "end": "2025-01-01"},
        "bad-window: ",
    ),
    ("collect_window", {"feeds": ["x"], "start": "2025-01-02", "last_days": 2}, "usage: "),
]


def test_every_mistake_is_told_with_its_stable_reason(told: Callable[[Story], None]) -> None:
    async def story(_: Stage, ask: Ask) -> None:
        said = [(await ask.refusal(name, **arguments)) for name, arguments, _ in MISTAKES]

        assert [
            (name, words)
            for (name, _, reason), words in zip(MISTAKES, said, strict=True)
            if not words.startswith(reason)
        ] == []
        assert [words for words in said if " --" in words] == []  # an agent has no options

    told(story)


def test_a_hint_names_tools_and_what_to_tell_the_person(told: Callable[[Story], None]) -> None:
    async def story(stage: Stage, ask: Ask) -> None:
        window = (await collected(ask, publish(stage)))["window_id"]

        unknown = await ask.refusal("confirm", window_id=window, candidate_ids=[99])
        no_model = await ask.refusal("screen", window_id=window, method="llm")

        assert unknown.startswith("unknown-id: ")
        assert unknown.endswith("(list_candidates shows the ids there are)")
        assert no_model.startswith("config: ")
        assert no_model.endswith("(use hybrid or lexical, and tell the person)")

    told(story)


def test_a_source_that_fails_costs_only_itself(told: Callable[[Story], None]) -> None:
    async def story(stage: Stage, ask: Ask) -> None:
        gone = stage.publisher.url("/nothing-here", host="127.0.0.1")

        window = await collected(ask, publish(stage), gone, "ftp://paper.example/feed")

        assert (window["sources_ok"], window["sources_failed"], window["candidates"]) == (1, 2, 3)
        assert all(source["reason"] for source in window["failed"])

    told(story)


def test_named_feeds_and_a_tag_are_collected_together_and_each_source_once(
    told: Callable[[Story], None],
) -> None:
    async def story(stage: Stage, ask: Ask) -> None:
        named, tagged = publish(stage), publish(stage, "/tagged")
        await subscribe_unchecked(tagged, stage.services, tags=("green",))

        both = await ask("collect_window", feeds=[named] * 3, tag="green", start="2025-10-13")

        assert (both["sources_ok"], both["sources_failed"]) == (2, 0)

    told(story)


def test_judgements_are_taken_whole_or_not_at_all(told: Callable[[Story], None]) -> None:
    async def story(stage: Stage, ask: Ask) -> None:
        window = (await collected(ask, publish(stage)))["window_id"]
        good = {"candidate_id": 1, "decision": "keep", "reason": "It is about the topic."}

        unknown = await ask.refusal(
            "record_decisions", window_id=window, decisions=[good, {**good, "candidate_id": 9}]
        )
        twice = await ask.refusal("record_decisions", window_id=window, decisions=[good, good])
        silent = await ask.refusal(
            "record_decisions", window_id=window, decisions=[{**good, "reason": ""}]
        )
        misspelt = await ask.refusal(
            "record_decisions", window_id=window, decisions=[{**good, "because": "It is good."}]
        )
        example = {"id": "cups", "name": "Cups", "description": "Cups.", "example": ["A cup."]}
        topic = await ask.refusal("screen", window_id=window, own_topics=[example])
        left = await ask("list_candidates", window_id=window, decision="unscreened")

        assert unknown.startswith("unknown-id: ")
        assert twice.startswith("usage: ")
        assert "reason" in silent
        assert misspelt.startswith("invalid-argument: decisions.0.because: unknown")
        assert topic.startswith("invalid-argument: own_topics.0.example: unknown")
        assert left["total"] == 3

    told(story)


async def test_too_many_sources_and_too_many_windows_are_bounded(tmp_path: Path) -> None:
    small = McpConfig(window_sources=2, windows_keep=1)
    async with opened(tmp_path, mcp=small) as stage, agent(stage) as ask:
        url = publish(stage)
        words = await ask.refusal(
            "collect_window", feeds=[f"{url}?{n}" for n in range(3)], last_days=1
        )
        old = await collected(ask, url)
        stage.later(seconds=1)
        new = await collected(ask, url)

        assert words.startswith("usage: ")
        assert (await ask("list_candidates", window_id=new["window_id"]))["total"] == 3
        gone = await ask.refusal("list_candidates", window_id=old["window_id"])
        assert gone.startswith("not-found: ")


def test_progress_grows_with_every_report_while_one_source_is_slow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reports: list[float] = []

    class SlowCall:
        async def report_progress(self, progress: float, total: float) -> None:
            assert total == 2
            reports.append(progress)

    async def story() -> None:
        monkeypatch.setattr(windows, "_PROGRESS_SEC", 0.001)
        async with windows._progress(SlowCall(), 2) as done:  # type: ignore[arg-type]
            await wait_until(lambda: len(reports) >= 3, "three reports")
            done.append("a source")
            await wait_until(lambda: reports[-1] > 1, "a report of the first source")
            done.append("the other")
            await wait_until(lambda: reports[-1] == 2, "the last report")

    asyncio.run(story())

    assert sorted(set(reports)) == reports


async def test_a_call_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    async with opened(tmp_path, mcp=McpConfig(call_sec=0.0)) as stage, agent(stage) as ask:
        words = await ask.refusal("list_feeds")

        assert words.startswith("timeout: ")


def test_a_judgement_that_contradicts_a_clear_suggestion_is_unsure_with_both_reasons(
    told: Callable[[Story], None],
) -> None:
    async def story(stage: Stage, ask: Ask) -> None:
        window = (await collected(ask, publish(stage)))["window_id"]
        await ask("screen", window_id=window, method="lexical")
        page = await ask("list_candidates", window_id=window, decision="keep")
        kept = page["candidates"][0]["candidate_id"]
        against = {"candidate_id": kept, "decision": "drop", "reason": "It is an advert."}

        recorded = await ask("record_decisions", window_id=window, decisions=[against])
        shown = await ask("explain_candidate", window_id=window, candidate_id=kept)

        assert (recorded["unsure"], recorded["drop"]) == (1, 0)
        reason = shown["candidate"]["opinion"]["untrusted"]["reason"]
        assert "It is an advert." in reason
        assert "screening disagrees" in reason

    told(story)
