"""Plans, sends and judges one GET for a feed: used by polling, collecting and probing.

The feed's own headers and credentials are sent to its own host only, and never from https to http.
Politeness is the caller's: a lane keeps its host's pace, everything else uses
subscribe/host_queue.py. An address that a feed may have moved to is probed at the pace that the
lane of its host has stored, and a Retry-After binds that lane as well (D24).
"""

from datetime import datetime

from msgspec.structs import replace

from feedmill.canonicalise.urls import split_url
from feedmill.config import FetchConfig
from feedmill.engine.ports.io import BodyRoom, Clock, Getter
from feedmill.engine.run.services import Services
from feedmill.fetch.guard import printable_url
from feedmill.fetch.judge import judge
from feedmill.fetch.plan import (
    ACCEPT_FEED,
    ACCEPT_PAGE,
    is_trusted,
    permanent_target,
    plan_feed_fetch,
    without_credentials,
)
from feedmill.model.base import Value
from feedmill.model.feed import Feed, FeedOverrides
from feedmill.model.fetch import (
    Failed,
    FetchPlan,
    Fresh,
    Gone,
    RawDocument,
    RawResponse,
    Unchanged,
    Validators,
    Verdict,
)
from feedmill.model.schedule import Outcome
from feedmill.observe.traces import Facts, span
from feedmill.schedule.host_pace import host_wait_sec, initial_pace, limited_until, pace_after


class Answer(Value):
    """The response to one request, and what it means."""

    url: str  # as asked for, normalised
    response: RawResponse
    verdict: Verdict
    at: datetime  # when the response was complete
    elapsed_ms: int = 0

    @property
    def document(self) -> RawDocument | None:
        """The body that came, whatever the verdict."""
        return None if isinstance(self.verdict, Unchanged) else self.verdict.document

    @property
    def settled_url(self) -> str:
        """The target of a permanent redirect, else the address that was asked for."""
        return permanent_target(self.response.hops) or self.url


async def fetch_and_judge(
    url: str,
    overrides: FeedOverrides,
    *,
    home_url: str,
    fetcher: Getter,
    clock: Clock,
    config: FetchConfig,
    validators: Validators | None = None,
    forced: bool = False,
    send_before: float | None = None,
    page: bool = False,
    room: BodyRoom | None = None,
) -> Answer:
    """Fetch an address for the feed at `home_url`; `forced` sends no validators.

    With `page` a web page is wanted: HTML is a document like any other. Every failure is a verdict
    with its reason, never an exception; but NotSentError when a request has not left by
    `send_before` on the monotonic clock, the end of a lease.
    """
    own = overrides
    if url != home_url and not is_trusted(url, home_url):
        own = without_credentials(overrides)
    accept = ACCEPT_PAGE if page else ACCEPT_FEED
    plan = plan_feed_fetch(url, own, config, validators=validators, forced=forced, accept=accept)
    if send_before is not None:
        plan = replace(plan, send_before=send_before)
    began = clock.monotonic()
    with span("http") as sending:
        response = await fetcher.fetch(plan, verify_tls=own.verify_tls, proxy=own.proxy, room=room)
        if sending.trace is not None:
            sending.requested(response.error, _request_facts, plan, response)
    elapsed_ms = int((clock.monotonic() - began) * 1000)
    now = clock.now()
    verdict = judge(response, plan, now)
    return Answer(
        url=plan.url,
        response=response,
        verdict=_as_page(verdict) if page else verdict,
        at=now,
        elapsed_ms=elapsed_ms,
    )


def _as_page(verdict: Verdict) -> Verdict:
    """The verdict on a web page: that it is no feed is as it should be."""
    if isinstance(verdict, Failed) and verdict.reason == "not-a-feed" and verdict.document:
        return Fresh(status=verdict.status or 200, document=verdict.document)
    return verdict


def _request_facts(plan: FetchPlan, response: RawResponse) -> Facts:
    """Facts of a request by the names of OpenTelemetry; an address without its credentials."""
    return {
        "http.request.method": "GET",
        "url.full": printable_url(plan.url),
        "server.address": split_url(response.final_url).host,
        "http.response.status_code": response.status,
        "http.response.body.size": response.wire_length,
        "feedmill.redirects": len(response.hops),
        "feedmill.conditional": plan.conditional,
    }


def outcome_of(verdict: Verdict) -> Outcome:
    """The outcome of a request, as the host's pace and the feed's schedule count it."""
    match verdict:
        case Fresh(status=status):
            return Outcome(kind="fresh", http_status=status)
        case Unchanged():
            return Outcome(kind="unchanged", http_status=304)
        case Gone(status=status):
            return Outcome(kind="failed", http_status=status, reason="gone")
        case Failed():
            return Outcome(
                kind="failed",
                http_status=verdict.status,
                retry_after_sec=verdict.retry_after_sec,
                reason=verdict.reason,
            )


def describe_verdict(verdict: Verdict) -> tuple[str, str]:
    """The countable word for a verdict, and its detail for a person."""
    match verdict:
        case Fresh():
            return "fresh", ""
        case Unchanged():
            return "unchanged", ""
        case Gone():
            return "gone", "the publisher says that the feed is gone (410)"
        case Failed():
            return verdict.reason, verdict.detail


async def probe_in_lane(
    url: str, feed: Feed, services: Services, *, send_before: float | None = None
) -> Answer:
    """Fetch the address for the feed at once and unconditionally: the caller keeps the host's pace."""
    return await fetch_and_judge(
        url,
        feed.overrides,
        home_url=feed.url,
        fetcher=services.fetcher,
        clock=services.clock,
        config=services.config.fetch,
        send_before=send_before,
    )


async def probe_other_host(
    url: str,
    feed: Feed,
    services: Services,
    *,
    max_wait_sec: float = 0.0,
    send_before: float | None = None,
) -> Answer | None:
    """Fetch the address at its host's stored pace; None when that means waiting longer than allowed."""
    store, config = services.store, services.config.host
    pace = await store.host_pace(url) or initial_pace(config)
    now = services.clock.now()
    wait = host_wait_sec(pace, now)
    if wait > max_wait_sec or limited_until(pace, url, now) is not None:
        return None
    await services.clock.sleep(wait)
    answer = await probe_in_lane(url, feed, services, send_before=send_before)
    if answer.response.status is None and not answer.response.hops:
        return answer  # the host was not reached: there is no pace to keep
    outcome = outcome_of(answer.verdict)
    after = pace_after(pace, url, outcome, ended_at=answer.at, config=config)
    if after.next_ok_at is not None and after.next_ok_at > answer.at:
        await store.limit_host(url, after.next_ok_at, after.blocked_reason)
    return answer
