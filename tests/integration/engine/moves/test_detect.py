"""A lost feed is looked for on its site: adopted when proven, else proposed, within robots.txt and a week."""

import pytest
from msgspec.structs import replace
from tests.support.engine_harness import Play, Stage
from tests.support.feed_documents import atom, numbered, paper, said

from feedmill.model.feed import Feed
from feedmill.model.page import EntryFilter, FeedFilter
from feedmill_demo.server.script import Answer, document, redirect

HTML = (("Content-Type", "text/html"),)


def page(href: str = "/new", *, body: str = "") -> Answer:
    link = f'<link rel="alternate" type="application/rss+xml" href="{href}">' if href else ""
    html = f"<!doctype html><html><head>{link}</head><body>{body}</body></html>"
    return Answer(headers=HTML, body=html.encode())


async def lost_feed(stage: Stage, *answers: Answer, polls: int = 1) -> Feed:
    """A feed that was read once and then answers otherwise."""
    feed = await stage.add("/feed", paper(1, 2, 3), *answers)
    await stage.services.store.change_feed(
        _with_site(await stage.poll(feed), stage.publisher.url("/home"))
    )
    for _ in range(polls):
        stage.later(hours=25)
        await stage.poll(feed)
    return await stage.feed(feed)


def _with_site(feed: Feed, url: str) -> Feed:
    return replace(feed, site_url=url)


GONE = said(410)


def test_a_410_whose_home_page_declares_a_new_feed_is_followed_at_once(play: Play) -> None:
    async def story(stage: Stage) -> None:
        stage.publisher.script("/home", page())
        stage.publisher.script("/new", paper(2, 3, 4))

        feed = await lost_feed(stage, GONE)

        assert feed.url == stage.publisher.url("/new")
        (move,) = await stage.services.store.moves(feed.id)
        assert (move.source, move.proof) == ("site", "entries")
        stage.later(hours=1)
        await stage.poll(feed)
        assert len(await stage.events("new_entry")) == 4

    play(story)


@pytest.mark.parametrize(
    ("answer", "polls"),
    [
        pytest.param(said(404), 3, id="404 for days"),
        pytest.param(page("", body="Our new site"), 3, id="a page where the feed was"),
    ],
)
def test_a_feed_that_is_missing_for_days_is_found_on_its_site(
    play: Play, answer: Answer, polls: int
) -> None:
    async def story(stage: Stage) -> None:
        stage.publisher.script("/home", redirect("/welcome"))
        stage.publisher.script("/welcome", page("", body='<a href="/new.rss">RSS</a>'))
        stage.publisher.script("/new.rss", paper(1, 2, 3, 4))

        feed = await lost_feed(stage, answer, polls=polls)

        assert feed.url == stage.publisher.url("/new.rss")

    play(story)


def test_another_feed_on_the_site_is_proposed_and_not_adopted(play: Play) -> None:
    async def story(stage: Stage) -> None:
        stage.publisher.script("/home", page())
        stage.publisher.script("/new", paper(71, 72, 73))

        feed = await lost_feed(stage, GONE)

        assert feed.url == stage.publisher.url("/feed")
        assert feed.move is not None
        assert (feed.move.url, feed.move.source, feed.move.reason) == (
            stage.publisher.url("/new"), "site", "not-the-same-feed",
        )  # fmt: skip
        found = await stage.services.store.find_feeds(FeedFilter(state="lost"))
        assert [one.id for one in found.items] == [feed.id]
        searched = len(stage.requests("/home"))
        stage.later(hours=30)
        await stage.poll(feed)
        assert len(stage.requests("/home")) == searched  # not before a week
        stage.later(days=7)
        await stage.poll(feed)
        assert len(stage.requests("/home")) == searched + 1

    play(story)


def test_a_site_that_robots_txt_closes_is_not_read(play: Play) -> None:
    async def story(stage: Stage) -> None:
        stage.publisher.script(
            "/robots.txt", document(b"User-agent: *\nDisallow: /home\nDisallow: /$\n", "text/plain")
        )
        stage.publisher.script("/home", page())
        stage.publisher.script("/new", paper(1, 2, 3))

        feed = await lost_feed(stage, GONE)

        assert feed.url == stage.publisher.url("/feed")
        assert not stage.requests("/new")
        assert feed.move is not None
        assert feed.move.reason == "no-feed-found"

    play(story)


def test_a_feed_that_returns_is_polled_as_before(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feed = await lost_feed(stage, GONE, paper(2, 3, 4))
        stage.later(days=2)

        back = await stage.poll(feed)

        assert (back.url, back.move) == (feed.url, None)
        assert len(await stage.events("new_entry")) == 4

    play(story)


def test_a_year_of_a_blog_that_changes_everything_loses_and_doubles_nothing(play: Play) -> None:
    """Generator, format and address change, a month without an answer, and a 410 with a new feed."""

    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", document(numbered(1, 2, 3)))
        await stage.poll(feed)

        async def live(answer: Answer, *, days: int, polls: int = 1) -> str:
            """Let the present address answer so for a while."""
            now = await stage.feed(feed)
            stage.publish(now, answer)
            for _ in range(polls):
                stage.later(days=days)
                now = await stage.poll(feed)
            return now.url.removeprefix(stage.publisher.url(""))

        await live(document(numbered(2, 3, 4)), days=30)
        await live(_atom_of(3, 4, 5), days=30)  # another generator, another format, other ids
        await live(said(404), days=5, polls=3)  # a month away
        await live(said(503), days=10)
        await live(said(404), days=5)
        assert await live(_atom_of(4, 5, 6), days=5) == "/feed"  # back again
        stage.publisher.script("/blog/atom.xml", _atom_of(5, 6, 7))
        assert await live(redirect("/blog/atom.xml", 301), days=2, polls=4) == "/blog/atom.xml"
        stage.publisher.script("/", page("/final.rss"))
        stage.publisher.script("/final.rss", document(numbered(6, 7, 8)))
        stage.publish(await stage.feed(feed), said(410))  # another format, not announced
        for _ in range(4):
            stage.later(days=50)
            await stage.poll(feed)

        after = await stage.feed(feed)
        assert after.url == stage.publisher.url("/final.rss")
        entries = (await stage.services.store.entries(EntryFilter(), limit=99)).items
        assert sorted(str(one.link) for one in entries) == [_link(n) for n in range(1, 9)]
        assert len(await stage.events("new_entry")) == 8

    play(story)


def _atom_of(*numbers: int) -> Answer:
    entries = "".join(
        f"<entry><id>tag:paper.example,2026:{n}</id><title>Title {n}</title>"
        f'<link href="{_link(n)}"/><updated>2025-10-13T{n:02}:00:00Z</updated></entry>'
        for n in numbers
    )
    return document(atom(entries), "application/atom+xml")


def _link(number: int) -> str:
    return f"https://paper.example/{number}"
