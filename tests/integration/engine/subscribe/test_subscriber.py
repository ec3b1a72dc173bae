"""One feed is one subscription, whatever it is called; two feeds stay two, whatever they claim."""

import pytest
from tests.integration.engine.subscribe.conftest import Visit
from tests.support.feed_documents import item, rss
from tests.support.subscribe_harness import Counter, credentials_of, feed_document, page

from feedmill.engine.subscribe.subscriber import Subscriber
from feedmill.model.feed import FeedOverrides
from feedmill_demo.server.script import Answer, Request, document, redirect


def test_a_known_address_costs_no_request(visit: Visit) -> None:
    async def story(counter: Counter) -> None:
        url = counter.put("/feed", feed_document())
        first = await counter.join(url)
        counter.asked()

        again = await counter.join(f" {url}#top ")

        assert (again.created, again.feed.id, again.requests) == (False, first.feed.id, 0)
        assert counter.asked() == []

    visit(story)


@pytest.mark.parametrize(
    ("target", "host"),
    [
        ("/feed/", "paper.example"),
        ("/feed?utm_source=mail&utm_medium=rss", "paper.example"),
        ("/feed", "www.paper.example"),
        ("//feed", "paper.example"),
        ("/feed/?fbclid=1", "www.paper.example"),
    ],
    ids=["slash", "tracking", "www", "double slash", "all of it"],
)
@pytest.mark.parametrize("is_polled", [True, False], ids=["polled", "fresh"])
def test_a_spelling_of_a_known_feed_costs_one_request(
    visit: Visit, target: str, host: str, *, is_polled: bool
) -> None:
    async def story(counter: Counter) -> None:
        for path in ("/feed", "/feed/", "//feed"):
            counter.put(path, feed_document())
        first = await counter.join(counter.url("/feed", "paper.example"), at=counter.desk)
        if is_polled:
            await counter.sync()
            counter.desk = Subscriber(counter.services)
        counter.asked()

        again = await counter.join(counter.url(target, host), at=counter.desk)

        assert (again.created, again.feed.id) == (False, first.feed.id)
        assert len(counter.asked()) == again.requests == 1
        third = await counter.join(counter.url(target, host))
        assert (third.feed.id, third.requests) == (first.feed.id, 0)

    visit(story)


def test_a_spelling_is_known_again_when_its_feed_has_gone_on(visit: Visit) -> None:
    async def story(counter: Counter) -> None:
        url = counter.put("/feed", feed_document(1, 2, 3))
        first = await counter.join(url)
        await counter.sync()
        counter.put("/feed", feed_document(2, 3, 4))
        counter.asked()

        again = await counter.join(f"{url}?utm_source=b")

        assert (again.created, again.feed.id) == (False, first.feed.id)
        assert counter.asked() == ["/feed?utm_source=b"]

    visit(story)


def test_a_page_that_led_to_one_feed_costs_no_request_the_second_time(visit: Visit) -> None:
    async def story(counter: Counter) -> None:
        home = counter.put("/", page({"href": "/feed"}))
        counter.put("/feed", feed_document())
        first = await counter.join(home)
        counter.asked()

        again = await counter.join(home)

        assert (again.created, again.feed.id, again.requests) == (False, first.feed.id, 0)
        assert counter.asked() == []

    visit(story)


def test_a_page_of_a_known_feed_is_learnt_with_it(visit: Visit) -> None:
    async def story(counter: Counter) -> None:
        url = counter.put("/feed", feed_document())
        home = counter.put("/", page({"href": "/feed"}))
        first = await counter.join(url)

        again = await counter.join(home)

        assert (again.created, again.feed.id) == (False, first.feed.id)
        assert home in await counter.aliases(first.feed)

    visit(story)


def test_a_stranger_who_claims_the_address_of_a_known_feed_is_not_taken_for_it(
    visit: Visit,
) -> None:
    async def story(counter: Counter) -> None:
        known = counter.put("/feed", feed_document(1, 2, 3), host="127.0.0.1")
        stranger = counter.put(
            "/feed", feed_document(7, 8, 9, self_url=known, title="Not Paper"), host="127.0.1.1"
        )
        first = await counter.join(known)
        await counter.sync()

        second = await counter.join(stranger)

        assert second.created
        assert second.feed.url == stranger
        assert stranger not in await counter.aliases(first.feed)

    visit(story)


def test_a_stranger_who_numbers_its_entries_alike_is_not_taken_for_a_known_feed(
    visit: Visit,
) -> None:
    def numbered_from_one(name: str) -> Answer:
        items = [
            item(n, guid=str(n), link=f"https://{name}.example/{n}", title=f"{name} {n}", text=name)
            for n in (1, 2, 3)
        ]
        return document(rss(*items, extra=f'<atom:link rel="self" href="{claimed}"/>'))

    claimed = ""

    async def story(counter: Counter) -> None:
        nonlocal claimed
        claimed = counter.url("/feed")
        counter.put("/feed", numbered_from_one("paper"), host="127.0.0.1")
        stranger = counter.put("/feed", numbered_from_one("other"), host="127.0.1.1")
        await counter.join(claimed)
        await counter.sync()

        second = await counter.join(stranger)

        assert (second.created, second.feed.url) == (True, stranger)

    visit(story)


def test_two_feeds_at_www_and_without_it_stay_two(visit: Visit) -> None:
    async def story(counter: Counter) -> None:
        plain = counter.put("/feed", feed_document(1, 2, title="Plain"), host="paper.example")
        www = counter.put("/feed", feed_document(7, 8, title="Www"), host="www.paper.example")
        first = await counter.join(plain)
        await counter.sync()

        second = await counter.join(www)

        assert (second.created, second.feed.url) == (True, www)
        assert await counter.aliases(first.feed) == {plain}
        assert await counter.aliases(second.feed) == {www}

    visit(story)


def test_every_address_that_served_the_feed_is_one_of_its_names(visit: Visit) -> None:
    async def story(counter: Counter) -> None:
        named = counter.url("/feed")
        counter.put("/feed", feed_document(self_url=named))
        counter.put("/rss", feed_document(self_url=named))
        old = counter.put("/old", redirect("/rss?utm_source=x"))

        done = await counter.join(old)

        assert done.feed.url == named
        assert await counter.aliases(done.feed) == {
            old,
            counter.url("/rss?utm_source=x"),
            named,
        }

    visit(story)


def test_credentials_leave_the_address_and_go_to_its_own_host_only(visit: Visit) -> None:
    async def story(counter: Counter) -> None:
        def members_only(request: Request) -> Answer:
            if credentials_of(request) is None:
                return Answer(status=401)
            return feed_document(self_url=counter.url("/public", "127.0.1.1"))

        url = counter.put("/members", members_only, host="127.0.0.1")
        counter.put("/public", feed_document(9), host="127.0.1.1")

        done = await counter.join(url.replace("://", "://ann:s%20cret@"))
        await counter.sync()

        own = done.feed.overrides
        assert (done.feed.url, own.username, own.password) == (url, "ann", "s cret")
        assert await counter.aliases(done.feed) == {url}
        sent = {r.address: credentials_of(r) for r in counter.publisher.requests}
        assert sent == {"127.0.0.1": "Basic YW5uOnMgY3JldA==", "127.0.1.1": None}

    visit(story)


@pytest.mark.parametrize("way", ["redirect", "page"])
def test_a_feed_that_is_found_at_another_host_never_gets_the_credentials(
    visit: Visit, way: str
) -> None:
    async def story(counter: Counter) -> None:
        elsewhere = counter.put("/feed", feed_document(), host="127.0.1.1")
        leads = redirect(elsewhere) if way == "redirect" else page({"href": elsewhere})
        given = counter.put("/here", leads, host="127.0.0.1")
        address = given.replace("://", "://ann:secret@")
        wishes = FeedOverrides(headers=(("X-Key", "hush"),), user_agent="mine")

        done = await counter.join(address, overrides=wishes)
        await counter.sync()

        own = done.feed.overrides
        assert done.feed.url == elsewhere
        assert (own.username, own.password, own.headers) == (None, None, ())
        assert own.user_agent == "mine"
        others = [r for r in counter.publisher.requests if r.address == "127.0.1.1"]
        assert others
        assert all(r.header("authorization") is None for r in others)
        assert all(r.header("x-key") is None for r in others)

    visit(story)


def test_a_second_spelling_never_takes_over_the_settings_of_the_first(visit: Visit) -> None:
    async def story(counter: Counter) -> None:
        url = counter.put("/feed", feed_document())
        first = await counter.join(url, tags=("mine",), title="My own words")

        again = await counter.join(f"{url}?utm_source=d", tags=("other",), title="Other words")

        assert (again.feed.id, again.feed.tags) == (first.feed.id, ("mine",))
        assert again.feed.title == "My own words"

    visit(story)
