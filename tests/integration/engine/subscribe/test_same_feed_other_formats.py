"""Any format, any spelling, any order, any number of processes: one blog is one subscription."""

import asyncio
from collections.abc import Awaitable, Callable
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.engine_harness import PLAIN
from tests.support.feed_documents import rss
from tests.support.random_blog import FORMATS, Blog
from tests.support.scripted_fetcher import ScriptedFetcher, said

from feedmill.app.services import open_services
from feedmill.engine.run.services import Services
from feedmill.engine.service.subscriptions import open_subscriber
from feedmill.engine.subscribe.add_feed import Subscribed
from feedmill.model.page import EntryFilter

SITE = "https://blog.example"


def web_of(blog: Blog) -> ScriptedFetcher:
    fetcher = ScriptedFetcher()
    for form in FORMATS:
        for address in spellings(form):
            fetcher.script(address, said(address, body=blog.document(form)))
    comments = f"{SITE}/comments/feed"
    fetcher.script(comments, said(comments, body=blog.comments()))
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
            await story(services._replace(fetcher=web_of(blog)))
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


def test_a_podcast_in_two_qualities_is_two_feeds() -> None:
    async def story(services: Services) -> None:
        fetcher = services.fetcher
        assert isinstance(fetcher, ScriptedFetcher)
        for quality in ("mp3", "mp4"):
            items = (
                f"<item><title>Episode {n}</title><link>{SITE}/e/{n}</link><guid>{n}</guid>"
                f'<enclosure url="{SITE}/files/{n}.{quality}"/></item>'
                for n in (3, 2, 1)
            )
            url = f"{SITE}/{quality}/feed"
            fetcher.script(url, said(url, body=rss(*items)))

        done = [await join(services, f"{SITE}/{quality}/feed") for quality in ("mp3", "mp4")]

        assert [one.created for one in done] == [True, True]

    run(Blog(3, dict.fromkeys(FORMATS, 3), "Paper", www=False), story)


def test_a_podcast_without_links_is_found_again_at_its_other_addresses() -> None:
    async def story(services: Services) -> None:
        fetcher = services.fetcher
        assert isinstance(fetcher, ScriptedFetcher)
        items = (
            f"<item><title>Episode {n}</title><guid>episode-{n}</guid><enclosure url='{SITE}/{n}.mp3'/></item>"
            for n in (3, 2, 1)
        )
        body = rss(*items).replace(b"https://paper.example/", SITE.encode())
        urls = (f"{SITE}/feed/podcast", f"{SITE}/podcast.xml", "https://host.example/show")
        for url in urls:
            fetcher.script(url, said(url, body=body))

        done = [await join(services, url) for url in urls]

        assert [one.created for one in done] == [True, False, False]

    run(Blog(3, dict.fromkeys(FORMATS, 3), "Paper", www=False), story)


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
