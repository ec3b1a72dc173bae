"""Imports a list of feeds: concurrently over hosts, one after another within a host.

The result of each outline is stored as soon as it is known. An import that was interrupted
continues where it was, without a second request for what was done; the same list imported again
adds nothing. A feed whose server does not answer is added as listed, and polling finds out.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Final

import msgspec

from feedmill.canonicalise.urls import host_key_of
from feedmill.engine.run.services import Services
from feedmill.engine.subscribe.add_feed import Subscribed, add_tags, subscribe_unchecked
from feedmill.engine.subscribe.list_formats import Outline
from feedmill.engine.subscribe.subscriber import CHOOSE_BEST, FeedChoices, KeepFirst, Subscriber
from feedmill.errors import AddressError, NoFeedError, UsageError
from feedmill.model.base import Value
from feedmill.model.canonical import Seen
from feedmill.model.feed import ImportedOutline

ImportListener = Callable[[ImportedOutline], None]

ADDED: Final = "added"
EXISTING: Final = "existing"
UNPROVEN: Final = "unproven"  # subscribed as listed, because its server did not answer
FAILED: Final = "failed"
# The run itself has a row beside its outlines: what failed in a run that was not finished is not
# tried again when that run goes on, but it is when the list is imported anew.
_RUN: Final = ""
_BEGUN: Final = "begun"
_ENDED: Final = "ended"
_TICK: Final = timedelta(microseconds=1)


class ImportReport(Value):
    """What became of every outline, in the order of the list."""

    total: int
    resumed: int  # done by an earlier run of the same import
    items: tuple[ImportedOutline, ...]

    def count(self, outcome: str) -> int:
        return sum(item.outcome == outcome for item in self.items)

    @property
    def failed(self) -> tuple[ImportedOutline, ...]:
        return tuple(item for item in self.items if item.outcome == FAILED)


async def import_outlines(
    outlines: Sequence[Outline],
    services: Services,
    *,
    tags: Sequence[str] = (),
    as_is: bool = False,
    told: ImportListener = lambda _: None,
    keep_first: KeepFirst | None = None,
) -> ImportReport:
    """Subscribe to every feed of a list; `told` is called once for each outline.

    `as_is` makes no requests. `keep_first` stores what was fetched as the first fetch of a new feed.
    """
    list_id = _list_id(outlines, tags, as_is=as_is)
    before = {item.url: item for item in await services.store.imported(list_id)}
    last = before.pop(_RUN, None)
    is_resumed = last is not None and last.outcome == _BEGUN
    if last is None or not is_resumed:
        # After everything of the runs before, also where the clock was put back since.
        ages = (item.at + _TICK for item in before.values())
        last = ImportedOutline(url=_RUN, outcome=_BEGUN, at=max((services.clock.now(), *ages)))
        await services.store.save_imported(list_id, (last,))
    done = {url: item for url, item in before.items() if item.at >= last.at}
    subscriber = None if as_is else Subscriber(services, keep_first=keep_first)
    work = _Import(services, list_id, tuple(tags), told, done, subscriber, since=last.at)
    await work.run(outlines)
    end = ImportedOutline(url=_RUN, outcome=_ENDED, at=services.clock.now())
    await services.store.save_imported(list_id, (end,))
    items = tuple(work.items[outline.url] for outline in outlines)
    return ImportReport(total=len(outlines), resumed=work.resumed, items=items)


class _Import:
    """One run over a list."""

    def __init__(
        self,
        services: Services,
        list_id: str,
        tags: tuple[str, ...],
        told: ImportListener,
        done: Mapping[str, ImportedOutline],
        subscriber: Subscriber | None,  # None: as listed, without a request
        *,
        since: datetime,
    ) -> None:
        self._services = services
        self._list_id = list_id
        self._tags = tags
        self._listener = told
        self._done = done
        self._since = since  # when the run began: nothing of it is older, whatever the clock says
        self._subscriber = subscriber
        self._places = asyncio.Semaphore(services.config.run.concurrency)
        self._tagging = asyncio.Lock()
        self.items: dict[str, ImportedOutline] = {}
        self.resumed = 0
        for item in done.values():
            self._recognise(item)

    async def run(self, outlines: Sequence[Outline]) -> None:
        hosts: dict[str, list[Outline]] = {}
        for outline in outlines:
            # Where no request is made, there is one queue and the list's own order.
            host = "" if self._subscriber is None else host_key_of(outline.url)
            hosts.setdefault(host, []).append(outline)
        async with asyncio.TaskGroup() as tasks:
            for group in hosts.values():
                tasks.create_task(self._work(group))

    async def _work(self, outlines: Sequence[Outline]) -> None:
        async with self._places:
            for outline in outlines:
                item = await self._remembered(outline)
                if item is None:
                    item = await self._take(outline)
                    await self._services.store.save_imported(self._list_id, (item,))
                self.items[outline.url] = item
                self._listener(item)

    async def _remembered(self, outline: Outline) -> ImportedOutline | None:
        """What became of the outline before this run was interrupted, if that still holds."""
        item = self._done.get(outline.url)
        if item is None or (
            item.feed_id is not None and await self._services.store.feed(item.feed_id) is None
        ):
            return None
        self.resumed += 1
        return item

    def _recognise(self, item: ImportedOutline) -> None:
        """Let the subscriber know a feed that an earlier run saw, without another request."""
        if self._subscriber is not None and item.feed_id is not None and item.digest:
            seen = Seen(url=item.url, final_url=item.url, is_feed=True, digest=item.digest)
            self._subscriber.recent.add(item.feed_id, seen)

    async def _take(self, outline: Outline) -> ImportedOutline:
        try:
            done = await self._subscribe(outline)
        except NoFeedError as problem:
            if problem.is_passing:
                return await self._take_unproven(outline, problem)
            return self._item(outline, FAILED, reason=problem.reason, detail=str(problem))
        except UsageError as problem:  # an address that may not be fetched
            return self._item(outline, FAILED, reason=problem.reason, detail=str(problem))
        if not done.created:
            await self._file(done.feed.id, outline)
        outcome = ADDED if done.created else EXISTING
        return self._item(outline, outcome, feed_id=done.feed.id, digest=done.digest)

    async def _file(self, feed_id: str, outline: Outline) -> None:
        """Let a feed that is here already stand in the list's folders too."""
        async with self._tagging:  # two outlines of one feed may come at the same time
            feed = await self._services.store.feed(feed_id)
            if feed is not None:
                await add_tags(feed, (*self._tags, *outline.tags), self._services.store)

    async def _subscribe(self, outline: Outline) -> Subscribed:
        if self._subscriber is None:
            return await self._as_is(outline)
        done = await self._subscriber.subscribe(
            outline.url, title=outline.title, tags=(*self._tags, *outline.tags), choose=CHOOSE_BEST
        )
        assert not isinstance(done, FeedChoices)
        return done

    async def _as_is(self, outline: Outline) -> Subscribed:
        tags = (*self._tags, *outline.tags)
        return await subscribe_unchecked(
            outline.url, self._services, title=outline.title, tags=tags
        )

    async def _take_unproven(self, outline: Outline, problem: NoFeedError) -> ImportedOutline:
        try:
            done = await self._as_is(outline)
        except AddressError as refusal:
            return self._item(outline, FAILED, reason=refusal.reason, detail=str(refusal))
        outcome = UNPROVEN if done.created else EXISTING
        return self._item(
            outline, outcome, feed_id=done.feed.id, reason=problem.reason, detail=str(problem)
        )

    def _item(
        self,
        outline: Outline,
        outcome: str,
        *,
        feed_id: str | None = None,
        reason: str = "",
        detail: str = "",
        digest: str = "",
    ) -> ImportedOutline:
        return ImportedOutline(
            url=outline.url,
            outcome=outcome,
            at=max(self._services.clock.now(), self._since),
            feed_id=feed_id,
            reason=reason,
            detail=detail,
            digest=digest,
        )


def _list_id(outlines: Sequence[Outline], tags: Sequence[str], *, as_is: bool) -> str:
    """The list's own name: the same addresses, tags and manner are the same import."""
    shape = ([outline.url for outline in outlines], sorted(tags), as_is)
    return sha256(msgspec.json.encode(shape)).hexdigest()
