"""Where a feed may have moved to: named by polls, or found on the site of a lost feed.

Detects where a feed may have moved to, and when a candidate has been seen often enough (D6).

A permanent redirect, itunes:new-feed-url, a changed self link and https each name an address. One
of them is stored with the feed, together with how often and since when it was seen. It is tried
after some sightings over two days; then follow.py asks for a proof that it is the same feed. Pure.

Searches the site of a lost feed for its new address, on the slow re-probe of a feed that is gone.

    lost      410, a 404 or a web page for a day and several polls, no DNS answer for a week
    pages     the feed's home page, then the root of its site; where they redirect to counts
    robots    the page is used only where its robots.txt allows it, and so is every guess
    search    what the page declares, its platform, its links and well-known paths: a few requests

What is found is weighed like every other address that a feed may have moved to (follow.py): adopted when it is
proven, else kept as a proposal. A site is searched once a week; a host that has to rest ends the search until then.
"""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from typing import Final

from msgspec.structs import replace

from feedmill.canonicalise.discovery.html_page import plain_url
from feedmill.canonicalise.discovery.search import FindOptions
from feedmill.canonicalise.policies import adds_only_tracking
from feedmill.canonicalise.urls import http_url, join_url, split_url
from feedmill.config import MovesConfig
from feedmill.engine.documents.fetch_document import Answer, describe_verdict
from feedmill.engine.documents.read_document import ComparedDocument
from feedmill.engine.run.memory_budget import PARSE_THREADS
from feedmill.engine.run.services import Services
from feedmill.engine.subscribe.discover import discover
from feedmill.engine.subscribe.host_queue import allows_by_robots, robots_url
from feedmill.engine.subscribe.same_feed import facts_of
from feedmill.fetch.plan import is_trusted
from feedmill.model.canonical import Seen
from feedmill.model.feed import Feed, Move, MoveCandidate, MoveReason, MoveSource
from feedmill.model.fetch import Fresh, RawResponse, Unchanged
from feedmill.model.parsed import Unreadable
from feedmill.parse.document import parse_document
from feedmill.schedule.delay import jitter_share

_HTTPS_AGAIN: Final = timedelta(days=1)  # after a probe that succeeded, until it is adopted
_HTTPS_SPREAD: Final = 0.2  # of the interval, so that feeds of one import are not probed together
ProbeFunction = Callable[[str], Awaitable[Answer | None]]

_BUDGET: Final = 4  # feeds that are tried on one page
_MOST_PROPOSED: Final = 3  # of them weighed
_PAGES: Final = frozenset({"html-page", "login-page", "not-a-feed", "error-document"})
_NO_HOST: Final = timedelta(days=7)  # without a DNS answer


def detect_move(
    feed: Feed, answer: Fresh | Unchanged, read: ComparedDocument | None, now: datetime
) -> MoveCandidate | None:
    """The candidate after a good answer; `read` is None when the document is the one before.

    A candidate that is named again is counted; another one begins anew; one that nothing names
    any more is forgotten, because the publisher has taken it back. Https is named by probes only.
    """
    before = feed.move
    for source, url in _named(feed, answer, read):
        if source == "self" and feed.overrides.disable_autodiscovery:
            continue
        target = plain_url(url) if url else None
        if target is None or not is_move(feed.url, target):
            continue
        if before is None or before.url != target:
            before = MoveCandidate(
                url=target, source=source, first_seen_at=now, last_seen_at=now, sightings=0
            )
        return replace(
            before,
            source=source,
            last_seen_at=now,
            sightings=before.sightings + 1,
            continues=_continues(feed, source, before, read),
        )
    return before if before is not None and before.source == "https" else None


def detect_https_move(feed: Feed, url: str, now: datetime) -> MoveCandidate:
    """The candidate after the same feed was found by https."""
    before = feed.move
    if before is None or before.url != url:
        return MoveCandidate(url=url, source="https", first_seen_at=now, last_seen_at=now)
    return replace(before, last_seen_at=now, sightings=before.sightings + 1)


def https_url_to_probe(feed: Feed, now: datetime, config: MovesConfig) -> str | None:
    """The feed's address by https, when it is time to look for it there.

    Only where nothing better is a candidate. A feed that is new here was tried when it was added,
    so the time is counted from then.
    """
    candidate = feed.move
    is_free = candidate is None or candidate.source == "https"
    is_free = is_free or (
        candidate is not None and candidate.source == "self" and _is_refuted(feed)
    )
    if config.https_probe_days <= 0 or not feed.url.startswith("http:") or not is_free:
        return None
    if feed.overrides.disable_autodiscovery:
        return None
    since = feed.https_probed_at or feed.created_at
    if candidate is not None and candidate.source == "https":
        wait = _HTTPS_AGAIN
    else:
        wait = timedelta(days=config.https_probe_days)
        if now - since >= wait:  # mostly not: every poll asks
            wait *= 1 + _HTTPS_SPREAD * abs(jitter_share(feed.id, since))
    if now - since < wait:
        return None
    return join_url(replace(split_url(feed.url), scheme="https"))


def may_follow(feed: Feed, now: datetime, config: MovesConfig) -> bool:
    """False when a poll that worked leaves nothing for `apply_move` to look at, as most do."""
    if feed.move is not None or feed.last_success_at != feed.last_fetch_at:
        return True
    return https_url_to_probe(feed, now, config) is not None


def has_enough_sightings(candidate: MoveCandidate, config: MovesConfig) -> bool:
    """Whether it was seen often enough over a time that is long enough."""
    seen_for = candidate.last_seen_at - candidate.first_seen_at
    quarantine = timedelta(hours=config.quarantine_hours)
    return candidate.sightings >= config.sightings and seen_for >= quarantine


def is_gone(feed: Feed, now: datetime, config: MovesConfig) -> bool:
    """Whether the last poll says that nothing lives at the feed's address any more.

    A 410 says so itself. A 404 is often a deployment: it counts when it is one of several
    failures in a row and the last success is a day old.
    """
    if feed.last_result == "gone":
        return True
    if feed.last_result != "not-found" or feed.last_success_at is None:
        return False
    long_ago = now - feed.last_success_at >= timedelta(hours=config.missing_after_hours)
    return long_ago and feed.schedule.consecutive_failures >= config.missing_after_failures


def reason_against_move(
    feed: Feed, target: str, history: Sequence[Move], now: datetime, config: MovesConfig
) -> MoveReason | None:
    """What forbids the move whatever the proof, or None."""
    if not is_move(feed.url, target):
        return "leads-home"
    if any(move.to_url == target and move.undone_at is not None for move in history):
        return "undone"
    if recently_left_at(target, history, now, config) is not None:
        return "loop"
    return "has-credentials" if exposes_secrets(feed, target) else None


def exposes_secrets(feed: Feed, target: str) -> bool:
    """Whether what the feed sends of its own would go to another host, or into the open."""
    return _has_secrets(feed) and not is_trusted(target, feed.url)


def recently_left_at(
    target: str, history: Sequence[Move], now: datetime, config: MovesConfig
) -> datetime | None:
    """When the feed left that address, if that is less than a week ago; None otherwise."""
    week = timedelta(days=config.retry_days)
    found = (
        move.moved_at
        for move in history
        if move.from_url == target and move.undone_at is None and now - move.moved_at < week
    )
    return max(found, default=None)


def is_move(url: str, target: str) -> bool:
    """Elsewhere, not from https to http, and not only with tracking parameters added."""
    is_downgrade = url.startswith("https:") and not target.startswith("https:")
    return target != url and not is_downgrade and not adds_only_tracking(url, target)


def is_same_host(url: str, other: str) -> bool:
    """Whether both addresses are of one host and port, whatever the scheme."""
    one, two = split_url(url), split_url(other)
    return (one.host, one.port) == (two.host, two.port)


def _named(
    feed: Feed, answer: Fresh | Unchanged, read: ComparedDocument | None
) -> tuple[tuple[MoveSource, str | None], ...]:
    """The addresses that the answer names, the strongest source first."""
    if read is None:
        # The same document says again what it said before; only the way to it is news.
        said = ("itunes:new-feed-url", "self")
        kept = feed.move if feed.move is not None and feed.move.source in said else None
        again: tuple[tuple[MoveSource, str | None], ...] = (
            ((kept.source, kept.url),) if kept else ()
        )
        return (("redirect", answer.moved_to), *again)
    return (
        ("redirect", answer.moved_to),
        ("itunes:new-feed-url", read.parsed.new_feed_url),
        ("self", _changed_self(feed, read)),
    )


def _continues(
    feed: Feed, source: MoveSource, before: MoveCandidate, read: ComparedDocument | None
) -> bool:
    """Whether the redirect led to the feed that was there before it.

    Only the first document that came that way can show it: to every later one its entries are known.
    Half of them have to be; a domain that was sold redirects to another feed.
    """
    if source != "redirect" or (before.source == "redirect" and before.sightings):
        return before.continues
    if read is None or feed.document_fetch_id is None:
        return True  # the same document as before, or there was none
    counts = read.changes.summary
    known = counts.revised + counts.touched + counts.rekeyed
    return known >= counts.added


def _changed_self(feed: Feed, read: ComparedDocument) -> str | None:
    """The document's own address, when it used to be another one.

    One that never was ours is no news: many feeds are served where they do not say they are.
    """
    now = read.clean.self_url
    if feed.move is not None and feed.move.source == "self" and now is not None:
        return now if plain_url(now) == feed.move.url else None
    return now if feed.self_url is not None and now != feed.self_url else None


def _is_refuted(feed: Feed) -> bool:
    return feed.move is not None and feed.move.refuted_at is not None


def _has_secrets(feed: Feed) -> bool:
    own = feed.overrides
    return bool(own.headers) or own.username is not None or own.password is not None


def is_lost(feed: Feed, now: datetime, config: MovesConfig) -> bool:
    """Whether the feed's address has been of no use for so long that its site is worth a look."""
    if is_gone(feed, now, config):
        return True
    if feed.last_success_at is None:
        return False
    silent = now - feed.last_success_at
    if feed.last_result == "dns-failure":
        return silent >= _NO_HOST
    is_steady = feed.schedule.consecutive_failures >= config.missing_after_failures
    return (
        feed.last_result in _PAGES
        and is_steady
        and silent >= timedelta(hours=config.missing_after_hours)
    )


async def find_on_site(feed: Feed, services: Services, ask: ProbeFunction) -> tuple[Answer, ...]:
    """Answers with feeds that the site of the feed leads to, best first; () when there are none."""
    for page in _pages(feed):
        found = await _SiteSearch(services, ask).run(page)
        feeds = [one for one in found if isinstance(one.verdict, Fresh) and one.url != feed.url]
        if feeds:
            return tuple(feeds[:_MOST_PROPOSED])
    return ()


def _pages(feed: Feed) -> tuple[str, ...]:
    """The pages to search: the home page that the feed named last, the root of its site."""
    root = join_url(replace(split_url(feed.url), userinfo="", path="/", query=None, fragment=None))
    site = http_url(feed.site_url) if feed.site_url else None
    has_host = feed.last_result != "dns-failure"
    urls = (*((site,) if site else ()), *((root,) if has_host else ()))
    return tuple(dict.fromkeys(urls))


class _SiteSearch:
    """One page of a site, with the answers that it led to."""

    def __init__(self, services: Services, ask: ProbeFunction) -> None:
        self._services, self._ask = services, ask
        self._page_url = ""
        self._robots: RawResponse | None = None
        self._answers: dict[str, Answer] = {}

    async def run(self, url: str) -> list[Answer]:
        """The feeds that the page leads to, best first; none when it is no page, or may not be read."""
        answer = await self._ask(url)
        if answer is None or answer.response.status != 200:
            return []
        self._page_url = answer.response.final_url
        address = robots_url(self._page_url)
        robots = None if address is None else await self._ask(address)
        self._robots = None if robots is None else robots.response
        if not await self.allows(self._page_url):
            return []
        if isinstance(answer.verdict, Fresh):  # the home page is the feed
            return [answer]
        config = self._services.config
        found = await discover(
            answer.response,
            gate=self,
            ask=self._probe,
            thread_bytes=config.run.parse_in_thread_bytes,
            options=FindOptions(budget=_BUDGET, rules=self._services.rules),
        )
        return [self._answers[one.url] for one in found.feeds if one.url in self._answers]

    async def allows(self, url: str) -> bool:
        """Whether it may be requested unasked: on the page's own site only, where robots.txt allows it."""
        if self._robots is None or robots_url(url) != robots_url(self._page_url):
            return False
        return allows_by_robots(self._robots, url, self._services.config.fetch)

    async def _probe(self, url: str) -> Seen:
        answer = await self._ask(url)
        if answer is None:
            return Seen(url=url, final_url=url, spent=False, reason="rate-limited")
        self._answers[url] = answer
        return await PARSE_THREADS.run(lambda: self._seen(url, answer))

    def _seen(self, url: str, answer: Answer) -> Seen:
        response = answer.response
        seen = Seen(url=url, final_url=response.final_url, status=response.status)
        if not isinstance(answer.verdict, Fresh):
            return replace(seen, reason=describe_verdict(answer.verdict)[0])
        parsed = parse_document(answer.verdict.document, self._services.config.parse)
        if isinstance(parsed, Unreadable):
            return replace(seen, reason=parsed.reason)
        return replace(seen, is_feed=True, facts=facts_of(parsed))
