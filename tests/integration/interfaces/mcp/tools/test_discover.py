"""Tool discover_feeds: looks only, and marks what publishers wrote."""

from pathlib import Path

from tests.support.engine_harness import opened
from tests.support.feed_documents import paper
from tests.support.mcp_client import agent


async def test_feeds_of_an_address_are_listed_and_nothing_is_subscribed(tmp_path: Path) -> None:
    async with opened(tmp_path) as stage, agent(stage) as ask:
        stage.publisher.script("/feed", paper(1, 2))
        url = stage.publisher.url("/feed", host="127.0.0.1")

        found = await ask("discover_feeds", url=url)

        (feed,) = found["feeds"]
        assert (feed["format"], feed["entries"]) == ("RSS", 2)
        assert found["requests"] == 2  # https was tried
        assert feed["untrusted"]["url"] == url
        assert (await stage.services.store.feeds(limit=9)).items == ()
