"""Pages and archives of metafeeds as documents, for REST and for subscribers; our hub takes requests for them.

The current document and the archive documents behind it (RFC 5005 §4) hold every entry. What is where follows from the entries
themselves (publish/metafeeds/items.py), so nothing is stored, and a removed entry is missing from its document only.

A subscriber of the hub (WebSub §5, §7) is a webhook of the format `websub`: cursor on the event log, lease of the delivering
process, retries and dead letters are those of webhooks. The verification is a background job.
"""
# Tested in tests/integration/interfaces/rest/routes/test_metafeeds.py

import asyncio
from collections.abc import Mapping
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Final, NamedTuple
from urllib.parse import parse_qsl, unquote, urlencode

from msgspec.structs import replace

from feedmill.config import Config
from feedmill.engine.jobs.websub import VERIFY
from feedmill.engine.run.services import Services
from feedmill.engine.service.collections import (
    Collection,
    CollectionPage,
    collection_key,
    collection_page,
    filter_of,
)
from feedmill.engine.service.queries import require_feed
from feedmill.engine.service.webhooks import MAX_WEBHOOKS, validate_webhook_url
from feedmill.errors import ConflictError, CrowdedError, NotFoundError, UsageError
from feedmill.model.event import StoredEntry
from feedmill.model.page import Duplicates
from feedmill.model.running.job import NewJob
from feedmill.model.running.webhook import TopicContent
from feedmill.publish.metafeeds import FORMATS, MetaFeed, MetaFeedFormat
from feedmill.publish.metafeeds.items import Period, paging_links, periods_around, public_http_url
from feedmill.push.hub import BadHubRequest, read_hub_request

HUB_PATH: Final = "/hub"
MOST_ENTRIES: Final = 200  # of a page
_MOST_IN_A_MINUTE: Final = 100_000
_FULL_SEC: Final = 600.0  # then a subscriber may ask a full hub again
_LATE: Final = timedelta(hours=1)  # an entry is stored at most so long after it came in
_DUPLICATES: Final[dict[str | None, Duplicates]] = {"include": "include", "cluster": "cluster"}
_TOPIC_PARAMETERS: Final = frozenset({"feed", "tag", "category", "q", "duplicates"})


class MetaFeedRequest(NamedTuple):
    """A page of a collection: format, filter, path and cursor."""

    kind: MetaFeedFormat
    query: Collection
    path: str
    parameters: tuple[tuple[str, str], ...]
    cursor: str | None
    limit: int
    archive: Period | None = None  # an archive document instead of a page


class MetaFeedPage(NamedTuple):
    """A page as it is served."""

    feed: MetaFeed
    body: bytes
    content_type: str
    links: str  # the Link header
    is_final: bool = False  # an archive document to which nothing is added any more


async def metafeed_page(wanted: MetaFeedRequest, base: str, services: Services) -> MetaFeedPage:
    """The page under an address that begins with `base`."""
    if wanted.archive is not None:
        return await _archive_document(wanted, wanted.archive, base, services)
    found = await collection_page(wanted.query, services, wanted.cursor, wanted.limit)
    older = None
    if wanted.cursor is None and found.next is not None:
        beyond = (await collection_page(wanted.query, services, found.next, 1)).entries
        archives = Archives(wanted.query, wanted.limit, services)
        older = await archives.around(beyond[0].first_seen) if beyond else None
    feed = replace(
        _described(found, wanted, base),
        self_url=_address(wanted, base, cursor=wanted.cursor),
        first_url=_address(wanted, base),
        next_url=_address(wanted, base, cursor=found.next) if found.next else None,
        previous_url=_address(wanted, base, cursor=found.previous) if found.previous else None,
        prev_archive_url=_archive_address(wanted, base, older),
        hub_url=hub_url(services.config, base),
    )
    return await _written(feed, found, wanted.kind)


async def _archive_document(
    wanted: MetaFeedRequest, period: Period, base: str, services: Services
) -> MetaFeedPage:
    """The entries that came in during a period (RFC 5005 §4)."""
    where = filter_of(wanted.query, since=period.start, until=period.end)
    within = replace(wanted.query, since=where.since, until=where.until)
    most = _MOST_IN_A_MINUTE if period.is_shortest else MOST_ENTRIES
    found = await collection_page(within, services, None, most)
    if found.next is not None:
        message = f"the entries of {period.name} are in archive documents of shorter periods"
        raise NotFoundError(message, "follow prev-archive from the current document")
    archives = Archives(wanted.query, wanted.limit, services)
    newer = await archives.after(period)
    feed = replace(
        _described(found, wanted, base),
        archive=True,
        self_url=_archive_address(wanted, base, period) or "",
        current_url=_address(wanted, base),
        prev_archive_url=_archive_address(wanted, base, await archives.before(period)),
        next_archive_url=_archive_address(wanted, base, newer),
    )
    page = await _written(feed, found, wanted.kind)
    is_over = period.end + _LATE <= services.clock.now()
    return page._replace(is_final=newer is not None and is_over)


async def _written(feed: MetaFeed, found: CollectionPage, kind: MetaFeedFormat) -> MetaFeedPage:
    form = FORMATS[kind]
    body = await asyncio.to_thread(form.write, feed, found.entries, found.sources)
    return MetaFeedPage(feed, body, form.content_type, _links(feed, form.media_type))


def hub_url(config: Config, base: str) -> str | None:
    """The hub that metafeeds name: another one from the settings, or our own."""
    if config.metafeed.hub_url is not None:
        return config.metafeed.hub_url
    return f"{base}{HUB_PATH}" if config.push.hub else None


async def render_topic(url: str, services: Services) -> TopicContent | None:
    """The present content of a topic of our hub; None when it is none."""
    wanted = topic_request(url, services.config)
    if wanted is None:
        return None
    page = await metafeed_page(wanted, url[: url.index(wanted.path)], services)
    return TopicContent(body=page.body, content_type=page.content_type, links=page.links)


def topic_request(url: str, config: Config) -> MetaFeedRequest | None:
    """The first page of a metafeed that a topic names: of a tag, of a feed or of a filter."""
    path, _, search = url.partition("?")
    *_, place, name, file = ("", "", *path.split("/"))
    kind = next((one for one in FORMATS if file == f"feed.{one}"), None)
    pairs = tuple(parse_qsl(search))
    if kind is None or not {key for key, _ in pairs} <= _TOPIC_PARAMETERS:
        return None
    limit = config.metafeed.page_entries
    if name == "collections":
        given = dict(pairs)
        query = Collection(
            feed_ids=tuple(value for key, value in pairs if key == "feed") or None,
            tag=given.get("tag"),
            category=given.get("category"),
            text=given.get("q"),
            duplicates=_DUPLICATES.get(given.get("duplicates")),
        )
        return MetaFeedRequest(kind, query, f"/collections/{file}", pairs, None, limit)
    if pairs or place not in ("tags", "feeds") or not name:
        return None
    chosen = unquote(name)
    query = Collection(tag=chosen) if place == "tags" else Collection(feed_ids=(chosen,))
    return MetaFeedRequest(kind, query, f"/{place}/{name}/{file}", (), None, limit)


def _described(found: CollectionPage, wanted: MetaFeedRequest, base: str) -> MetaFeed:
    return MetaFeed(
        key=collection_key(wanted.query),
        title=found.title,
        updated=found.updated,
        self_url=_address(wanted, base),
        home_url=_home(found) or f"{base}/",
        language=found.language,
    )


def _archive_address(wanted: MetaFeedRequest, base: str, period: Period | None) -> str | None:
    return None if period is None else _address(wanted, base, archive=period.name)


def _address(wanted: MetaFeedRequest, base: str, **more: str | None) -> str:
    pairs = [*wanted.parameters, *((name, value) for name, value in more.items() if value)]
    return f"{base}{wanted.path}{'?' if pairs else ''}{urlencode(pairs)}"


def _home(found: CollectionPage) -> str | None:
    """The site of the entries, when all come from one feed."""
    sites = {source.site_url for source in found.sources.values()}
    return public_http_url(sites.pop()) if len(sites) == 1 else None


def _links(feed: MetaFeed, media_type: str) -> str:
    """The Link header (RFC 8288); URLs are encoded, so they cannot end a value."""
    links = [
        f'<{url}>; rel="{"prev" if rel == "previous" else rel}"; type="{media_type}"'
        for rel, url in paging_links(feed)
    ]
    return ", ".join([*links, *([f'<{feed.hub_url}>; rel="hub"'] if feed.hub_url else [])])


_BEGINNING: Final = "0.0.0"  # before every entry


class Archives(NamedTuple):
    """The archive documents of one collection, of `size` entries each at most."""

    query: Collection
    size: int
    services: Services

    async def around(self, at: datetime) -> Period:
        """The one with what came in at an instant: the longest period that holds no more than a page."""
        period, *shorter = periods_around(at)
        for one in shorter:
            held = await self._entries(since=period.start, until=period.end, limit=self.size + 1)
            if len(held) <= self.size:
                break
            period = one
        return period

    async def before(self, period: Period) -> Period | None:
        """The one with the next older entries."""
        found = await self._entries(until=period.start, limit=1)
        return await self.around(found[0].first_seen) if found else None

    async def after(self, period: Period) -> Period | None:
        """The one with the next newer entries; None when the current document holds them."""
        current = await self._entries(limit=self.size + 1)
        if len(current) <= self.size:
            return None
        last = await self.around(current[self.size].first_seen)
        found = await self._entries(since=period.end, limit=1, oldest=True)
        following = await self.around(found[0].first_seen) if found else None
        return following if following is not None and following.start <= last.start else None

    async def _entries(
        self,
        *,
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int,
        oldest: bool = False,
    ) -> tuple[StoredEntry, ...]:
        where = filter_of(self.query, since=since, until=until)
        before = _BEGINNING if oldest else None
        return (await self.services.store.entries(where, before=before, limit=limit)).items


async def request_subscription(form: Mapping[str, str], base: str, services: Services) -> None:
    """Queue the verification of a subscriber's intent; `base` is where our metafeeds are served."""
    config = services.config
    if not config.push.hub:
        message = "this server is no WebSub hub"
        raise ConflictError(message, reason="hub-off", hint="FEEDMILL_PUSH_HUB=true makes it one")
    found = read_hub_request(form, default_lease_sec=config.push.lease_sec)
    if isinstance(found, BadHubRequest):
        raise UsageError(found.detail)
    callback = validate_webhook_url(found.callback, config.fetch.allow_cidrs)
    wanted = topic_request(found.topic, config)
    if wanted is None or not found.topic.startswith(f"{base}{wanted.path}"):
        message = f"{found.topic[:200]!r} is not a topic of this hub"
        raise NotFoundError(message, "topics are the metafeeds of this server without a cursor")
    feeds = wanted.query.feed_ids or ()
    # As the document itself would be answered; who has the topic of a removed feed may still leave it.
    if found.mode == "subscribe" and wanted.path.startswith("/feeds/"):
        await require_feed(feeds[0], services)
    await _require_place(found.mode, (callback, found.topic), services)
    payload = {
        "mode": found.mode,
        "topic": found.topic,
        "callback": callback,
        "lease_sec": found.lease_sec,
        "secret": found.secret,
        "feed_id": feeds[0] if len(feeds) == 1 else None,
        "tag": wanted.query.tag,
    }
    key = sha256(f"{found.topic}\n{callback}".encode()).hexdigest()[:32]
    new = NewJob(kind=VERIFY, key=key, url=callback, payload=payload, sooner=True)
    await services.store.add_job(new, now=services.clock.now())


async def _require_place(mode: str, asked: tuple[str, str], services: Services) -> None:
    """CrowdedError when the hub has all the subscribers, or the verifications that wait, that it takes."""
    taken = sum(
        one.jobs
        for one in await services.store.job_counts()
        if one.kind == VERIFY and one.state in ("queued", "running")
    )
    subscribers = {
        (one.url, one.topic) for one in await services.store.webhooks() if one.topic is not None
    }
    if mode == "subscribe" and asked not in subscribers:
        taken += len(subscribers)
    if taken >= MAX_WEBHOOKS:
        message = f"this hub has {MAX_WEBHOOKS} subscribers already"
        raise CrowdedError(message, reason="rate-limited", retry_after_sec=_FULL_SEC)
