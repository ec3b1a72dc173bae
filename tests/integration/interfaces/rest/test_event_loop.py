"""The event loop goes on while documents of publishers are parsed and searched."""

import asyncio
from urllib.parse import quote

import pytest
from tests.support.engine_harness import Stage
from tests.support.feed_documents import paper
from tests.support.rest_client import RestMill

from feedmill.parse.input import sniff
from feedmill.search import query
from feedmill_demo.server.script import document


class OnLoop:
    """Counts the calls of a function, and those in a thread that runs an event loop."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, module: object, name: str) -> None:
        self.calls = self.on_loop = 0
        self._function = getattr(module, name)
        monkeypatch.setattr(module, name, self)

    def __call__(self, *given: object) -> object:
        self.calls += 1
        self.on_loop += asyncio._get_running_loop() is not None
        return self._function(*given)


@pytest.fixture
def parsing(monkeypatch: pytest.MonkeyPatch) -> OnLoop:
    return OnLoop(monkeypatch, sniff, "kind_of")


def test_documents_are_parsed_in_threads_when_feeds_are_added_and_looked_at(
    mill: RestMill, parsing: OnLoop
) -> None:
    def address(stage: Stage, name: str) -> str:
        stage.publisher.script(f"/{name}", paper(1), host="127.0.0.1")
        return stage.publisher.url(f"/{name}", host="127.0.0.1")

    async def publish(stage: Stage) -> tuple[str, str, str]:
        one, other = address(stage, "one"), address(stage, "other")
        listed = f'<opml version="2.0"><body><outline xmlUrl="{other}"/></body></opml>'
        stage.publisher.script("/list", document(listed.encode()), host="127.0.0.1")
        return one, other, stage.publisher.url("/list", host="127.0.0.1")

    one, other, opml = mill.tell(publish)
    answers = [
        mill.send("/feeds", {"url": one}),
        mill.ask(f"/discover?url={quote(other, safe='')}"),
        mill.ask(f"/discover?url={quote(opml, safe='')}"),
    ]

    assert [answer.status for answer in answers] == [201, 200, 200]
    assert parsing.calls >= 3
    assert parsing.on_loop == 0


def test_documents_are_parsed_in_threads_when_they_are_compared_and_shown(
    mill: RestMill, parsing: OnLoop
) -> None:
    async def poll(stage: Stage) -> str:
        feed = await stage.add("/feed", paper(1), paper(2))
        await stage.poll(feed, times=2)
        return feed.id

    feed_id = mill.tell(poll)
    before = parsing.calls

    answer = mill.ask(f"/feeds/{feed_id}/diff")

    assert answer.status == 200
    assert parsing.calls == before + 2
    assert parsing.on_loop == 0


def test_matches_are_marked_in_a_thread(mill: RestMill, monkeypatch: pytest.MonkeyPatch) -> None:
    async def poll(stage: Stage) -> None:
        await stage.poll(await stage.add("/feed", paper(1)))

    mill.tell(poll)
    marking = OnLoop(monkeypatch, query, "highlight")

    answer = mill.ask("/entries?q=title")

    assert answer.json["items"][0]["highlight"]
    assert (marking.calls, marking.on_loop) == (1, 0)
