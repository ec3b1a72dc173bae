"""A publisher may say where its own feed is; it never gets hold of somebody else's address (D5)."""

import pytest
from tests.integration.engine.subscribe.conftest import Visit
from tests.support.subscribe_harness import Counter, feed_document, page

from feedmill.engine.ports.io import BodyRoom, Fetcher
from feedmill.engine.subscribe.add_feed import Subscribed
from feedmill.engine.subscribe.subscriber import Subscriber
from feedmill.model.feed import FeedOverrides
from feedmill.model.fetch import FetchPlan, Post, RawResponse
from feedmill_demo.server.script import redirect

VICTIM, STRANGER = "127.0.0.1", "127.0.1.1"


async def _takes_its_own(counter: Counter, address: str) -> None:
    """Whoever asks for the victim's address gets the victim's feed."""
    done = await counter.join(address)
    assert done.created
    assert done.feed.url == address


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_feed_that_redirects_a_poll_to_a_stranger_does_not_take_its_address(
    visit: Visit, status: int
) -> None:
    async def story(counter: Counter) -> None:
        victim = counter.put("/news", feed_document(1, 2, 3), host=VICTIM)
        counter.put(
            "/feed", feed_document(7), redirect(victim, status), feed_document(8), host=STRANGER
        )
        await counter.join(counter.url("/feed", STRANGER))
        await counter.sync()

        await _takes_its_own(counter, victim)

    visit(story)


@pytest.mark.parametrize("status", [301, 302])
def test_a_copy_whose_cleaner_spelling_redirects_to_the_original_does_not_take_its_address(
    visit: Visit, status: int
) -> None:
    async def story(counter: Counter) -> None:
        victim = counter.put("/news", feed_document(1, 2, 3), host=VICTIM)
        counter.put("/feed/", feed_document(1, 2, 3), host=STRANGER)
        counter.put("/feed", redirect(victim, status), host=STRANGER)
        await counter.join(counter.url("/feed/", STRANGER))

        await _takes_its_own(counter, victim)

    visit(story)


def test_a_temporary_way_with_a_query_does_not_give_away_the_address_at_its_end(
    visit: Visit,
) -> None:
    async def story(counter: Counter) -> None:
        victim = counter.put("/news?format=rss", feed_document(1, 2, 3), host=VICTIM)
        counter.put("/feed", redirect(victim, 302), host=STRANGER)
        done = await counter.join(counter.url("/feed", STRANGER))
        assert done.feed.url == counter.url("/feed", STRANGER)

        await _takes_its_own(counter, victim)

    visit(story)


def test_temporary_ways_that_are_never_the_same_leave_no_names_behind(visit: Visit) -> None:
    async def story(counter: Counter) -> None:
        url = counter.url("/feed")
        ways = [redirect(f"/signed?ticket={number}", 302) for number in range(4)]
        counter.put("/feed", *ways)
        for number in range(4):
            counter.put(f"/signed?ticket={number}", feed_document(1, 2, 3))
        feed = (await counter.join(url, choose="best")).feed
        await counter.sync()
        await counter.services.store.make_due([feed.id], counter.services.clock.now())
        await counter.sync()

        assert len(await counter.aliases(feed)) <= 2

    visit(story)


def test_a_mirror_that_names_the_original_is_an_address_of_the_original(visit: Visit) -> None:
    async def story(counter: Counter) -> None:
        named = counter.url("/news", VICTIM)
        counter.put("/news", feed_document(1, 2, self_url=named), host=VICTIM)
        mirror = counter.put("/copy", feed_document(1, 2, self_url=named), host=STRANGER)
        old = counter.put("/old", redirect(mirror, 301), host="127.0.1.2")

        done = await counter.join(old)

        assert done.feed.url == named
        assert await counter.aliases(done.feed) == {named, mirror, old}

    visit(story)


@pytest.mark.parametrize("title", ["Paper", "Paper: cats"])
@pytest.mark.parametrize("way", ["parameter", "self link"])
def test_a_part_of_a_known_feed_is_a_feed_of_its_own(visit: Visit, way: str, title: str) -> None:
    """`cid` is in every list of tracking parameters, and a category on some sites."""

    async def story(counter: Counter) -> None:
        whole = counter.put("/feed", feed_document(1, 2, 3, 4, 5, 6))
        target = "/feed?cid=7" if way == "parameter" else "/cats"
        named = "" if way == "parameter" else whole
        part = counter.put(target, feed_document(2, 4, 5, self_url=named, title=title))
        await counter.join(whole)
        await counter.sync()

        done = await counter.join(part)

        assert (done.created, done.feed.url) == (True, part)

    visit(story)


class _Noted:
    """The real fetcher, which notes on which way it was sent and takes the direct one."""

    def __init__(self, fetcher: Fetcher) -> None:
        self._fetcher = fetcher
        self.ways: list[tuple[str, str | None, bool]] = []

    async def fetch(
        self,
        plan: FetchPlan,
        *,
        verify_tls: bool = True,
        proxy: str | None = None,
        room: BodyRoom | None = None,  # noqa: ARG002  # small bodies only
    ) -> RawResponse:
        self.ways.append((plan.url, proxy, verify_tls))
        return await self._fetcher.fetch(plan)

    async def post(self, post: Post) -> RawResponse:
        return await self._fetcher.post(post)

    async def close(self) -> None:
        await self._fetcher.close()


def test_whoever_goes_by_a_proxy_goes_there_for_the_robots_file_too(visit: Visit) -> None:
    async def story(counter: Counter) -> None:
        home = counter.put("/", page({"href": counter.url("/feed", STRANGER)}), host=VICTIM)
        counter.put("/feed", feed_document(), host=STRANGER)
        noted = _Noted(counter.services.fetcher)
        desk = Subscriber(counter.services._replace(fetcher=noted))
        own = FeedOverrides(proxy="http://proxy.example:3128", verify_tls=False)

        done = await desk.subscribe(home, overrides=own)

        assert isinstance(done, Subscribed)
        robots = counter.url("/robots.txt", VICTIM)
        assert [url for url, _, _ in noted.ways][:2] == [home, robots]
        assert {proxy for _, proxy, _ in noted.ways} == {"http://proxy.example:3128"}
        # What was trusted without a certificate is the host that was given, and no other.
        unverified = {url for url, _, verified in noted.ways if not verified}
        assert unverified == {home, robots}
        assert done.feed.overrides.verify_tls
        assert done.feed.overrides.proxy == "http://proxy.example:3128"

    visit(story)
