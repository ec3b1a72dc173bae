"""The one look into the store between reading a document and saying what it changes."""

from feedmill.engine.poll.read_document import Document, Read, compare
from feedmill.engine.run.services import World
from feedmill.model.feed import Feed
from feedmill.model.refresh import Recalled


async def compare_with_store(document: Document, feed: Feed, world: World) -> Read:
    """What the document changes, given everything that the store knows about its entries."""
    store = world.store
    recalled = await _recall(document, feed, world)
    # Only a document that calls itself complete says something about entries that it lacks.
    everything = await store.living(feed.id) if document.parsed.complete else ()
    return compare(document, recalled, feed, world.config, everything=everything)


async def _recall(document: Document, feed: Feed, world: World) -> Recalled:
    if not document.keys and not document.article_hashes:
        return Recalled()  # every entry was recognised by its slice (D31)
    return await world.store.recall(
        feed.id,
        document.keys,
        document.article_hashes,
        publications=world.config.schedule.ewma_window,
    )
