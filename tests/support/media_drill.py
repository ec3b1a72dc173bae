"""A podcast publisher with every fault, `feedmill run` that is killed while it downloads, and what is left afterwards."""

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from random import Random  # noqa: TID251  # seeded: a run can be repeated
from statistics import median
from typing import Any, Final, NamedTuple
from xml.sax.saxutils import escape

from tests.support.archive_walk import end_leases, write_to_store
from tests.support.feed_documents import rss
from tests.support.media_publisher import media_file, mp3
from tests.support.run_process import SHORT_LEASE, Mill, Running
from tests.support.waiting import HANG_GUARD_SEC

from feedmill.adapters.settings import load_config
from feedmill.app.services import open_services
from feedmill.engine.documents.fetched import tidy_media
from feedmill.engine.maintain.retention import verify_media
from feedmill.engine.run.services import Services
from feedmill.engine.subscribe.add_feed import subscribe_unchecked
from feedmill.model.derived.fetched import MediaFilter, MediaItem
from feedmill.model.feed import FeedOverrides
from feedmill_demo.server.script import Answer, Answering, document, redirect
from feedmill_demo.server.server import Publisher

_HOSTS: Final = ("127.0.0.1", "127.0.1.1", "127.0.1.2", "127.0.1.3")  # the first has the feeds too
_NEWEST: Final = datetime(2025, 10, 1, tzinfo=UTC)
_SETTINGS: Final = {
    "FEEDMILL_MEDIA_CONCURRENCY": "4",
    "FEEDMILL_MEDIA_FILES_PER_HOST_DAY": "100000",
    "FEEDMILL_RUN_IDLE_SEC": "0.05",
    "FEEDMILL_RUN_DRAIN_SEC": "1",
    "SCHED_MAX_INTERVAL_SEC": "1",
    "FEEDMILL_SCHEDULE_JITTER_RATIO": "0",
}
_SOONER: Final = "UPDATE jobs SET not_before = 0 WHERE state = 'queued'"
_LOOK_SEC: Final = 0.1
_SIZE: Final = 60_000
_MOVED: Final = 7_000
_FAULTS: Final = (
    "good", "slow", "cut", "same", "says-more", "changes", "private", "page", "missing", "moved",
    "without-length", "wrong-in-feed", "cut-once-without-validator",
)  # fmt: skip


class Episode(NamedTuple):
    """A file as it is served, and what has to become of it."""

    path: str
    host: str
    said_bytes: int  # by the feed
    answers: tuple[Answering, ...]
    sha256: str | None  # None: it is no good
    reason: str | None = None


class Drill(NamedTuple):
    """What is left when nothing waits any more."""

    episodes: tuple[Episode, ...]
    items: dict[str, MediaItem]  # by path
    files: dict[str, int]  # digests on disk, and their sizes
    problems: list[str]
    stored_events: int
    most_bytes: int  # on disk at once, partial files too
    quota_bytes: int
    kills: int
    gaps_alone: list[float]  # seconds between polls of the same feed, without media
    gaps_beside: list[float]  # while files of the same host are downloaded

    def check(self, *, strict: bool = False) -> None:
        """Every good file whole and once, its digest right, the quota held, the reasons of the others told."""
        assert self.problems == []
        assert self.most_bytes <= self.quota_bytes
        stored = {path: one for path, one in self.items.items() if one.state == "stored"}
        assert self.files == {one.sha256: one.size_bytes for one in stored.values()}
        assert len(self.items) == len(self.episodes)
        tight = sum(_sizes(self.episodes).values()) > self.quota_bytes
        for one in self.episodes:
            item = self.items[one.path]
            found = (item.state, item.sha256 if item.state == "stored" else item.reason)
            allowed = [("stored", one.sha256) if one.sha256 else ("failed", one.reason)]
            if tight:  # a newer one may have taken its room
                allowed += [("pruned", None), ("failed", "quota")]
            assert found in allowed, f"{one.path} is {found}, {allowed} was expected"
        assert self.stored_events >= len(stored)
        if not tight:
            assert self.stored_events == len(stored)
        # Half the room is full before a feed is polled twice.
        if strict and (self.gaps_beside or not tight):
            assert self.gaps_beside, "no feed was polled twice between two kills"
            assert median(self.gaps_beside) <= 1.25 * median(self.gaps_alone) + 0.1


async def drill_media(
    home: Path,
    store_url: str | None,
    *,
    files: int,
    kills: int,
    processes: int = 1,
    quota_share: float = 2.0,
    neighbours: int = 0,
    alone_sec: float = 0.0,
    bytes_per_sec: int = 20_000_000,
    seed: int = 1,
) -> Drill:
    """Download all files in processes that are killed at random; the quota is a share of what is good."""
    episodes = tuple(_episodes(files))
    quota = int(quota_share * sum(_sizes(episodes).values()))
    media = {
        "FEEDMILL_MEDIA_QUOTA_BYTES": f"{quota}",
        "FEEDMILL_MEDIA_BYTES_PER_SEC": f"{bytes_per_sec}",
    }
    mill = Mill(home, store_url, **SHORT_LEASE, **_SETTINGS, **media)
    async with Publisher(addresses=len(_HOSTS) - 1) as publisher:
        _publish(publisher, episodes, neighbours)
        addresses = [publisher.url(f"/news/{at}", host=_HOSTS[0]) for at in range(neighbours)]
        await mill.subscribe(addresses)
        alone = await _watch_alone(mill, publisher, alone_sec) if alone_sec else []
        async with open_services(load_config(None, mill.settings)) as services:
            own = FeedOverrides(media=True, media_newest=0)
            feed = publisher.url("/podcast", host=_HOSTS[0])
            await subscribe_unchecked(feed, services, overrides=own)
            publisher.clear()
            watch = _Watch(mill, services, store_url, publisher, Random(seed))
            await watch.run(len(episodes), kills, processes)
            await tidy_media(services)
            files_kept = services.media
            assert files_kept is not None
            checked = await verify_media(services.store, files_kept)
            events = await services.store.events(after=0, limit=100_000)
            return Drill(
                episodes=episodes,
                items=await _items(services),
                files=await files_kept.sizes(),
                problems=[*checked["problems"], *await services.store.problems()],
                stored_events=sum(event.type == "media.stored" for event in events),
                most_bytes=watch.most_bytes,
                quota_bytes=quota,
                kills=watch.killed,
                gaps_alone=alone,
                gaps_beside=_gaps(publisher, watch.marks),
            )


class _Watch:
    """Processes that download, killed at random, until nothing waits any more."""

    def __init__(
        self,
        mill: Mill,
        services: Services,
        store_url: str | None,
        publisher: Publisher,
        dice: Random,
    ) -> None:
        self._mill, self._services, self._store_url = mill, services, store_url
        self._publisher, self._dice = publisher, dice
        self.most_bytes = self.killed = 0
        self.marks: list[int] = []  # how many requests there were at each kill

    async def run(self, files: int, kills: int, processes: int) -> None:
        """Kill while files arrive; then let the processes finish."""
        workers = [await self._mill.start() for _ in range(processes)]
        try:
            async with asyncio.timeout(3 * HANG_GUARD_SEC):
                ended = 0
                while ended < files:
                    states = [one.state for one in (await _items(self._services)).values()]
                    ended = sum(state != "queued" for state in states)
                    await write_to_store(self._mill.home, self._store_url, _SOONER)
                    wanted = files * (self.killed + 1) // (kills + 2)  # spread over the downloads
                    if self.killed < kills and ended >= wanted:
                        await self._kill(workers)
                    await asyncio.sleep(_LOOK_SEC * self._dice.random())
                    self.most_bytes = max(self.most_bytes, _used(self._mill.home / "media"))
            for one in workers:
                await one.stop()
        finally:
            for one in workers:
                await one.kill()

    async def _kill(self, workers: list[Running]) -> None:
        at = self._dice.randrange(len(workers))
        await workers[at].kill()
        self.killed += 1
        self.marks.append(len(self._publisher.requests))
        if len(workers) == 1:  # leases of another live process are its own
            await end_leases(self._mill.home, self._store_url)
        workers[at] = await self._mill.start()


async def _watch_alone(mill: Mill, publisher: Publisher, seconds: float) -> list[float]:
    """The gaps between polls while nothing is downloaded."""
    async with await mill.start() as running:
        await publisher.seen("/news/0", 2)
        await asyncio.sleep(seconds)
        await running.stop()
    return _gaps(publisher, [])


def _gaps(publisher: Publisher, marks: list[int]) -> list[float]:
    """Seconds between two polls of the same feed, without those over a kill."""
    requests = publisher.requests
    found: list[float] = []
    for first, end in pairwise([0, *marks, len(requests)]):
        times: dict[str, list[float]] = {}
        for one in requests[first:end]:
            if one.path.startswith("/news/"):
                times.setdefault(one.path, []).append(one.offset_sec)
        found += [later - sooner for all_of in times.values() for sooner, later in pairwise(all_of)]
    return found


async def _items(services: Services) -> dict[str, MediaItem]:
    found: dict[str, MediaItem] = {}
    after: str | None = None
    while True:
        page = await services.store.media_items(MediaFilter(), after=after, limit=500)
        found |= {f"/{one.url.partition('//')[2].partition('/')[2]}": one for one in page.items}
        after = page.next
        if after is None:
            return found


def _used(folder: Path) -> int:
    """Bytes of all files and partial files."""
    total = 0
    for path in (*folder.glob("files/*/*"), *folder.glob("partial/*.part")):
        with suppress(FileNotFoundError):
            total += path.stat().st_size
    return total


def _sizes(episodes: tuple[Episode, ...]) -> dict[str, int]:
    """The size of each content that has to come in."""
    return {one.sha256: _SIZE for one in episodes if one.sha256}


def _publish(publisher: Publisher, episodes: tuple[Episode, ...], neighbours: int) -> None:
    items = []
    for number, one in enumerate(episodes):
        publisher.script(one.path, *one.answers, host=one.host)
        day = format_datetime(_NEWEST - timedelta(hours=number), usegmt=True)
        address = escape(publisher.url(one.path, host=one.host))
        items.append(
            f"<item><guid>{number}</guid><title>Episode {number}</title><pubDate>{day}</pubDate>"
            f'<enclosure url="{address}" type="audio/mpeg" length="{one.said_bytes}"/></item>'
        )
    publisher.script("/podcast", document(rss(*items), etag='"1"'), host=_HOSTS[0])
    for at in range(neighbours):
        story = f"<item><guid>n{at}</guid><title>News {at}</title></item>"
        publisher.script(f"/news/{at}", document(rss(story), etag='"1"'), host=_HOSTS[0])
    for host in _HOSTS:
        publisher.script("/moved/good.mp3", media_file(mp3(_MOVED, _SIZE)), host=host)


def _episodes(files: int) -> Iterator[Episode]:
    for number in range(files):
        host = _HOSTS[number // 3 % len(_HOSTS)]
        name = _FAULTS[number % len(_FAULTS)]
        body, reason, *answers = _behaviour(name, number)
        digest = None if body is None else sha256(body).hexdigest()
        said = 3 * _SIZE if name == "wrong-in-feed" else _SIZE
        yield Episode(f"/{name}/{number}.mp3", host, said, tuple(answers), digest, reason)


def _behaviour(name: str, number: int) -> tuple[Any, ...]:
    """What has to be stored, or the reason why nothing is, and the answers that the server gives."""
    body, third = mp3(number, _SIZE), _SIZE // 3
    match name:
        case "slow":
            return body, None, media_file(body, piece_bytes=5_000, pause_sec=0.03)
        case "cut":
            return body, None, media_file(body, cut_at=third)
        case "cut-once-without-validator":
            cut = media_file(body, etag=None, cut_at=third)
            return body, None, cut, media_file(body, etag=None)
        case "says-more":
            return body, None, media_file(body, content_length=_SIZE + 9_000)
        case "changes":
            old = media_file(mp3(number + 50_000, _SIZE), cut_at=third)
            return body, None, old, media_file(body, etag='"two"')
        case "without-length":
            return body, None, media_file(body, framing="chunked", piece_bytes=10_000)
        case "same":  # each of these contents has three addresses
            body = mp3(90_000 + number // (3 * len(_FAULTS)), _SIZE)
            return body, None, media_file(body)
        case "moved":
            return mp3(_MOVED, _SIZE), None, redirect("/moved/good.mp3", 302)
        case "missing":
            return None, "unreachable", Answer(status=404)
        case "private":
            return None, "unreachable", redirect(f"http://10.0.0.7/{number}.mp3", 302)
        case "page":
            page = b"<!DOCTYPE html><html><body>Please log in</body></html>"
            return None, "not-media", media_file(page, kind="text/html")
        case _:
            return body, None, media_file(body)
