"""Collects a window: fetches every source politely and stores no entries (001).

    fetch     unconditional, in the host's queue; no validator is sent or stored
    keep      the raw body before it is parsed, so that an insertion later has its bytes
    read      parse, normalise, identify, compare with what is known
    go back   to older pages, while the window begins earlier (RFC 5005)
    gather    selected by date, each once, numbered

A source that fails is reported with its reason, and the others go on; an older page that fails is a note there.
"""

import asyncio
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Final

from msgspec.structs import replace

from feedmill.canonicalise.urls import host_key_of
from feedmill.engine.documents.fetch_document import Answer, describe_verdict, fetch_and_judge
from feedmill.engine.documents.raw_documents import keep_collected
from feedmill.engine.documents.read_document import ComparedDocument, NotAFeed, read_and_compare
from feedmill.engine.run.services import Services
from feedmill.engine.subscribe.add_feed import split_credentials, validate_address
from feedmill.engine.subscribe.host_queue import HostQueue
from feedmill.engine.two_phase.candidates import (
    CandidateDraft,
    covers_start,
    drafts_of,
    merge_drafts,
    pack_body,
    with_checksum,
    with_counts,
)
from feedmill.errors import AddressError, BlobError, StoreError
from feedmill.fetch.guard import printable_url
from feedmill.fetch.headers import links_with_rel
from feedmill.model.base import Value
from feedmill.model.candidate import SCHEMA, CandidateFile, CollectedDocument, SourceReport, Window
from feedmill.model.feed import Feed, FeedOverrides
from feedmill.model.fetch import Failed, Fresh, RawDocument, Verdict
from feedmill.model.screening import Topic
from feedmill.observe import log
from feedmill.schedule.interval import initial_state

DEFAULT_PAGES: Final = 10  # of one source at most, its first document included
ReportListener = Callable[[SourceReport], None]
COLLECTED_TAG: Final = "collected"


class WindowSource(Value):
    """Where to collect from: an address, and the subscription that it belongs to, if any."""

    url: str
    feed: Feed | None = None
    title: str | None = None
    overrides: FeedOverrides = FeedOverrides()  # what is sent to its own host only


async def collect_window(
    sources: Sequence[WindowSource],
    window: Window,
    services: Services,
    *,
    topics: Sequence[str] = (),
    topic_set: Sequence[Topic] = (),
    prompt: str = "",
    pages: int = DEFAULT_PAGES,
    step: ReportListener = lambda _: None,
) -> CandidateFile:
    """The sealed window: what the sources hold of it, and what came of each of them.

    Hosts are asked side by side, the sources of one host one after the other; `step` is called
    for every source that is done.
    """
    host_queue = HostQueue(services.clock, services.config.host, services.store)
    collectors = [
        SourceCollector(at, one, window, host_queue, services, pages)
        for at, one in enumerate(sources)
    ]
    hosts: dict[str, list[SourceCollector]] = {}
    for collector in collectors:
        hosts.setdefault(host_key_of(collector.source.url), []).append(collector)
    slots = asyncio.Semaphore(max(services.config.run.concurrency, 1))

    async def collect(host: list[SourceCollector]) -> None:
        async with slots:
            for collector in host:
                await _run(collector)
                step(collector.report)

    async with asyncio.TaskGroup() as group:
        for host in hosts.values():
            group.create_task(collect(host))
    file = _candidate_file(collectors, window, services, topics=topics, prompt=prompt)
    return with_checksum(replace(file, topic_set=tuple(topic_set)) if topic_set else file)


async def source_from_address(address: str, services: Services) -> WindowSource:
    """An address as a source; credentials in it are sent to its host and written nowhere.

    An address that may not be fetched is a source too: it fails like any other.
    """
    try:
        url = validate_address(address, services.config.fetch.allow_cidrs).url
    except AddressError:
        return WindowSource(url=printable_url(address))
    feed = await services.store.find_feed((url, address.strip()))
    if feed is not None:
        return source_from_feed(feed)
    return WindowSource(url=url, overrides=split_credentials(address)[1])


def source_from_feed(feed: Feed) -> WindowSource:
    """A subscription as a source."""
    return WindowSource(url=feed.url, feed=feed, title=feed.title, overrides=feed.overrides)


def each_once(sources: Sequence[WindowSource]) -> list[WindowSource]:
    """The sources without repeats, in the order in which they were named."""
    return list({one.url: one for one in reversed(sources)}.values())[::-1]


def is_insert_only(feed: Feed) -> bool:
    """Whether a subscription only holds inserted entries; `all feeds` does not include it.

    It was named once, for one window. It is collected again when it is named by its address or by a
    tag, or once it was resumed.
    """
    return feed.paused and COLLECTED_TAG in feed.tags


class _Page(Value):
    """One document of a source, kept and read."""

    document: CollectedDocument
    read: ComparedDocument
    older_url: str | None


class SourceCollector:
    """Collects one source and reports on it."""

    def __init__(
        self,
        at: int,
        source: WindowSource,
        window: Window,
        host_queue: HostQueue,
        services: Services,
        pages: int,
    ) -> None:
        self.at, self.source, self.window = at, source, window
        self._host_queue, self._services, self._pages = host_queue, services, pages
        self.report = SourceReport(url=source.url, outcome="failed", feed_title=source.title)
        self.documents: list[CollectedDocument] = []
        self.drafts: list[CandidateDraft] = []
        self._feed = source.feed

    async def run(self) -> None:
        """Ask, keep and read the source, and its older pages as far as the window needs them."""
        first = await self._fetch_page(self.source.url)
        if first is None:
            return
        document, read = first.document, first.read
        self.report = replace(
            self.report,
            outcome="ok",
            feed_id=self._feed.id or None if self._feed else None,
            feed_title=read.clean.title or self.source.title,
            final_url=document.final_url,
            fetch_id=document.fetch_id,
            body_sha256=document.body_sha256,
            items=read.seen,
            pages=1,
            note="the document is truncated" if read.parsed.truncated else "",
        )
        self._take(first)
        await self._go_back(first)

    def give_up(self, problem: Exception) -> None:
        """Report a bug of our own: nothing of the source is in the window."""
        self.documents.clear()
        self.drafts.clear()
        self.report = SourceReport(
            url=self.source.url,
            outcome="failed",
            feed_title=self.source.title,
            reason="surprise",
            detail=f"{type(problem).__name__}: this is a bug in feedmill; please report it",
        )

    async def _go_back(self, page: _Page) -> None:
        asked = {self.source.url, page.document.final_url}
        reached = covers_start(page.read, self.window.start)
        while not reached:
            url = page.older_url
            if url is None or url in asked:
                break
            if len(self.documents) >= self._pages:
                self._note(f"older pages were not read after page {self._pages}")
                break
            asked.add(url)
            older = await self._fetch_page(url)
            if older is None:
                break
            page = older
            self._take(page)
            self.report = replace(
                self.report, pages=self.report.pages + 1, items=self.report.items + page.read.seen
            )
            reached = covers_start(page.read, self.window.start)
        self.report = replace(self.report, reaches_back=reached)

    async def _fetch_page(self, url: str) -> _Page | None:
        """One page of the source, kept and read; None when there is none, and the report says why."""
        answer = await self._host_queue.send(url, lambda: self._fetch(url))
        verdict = answer if isinstance(answer, Failed) else answer.verdict
        if isinstance(answer, Failed) or not isinstance(verdict, Fresh):
            status = None if isinstance(answer, Failed) else answer.response.status
            self._fail(*_reason_and_detail(verdict), status=status)
            return None
        final_url, status = answer.response.final_url, answer.response.status
        if self._feed is None:
            known = await self._services.store.find_feed((url, final_url))
            self._feed = known or unsubscribed_feed(self.source.url, self._services)
        kept = await self._keep(verdict.document, url, final_url)
        read = await read_anew(verdict.document, self._feed, self._services)
        if isinstance(read, NotAFeed):
            self._fail(read.reason, read.detail, status=status)
            return None
        if not self.documents:
            self.report = replace(self.report, http_status=status)
        return _Page(document=kept, read=read, older_url=_older(read, verdict, final_url))

    async def _fetch(self, url: str) -> Answer:
        return await fetch_and_judge(
            url,
            self.source.overrides,
            home_url=self.source.url,
            fetcher=self._services.fetcher,
            clock=self._services.clock,
            config=self._services.config.fetch,
        )

    async def _keep(self, document: RawDocument, url: str, final_url: str) -> CollectedDocument:
        """Raw before parse: durable and indexed when this returns."""
        services, digest = self._services, sha256(document.body).hexdigest()
        kept = CollectedDocument(
            source=self.at,
            url=url,
            final_url=final_url,
            fetched_at=services.clock.now(),
            body_sha256=digest,
            content_type=document.content_type,
            fetch_id=services.clock.new_id(),
            body=pack_body(document.body),
        )
        blob = await keep_collected(document.body, kept, services.store, services.blobs)
        await services.store.save_collected(kept, blob)
        return kept

    def _take(self, page: _Page) -> None:
        title = page.read.clean.title or self.report.feed_title
        self.drafts += drafts_of(
            page.read,
            self.window,
            source=self.at,
            document=len(self.documents),
            feed_title=title,
        )
        self.documents.append(page.document)

    def _fail(self, reason: str, detail: str, *, status: int | None) -> None:
        if self.documents:  # an older page: the source itself is well
            self._note(f"an older page could not be read ({reason})")
        else:
            self.report = replace(self.report, reason=reason, detail=detail, http_status=status)

    def _note(self, words: str) -> None:
        note = f"{self.report.note}; {words}" if self.report.note else words
        self.report = replace(self.report, note=note)


async def _run(collector: SourceCollector) -> None:
    """Collect one source; a bug of our own costs that source, a store error costs the whole window."""
    try:
        await collector.run()
    except (StoreError, BlobError):
        raise
    except Exception as problem:  # noqa: BLE001  # logged here, and the other sources go on
        log.logger("collect").error(
            "unexpected error", url=collector.source.url, error=repr(problem)
        )
        collector.give_up(problem)


def _candidate_file(
    collectors: Sequence[SourceCollector],
    window: Window,
    services: Services,
    *,
    topics: Sequence[str],
    prompt: str,
) -> CandidateFile:
    """Everything that was found, as one file; documents without a candidate are left out."""
    drafts: list[CandidateDraft] = []
    documents: list[CollectedDocument] = []
    for collector in collectors:
        places: dict[int, int] = {}
        for draft in collector.drafts:
            own = draft.candidate.document
            if own not in places:
                places[own] = len(documents)
                documents.append(collector.documents[own])
            moved = replace(draft.candidate, document=places[own])
            drafts.append(replace(draft, candidate=moved))
    candidates = merge_drafts(drafts)
    return CandidateFile(
        schema=SCHEMA,
        created_at=services.clock.now(),
        window=window,
        topics=tuple(topics),
        prompt=prompt,
        sources=with_counts([collector.report for collector in collectors], drafts, candidates),
        candidates=candidates,
        documents=tuple(documents),
    )


def unsubscribed_feed(url: str, services: Services) -> Feed:
    """A feed without a subscription, as it would be on its first day: to identify entries by."""
    now = services.clock.now()
    return Feed(
        id="",
        url=url,
        feed_key=url,
        created_at=now,
        next_poll_at=now,
        schedule=initial_state(services.config.schedule),
    )


async def read_anew(
    document: RawDocument, feed: Feed, services: Services
) -> ComparedDocument | NotAFeed:
    """A document compared with what is known, every item of it parsed."""
    now = services.clock.now()
    return await read_and_compare(
        document, feed, services.store, services.config, now=now, anew=True
    )


def _older(read: ComparedDocument, verdict: Fresh, final_url: str) -> str | None:
    """Where the feed goes on into its past, on its own host only (RFC 5005 3 and 4)."""
    parsed = read.parsed
    named = (
        parsed.prev_archive_url,
        *links_with_rel(verdict.links, "prev-archive"),
        parsed.next_url,
        *links_with_rel(verdict.links, "next"),
    )
    return next((url for url in named if url and host_key_of(url) == host_key_of(final_url)), None)


def _reason_and_detail(verdict: Verdict) -> tuple[str, str]:
    reason, detail = describe_verdict(verdict)
    if reason == "scheme":
        detail = "this is no web address; one looks like https://example.com/feed"
    return reason, detail
