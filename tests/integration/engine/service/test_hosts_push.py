"""Own settings of a feed, told with their effect."""

from msgspec.structs import replace
from tests.support.engine_harness import Play, Stage
from tests.support.feed_documents import item, paper, rss

from feedmill.config import BackfillConfig
from feedmill.engine.service.feed_health import describe_health
from feedmill.engine.service.hosts import effects_in_words
from feedmill.model.feed import MoveCandidate
from feedmill_demo.server.script import Answer, document


def test_every_own_setting_is_told_with_its_effect(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feed = await stage.add(
            "/feed",
            paper(1),
            min_interval_sec=3_600,
            max_interval_sec=7_200,
            disable_autodiscovery=True,
            push_only=True,
            archive_backfill=True,
        )

        said = " ".join(await effects_in_words(feed, stage.services))
        health = await describe_health(feed, stage.services)

        assert "polled at most every 1 h" in said
        assert "polled at least every 2 h" in said
        assert "no other address is looked for" in said
        assert "push only, so it is polled every 7 d" in said
        assert "its archive is read once, after its next document" in said
        assert said in " ".join(health.words)
        await stage.pass_once()
        after = " ".join(await effects_in_words(await stage.feed(feed), stage.services))
        assert "its archive is read once; queued" in after

    play(story)


def test_feed_without_own_settings_has_nothing_to_tell(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", paper(1))

        assert await effects_in_words(feed, stage.services) == ()

    play(story)


def test_archive_that_a_tag_asks_for_is_told_as_such(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", paper(1))
        said = await effects_in_words(replace(feed, tags=("old",)), stage.services)

        assert said == ("By its tags: its archive is read once, after its next document.",)

    play(story, backfill=BackfillConfig(tags=("old",)))


def test_feed_that_may_not_discover_takes_no_self_link_for_a_move(play: Play) -> None:
    async def story(stage: Stage) -> None:
        def naming(target: str) -> Answer:
            own = stage.publisher.url(target, host="127.0.0.1")
            return document(rss(item(1), extra=f'<atom:link rel="self" href="{own}"/>'))

        free = await stage.add("/free", naming("/free"), naming("/other"))
        bound = await stage.add(
            "/bound", naming("/bound"), naming("/other"), disable_autodiscovery=True
        )
        await stage.poll(free, bound, times=2)

        assert isinstance((await stage.feed(free)).move, MoveCandidate)
        assert (await stage.feed(bound)).move is None

    play(story)
