"""Many callers for one slow host: they wait in a queue of limited length, and other hosts are not affected."""

import asyncio

from tests.support.engine_harness import PLAIN
from tests.support.feed_documents import numbered
from tests.support.scripted_fetcher import ScriptedFetcher, said
from tests.support.waiting import hang_guard

from feedmill.app.services import open_services
from feedmill.engine.ports.io import BodyRoom
from feedmill.engine.service.subscriptions import open_subscriber
from feedmill.engine.subscribe.host_queue import MAX_WAITING
from feedmill.errors import NoFeedError
from feedmill.model.fetch import FetchPlan, RawResponse

SLOW, FAST = "https://slow.example/feed", "https://fast.example/feed"
CALLERS = MAX_WAITING + 20


class SlowSite(ScriptedFetcher):
    """One host answers when it is told to."""

    def __init__(self) -> None:
        super().__init__({url: said(url, body=numbered(1, 2)) for url in (SLOW, FAST)})
        self.may_answer = asyncio.Event()
        self.under_way = self.most = 0

    async def fetch(
        self,
        plan: FetchPlan,
        *,
        verify_tls: bool = True,
        proxy: str | None = None,
        room: BodyRoom | None = None,
    ) -> RawResponse:
        if plan.url == SLOW:
            self.under_way += 1
            self.most = max(self.most, self.under_way)
            await self.may_answer.wait()
            self.under_way -= 1
        return await super().fetch(plan, verify_tls=verify_tls, proxy=proxy, room=room)


async def test_callers_beyond_the_queue_of_a_slow_host_are_refused_and_other_hosts_go_on() -> None:
    async with hang_guard(), open_services(PLAIN, memory=True) as services:
        site = SlowSite()
        subscriber = open_subscriber(services._replace(fetcher=site))
        slow = [asyncio.create_task(subscriber.discover(SLOW)) for _ in range(CALLERS)]

        fast = await subscriber.discover(FAST)
        refused, _ = await asyncio.wait(slow, return_when=asyncio.FIRST_COMPLETED)
        early = len(refused)
        site.may_answer.set()
        answers = await asyncio.gather(*slow, return_exceptions=True)

        problems = [one for one in answers if isinstance(one, NoFeedError)]
        assert [feed.url for feed in fast.feeds] == [FAST]
        assert site.most <= PLAIN.host.max_concurrency
        assert early > 0
        assert {(one.reason, one.is_passing) for one in problems} == {("rate-limited", True)}
        assert len(problems) == CALLERS - MAX_WAITING
