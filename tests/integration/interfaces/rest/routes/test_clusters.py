"""Routes /clusters, and /entries with each story once."""

from functools import partial

from tests.support.engine_harness import Stage
from tests.support.feed_documents import rss
from tests.support.rest_client import RestMill

from feedmill.cluster.sketch import sketch
from feedmill.model.derived.cluster import SketchBatch, StoryText
from feedmill.model.page import EntryFilter
from feedmill.publish.events import events_of_clusters
from feedmill_demo.server.script import document


async def a_story_in_two_feeds(stage: Stage) -> None:
    for name in ("a", "b"):
        item = f"<item><guid>{name}</guid><title>{name}</title></item>"
        await stage.add(f"/{name}", document(rss(item)))
    await stage.pass_once()
    entries = (await stage.services.store.entries(EntryFilter())).items
    made = sketch(StoryText(links=("https://paper.example/story",)))
    now = stage.clock.now()
    batch = SketchBatch(
        cause="1",
        at=now,
        since=entries[0].first_seen,
        max_entries=9,
        sketches={one.entry_uid: made for one in entries},
    )
    await stage.services.store.save_sketches(batch, events=partial(events_of_clusters, now=now))


def test_stories_are_listed_with_their_entries(mill: RestMill) -> None:
    mill.tell(a_story_in_two_feeds)

    (listed,) = mill.ask("/clusters").json["items"]
    shown = mill.ask(f"/clusters/{listed['cluster_id']}").json

    assert listed["feeds"] == 2
    assert [one["evidence"] for one in shown.pop("members")] == [["link"], ["link"]]
    assert shown == listed
    assert mill.ask("/clusters?min_feeds=3").json["items"] == []
    assert mill.ask("/clusters/c0").problem == "not-found"
    assert mill.ask("/clusters?cursor=x").problem == "bad-cursor"


def test_entries_are_listed_once_per_story(mill: RestMill) -> None:
    mill.tell(a_story_in_two_feeds)

    every = mill.ask("/entries?duplicates=include").json["items"]
    once = mill.ask("/entries?duplicates=cluster").json["items"]

    assert (len(every), len(once)) == (2, 1)
    assert every[0]["cluster_id"] == every[1]["cluster_id"] == once[0]["cluster_id"]
    assert mill.ask("/entries?duplicates=some").problem == "bad-parameter"
