"""A feed has one fetch per instant (D26); a poll scheduled for the instant of a ping is stored a moment later."""

from datetime import timedelta
from pathlib import Path

from tests.support.engine_harness import opened, titles
from tests.support.feed_documents import item, rss

from feedmill.engine.documents.raw_documents import PUSHED
from feedmill.engine.documents.unscheduled import commit_unscheduled, unscheduled
from feedmill.model.feed import FetchRecord
from feedmill.model.refresh import Committed, Refresh
from feedmill_demo.server.script import document


async def test_poll_scheduled_for_the_instant_of_a_ping_is_committed(
    tmp_path: Path, store_url: str | None
) -> None:
    async with opened(tmp_path, store_url=store_url) as stage:
        feed = await stage.add("/feed", document(rss(item(1))), document(rss(item(1), item(2))))
        feed = await stage.poll(feed)
        stage.later(seconds=1)
        now = stage.clock.now()
        ping = FetchRecord(
            fetch_id=stage.clock.new_id(),
            feed_id=feed.id,
            scheduled_at=now,
            fetched_at=now,
            url=feed.url,
            final_url=feed.url,
            outcome=PUSHED,
        )
        await commit_unscheduled(unscheduled(feed, ping), stage.services.store)
        await stage.services.store.make_due([feed.id], now)

        await stage.pass_once()

        found = await stage.fetches(feed)
        assert titles(await stage.entries()) == ["Title 1", "Title 2"]
        assert sorted(one.scheduled_at - now for one in found)[-2:] == [
            timedelta(0),
            timedelta(microseconds=1),
        ]
        assert (await stage.feed(feed)).next_poll_at > now


async def test_repeated_commit_of_a_poll_writes_nothing(
    tmp_path: Path, store_url: str | None
) -> None:
    async with opened(tmp_path, store_url=store_url) as stage:
        store, commit = stage.services.store, stage.services.store.commit
        feed = await stage.add("/feed", document(rss(item(1))))

        async def commit_twice(result: Refresh) -> Committed:
            await commit(result)
            return await commit(result)  # as after an answer of the store that was lost

        vars(store)["commit"] = commit_twice
        await stage.poll(feed)

        assert [one.outcome for one in await stage.fetches(feed)] == ["fresh"]
