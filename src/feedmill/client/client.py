"""Asynchronous REST client: values of `publish.shapes`, problems as exceptions.

>>> async with Client("http://127.0.0.1:8642", token="fm_…") as client:  # doctest: +SKIP
...     async for event in client.watch(after=41):
...         print(event.seq, event.type, event.entry_uid)
"""

import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from datetime import datetime
from types import TracebackType
from typing import Any, Final, Self, TypeVar
from urllib.parse import quote

from feedmill.client.transport import SILENCE_SEC, Parameters, Transport, follow
from feedmill.model.base import Value
from feedmill.model.page import Duplicates, EntryOrder
from feedmill.model.running.figures import Granularity, TopBy
from feedmill.publish import figure_shapes, shapes

T = TypeVar("T")

_PAGE: Final = 500
_SEARCH_SEC: Final = 120.0  # discovery sends requests to other servers, politely


class RawBytes(Value):
    """Bytes exactly as a publisher sent them, the fetch that brought them, and where they stood."""

    body: bytes
    fetch_id: str
    offset: int


class Client:
    """A client of one engine. Use it as a context, or call `close` at the end.

    `timeout` is in seconds, for each of connecting, sending, and the longest silence in an answer.
    """

    def __init__(
        self,
        base_url: str,
        token: str | None = None,
        timeout: float = 30.0,
        *,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._transport = Transport(base_url, token, timeout, tls)
        self._timeout = timeout
        self._patience = max(timeout, _SEARCH_SEC)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """End every connection."""
        await self._transport.close()

    # feeds

    def feeds(self, *, tag: str | None = None) -> AsyncIterator[shapes.FeedShape]:
        """Every subscription, in the order in which they were added."""
        return self._items(shapes.FeedPage, "/feeds", {"tag": tag})

    async def feed(self, feed_id: str) -> shapes.FeedDetail:
        """One feed with every address that it was met at."""
        return await self._get(shapes.FeedDetail, f"/feeds/{_segment(feed_id)}")

    async def add(
        self,
        url: str,
        *,
        title: str | None = None,
        tags: Sequence[str] = (),
        as_is: bool = False,
        choose: int | None = None,
    ) -> shapes.AddedFeed:
        """Subscribe to an address; `created` is false when the feed was here already.

        An address that leads to several feeds is a RefusedError whose `document.choices` lists
        them; ask again with the address of one, or with its number as `choose`.
        """
        wish = shapes.FeedWish(url=url, title=title, tags=tuple(tags), as_is=as_is, choose=choose)
        return await self._transport.ask(
            "POST", "/feeds", shapes.AddedFeed, body=wish, silence_sec=self._patience
        )

    async def change(self, feed_id: str, change: shapes.FeedChange) -> shapes.FeedDetail:
        """The feed as it is after the change."""
        path = f"/feeds/{_segment(feed_id)}"
        return await self._transport.ask("PATCH", path, shapes.FeedDetail, body=change)

    async def remove(self, feed_id: str) -> None:
        """Give up a subscription; its entries go with it."""
        await self._transport.octets("DELETE", f"/feeds/{_segment(feed_id)}")

    async def refetch(self, feed_id: str) -> shapes.Refetch:
        """Let a feed be polled as soon as its host's pace allows."""
        return await self._transport.ask(
            "POST", f"/feeds/{_segment(feed_id)}/refetch", shapes.Refetch
        )

    async def feed_stats(
        self,
        feed_id: str,
        *,
        since: datetime | None = None,
        until: datetime | None = None,
        granularity: Granularity = "day",
    ) -> figure_shapes.FeedFigures:
        """The figures of one feed by the hour or day."""
        asked: Parameters = {"since": since, "until": until, "granularity": granularity}
        return await self._get(
            figure_shapes.FeedFigures, f"/feeds/{_segment(feed_id)}/stats", asked
        )

    async def stats(
        self,
        *,
        since: datetime | None = None,
        until: datetime | None = None,
        granularity: Granularity = "hour",
    ) -> figure_shapes.Stats:
        """Counts of rows, and the figures of all feeds by the hour or day."""
        asked: Parameters = {"since": since, "until": until, "granularity": granularity}
        return await self._get(figure_shapes.Stats, "/stats", asked)

    async def top(
        self, by: TopBy = "new", *, since: datetime | None = None, limit: int | None = None
    ) -> figure_shapes.TopFeeds:
        """The feeds with the most of something, today unless `since` is given."""
        return await self._get(
            figure_shapes.TopFeeds, "/stats/top", {"by": by, "since": since, "limit": limit}
        )

    async def service_levels(self, *, day: datetime | None = None) -> figure_shapes.ServiceLevels:
        """The service levels of a day, today by default."""
        return await self._get(figure_shapes.ServiceLevels, "/service-levels", {"day": day})

    async def status(self) -> figure_shapes.StatusShape:
        """The whole engine at a glance."""
        return await self._get(figure_shapes.StatusShape, "/status")

    def hosts(self, *, troubled: bool = False) -> AsyncIterator[figure_shapes.HostShape]:
        """Hosts by name; `troubled`: only those that pause or fail."""
        return self._items(figure_shapes.HostPage, "/hosts", {"troubled": troubled or None})

    async def host(self, host: str) -> figure_shapes.HostShape:
        """One host: its pace, and what waits for it."""
        return await self._get(figure_shapes.HostShape, f"/hosts/{_segment(host)}")

    async def simulation(
        self, *, policy: str | None = None, settings: Sequence[str] = (), days: int = 30
    ) -> figure_shapes.SimulationShape:
        """The recorded past of all feeds under another scheduling policy; `settings` are name=value."""
        asked: Parameters = {"policy": policy, "set": list(settings), "days": days}
        return await self._get(
            figure_shapes.SimulationShape, "/simulation", asked, silence_sec=self._patience
        )

    async def health(self, feed_id: str) -> shapes.HealthShape:
        """How a feed is: what is wrong, since when, what was tried, what comes next."""
        return await self._get(shapes.HealthShape, f"/feeds/{_segment(feed_id)}/health")

    async def canonicalize(self, url: str) -> shapes.CanonicalShape:
        """The canonical URL of the feed at an address, fetched and proven."""
        return await self._transport.ask(
            "POST",
            "/canonicalize",
            shapes.CanonicalShape,
            body={"url": url},
            silence_sec=self._patience,
        )

    async def discover(self, url: str, *, budget: int | None = None) -> shapes.DiscoveredShape:
        """Every feed that an address leads to, what was tried and what it cost; nothing is stored."""
        asked: Parameters = {"url": url, "budget": budget}
        return await self._get(
            shapes.DiscoveredShape, "/discover", asked, silence_sec=self._patience
        )

    # entries

    def entries(
        self,
        *,
        feeds: Sequence[str] = (),
        tag: str | None = None,
        category: str | None = None,
        text: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        author: str | None = None,
        language: str | None = None,
        has_enclosure: bool | None = None,
        published_since: datetime | None = None,
        published_until: datetime | None = None,
        removed: bool = False,
        duplicates: Duplicates = "hide",
        order: EntryOrder | None = None,
        oldest_first: bool = False,
        search: str | None = None,
        search_full_texts: bool = False,
    ) -> AsyncIterator[shapes.EntryShape]:
        """Entries that fit, the latest arrivals first and those of a `search` by relevance, with what it found
        in `highlight`; pages are asked for as they are needed.

        An article that several of them carry comes once, unless `duplicates` is "include".
        """
        asked: Parameters = {
            "feed": list(feeds),
            "tag": tag,
            "category": category,
            "text": text,
            "since": since,
            "until": until,
            "author": author,
            "language": language,
            "has_enclosure": has_enclosure,
            "published_since": published_since,
            "published_until": published_until,
            "removed": removed or None,
            "duplicates": duplicates,
            "order": order,
            "q": search,
            "full_text": search_full_texts or None,
            "direction": "asc" if oldest_first else "desc",
        }
        return self._items(shapes.EntryPage, "/entries", asked)

    async def entry(self, entry_uid: str) -> shapes.EntryShape:
        """One entry."""
        return await self._get(shapes.EntryShape, f"/entries/{_segment(entry_uid)}")

    async def revisions(self, entry_uid: str) -> tuple[shapes.RevisionShape, ...]:
        """Earlier states of an entry, the oldest first."""
        return (
            await self._get(shapes.RevisionPage, f"/entries/{_segment(entry_uid)}/revisions")
        ).items

    async def full_text(self, entry_uid: str) -> shapes.FullTextShape:
        """The full text of an entry, extracted from its web page, or why it has none."""
        return await self._get(shapes.FullTextShape, f"/entries/{_segment(entry_uid)}/full-text")

    def clusters(self, *, min_feeds: int = 2) -> AsyncIterator[shapes.ClusterShape]:
        """Stories that at least so many feeds tell, the one that grew last first."""
        return self._items(shapes.ClusterPage, "/clusters", {"min_feeds": min_feeds})

    async def cluster(self, cluster_id: str) -> shapes.ClusterDetail:
        """One story with the entries that tell it."""
        return await self._get(shapes.ClusterDetail, f"/clusters/{_segment(cluster_id)}")

    async def raw(self, entry_uid: str) -> RawBytes:
        """The exact bytes of an entry as they stood in the publisher's document."""
        return await self._raw(f"/entries/{_segment(entry_uid)}/raw")

    async def raw_document(self, fetch_id: str) -> RawBytes:
        """The exact bytes that a fetch brought."""
        return await self._raw(f"/raw/{_segment(fetch_id)}")

    async def fetch(self, fetch_id: str) -> shapes.FetchShape:
        """A fetch with its headers as they were sent and came."""
        return await self._get(shapes.FetchShape, f"/raw/{_segment(fetch_id)}/headers")

    # the log

    async def events(
        self,
        after: int = 0,
        *,
        types: Sequence[str] = (),
        wait_sec: float = 0.0,
        limit: int = _PAGE,
    ) -> shapes.EventPage:
        """Events after a number, in order; with `wait_sec`, as soon as there are any (60 s at most)."""
        asked: Parameters = {
            "after": after,
            "types": ",".join(types) or None,
            "wait": f"{wait_sec:g}" if wait_sec > 0 else None,
            "limit": limit,
        }
        patience = self._timeout + max(wait_sec, 0.0)
        return await self._get(shapes.EventPage, "/events", asked, silence_sec=patience)

    def watch(
        self, after: int = 0, *, silence_sec: float = SILENCE_SEC
    ) -> AsyncGenerator[shapes.EventShape, None]:
        """Every event after that number, each once and in order, for ever.

        A connection that breaks, or says nothing for `silence_sec`, is made again and goes on
        after the last event. Remember `event.seq` when you are done with an event: it is the
        `after` of your next start. What the log has lost meanwhile is a GapError.
        """
        return follow(self._transport, after, silence_sec=silence_sec)

    async def _get(
        self,
        shape: type[T],
        path: str,
        asked: Parameters | None = None,
        *,
        silence_sec: float | None = None,
    ) -> T:
        return await self._transport.ask("GET", path, shape, params=asked, silence_sec=silence_sec)

    async def _items(self, shape: type[Any], path: str, asked: Parameters) -> AsyncIterator[Any]:
        """The items of every page."""
        cursor: str | None = None
        while True:
            page = await self._get(shape, path, {**asked, "limit": _PAGE, "cursor": cursor})
            for item in page.items:
                yield item
            cursor = page.next
            if cursor is None:
                return

    async def _raw(self, path: str) -> RawBytes:
        answer = await self._transport.octets("GET", path)
        offset = answer.headers.get("Feedmill-Offset", "0")
        return RawBytes(
            body=answer.content,
            fetch_id=answer.headers.get("Feedmill-Fetch", ""),
            offset=int(offset) if offset.isdigit() else 0,
        )


def _segment(name: str) -> str:
    """A name as one segment of a path: it cannot lead anywhere else."""
    return quote(name, safe=":") if name not in (".", "..") else name.replace(".", "%2E")
