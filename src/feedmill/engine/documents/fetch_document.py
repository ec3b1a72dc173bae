"""Plans, sends and judges one GET for a feed: used by polling, collecting and probing.

The feed's own headers and credentials are sent to its own host only, and never from https to http.
Politeness is the caller's: a lane keeps its host's pace, everything else uses
subscribe/host_queue.py.
"""

from datetime import datetime

from feedmill.config import FetchConfig
from feedmill.engine.ports.clock import Clock
from feedmill.engine.ports.fetcher import Fetcher
from feedmill.fetch.judge import judge
from feedmill.fetch.plan import is_trusted, plan_feed_fetch, without_credentials
from feedmill.fetch.redirects import permanent_target
from feedmill.model.base import Value
from feedmill.model.feed import FeedOverrides
from feedmill.model.fetch import (
    Failed,
    Fresh,
    Gone,
    RawDocument,
    RawResponse,
    Unchanged,
    Validators,
    Verdict,
)
from feedmill.model.schedule import Outcome


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
    fetcher: Fetcher,
    clock: Clock,
    config: FetchConfig,
    validators: Validators | None = None,
    forced: bool = False,
) -> Answer:
    """Fetch an address for the feed at `home_url`; `forced` sends no validators.

    Every failure is a verdict with its reason, never an exception.
    """
    own = overrides
    if url != home_url and not is_trusted(url, home_url):
        own = without_credentials(overrides)
    plan = plan_feed_fetch(url, own, config, validators=validators, forced=forced)
    began = clock.monotonic()
    response = await fetcher.fetch(plan, verify_tls=own.verify_tls, proxy=own.proxy)
    elapsed_ms = int((clock.monotonic() - began) * 1000)
    now = clock.now()
    return Answer(
        url=plan.url,
        response=response,
        verdict=judge(response, plan, now),
        at=now,
        elapsed_ms=elapsed_ms,
    )


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
