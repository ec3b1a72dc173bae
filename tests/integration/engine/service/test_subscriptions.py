"""One request on subscribing: what was fetched to check an address is the feed's first fetch."""

from tests.support.engine_harness import Play, Stage
from tests.support.feed_documents import paper, said

from feedmill.config import ScheduleConfig
from feedmill.engine.service.subscriptions import keep_first_with, open_subscriber
from feedmill.engine.subscribe.add_feed import Subscribed
from feedmill.engine.subscribe.import_list import import_outlines
from feedmill.engine.subscribe.list_formats import Outline
from feedmill_demo.server.script import redirect

BUDGET = ScheduleConfig()


def _unconditional(stage: Stage, target: str = "/feed") -> list[bool]:
    names = ("if-none-match", "if-modified-since")
    return [
        not any(name.lower() in names for name, _ in one.headers) for one in stage.requests(target)
    ]


def test_the_document_that_was_fetched_to_check_the_address_is_the_first_fetch(play: Play) -> None:
    async def story(stage: Stage) -> None:
        stage.publisher.script("/feed", paper(1, 2, 3, etag='"one"'))
        added = await open_subscriber(stage.services).subscribe(stage.publisher.url("/feed"))
        assert isinstance(added, Subscribed)

        feed = await stage.feed(added.feed)
        (fetch,) = await stage.fetches(feed)

        assert feed == added.feed
        assert (fetch.outcome, fetch.entries_new, fetch.url) == ("fresh", 3, feed.url)
        assert fetch.body_sha256 == feed.body_sha256
        assert feed.validators is not None
        assert feed.validators.etag == '"one"'
        assert feed.schedule.arrivals is not None
        assert feed.next_poll_at == (await stage.decision(feed)).next_poll_at > stage.clock.now()
        assert (await stage.counts())["entries"] == 3
        assert await stage.pass_once() == 0
        await stage.poll(feed)
        assert await stage.outcome(feed) == "unchanged"
        assert _unconditional(stage) == [True, False]

    play(story, schedule=BUDGET)


def test_the_first_fetch_is_kept_where_a_redirect_names_a_place_in_the_document(play: Play) -> None:
    async def story(stage: Stage) -> None:
        stage.publisher.script("/feed", paper(1, 2, 3))
        stage.publisher.script("/old", redirect("/feed#top"))

        added = await open_subscriber(stage.services).subscribe(stage.publisher.url("/old"))

        assert isinstance(added, Subscribed)
        assert added.feed.url == stage.publisher.url("/feed")
        assert (await stage.counts())["entries"] == 3

    play(story)


def test_an_imported_list_fetches_each_feed_once(play: Play) -> None:
    async def story(stage: Stage) -> None:
        stage.publisher.script("/feed", paper(1, etag='"one"'))
        stage.publisher.script("/away", said(503))
        urls = [stage.publisher.url(target) for target in ("/feed", "/away")]

        report = await import_outlines(
            [Outline(url=url) for url in urls],
            stage.services,
            keep_first=keep_first_with(stage.services),
        )

        assert [item.outcome for item in report.items] == ["added", "unproven"]
        assert _unconditional(stage) == [True]
        assert (await stage.counts())["entries"] == 1

    play(story, schedule=BUDGET)


def test_a_feed_that_is_there_already_is_left_as_it_is(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", paper(1, etag='"one"'))
        again = await open_subscriber(stage.services).subscribe(feed.url)

        assert isinstance(again, Subscribed)
        assert not again.created
        assert await stage.fetches(feed) == []

    play(story, schedule=BUDGET)
