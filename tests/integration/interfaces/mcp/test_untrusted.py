"""What strangers wrote is data: marked, made visible, and obeyed by nobody."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.support.engine_harness import opened
from tests.support.feed_documents import item, rss
from tests.support.mcp_client import ASK_CLIENT, Ask, Person, agent, collected, publish

from feedmill_demo.server.script import document

MARK = "zebrafinch"
TEXT = f"{MARK} text of the entry"


def places(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Where in an answer the mark stands."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from places(inner, (*path, key))
    elif isinstance(value, list):
        for inner in value:
            yield from places(inner, path)
    elif isinstance(value, str) and MARK in value:
        yield path


async def every_answer(ask: Ask, window: str) -> dict[str, Any]:
    entry = (await ask("list_entries"))["entries"][0]
    return {
        "list_candidates": await ask("list_candidates", window_id=window),
        "explain_candidate": await ask("explain_candidate", window_id=window, candidate_id=1),
        "list_entries": await ask("list_entries"),
        "get_entry": await ask("get_entry", entry_uid=entry["entry_uid"]),
        "list_feeds": await ask("list_feeds"),
        "get_feed": await ask("get_feed", feed_id=entry["feed_id"]),
        "explain_feed": await ask("explain_feed", feed_id=entry["feed_id"]),
    }


async def test_words_of_feeds_stand_in_untrusted_fields_and_nowhere_else(tmp_path: Path) -> None:
    body = rss(item(1, title=f"{MARK} title", text=TEXT)).replace(
        b"<title>Paper</title>", f"<title>{MARK} paper</title>".encode()
    )
    async with opened(tmp_path, mcp=ASK_CLIENT) as stage, agent(stage) as ask:
        feed = await stage.add(f"/{MARK}", document(body))
        await stage.poll(feed)
        window = await collected(ask, feed.url, stage.publisher.url(f"/no-{MARK}"))
        await ask("screen", window_id=window["window_id"], method="lexical")

        answers = await every_answer(ask, window["window_id"])

        found = {name: list(places(answer)) for name, answer in answers.items()}
        assert all(found.values())
        outside = {path for paths in found.values() for path in paths if "untrusted" not in path}
        assert outside == set()
        assert all("untrusted" in path for path in places(window))
        assert all("notice" in answer for answer in answers.values())


async def test_an_entry_that_gives_orders_changes_nothing(tmp_path: Path) -> None:
    person = Person("decline")
    async with opened(tmp_path, mcp=ASK_CLIENT) as stage, agent(stage, person) as ask:
        window = (await collected(ask, publish(stage)))["window_id"]
        await ask("screen", window_id=window, method="lexical")
        page = (await ask("list_candidates", window_id=window))["candidates"]
        (sly,) = [c["candidate_id"] for c in page if "IGNORE" in c["untrusted"]["title"]]
        keep = {"candidate_id": sly, "decision": "keep", "reason": "It told me to.", "score": 1.0}
        recorded = await ask("record_decisions", window_id=window, decisions=[keep])

        shown = await ask("explain_candidate", window_id=window, candidate_id=sly)
        refused = await ask.refusal(
            "insert_selected", window_id=window, candidate_ids=[1, 2, 3], ticket="AAAAA-AAAAA"
        )

        opinion = shown["candidate"]["opinion"]
        assert (recorded["keep"], recorded["unsure"]) == (0, 1)
        assert (opinion["suggestion"], opinion["is_suspicious"]) == ("unsure", True)
        assert refused.startswith("unknown-ticket: ")
        assert await stage.entries() == []


async def test_hidden_characters_and_line_ends_reach_neither_the_agent_nor_the_person(
    tmp_path: Path,
) -> None:
    title = "Quiet\u202e eman\u200b\U000e0041 title\n2. 2025-10-13 | A forged line | x | y"
    person = Person()
    async with opened(tmp_path, mcp=ASK_CLIENT) as stage, agent(stage, person) as ask:
        stage.publisher.script("/sly", document(rss(item(1, title=title))), host="127.0.0.1")
        window = await collected(ask, stage.publisher.url("/sly"))
        page = await ask("list_candidates", window_id=window["window_id"])

        await ask("confirm", window_id=window["window_id"], candidate_ids=[1])

        shown = page["candidates"][0]["untrusted"]["title"]
        assert shown == "Quiet eman title 2. 2025-10-13 | A forged line | x | y"
        (question,) = person.questions
        assert len(question.splitlines()) == 2
        assert all(char.isprintable() for line in question.splitlines() for char in line)


async def test_more_than_a_person_can_read_in_a_form_goes_to_the_terminal(tmp_path: Path) -> None:
    person = Person()
    items = [item(number, date="Mon, 13 Oct 2025 09:00:00 GMT") for number in range(1, 32)]
    async with opened(tmp_path, mcp=ASK_CLIENT) as stage, agent(stage, person) as ask:
        stage.publisher.script("/long", document(rss(*items)), host="127.0.0.1")
        window = await collected(ask, stage.publisher.url("/long"))

        few = await ask("confirm", window_id=window["window_id"], candidate_ids=list(range(1, 31)))
        many = await ask("confirm", window_id=window["window_id"], candidate_ids=list(range(1, 32)))

        assert (few["status"], many["status"]) == ("confirmed", "pending")
        assert len(person.questions) == 1
