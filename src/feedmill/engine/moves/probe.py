"""Fetches an address that a feed may have moved to, at the pace of that address's host (D24).

The pace is the one that the host's lane has stored, and what the answer says about it is stored
again: a Retry-After binds the lane as well.
"""

from feedmill.engine.documents.fetch_document import Answer, fetch_and_judge, outcome_of
from feedmill.engine.run.services import Services
from feedmill.model.feed import Feed
from feedmill.schedule.host_pace import host_wait_sec, initial_pace, limited_until, pace_after


async def probe_in_lane(url: str, feed: Feed, services: Services) -> Answer:
    """Fetch the address for the feed at once and unconditionally: the caller keeps the host's pace."""
    return await fetch_and_judge(
        url,
        feed.overrides,
        home_url=feed.url,
        fetcher=services.fetcher,
        clock=services.clock,
        config=services.config.fetch,
    )


async def probe_other_host(
    url: str, feed: Feed, services: Services, *, max_wait_sec: float = 0.0
) -> Answer | None:
    """Fetch the address at its host's stored pace; None when that means waiting longer than allowed."""
    store, config = services.store, services.config.host
    pace = await store.host_pace(url) or initial_pace(config)
    now = services.clock.now()
    wait = host_wait_sec(pace, now)
    if wait > max_wait_sec or limited_until(pace, url, now) is not None:
        return None
    await services.clock.sleep(wait)
    answer = await probe_in_lane(url, feed, services)
    if answer.response.status is None and not answer.response.hops:
        return answer  # the host was not reached: there is no pace to keep
    outcome = outcome_of(answer.verdict)
    after = pace_after(pace, url, outcome, ended_at=answer.at, config=config)
    if after.next_ok_at is not None and after.next_ok_at > answer.at:
        await store.limit_host(url, after.next_ok_at, after.blocked_reason)
    return answer
