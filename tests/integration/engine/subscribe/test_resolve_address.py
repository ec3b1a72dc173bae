"""What a person pastes becomes a feed: an address, a page, a channel; or a clear no."""

import asyncio
from datetime import timedelta

import pytest
from tests.integration.engine.subscribe.conftest import Visit
from tests.support.subscribe_harness import Counter, feed_document, page

from feedmill.engine.subscribe.subscriber import Subscriber
from feedmill.errors import AddressError, NoFeedError, UsageError
from feedmill_demo.server.script import Answer, Request, redirect

ROBOTS = (("Content-Type", "text/plain"),)


def test_the_address_of_a_feed_is_subscribed_to_with_its_title(visit: Visit) -> None:
    async def story(counter: Counter) -> None:
        url = counter.put("/feed", feed_document(title="The &amp; Paper"))

        done = await counter.join(url, tags=("news",))

        assert (done.created, done.feed.url, done.feed.title) == (True, url, "The & Paper")
        assert done.feed.tags == ("news",)
        assert counter.asked() == ["/feed"]

    visit(story)


def test_an_address_without_a_protocol_is_found_by_http_where_there_is_no_https(
    visit: Visit,
) -> None:
    async def story(counter: Counter) -> None:
        url = counter.put("/feed", feed_document())
        spoken = url.removeprefix("http://")

        done = await counter.join(spoken)
        again = await counter.join(spoken)

        assert done.feed.url == url
        assert (again.created, again.requests) == (False, 0)

    visit(story)


def test_a_page_with_one_feed_leads_to_it(visit: Visit) -> None:
    async def story(counter: Counter) -> None:
        home = counter.put("/", page({"href": "/feed", "title": "All"}))
        counter.put("/feed", feed_document())

        done = await counter.join(home)

        assert (done.created, done.feed.url) == (True, counter.url("/feed"))
        assert home in await counter.aliases(done.feed)

    visit(story)


def test_the_comments_beside_the_one_feed_of_a_page_are_no_question(visit: Visit) -> None:
    async def story(counter: Counter) -> None:
        home = counter.put(
            "/",
            page(
                {"href": "/comments/feed", "title": "Comments Feed"},
                {"href": "/feed", "title": "All"},
            ),
        )
        counter.put("/feed", feed_document())

        done = await counter.join(home)

        assert done.feed.url == counter.url("/feed")

    visit(story)


def test_a_page_with_several_feeds_lets_the_visitor_choose_with_comments_last(
    visit: Visit,
) -> None:
    async def story(counter: Counter) -> None:
        home = _page_with_three(counter)

        found = await counter.choices(home)

        assert [feed.url for feed in found.feeds] == [
            counter.url("/news"),
            counter.url("/sport"),
            counter.url("/comments/feed"),
        ]
        assert [feed.is_comments for feed in found.feeds] == [False, False, True]
        assert await counter.feeds() == ()

    visit(story)


@pytest.mark.parametrize(
    ("choose", "target"),
    [("best", "/news"), ("2", "/sport"), ("3", "/comments/feed"), ("url", "/sport")],
    ids=["the best", "by number", "the comments", "by address"],
)
def test_the_choice_can_be_said_in_advance(visit: Visit, choose: str, target: str) -> None:
    async def story(counter: Counter) -> None:
        home = _page_with_three(counter)
        wanted = counter.url(target) if choose == "url" else choose

        done = await counter.join(home, choose=wanted)

        assert done.feed.url == counter.url(target)

    visit(story)


def test_a_page_with_several_feeds_is_a_name_of_none_of_them(visit: Visit) -> None:
    async def story(counter: Counter) -> None:
        home = _page_with_three(counter)

        first = await counter.join(home, choose="1")
        second = await counter.join(home, choose="2")

        assert second.created
        assert home not in await counter.aliases(first.feed)
        assert {feed.url for feed in await counter.feeds()} == {
            counter.url("/news"),
            counter.url("/sport"),
        }

    visit(story)


def test_a_choice_that_the_page_does_not_offer_is_refused_with_the_offers(visit: Visit) -> None:
    async def story(counter: Counter) -> None:
        home = _page_with_three(counter)

        with pytest.raises(UsageError, match=r"1 http.*/news; 2 http.*/sport"):
            await counter.join(home, choose="9")

    visit(story)


def test_a_page_that_robots_txt_forbids_is_not_read(visit: Visit) -> None:
    async def story(counter: Counter) -> None:
        home = counter.put("/private", page({"href": "/feed"}))
        counter.put("/robots.txt", Answer(headers=ROBOTS, body=b"User-agent: *\nDisallow: /\n"))
        counter.put("/feed", feed_document())

        with pytest.raises(NoFeedError) as refused:
            await counter.join(home)

        assert refused.value.reason == "robots-disallowed"
        assert "the feed itself" in refused.value.hint
        assert counter.asked() == ["/private", "/robots.txt"]

    visit(story)


def test_a_feed_that_robots_txt_forbids_is_subscribed_to_all_the_same(visit: Visit) -> None:
    async def story(counter: Counter) -> None:
        url = counter.put("/feed", feed_document())
        counter.put("/robots.txt", Answer(headers=ROBOTS, body=b"User-agent: *\nDisallow: /\n"))

        done = await counter.join(url)

        assert done.created
        assert counter.asked() == ["/feed"]

    visit(story)


@pytest.mark.parametrize(
    ("answer", "reason", "words", "hint", "is_passing"),
    [
        (Answer(status=404), "not-found", "does not exist", "check the spelling", False),
        (Answer(status=410), "gone", "removed for good", "the site's address", False),
        (Answer(status=401), "auth-required", "wants a login", "--username", False),
        (Answer(status=403), "forbidden", "refuses the request", "--user-agent", True),
        (Answer(status=500), "server-error", "fails to answer", "later", True),
        (Answer(status=503), "unavailable", "not available at the moment", "--as-is", True),
        (Answer(status=429), "rate-limited", "too many requests", "later", True),
        (Answer(fault="reset"), "connection-failed", "could not be reached", "later", True),
        (redirect("http://10.0.0.1/feed"), "private-address", "private", "allow_cidrs", False),
        (Answer(status=418), "client-error", "is not a feed", "--as-is", False),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_address_without_a_feed_says_what_happened_and_what_helps(
    visit: Visit, answer: Answer, reason: str, words: str, hint: str, *, is_passing: bool
) -> None:
    async def story(counter: Counter) -> None:
        url = counter.put("/feed", answer)

        with pytest.raises(NoFeedError) as refused:
            await counter.join(url)

        assert (refused.value.reason, refused.value.is_passing) == (reason, is_passing)
        assert words in str(refused.value)
        assert hint in refused.value.hint
        assert ("unknown whether there is a feed" in str(refused.value)) == is_passing
        assert await counter.feeds() == ()

    visit(story)


def test_a_page_without_any_feed_says_so(visit: Visit) -> None:
    async def story(counter: Counter) -> None:
        home = counter.put("/nothing", page())

        with pytest.raises(NoFeedError) as refused:
            await counter.join(home)

        assert refused.value.reason == "budget-spent"
        assert len(counter.asked()) <= 14  # the page, robots.txt and twelve guesses

    visit(story)


@pytest.mark.parametrize("address", ["ftp://paper.example/feed", "http://10.0.0.1/feed", "no way"])
def test_an_address_that_may_not_be_fetched_is_refused_before_anything_is_sent(
    visit: Visit, address: str
) -> None:
    async def story(counter: Counter) -> None:
        with pytest.raises(AddressError):
            await counter.join(address)

        assert counter.asked() == []

    visit(story)


def test_a_pause_that_the_mill_knows_of_binds_the_desk(visit: Visit) -> None:
    async def story(counter: Counter) -> None:
        url = counter.put("/feed", feed_document())
        until = counter.services.clock.now() + timedelta(hours=1)
        await counter.services.store.limit_host(url, until, "rate-limited")

        with pytest.raises(NoFeedError) as refused:
            await counter.join(url)

        assert (refused.value.reason, refused.value.is_passing) == ("rate-limited", True)
        assert counter.asked() == []

    visit(story)


def test_a_pause_that_the_mill_meets_later_binds_a_desk_that_knows_the_host(visit: Visit) -> None:
    async def story(counter: Counter) -> None:
        first, second = (counter.put(f"/{n}", feed_document(n, n + 100)) for n in (1, 2))
        await counter.join(first, at=counter.desk)
        until = counter.services.clock.now() + timedelta(hours=1)
        await counter.services.store.limit_host(first, until, "rate-limited")

        with pytest.raises(NoFeedError) as refused:
            await counter.join(second, at=counter.desk)

        assert refused.value.reason == "rate-limited"
        assert counter.asked() == ["/1"]

    visit(story)


def test_a_pause_that_the_desk_is_asked_for_binds_the_mill_and_other_desks(visit: Visit) -> None:
    async def story(counter: Counter) -> None:
        busy = Answer(status=429, headers=(("Retry-After", "600"),))
        url = counter.put("/busy", busy)
        counter.put("/feed", feed_document())

        with pytest.raises(NoFeedError):
            await counter.join(url)
        with pytest.raises(NoFeedError) as refused:
            await counter.join(counter.url("/feed"))

        pace = await counter.services.store.host_pace(url)
        assert refused.value.reason == "rate-limited"
        assert counter.asked() == ["/busy"]
        assert pace is not None
        assert pace.next_ok_at is not None
        assert pace.next_ok_at > counter.services.clock.now() + timedelta(seconds=500)

    visit(story)


def test_a_429_while_a_better_name_is_looked_for_ends_the_search(visit: Visit) -> None:
    async def story(counter: Counter) -> None:
        counter.put("/feed", Answer(status=429, headers=(("Retry-After", "600"),)))
        url = counter.put("/feed/?utm_source=a", feed_document())

        done = await counter.join(url)

        assert done.feed.url == url
        assert counter.asked() == ["/feed/?utm_source=a", "/feed"]

    visit(story)


def test_a_429_while_feeds_are_guessed_is_the_hosts_trouble_and_not_a_no(visit: Visit) -> None:
    async def story(counter: Counter) -> None:
        home = counter.put("/", page())
        for target in (
            "/feed",
            "/feed/",
            "/rss.xml",
            "/atom.xml",
            "/index.xml",
            "/rss",
            "/feed.xml",
        ):
            counter.put(target, Answer(status=429, headers=(("Retry-After", "600"),)))

        with pytest.raises(NoFeedError) as refused:
            await counter.join(home)

        assert (refused.value.reason, refused.value.is_passing) == ("rate-limited", True)
        assert len(counter.asked()) == 3  # the page, robots.txt and one guess

    visit(story)


def test_a_host_without_https_is_asked_for_it_once(visit: Visit) -> None:
    async def story(counter: Counter) -> None:
        urls = [counter.put(f"/{n}", feed_document(n, n + 100)) for n in range(1, 6)]
        desk = Subscriber(counter.services)

        for url in urls:
            await desk.subscribe(url)

        # Every feed by http, and one greeting in another language: nothing slowed down.
        assert len(counter.asked()) == 5
        assert counter.publisher.accepted <= 5
        assert desk.host_queue.lacks_https(urls[0])

    visit(story)


def test_visitors_who_come_together_ask_one_host_one_after_another(visit: Visit) -> None:
    async def story(counter: Counter) -> None:
        under_way = most = 0

        def slow(request: Request) -> Answer:
            nonlocal under_way, most
            number = int(request.path[1:])
            under_way, most = under_way + 1, max(most, under_way + 1)
            asyncio.get_running_loop().call_later(0.02, _left)
            answer = feed_document(number, number + 100)
            return Answer(headers=answer.headers, body=answer.body, delay_sec=0.02)

        def _left() -> None:
            nonlocal under_way
            under_way -= 1

        urls = [counter.put(f"/{n}", slow) for n in range(1, 5)]

        async with asyncio.TaskGroup() as tasks:
            for url in urls:
                tasks.create_task(counter.desk.subscribe(url))

        assert most == 1
        assert len(await counter.feeds()) == 4

    visit(story)


def _page_with_three(counter: Counter) -> str:
    counter.put("/news", feed_document(1, 2))
    counter.put("/sport", feed_document(3, 4))
    counter.put("/comments/feed", feed_document(5, 6))
    return counter.put(
        "/home",
        page(
            {"href": "/comments/feed", "title": "Comments Feed"},
            {"href": "/news", "title": "News"},
            {"href": "/sport", "title": "Sport"},
        ),
    )
