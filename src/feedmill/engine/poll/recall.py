"""The one look into the store between reading a document and saying what it changes."""

from feedmill.engine.poll.read_document import ComparedDocument, ParsedDocument, compare
from feedmill.engine.run.services import Services
from feedmill.model.feed import Feed
from feedmill.model.refresh import Recalled


async def compare_with_store(
    document: ParsedDocument, feed: Feed, services: Services
) -> ComparedDocument:
    """What the document changes, given everything that the store knows about its entries."""
    store = services.store
    recalled = await _recall(document, feed, services)
    # Only a document that calls itself complete says something about entries that it lacks.
    everything = await store.living(feed.id) if document.parsed.complete else ()
    return compare(document, recalled, feed, services.config, everything=everything)


async def _recall(document: ParsedDocument, feed: Feed, services: Services) -> Recalled:
    if not document.keys and not document.article_hashes:
        return Recalled()  # every entry was recognised by its slice (D31)
    return await services.store.recall(
        feed.id,
        document.keys,
        document.article_hashes,
        publications=services.config.schedule.ewma_window,
    )
