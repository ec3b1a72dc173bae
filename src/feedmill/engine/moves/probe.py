"""One request outside of a lane, for somebody who wants to know what lives at an address.

It goes through the same guard and limits as every other, keeps the pace that the host's lane has
stored, and leaves behind what it learnt: a Retry-After binds the mill as well (D24).
"""

from feedmill.engine.run.services import Services
from feedmill.fetch.judge import judge
from feedmill.fetch.plan import is_trusted, plan_feed_fetch, without_credentials
from feedmill.fetch.redirects import permanent_target
from feedmill.model.base import Value
from feedmill.model.feed import Feed
from feedmill.model.fetch import Failed, Fresh, Gone, RawResponse, Verdict
from feedmill.model.schedule import Outcome
from feedmill.schedule.host_pace import host_wait_sec, initial_pace, limited_until, pace_after


class ProbeAnswer(Value):
    """What came back from an address; `verdict` is a document or a reason."""

    url: str
    verdict: Verdict
    response: RawResponse

    @property
    def settled_url(self) -> str:
        """Where the document lives: the end of a way that is permanent, else what was asked for."""
        return permanent_target(self.response.hops) or self.url

    @property
    def reason(self) -> str:
        """Why there is no document: a stable word; empty when there is one."""
        match self.verdict:
            case Failed(reason=reason):
                return reason
            case Gone():
                return "gone"
            case _:
                return ""

    @property
    def outcome(self) -> Outcome:
        """How the request ended, as far as the host's pace cares."""
        verdict = self.verdict
        if isinstance(verdict, Fresh):
            return Outcome(kind="fresh", http_status=verdict.status)
        wait = verdict.retry_after_sec if isinstance(verdict, Failed) else None
        return Outcome(
            kind="failed",
            http_status=self.response.status,
            reason=self.reason,
            retry_after_sec=wait,
        )


async def probe_in_lane(url: str, feed: Feed, services: Services) -> ProbeAnswer:
    """Fetch the address on behalf of the feed, at once and unconditionally.

    The feed's own headers and credentials go along to its own host only, and never from https to
    http.
    """
    own = feed.overrides if is_trusted(url, feed.url) else without_credentials(feed.overrides)
    plan = plan_feed_fetch(url, own, services.config.fetch, forced=True)
    response = await services.fetcher.fetch(plan, verify_tls=own.verify_tls, proxy=own.proxy)
    return ProbeAnswer(
        url=plan.url, verdict=judge(response, plan, services.clock.now()), response=response
    )


async def probe_other_host(
    url: str, feed: Feed, services: Services, *, patience_sec: float = 0.0
) -> ProbeAnswer | None:
    """The same at the pace of the host as it is stored; None when the host wants to be left alone.

    A rest that ends within `patience_sec` is waited for.
    """
    host = services.config.host
    pace = await services.store.host_pace(url) or initial_pace(host)
    now = services.clock.now()
    wait = host_wait_sec(pace, now)
    if wait > patience_sec or limited_until(pace, url, now) is not None:
        return None
    await services.clock.sleep(wait)
    answered = await probe_in_lane(url, feed, services)
    if answered.response.status is None and not answered.response.hops:
        return answered  # nobody was reached: there is no pace to keep
    ended_at = services.clock.now()
    after = pace_after(pace, url, answered.outcome, ended_at=ended_at, config=host)
    if after.next_ok_at is not None and after.next_ok_at > ended_at:
        await services.store.limit_host(url, after.next_ok_at, after.blocked_reason)
    return answered
