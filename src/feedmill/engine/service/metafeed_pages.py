"""Pages of metafeeds as documents: for REST, and for the subscribers of our hub (WebSub §7)."""
# Tested in tests/integration/interfaces/rest/routes/test_metafeeds.py

import asyncio
from typing import Final, NamedTuple
from urllib.parse import parse_qsl, unquote, urlencode

from feedmill.config import Config
from feedmill.engine.run.services import Services
from feedmill.engine.service.collections import (
    Collection,
    CollectionPage,
    collection_key,
    collection_page,
)
from feedmill.model.webhook import TopicContent
from feedmill.publish.metafeeds import FORMATS, MetaFeed, MetaFeedFormat
from feedmill.publish.metafeeds.items import public_http_url

HUB_PATH: Final = "/hub"
_TOPIC_PARAMETERS: Final = frozenset({"feed", "tag", "category", "q"})


class MetaFeedRequest(NamedTuple):
    """A page of a collection: format, filter, path and cursor."""

    kind: MetaFeedFormat
    query: Collection
    path: str
    parameters: tuple[tuple[str, str], ...]
    cursor: str | None
    limit: int


class MetaFeedPage(NamedTuple):
    """A page as it is served."""

    feed: MetaFeed
    body: bytes
    content_type: str
    links: str  # the Link header


async def metafeed_page(wanted: MetaFeedRequest, base: str, services: Services) -> MetaFeedPage:
    """The page under an address that begins with `base`."""
    found = await collection_page(wanted.query, services, wanted.cursor, wanted.limit)
    feed = _described(found, wanted, base, hub_url(services.config, base))
    form = FORMATS[wanted.kind]
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
        )
        return MetaFeedRequest(kind, query, f"/collections/{file}", pairs, None, limit)
    if pairs or place not in ("tags", "feeds") or not name:
        return None
    chosen = unquote(name)
    query = Collection(tag=chosen) if place == "tags" else Collection(feed_ids=(chosen,))
    return MetaFeedRequest(kind, query, f"/{place}/{name}/{file}", (), None, limit)


def _described(
    found: CollectionPage, wanted: MetaFeedRequest, base: str, hub: str | None
) -> MetaFeed:
    def address(cursor: str | None) -> str:
        pairs = [*wanted.parameters, *([("cursor", cursor)] if cursor else [])]
        return f"{base}{wanted.path}{'?' if pairs else ''}{urlencode(pairs)}"

    return MetaFeed(
        key=collection_key(wanted.query),
        title=found.title,
        updated=found.updated,
        self_url=address(wanted.cursor),
        home_url=_home(found) or f"{base}/",
        first_url=address(None),
        next_url=address(found.next) if found.next else None,
        previous_url=address(found.previous) if found.previous else None,
        hub_url=hub,
        language=found.language,
    )


def _home(found: CollectionPage) -> str | None:
    """The site of the entries, when all come from one feed."""
    sites = {source.site_url for source in found.sources.values()}
    return public_http_url(sites.pop()) if len(sites) == 1 else None


def _links(feed: MetaFeed, media_type: str) -> str:
    """The Link header (RFC 8288); URLs are encoded, so they cannot end a value."""
    own = (
        ("self", feed.self_url),
        ("first", feed.first_url),
        ("next", feed.next_url),
        ("prev", feed.previous_url),
    )
    links = [f'<{url}>; rel="{rel}"; type="{media_type}"' for rel, url in own if url]
    return ", ".join([*links, *([f'<{feed.hub_url}>; rel="hub"'] if feed.hub_url else [])])
