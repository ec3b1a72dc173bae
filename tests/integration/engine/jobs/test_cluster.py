"""Clusters from the poll to the event: the log is read once, changes are followed, switched off nothing happens."""

from msgspec.structs import replace
from tests.support.engine_harness import Play, Stage
from tests.support.feed_documents import rss
from tests.support.job_kinds import run_due

from feedmill.config import ClustersConfig
from feedmill.engine.jobs.cluster import KIND
from feedmill.engine.service import queries
from feedmill.model.running.job import JobFilter
from feedmill.publish.shapes import FeedChange
from feedmill_demo.server.script import Answer, document

ON = ClustersConfig(enabled=True)
TITLE = "Old bridge reopens after two years"
TEXT = (
    "The stone bridge over the Wend opens again on Sunday after two years of repair, four months later than"
    " planned. The mayor blamed a flood in the first winter and a dispute about the colour of the railing."
)


def feed_of(name: str, title: str = TITLE, text: str = TEXT) -> Answer:
    link = f"https://{name}.example/story"
    return document(
        rss(
            f"<item><guid>{name}</guid><title>{title}</title><link>{link}</link>"
            f"<description>{text}</description></item>"
        )
    )


async def polled(stage: Stage, **feeds: Answer) -> list[str]:
    """Feeds that were polled, and the results of the jobs that follow."""
    for name, answer in feeds.items():
        await stage.add(f"/{name}", answer)
    await stage.pass_once()
    return [one.result for one in await run_due(stage.services, KIND)]


def test_story_in_two_feeds_becomes_a_cluster(play: Play) -> None:
    async def story(stage: Stage) -> None:
        await polled(
            stage, a=feed_of("a"), b=feed_of("b", text=TEXT[:90]), c=feed_of("c", "Other", "x")
        )

        (found,) = (await queries.list_clusters(stage.services)).items
        shown = await queries.get_cluster(found.cluster_id, stage.services)
        told = await stage.events("entry.clustered")
        assert (found.feeds, found.title) == (2, TITLE)
        assert all(one.evidence == ("title-and-text",) for one in shown.members)
        assert {one.entry_uid for one in told} == {one.entry_uid for one in shown.members}
        assert told[0].data["feeds"] == 2
        assert await stage.services.store.problems() == ()

    play(story, clusters=ON)


def test_log_is_read_once_and_a_change_splits_the_cluster(play: Play) -> None:
    async def story(stage: Stage) -> None:
        await polled(stage, a=feed_of("a"), b=feed_of("b"))
        first = (await stage.services.store.jobs(JobFilter(kind="cluster"))).items[0].cursor
        changed = feed_of("b", "Another title", "And a text about swans.")
        stage.publisher.script("/b", changed, host="127.0.0.1")
        stage.later(days=2)

        await stage.pass_once()
        await run_due(stage.services, KIND)

        (job,) = (await stage.services.store.jobs(JobFilter(kind="cluster"))).items
        assert job.cursor["seq"] > first["seq"]
        assert (job.progress["entries"], job.state) == (3, "queued")
        assert (await queries.list_clusters(stage.services)).items == ()
        assert [one.data["cluster_id"] for one in await stage.events("entry.clustered")][2:] == [
            None,
            None,
        ]

    play(story, clusters=ON)


def test_only_feeds_with_a_chosen_tag_are_compared(play: Play) -> None:
    async def story(stage: Stage) -> None:
        assert await polled(stage, a=feed_of("a"), b=feed_of("b")) == ["again"]

        assert (await queries.list_clusters(stage.services)).items == ()

    play(story, clusters=replace(ON, tags=("news",)))


def test_feed_that_opted_out_leaves_its_cluster_with_its_next_change(play: Play) -> None:
    async def story(stage: Stage) -> None:
        await polled(stage, a=feed_of("a"), b=feed_of("b"))
        (feed,) = [
            one
            for one in (await queries.list_feeds(stage.services)).items
            if one.url.endswith("/b")
        ]
        await queries.change_feed(feed.id, FeedChange(clusters=False), stage.services)
        changed = feed_of("b", text=f"{TEXT} Corrected.")
        stage.publisher.script("/b", changed, host="127.0.0.1")
        stage.later(days=2)

        await stage.pass_once()
        await run_due(stage.services, KIND)

        assert (await queries.list_clusters(stage.services)).items == ()

    play(story, clusters=ON)


def test_feed_that_opted_in_needs_no_tag(play: Play) -> None:
    async def story(stage: Stage) -> None:
        for name in ("a", "b"):
            await stage.add(f"/{name}", feed_of(name), clusters=True)
        await stage.add("/c", feed_of("c"))
        await stage.pass_once()
        await run_due(stage.services, KIND)

        (found,) = (await queries.list_clusters(stage.services)).items
        assert found.feeds == 2

    play(story, clusters=replace(ON, tags=("news",)))


def test_switched_off_there_is_no_job_and_one_that_was_queued_ends(play: Play) -> None:
    async def story(stage: Stage) -> None:
        assert await polled(stage, a=feed_of("a"), b=feed_of("b")) == []
        standing = KIND.standing(replace(stage.services.config, clusters=ON))
        assert standing is not None
        await stage.services.store.add_job(standing, now=stage.clock.now())

        assert [one.reason for one in await run_due(stage.services, KIND)] == ["switched-off"]

    play(story)
