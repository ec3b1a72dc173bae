"""A collection as JSON Feed 1.1."""
# Tested in tests/unit/publish/metafeeds/test_metafeeds.py

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from feedmill.model.entry import Author, EntryEnclosure
from feedmill.model.event import StoredEntry
from feedmill.publish.metafeeds import items
from feedmill.publish.metafeeds.items import EntrySource, Item, MetaFeed

_VERSION: Final = "https://jsonfeed.org/version/1.1"
_UNKNOWN_TYPE: Final = "application/octet-stream"
# Only strings hold these; a page that embeds the document cannot be left, nor a line be split.
_ESCAPES: Final = ((b"<", b"\\u003c"), (b"\xe2\x80\xa8", b"\\u2028"), (b"\xe2\x80\xa9", b"\\u2029"))


def write_json_feed(
    feed: MetaFeed, entries: Sequence[StoredEntry], sources: Mapping[str, EntrySource] | None = None
) -> bytes:
    """The document; the same entries always give the same bytes."""
    document = _present(
        version=_VERSION,
        title=items.title_of(feed),
        home_page_url=feed.home_url,
        feed_url=feed.self_url,
        description=items.xml_legal_text(feed.description),
        next_url=feed.next_url,
        language=items.language_tag(feed.language),
        hubs=[{"type": "WebSub", "url": feed.hub_url}] if feed.hub_url else None,
        _feedmill=_present(
            id=items.feed_urn(feed.key),
            updated=items.rfc3339(feed.updated),
            first_url=feed.first_url,
            previous_url=feed.previous_url,
            archive=feed.archive or None,
            current_url=feed.current_url,
            prev_archive_url=feed.prev_archive_url,
            next_archive_url=feed.next_archive_url,
        ),
    )
    document["items"] = [_item(item) for item in items.items_of(entries, sources or {})]
    encoded = msgspec.json.encode(document)
    for raw, escaped in _ESCAPES:
        encoded = encoded.replace(raw, escaped)
    return encoded


def _item(item: Item) -> dict[str, Any]:
    body = {"content_html": item.content} if item.content else {"content_text": item.summary}
    return body | _present(
        id=item.id,
        url=item.link,
        title=item.title,
        summary=item.summary,
        image=item.image,
        date_published=items.rfc3339(item.published),
        date_modified=items.rfc3339(item.updated) if item.updated != item.published else None,
        authors=[_author(author) for author in item.authors],
        tags=list(item.categories),
        language=item.language,
        attachments=[_attachment(enclosure) for enclosure in item.enclosures],
        _feedmill=_present(
            comments_url=item.comments_url, source=_source(item.source) if item.source else None
        ),
    )


def _author(author: Author) -> dict[str, Any]:
    mail = f"mailto:{author.email}" if author.email else None
    return _present(name=author.name, url=author.uri or mail)


def _attachment(enclosure: EntryEnclosure) -> dict[str, Any]:
    return _present(
        url=enclosure.url,
        mime_type=enclosure.type or _UNKNOWN_TYPE,
        title=enclosure.title,
        size_in_bytes=enclosure.length,
        duration_in_seconds=enclosure.duration,
    )


def _source(source: EntrySource) -> dict[str, Any]:
    return _present(
        id=items.source_urn(source.feed_id),
        title=source.title,
        feed_url=source.url,
        home_page_url=source.site_url,
    )


def _present(**fields: object) -> dict[str, Any]:
    """The fields that say something; zero does."""
    return {name: value for name, value in fields.items() if value not in (None, "", [], {})}
