"""The Store over several PostgreSQL databases, for more feeds than one can take.

A host, its lanes, its feeds and their entries live in one cell: the one that has the shard of the host.
What belongs to no host lives in the first cell, the home (`HomeStore`), and so does the log that everybody
reads: the logs of the other cells are copied into it (`cell_gather`).

Work on one host needs its cell only. A list or a sum over all needs every cell, and says so when one
does not answer: a part of a list would pass for the whole. The schedule goes on without it.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Self, TypeVar

import msgspec
from msgspec.structs import replace

from feedmill.adapters.store import cell_lists
from feedmill.adapters.store.cell import Cell
from feedmill.adapters.store.cell_gather import Gatherer, follow_merge
from feedmill.adapters.store.cell_home import HomeStore
from feedmill.adapters.store.cell_index import CellIndex
from feedmill.adapters.store.cell_map import read_cells
from feedmill.adapters.store.cell_pages import page_after, page_between, places_of
from feedmill.adapters.store.cell_routes import Routes
from feedmill.adapters.store.postgres.pool import Database
from feedmill.adapters.store.postgres.store import PostgresStore
from feedmill.engine.ports import Committed, EntryFilter, Page, Recalled, Refresh, Standing
from feedmill.errors import StoreError
from feedmill.model.event import Event, NewEvent, Revision, StoredArticle, StoredEntry
from feedmill.model.feed import (
    Claim,
    Feed,
    FetchRecord,
    HostPace,
    Lane,
    MergeCounts,
    Move,
    MoveCandidate,
    NewFeed,
)
from feedmill.model.identity import IdentityKey, KnownEntry
from feedmill.model.schedule import Decision
from feedmill.model.standing import HeldEntry, StandingScreen
from feedmill.model.webhook import Webhook
from feedmill.model.worker import Worker, WorkerView

T = TypeVar("T")

_encode = msgspec.json.Encoder().encode


class CellStore(HomeStore, CellIndex):
    """Implements `engine.ports.Store`; made by `open`, ended by `close`."""

    def __init__(self, routes: Routes, database: Database) -> None:
        HomeStore.__init__(self, routes.home)
        CellIndex.__init__(self, routes)
        self._routes, self._database = routes, database
        self._gatherers = {cell: Gatherer(cell) for cell in routes.cells if not cell.is_home}
        self._screens: tuple[StandingScreen, ...] | None = None

    @classmethod
    async def open(
        cls,
        cells: Sequence[str],
        *,
        gap_ms: int = 1_000,
        lanes: Mapping[str, int] | None = None,
        connections: int = 10,
        timeout_sec: float = 60.0,
        pooled: bool = False,
        wait_sec: float = 0.0,
    ) -> Self:
        """Connect to every cell of the map; the home has to be there, the others may come later."""
        spans = read_cells(cells)
        opener = partial(
            PostgresStore.open,
            gap_ms=gap_ms,
            lanes=lanes,
            connections=connections,
            timeout_sec=timeout_sec,
            pooled=pooled,
            wait_sec=wait_sec,
        )
        made = [Cell(span, opener, is_home=at == 0) for at, span in enumerate(spans)]
        try:
            home = await made[0].ask(_itself)
            for cell in made[1:]:
                await cell.ask_if_there(_itself, None)
        except BaseException:
            for cell in made:
                await cell.close()
            raise
        return cls(Routes(made, spans), home.database)

    @property
    def database(self) -> Database:
        """The connections to the home, for the clock that follows its clock."""
        return self._database

    async def close(self) -> None:
        """Write what was asked, then close every connection."""
        for cell in self._routes.cells:
            await cell.close()

    # feeds

    async def add_feed(self, new: NewFeed, events: Sequence[NewEvent] = ()) -> tuple[Feed, bool]:
        """The feed, and whether it is new; one that any cell knows under an address is returned."""
        known = await self.find_feed((new.url, *new.aliases))
        cell = self._routes.of_url(new.url if known is None else known.url)
        feed, is_new = await cell.ask(lambda s: s.add_feed(new, events))
        self._routes.remember((feed,))
        return feed, is_new

    async def feed(self, feed_id: str) -> Feed | None:
        """The feed of that id."""
        cell = await self._routes.of_feed(feed_id)
        return await cell.ask(lambda s: s.feed(feed_id))

    async def find_feed(self, urls: Sequence[str]) -> Feed | None:
        """The feed that has one of the addresses, the first address first."""
        found = [one for one in await self._routes.all(lambda s: s.find_feed(urls)) if one]
        self._routes.remember(found)
        if len(found) < 2:
            return next(iter(found), None)
        known = {feed.id: await self.aliases(feed.id) for feed in found}
        return min(found, key=lambda feed: _first_of(urls, known[feed.id]))

    async def feeds(
        self, *, tag: str | None = None, after: str | None = None, limit: int = 100
    ) -> Page[Feed]:
        """Feeds in the order in which they were added."""
        places = places_of(after, len(self._routes.cells))
        lists = await self._routes.lists(
            places, lambda cell, place: cell_lists.feeds(cell, tag, place, limit)
        )
        page = page_after(places, lists, limit, _same, is_descending=False)
        self._routes.remember(page.items)
        return page

    async def aliases(self, feed_id: str) -> tuple[str, ...]:
        """Every address of the feed."""
        return await (await self._routes.of_feed(feed_id)).ask(lambda s: s.aliases(feed_id))

    async def change_feed(self, feed: Feed) -> None:
        """Write what a subscriber decides; an address in another cell is not moved to."""
        cell = await self._routes.of_feed(feed.id)
        if self._routes.of_url(feed.url) is not cell:
            there = await cell.ask(lambda s: s.feed(feed.id))
            feed = feed if there is None else replace(feed, url=there.url)
        await cell.ask(lambda s: s.change_feed(feed))

    async def remove_feed(self, feed_id: str, events: Sequence[NewEvent] = ()) -> bool:
        """Forget a feed with its entries; its events stay in the log."""
        cell = await self._routes.of_feed(feed_id)
        return await cell.ask(lambda s: s.remove_feed(feed_id, events))

    async def make_due(self, feed_ids: Sequence[str] | None, now: datetime) -> int:
        """Let feeds be polled now; how many are due. None: all that are not paused."""
        return sum(await self._routes.all(lambda s: s.make_due(feed_ids, now)))

    # where feeds live

    async def moves(self, feed_id: str) -> tuple[Move, ...]:
        """Every change of address of the feed, the oldest first."""
        return await (await self._routes.of_feed(feed_id)).ask(lambda s: s.moves(feed_id))

    async def move_feed(self, feed_id: str, move: Move, events: Sequence[NewEvent] = ()) -> bool:
        """Let the feed live elsewhere; False also when that host is another cell's."""
        cell = await self._routes.of_feed(feed_id)
        if self._routes.of_url(move.to_url) is not cell:
            return False
        return await cell.ask(lambda s: s.move_feed(feed_id, move, events))

    async def undo_move(self, feed_id: str, move: Move, events: Sequence[NewEvent] = ()) -> bool:
        """Let the feed live where it came from; False when it is not there any more."""
        cell = await self._routes.of_feed(feed_id)
        if self._routes.of_url(move.from_url) is not cell:
            return False
        return await cell.ask(lambda s: s.undo_move(feed_id, move, events))

    async def note_candidate(
        self,
        feed_id: str,
        candidate: MoveCandidate | None,
        *,
        https_probed_at: datetime | None,
        events: Sequence[NewEvent] = (),
    ) -> None:
        """Write what is known of where the feed may have moved to, and nothing else."""
        cell = await self._routes.of_feed(feed_id)
        await cell.ask(
            lambda s: s.note_candidate(
                feed_id, candidate, https_probed_at=https_probed_at, events=events
            )
        )

    async def merge_feeds(
        self,
        loser_id: str,
        winner_id: str,
        *,
        at: datetime,
        events: Sequence[NewEvent] = (),
        lane: Lane | None = None,
    ) -> MergeCounts | None:
        """Give everything of one feed to another; None also when they live in two cells."""
        cell = await self._routes.of_feed(loser_id)
        if await self._routes.of_feed(winner_id) is not cell:
            return None
        counts = await cell.ask(
            lambda s: s.merge_feeds(loser_id, winner_id, at=at, events=events, lane=lane)
        )
        if counts is not None and not cell.is_home:
            # At once; should we end before it, the copy of the event sees to it.
            await self._database.write(lambda c: follow_merge(c, loser_id, winner_id))
        return counts

    # the pace of a host outside of its lane

    async def host_pace(self, url: str) -> HostPace | None:
        """How the URL's host is treated, as last stored."""
        return await self._routes.of_url(url).ask(lambda s: s.host_pace(url))

    async def limit_host(self, url: str, until: datetime, reason: str | None = None) -> None:
        """Let nobody ask the URL's host before `until`."""
        await self._routes.of_url(url).ask(lambda s: s.limit_host(url, until, reason))

    # the schedule

    async def claim(
        self,
        owner: str,
        *,
        now: datetime,
        lease_sec: float,
        max_lanes: int,
        max_feeds: int,
        only: Sequence[str] | None = None,
    ) -> tuple[Claim, ...]:
        """Lease lanes with due feeds, of one cell after another, each time beginning with the next."""
        claims: list[Claim] = []
        is_nobody_there = max_lanes > 0
        for cell in self._routes.in_turn():
            places = max_lanes - len(claims)
            if places <= 0:
                break
            ask = partial(
                PostgresStore.claim,
                owner=owner,
                now=now,
                lease_sec=lease_sec,
                max_lanes=places,
                max_feeds=max_feeds,
                only=only,
            )
            try:
                found = await cell.ask_if_there(ask, None)
            except StoreError:
                if not claims:  # what one cell has leased is worked, whatever another says
                    raise
                break
            claims += found or ()
            is_nobody_there = is_nobody_there and found is None
        if is_nobody_there:
            raise _nobody_there()
        for claim in claims:
            self._routes.remember(claim.feeds)
        return tuple(claims)

    async def renew(
        self, lane: Lane, *, owner: str, until: datetime, feeds: Sequence[str] = ()
    ) -> bool:
        """Hold the lane longer, for these feeds still to be polled; False when it is not ours."""
        cell = self._routes.of_lane(lane)
        return await cell.ask(lambda s: s.renew(lane, owner=owner, until=until, feeds=feeds))

    async def release(
        self,
        lane: Lane,
        pace: HostPace,
        *,
        now: datetime,
        deferred: Sequence[tuple[str, datetime]] = (),
    ) -> None:
        """Give the lane back with the pace learnt; nothing happens when it was lost."""
        cell = self._routes.of_lane(lane)
        await cell.ask(lambda s: s.release(lane, pace, now=now, deferred=deferred))

    async def next_due_at(self, only: Sequence[str] | None = None) -> datetime | None:
        """When the next lane can be claimed in a cell that is there."""
        found = await self._routes.those_there(lambda s: s.next_due_at(only), None)
        return min((at for at in found if at is not None), default=None)

    async def follow_clock(self, now: datetime, *, lease_sec: float) -> int:
        """Take back what was dated by a clock that ran ahead; how many feeds that were (H32)."""
        return sum(
            await self._routes.those_there(lambda s: s.follow_clock(now, lease_sec=lease_sec), 0)
        )

    async def commit(self, refresh: Refresh) -> Committed:
        """Write what a refresh decided: all or nothing, once per run."""
        return await self._routes.of_url(refresh.feed.url).ask(lambda s: s.commit(refresh))

    # identity

    async def known(
        self, feed_id: str, keys: Sequence[IdentityKey], digests: Sequence[str]
    ) -> tuple[KnownEntry, ...]:
        """Every row of the feed's cell that holds one of the keys, or has one of the slices."""
        cell = await self._routes.of_feed(feed_id)
        return await cell.ask(lambda s: s.known(feed_id, keys, digests))

    async def current_document(
        self, feed_id: str, *, with_keys: bool = True
    ) -> tuple[KnownEntry, ...]:
        """The rows of the feed's last document."""
        cell = await self._routes.of_feed(feed_id)
        return await cell.ask(lambda s: s.current_document(feed_id, with_keys=with_keys))

    async def recall(
        self,
        feed_id: str,
        keys: Sequence[IdentityKey],
        article_hashes: Sequence[str],
        *,
        publications: int,
    ) -> Recalled:
        """What the feed's cell knows about a document's entries."""
        cell = await self._routes.of_feed(feed_id)
        return await cell.ask(
            lambda s: s.recall(feed_id, keys, article_hashes, publications=publications)
        )

    async def living(self, feed_id: str) -> tuple[KnownEntry, ...]:
        """Every row of the feed that was not removed."""
        return await (await self._routes.of_feed(feed_id)).ask(lambda s: s.living(feed_id))

    async def slice_digests(self, feed_id: str) -> frozenset[str]:
        """The digests of the slices of the feed's last document."""
        return await (await self._routes.of_feed(feed_id)).ask(lambda s: s.slice_digests(feed_id))

    async def articles(self, hashes: Sequence[str]) -> frozenset[str]:
        """Those of the hashes that somebody has published already, in the cells that are there."""
        nothing: frozenset[str] = frozenset()
        found = await self._routes.those_there(lambda s: s.articles(hashes), nothing)
        return nothing.union(*found)

    async def publications(self, feed_id: str, limit: int) -> tuple[datetime, ...]:
        """When the feed's newest entries were published, the newest first."""
        cell = await self._routes.of_feed(feed_id)
        return await cell.ask(lambda s: s.publications(feed_id, limit))

    # reading

    async def entries(
        self,
        where: EntryFilter,
        *,
        after: str | None = None,
        before: str | None = None,
        limit: int = 100,
    ) -> Page[StoredEntry]:
        """Entries that the filter lets through, the last that came in first."""
        if where.feed_id is not None:
            cell = await self._routes.of_feed(where.feed_id)
            return await cell.ask(
                lambda s: s.entries(where, after=after, before=before, limit=limit)
            )
        places = places_of(after if before is None else before, len(self._routes.cells))
        is_backwards = before is not None
        lists = await self._routes.lists(
            places,
            lambda cell, place: cell_lists.entries(
                cell, where, place, limit, is_backwards=is_backwards
            ),
        )
        return page_between(places, lists, limit, _same, is_backwards=is_backwards)

    async def entry_texts(
        self, where: EntryFilter, *, after: str | None = None, limit: int = 100
    ) -> Page[bytes]:
        """The same as JSON."""
        page = await self.entries(where, after=after, limit=limit)
        return Page(items=tuple(_encode(entry) for entry in page.items), next=page.next)

    async def entry(self, entry_uid: str) -> StoredEntry | None:
        """The entry of that public id; None also when retention took it."""
        return await self._routes.anywhere(lambda s: s.entry(entry_uid))

    async def revisions(self, entry_uid: str) -> tuple[Revision, ...]:
        """Earlier states of an entry, the oldest first."""
        found = await self._routes.all(lambda s: s.revisions(entry_uid))
        return next((one for one in found if one), ())

    async def article_page(
        self, *, after: str | None = None, limit: int = 100
    ) -> Page[StoredArticle]:
        """Articles, the last that came in first; one that two cells have is there twice."""
        places = places_of(after, len(self._routes.cells))
        lists = await self._routes.lists(
            places, lambda cell, place: cell_lists.articles(cell, place, limit)
        )
        return page_after(places, lists, limit, _same)

    async def fetches(
        self, feed_id: str, *, after: str | None = None, limit: int = 100
    ) -> Page[FetchRecord]:
        """Fetches of a feed, the newest first."""
        cell = await self._routes.of_feed(feed_id)
        return await cell.ask(lambda s: s.fetches(feed_id, after=after, limit=limit))

    async def fetch(self, fetch_id: str) -> FetchRecord | None:
        """The fetch of that id."""
        return await self._routes.anywhere(lambda s: s.fetch(fetch_id))

    async def decisions(self, feed_id: str, limit: int = 20) -> tuple[Decision, ...]:
        """Why the feed is polled as it is, the newest decision first."""
        cell = await self._routes.of_feed(feed_id)
        return await cell.ask(lambda s: s.decisions(feed_id, limit))

    async def events(self, *, after: int, limit: int = 1000) -> tuple[Event, ...]:
        """Events after a number, in order; those of a cell that is away come when it is back."""
        await self._gather()
        return await self._home.ask(lambda s: s.events(after=after, limit=limit))

    async def last_seq(self) -> int:
        """The number of the newest event, 0 before the first."""
        await self._gather()
        return await self._home.ask(lambda s: s.last_seq())

    async def counts(self) -> dict[str, int]:
        """How many rows there are of each kind; a host, a body or an article counts in each cell."""
        await self._gather()
        found = await self._routes.all(lambda s: s.counts())
        return {**_sums(found), "events": found[0]["events"]}

    # who is told

    async def add_webhook(self, webhook: Webhook, *, after: int | None = None) -> None:
        """Keep a webhook; it is told what follows `after`, or what follows now."""
        await self._gather()
        await self._home.ask(lambda s: s.add_webhook(webhook, after=after))

    async def rewind_webhook(self, webhook_id: str, after: int) -> bool:
        """Let it be told again what follows `after`; False when there is none."""
        await self._gather()
        return await self._home.ask(lambda s: s.rewind_webhook(webhook_id, after))

    async def feed_tags(self, feed_ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """The tags of feeds, also of those that are gone."""
        found = await self._routes.all(lambda s: s.feed_tags(feed_ids))
        return {feed_id: tags for one in found for feed_id, tags in one.items()}

    # what waits for somebody's word

    async def held(
        self, *, feed_id: str | None = None, after: str | None = None, limit: int = 100
    ) -> Page[HeldEntry]:
        """What waits, the oldest first."""
        if feed_id is not None:
            cell = await self._routes.of_feed(feed_id)
            return await cell.ask(lambda s: s.held(feed_id=feed_id, after=after, limit=limit))
        places = places_of(after, len(self._routes.cells))
        lists = await self._routes.lists(
            places, lambda cell, place: cell_lists.held(cell, place, limit)
        )
        return page_after(places, lists, limit, _same, is_descending=False)

    async def standing(self, feed_id: str) -> Standing:
        """What a feed's new entries have to pass; the screens last seen while the home is away."""
        cell = await self._routes.of_feed(feed_id)
        found = await cell.ask(lambda s: s.standing(feed_id))
        self._screens = await self._home.ask_if_there(lambda s: s.screens(), self._screens)
        if self._screens is None:
            message = (
                f"{self._home.name}: the standing screens are not known yet; it is tried again"
            )
            raise StoreError(message, reason="cannot-open")
        return replace(found, screens=self._screens)

    async def drop_held(self, entry_uids: Sequence[str]) -> int:
        """Note that nobody wants these; how many of them were waiting."""
        return sum(await self._routes.all(lambda s: s.drop_held(entry_uids)))

    # housekeeping

    async def purge(self, *, before: datetime, now: datetime) -> dict[str, int]:
        """Let go of what was last seen before, in every cell whose events are all in the log."""
        found = [await self._home.ask(lambda s: s.purge(before=before, now=now))]
        for cell, gatherer in self._gatherers.items():
            gatherer.doubt()
            if await gatherer.gather(self._database):
                await cell.ask(gatherer.note)
                ask = partial(PostgresStore.purge, before=before, now=now)
                found.append(await cell.ask(ask))
        return {**_sums(found), "events": found[0].get("events", 0)}

    async def problems(self) -> tuple[str, ...]:
        """What is wrong with the cells, in words; nothing when all is well."""
        await self._gather()
        found: list[str] = []
        for cell in self._routes.cells:
            try:
                words = await cell.ask(lambda s: s.problems())
            except StoreError as problem:
                words = (str(problem),)
            found += [f"cell {cell.name}: {one}" for one in words]
        return tuple(found)

    # who works here

    async def note_worker(self, worker: Worker) -> None:
        """Write a sign of life into every cell: each shares its shards among those that it knows."""
        await self._routes.those_there(lambda s: s.note_worker(worker), None)

    async def forget_worker(self, name: str) -> None:
        """Note that a worker has left."""
        await self._routes.those_there(lambda s: s.forget_worker(name), None)

    async def workers(self) -> tuple[WorkerView, ...]:
        """Everybody at work, with the lanes that they hold in the cells that are there."""
        views: dict[str, WorkerView] = {}
        nobody: tuple[WorkerView, ...] = ()
        for found in await self._routes.those_there(lambda s: s.workers(), nobody):
            for view in found:
                known = views.get(view.name, replace(view, lanes=()))
                lanes = sorted((*known.lanes, *view.lanes), key=lambda lane: lane.key)
                worker = view.worker if known.worker is None else known.worker
                views[view.name] = replace(view, worker=worker, lanes=tuple(lanes))
        return tuple(views[name] for name in sorted(views))

    async def due_lanes(self, now: datetime) -> int:
        """How many lanes could be claimed now in the cells that are there."""
        found = await self._routes.those_there(lambda s: s.due_lanes(now), None)
        there = [count for count in found if count is not None]
        if not there:
            raise _nobody_there()
        return sum(there)

    async def _gather(self) -> None:
        """Bring what the other cells tell of into the log."""
        for gatherer in self._gatherers.values():
            await gatherer.gather(self._database)


def _sums(counts: Sequence[Mapping[str, int]]) -> dict[str, int]:
    names = dict.fromkeys(name for one in counts for name in one)
    return {name: sum(one.get(name, 0) for one in counts) for name in names}


async def _itself(store: PostgresStore) -> PostgresStore:
    return store


def _first_of(urls: Sequence[str], own: Sequence[str]) -> int:
    """Where in the list the first address of a feed stands."""
    return min((at for at, url in enumerate(urls) if url in own), default=len(urls))


def _nobody_there() -> StoreError:
    message = "no cell answers; it is tried again"
    return StoreError(message, reason="cannot-open")


def _same(value: T) -> T:
    return value
