"""One request outside of a lane, for somebody who wants to know what lives at an address.

It goes through the same guard and limits as every other, keeps the pace that the host's lane has
stored, and leaves behind what it learnt: a Retry-After binds the mill as well (D24).
"""

from feedmill.engine.run.services import World
from feedmill.fetch.feed_credentials import is_trusted, own_plan, without_secrets
from feedmill.fetch.judge import judge
from feedmill.fetch.redirects import permanence
from feedmill.model.base import Value
from feedmill.model.feed import Feed
from feedmill.model.fetch import Failed, Fresh, Gone, RawResponse, Verdict
from feedmill.model.schedule import Outcome
from feedmill.schedule.host_pace import initial_pace, limited_until, pace_after, rest_sec


class Answered(Value):
    """What came back from an address; `verdict` is a document or a reason."""

    url: str
    verdict: Verdict
    response: RawResponse

    @property
    def settled_url(self) -> str:
        """Where the document lives: the end of a way that is permanent, else what was asked for."""
        return permanence(self.response.hops) or self.url

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


async def ask(url: str, feed: Feed, world: World) -> Answered:
    """Fetch the address on behalf of the feed, at once and unconditionally.

    The feed's own headers and credentials go along to its own host only, and never from https to
    http.
    """
    own = feed.overrides if is_trusted(url, feed.url) else without_secrets(feed.overrides)
    plan = own_plan(url, own, world.config.fetch, forced=True)
    response = await world.fetcher.fetch(plan, verify_tls=own.verify_tls, proxy=own.proxy)
    return Answered(
        url=plan.url, verdict=judge(response, plan, world.clock.now()), response=response
    )


async def ask_outside(
    url: str, feed: Feed, world: World, *, patience_sec: float = 0.0
) -> Answered | None:
    """The same at the pace of the host as it is stored; None when the host wants to be left alone.

    A rest that ends within `patience_sec` is waited for.
    """
    host = world.config.host
    pace = await world.store.host_pace(url) or initial_pace(host)
    now = world.clock.now()
    wait = rest_sec(pace, now)
    if wait > patience_sec or limited_until(pace, url, now) is not None:
        return None
    await world.clock.sleep(wait)
    answered = await ask(url, feed, world)
    if answered.response.status is None and not answered.response.hops:
        return answered  # nobody was reached: there is no pace to keep
    ended_at = world.clock.now()
    after = pace_after(pace, url, answered.outcome, ended_at=ended_at, config=host)
    if after.next_ok_at is not None and after.next_ok_at > ended_at:
        await world.store.limit_host(url, after.next_ok_at, after.blocked_reason)
    return answered
