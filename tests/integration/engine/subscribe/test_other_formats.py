"""Any format, any spelling, any order, any number of processes: one blog is one subscription."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.engine_harness import PLAIN
from tests.support.scripted_fetcher import ScriptedFetcher, said

from feedmill.app.services import open_services
from feedmill.engine.run.services import Services
from feedmill.engine.service.subscriptions import open_subscriber
from feedmill.engine.subscribe.add_feed import Subscribed
from feedmill.model.page import EntryFilter

SITE = "https://blog.example"
FORMATS = ("rss", "atom", "json")


class Blog:
    """A random blog: its entries, and how much of them each format shows."""

    def __init__(self, entries: int, shown: dict[str, int], title: str, *, www: bool) -> None:
        self.entries, self.shown, self.title, self.www = entries, shown, title, www

    def document(self, form: str) -> bytes:
        numbers = list(range(self.entries, 0, -1))[: self.shown[form]]
        home = "https://www.blog.example" if self.www and form == "rss" else SITE
        if form == "json":
            listed = [
                {"id": f"{home}/p/{n}/", "url": f"{home}/p/{n}/", "title": f"Post {n}",
                 "content_text": f"Text {n}", "date_published": f"2026-01-{n:02}T00:00:00Z"}
                for n in numbers
            ]  # fmt: skip
            feed = {"version": "https://jsonfeed.org/version/1.1", "title": self.title}
            return json.dumps({**feed, "home_page_url": f"{home}/", "items": listed}).encode()
        if form == "atom":
            entries = "".join(
                f'<entry><id>tag:blog.example,2026:{n}</id><title>Post {n}</title><link href="{home}/p/{n}/"/>'
                f"<updated>2026-01-{n:02}T00:00:00Z</updated><content>Text {n}</content></entry>"
                for n in numbers
            )
            return (
                f'<feed xmlns="http://www.w3.org/2005/Atom"><title>{self.title}</title><id>tag:blog.example</id>'
                f'<link href="{home}/"/><updated>2026-01-28T00:00:00Z</updated>{entries}</feed>'
            ).encode()
        items = "".join(
            f'<item><title>Post {n}</title><link>{home}/p/{n}/</link><guid isPermaLink="false">{n}</guid>'
            f"<pubDate>{n:02} Jan 2026 00:00:00 GMT</pubDate><description>T {n}</description></item>"
            for n in numbers
        )
        return (
            f'<rss version="2.0"><channel><title>{self.title} (RSS)</title><link>{home}/</link>'
            f"<description>d</description>{items}</channel></rss>"
        ).encode()

    def comments(self) -> bytes:
        items = "".join(
            f"<item><title>By: reader {n}</title><link>{SITE}/p/{n}/#comment-{n}</link><guid>c{n}</guid></item>"
            for n in range(self.entries, 0, -1)
        )
        return (
            f'<rss version="2.0"><channel><title>Comments on: {self.title}</title><link>{SITE}/</link>'
            f"<description>d</description>{items}</channel></rss>"
        ).encode()

    def web(self) -> ScriptedFetcher:
        fetcher = ScriptedFetcher()
        for form in FORMATS:
            for address in spellings(form):
                fetcher.script(address, said(address, body=self.document(form)))
        comments = f"{SITE}/comments/feed"
        fetcher.script(comments, said(comments, body=self.comments()))
        links = "".join(
            f'<link rel="alternate" type="application/{kind}" href="/feed.{form}">'
            for form, kind in zip(FORMATS, ("rss+xml", "atom+xml", "feed+json"), strict=True)
        )
        for page in (f"{SITE}/", "https://www.blog.example/"):
            html = f"<!doctype html><html><head>{links}</head></html>".encode()
            fetcher.script(page, said(page, body=html, headers=(("Content-Type", "text/html"),)))
            fetcher.script(f"{page}robots.txt", said(f"{page}robots.txt", 404))
        return fetcher


def spellings(form: str) -> tuple[str, ...]:
    path = f"/feed.{form}"
    hosts = (SITE, "https://www.blog.example", "http://blog.example")
    return (*(f"{host}{path}" for host in hosts), f"{SITE}{path}?utm_source=mail")


ADDRESSES = (
    *(address for form in FORMATS for address in spellings(form)),
    "blog.example",
    "https://www.blog.example/",
)
blogs = st.builds(
    Blog,
    st.integers(3, 28),
    st.fixed_dictionaries({form: st.integers(3, 28) for form in FORMATS}),
    st.sampled_from(("Paper", "Ada's notes", "日記", "Feed me")),
    www=st.booleans(),
)


def run(blog: Blog, story: Callable[[Services], Awaitable[None]]) -> None:
    async def told() -> None:
        async with open_services(PLAIN, memory=True) as services:
            await story(services._replace(fetcher=blog.web()))
            assert await services.store.problems() == ()

    asyncio.run(told())


async def join(services: Services, address: str) -> Subscribed:
    done = await open_subscriber(services).subscribe(address, choose="best")
    assert isinstance(done, Subscribed)
    return done


@settings(max_examples=12)
@given(blogs, st.lists(st.sampled_from(ADDRESSES), min_size=2, max_size=6))
def test_one_blog_by_any_address_in_any_order_is_one_subscription(
    blog: Blog, addresses: list[str]
) -> None:
    async def story(services: Services) -> None:
        for address in addresses:
            await join(services, address)

        feeds = (await services.store.feeds(limit=9)).items
        assert len(feeds) == 1
        entries = (await services.store.entries(EntryFilter(), limit=99)).items
        assert len({entry.canonical_link for entry in entries}) == len(entries)

    run(blog, story)


@settings(max_examples=8)
@given(blogs, st.lists(st.sampled_from(ADDRESSES), min_size=2, max_size=4))
def test_one_blog_added_by_several_processes_at_once_is_one_subscription(
    blog: Blog, addresses: list[str]
) -> None:
    async def story(services: Services) -> None:
        async with asyncio.TaskGroup() as tasks:
            for address in addresses:  # each with a subscriber of its own, which remembers nothing
                tasks.create_task(join(services, address))

        assert len((await services.store.feeds(limit=9)).items) == 1

    run(blog, story)


@pytest.mark.parametrize("order", list(permutations(FORMATS)))
def test_formats_are_found_again_by_their_entries(order: tuple[str, ...]) -> None:
    async def story(services: Services) -> None:
        done = [await join(services, f"{SITE}/feed.{form}") for form in order]

        assert [one.created for one in done] == [True, False, False]
        assert len({one.feed.id for one in done}) == 1

    run(Blog(9, dict.fromkeys(FORMATS, 9), "Paper", www=False), story)


def test_comments_of_a_blog_are_a_feed_of_their_own() -> None:
    async def story(services: Services) -> None:
        blog = await join(services, f"{SITE}/feed.rss")
        comments = await join(services, f"{SITE}/comments/feed")

        assert comments.created
        assert comments.feed.id != blog.feed.id

    run(Blog(9, dict.fromkeys(FORMATS, 9), "Paper", www=False), story)


def test_a_copy_on_another_site_does_not_stand_for_the_original() -> None:
    async def story(services: Services) -> None:
        copy = "https://copy.example/feed"
        body = Blog(9, dict.fromkeys(FORMATS, 9), "Paper", www=False).document("atom")
        fetcher = services.fetcher
        assert isinstance(fetcher, ScriptedFetcher)
        fetcher.script(copy, said(copy, body=body))

        stolen = await join(services, copy)
        original = await join(services, f"{SITE}/feed.rss")

        assert (stolen.created, original.created) == (True, True)
        assert original.feed.url == f"{SITE}/feed.rss"

    run(Blog(9, dict.fromkeys(FORMATS, 9), "Paper", www=False), story)
