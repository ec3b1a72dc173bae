"""Collects a window: fetches every source politely and stores no entries (001).

    fetch     unconditional, in the host's queue; no validator is sent or stored
    keep      the raw body before it is parsed, so that an insertion later has its bytes
    read      parse, normalise, identify, compare with what is known
    go back   to older pages, while the window begins earlier (RFC 5005)
    gather    selected by date, each once, numbered

A source that fails is reported with its reason, and the others go on.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

from msgspec.structs import replace

from feedmill.engine.run.services import Services
from feedmill.engine.subscribe.add_feed import split_credentials, validate_address
from feedmill.engine.subscribe.host_queue import HostQueue, host_key_of
from feedmill.engine.two_phase.candidate_file import with_checksum
from feedmill.engine.two_phase.candidates import CandidateDraft, merge_drafts, with_counts
from feedmill.engine.two_phase.collect_source import SourceCollector, WindowSource
from feedmill.engine.two_phase.insert_selected import COLLECTED_TAG
from feedmill.errors import AddressError, BlobError, StoreError
from feedmill.fetch.guard import printable_url
from feedmill.model.candidate import SCHEMA, CandidateFile, CollectedDocument, SourceReport, Window
from feedmill.model.feed import Feed
from feedmill.model.screening import Topic
from feedmill.observe import log

DEFAULT_PAGES: Final = 10  # of one source at most, its first document included
ReportListener = Callable[[SourceReport], None]


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


def is_insert_only(feed: Feed) -> bool:
    """Whether a subscription only holds inserted entries; `all feeds` does not include it.

    It was named once, for one window. It is collected again when it is named by its address or by a
    tag, or once it was resumed.
    """
    return feed.paused and COLLECTED_TAG in feed.tags


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
