"""Proves whether a document belongs to a known feed: by its bytes, its signature, or its entries."""
# Tested in tests/integration/engine/subscribe/

import asyncio
from hashlib import sha256

from msgspec.structs import replace

from feedmill.canonicalise.signature import feed_signature, same_feed
from feedmill.config import Config
from feedmill.engine.documents.parse_threads import PARSE_THREADS
from feedmill.engine.documents.raw_documents import load_document
from feedmill.engine.documents.read_document import NotAFeed, read_and_compare
from feedmill.engine.run.services import Services
from feedmill.model.canonical import Seen
from feedmill.model.feed import Feed, MoveProof
from feedmill.model.fetch import RawDocument
from feedmill.model.identity import Revised
from feedmill.model.parsed import Unreadable
from feedmill.parse.document import parse_document


async def prove_same(
    feed: Feed, document: RawDocument, services: Services, *, by_entries: bool
) -> MoveProof | None:
    """How the document proves to be the feed's, or None.

    It is compared with the feed's last document. `by_entries` is for when nothing newer can be
    had: then half of its entries have to be known entries of the feed, by the rules of identity.
    """
    theirs = await PARSE_THREADS.run(lambda: _seen(document, services.config))
    if not theirs.is_feed:
        return None
    stored = await stored_document(feed, services)
    if stored is not None:
        ours = await PARSE_THREADS.run(lambda: _seen(stored, services.config))
        proof = await asyncio.to_thread(same_feed, ours, theirs)
        if proof is not None:
            return proof
    if by_entries and await _knows_half(feed, document, services):
        return "entries"
    return None


async def continues_feed(feed: Feed, document: RawDocument, services: Services) -> bool:
    """Whether the document is another state of the feed's last one, and not a part of it.

    A category has entries of the whole feed too, but not all of a time; and often another title.
    """
    stored = await stored_document(feed, services)
    if stored is None:
        return False
    return await PARSE_THREADS.run(lambda: _continues(stored, document, services.config))


async def stored_document(feed: Feed, services: Services) -> RawDocument | None:
    """The last document of the feed, while it is kept."""
    if feed.document_fetch_id is None:
        return None
    fetch = await services.store.fetch(feed.document_fetch_id)
    if fetch is None:
        return None
    return await load_document(fetch, services.store, services.blobs)


async def _knows_half(feed: Feed, document: RawDocument, services: Services) -> bool:
    read = await read_and_compare(
        document,
        feed,
        services.store,
        services.config,
        now=services.clock.now(),
        anew=True,
        rows=(),
    )
    if isinstance(read, NotAFeed):
        return False
    changes = read.changes
    other_entries = sum(
        isinstance(one, Revised) and _is_other_entry(one) for one in changes.changes
    )
    known = changes.summary.revised + changes.summary.touched - other_entries
    return known >= 1 and known >= changes.summary.added + other_entries


def _is_other_entry(revised: Revised) -> bool:
    """Whether it is our entry by its id alone: many publishers number theirs from one."""
    is_named = revised.seen.entry.title is not None
    return ("title" if is_named else "summary") in revised.changed


def _continues(ours: RawDocument, theirs: RawDocument, config: Config) -> bool:
    one, other = parse_document(ours, config.parse), parse_document(theirs, config.parse)
    if isinstance(one, Unreadable) or isinstance(other, Unreadable):
        return False
    if (one.title and one.title.value) != (other.title and other.title.value):
        return False
    seen = {entry.id or entry.link for entry in other.entries}
    common = [(entry.id or entry.link) in seen for entry in one.entries]
    count = sum(common)
    # Whichever end of the list is the newer one: what both have stands there without a gap.
    return count > 0 and (all(common[:count]) or all(common[-count:]))


def _seen(document: RawDocument, config: Config) -> Seen:
    """The document as it is compared: where it came from, its bytes, its lasting content."""
    url = document.url or ""
    parsed = parse_document(document, config.parse)
    if isinstance(parsed, Unreadable):
        return Seen(url=url, final_url=url)
    # That it has moved stands in the old copy and often not in the new one.
    lasting = replace(parsed, new_feed_url=None)
    return Seen(
        url=url,
        final_url=url,
        is_feed=True,
        digest=sha256(document.body).hexdigest(),
        signature=feed_signature(lasting),
    )
