"""The one look into the store between reading a document and saying what it changes."""

from feedmill.engine.reading import Document, Read, compare
from feedmill.engine.world import World
from feedmill.model.feed import Feed


async def compare_with_store(document: Document, feed: Feed, world: World) -> Read:
    """What the document changes, given everything that the store knows about its entries."""
    store = world.store
    known = await store.known(feed.id, document.keys, ())
    articles = await store.articles(document.article_hashes)
    # Only a document that calls itself complete says something about entries that it lacks.
    everything = await store.living(feed.id) if document.parsed.complete else ()
    return compare(document, known, articles, feed, world.config, everything=everything)
