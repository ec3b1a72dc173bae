"""Subscriptions to one feed: finds pairs, proves them, merges and undoes merges for every interface."""
# Tested in tests/integration/interfaces/cli/commands/feeds/test_duplicates.py

from typing import Final, Literal

from feedmill.canonicalise.same_blog import best_format, format_name, same_blog
from feedmill.engine.moves.follow import MERGE_IS_FINAL
from feedmill.engine.run.services import Services
from feedmill.engine.service.feed_lookup import resolve_feed
from feedmill.engine.subscribe.same_feed import prove_same, stored_document, stored_facts
from feedmill.errors import NotFoundError
from feedmill.model.base import Value
from feedmill.model.derived.cluster import Mirrors
from feedmill.model.feed import MergedFeed
from feedmill.publish.events import event_of_merge, event_of_undone_merge

_COMMON_ENTRIES: Final = 3  # that two feeds have at least
DuplicateProof = Literal["content", "signature", "formats"]


class DuplicatePair(Value):
    """Two subscriptions with the same articles, which of them to keep, and the proof that they are one feed."""

    pair: Mirrors
    keep_id: str
    drop_id: str
    proof: DuplicateProof | None  # None: they only have articles in common
    why: str  # for a person


async def find_duplicates(
    services: Services, *, min_share: float = 0.5, limit: int = 50
) -> tuple[DuplicatePair, ...]:
    """Pairs of feeds with so large a share of entries in common, each with its proof."""
    found = await services.store.mirrors(
        min_common=_COMMON_ENTRIES, min_share=min_share, limit=limit
    )
    return tuple([await _judged(pair, services) for pair in found])


async def merge_duplicates(
    pairs: tuple[DuplicatePair, ...], services: Services
) -> tuple[DuplicatePair, ...]:
    """Merge the proven pairs; those that were merged. A feed of several pairs goes once."""
    done: list[DuplicatePair] = []
    for one in pairs:
        keep, drop = (
            await services.store.feed(one.keep_id),
            await services.store.feed(one.drop_id),
        )
        if one.proof is None or keep is None or drop is None:
            continue
        now = services.clock.now()
        event = event_of_merge(drop, keep, "entries", now=now)
        if await services.store.hide_merged(drop.id, keep.id, at=now, events=(event,)):
            done.append(one)
    return tuple(done)


async def undo_merge(name: str, services: Services) -> MergedFeed:
    """Undo the merge of a feed, named by its id or its address; it is polled again."""
    merged = await services.store.merged_feeds()
    found = next((one for one in merged if name in (one.feed_id, one.url)), None)
    if found is None:
        days = services.config.retention.merge_undo_days
        hint = (
            f"merges can be undone for {days} days: feedmill duplicates --merged; {MERGE_IS_FINAL}"
        )
        message = f"no merge of {name} can be undone"
        raise NotFoundError(message, hint)
    feed = await resolve_feed(found.into_id, services)
    event = event_of_undone_merge(found, feed, now=services.clock.now())
    await services.store.show_merged(found.feed_id, (event,))
    return found


async def _judged(pair: Mirrors, services: Services) -> DuplicatePair:
    ours = await services.store.feed(pair.feed_id)
    theirs = await services.store.feed(pair.other_id)
    if ours is None or theirs is None:
        return _pair(pair, None, "one of them is gone")
    document = await stored_document(theirs, services)
    proof = None
    if document is not None:
        proof = await prove_same(ours, document, services, by_entries=False)
    if proof == "content" or proof == "signature":
        return _pair(pair, proof, "both serve the same document; the older subscription is kept")
    facts = [await stored_facts(one, services) for one in (ours, theirs)]
    if facts[0] is None or facts[1] is None or not same_blog(facts[0], facts[1]):
        return _pair(pair, None, "they have articles in common, but are not proven to be one feed")
    best, why = best_format([facts[0], facts[1]])
    chosen = format_name((facts[0], facts[1])[best].format)
    words = f"one blog in two formats; {chosen} is kept for {why}"
    return _pair(pair, "formats", words, swap=best == 1)


def _pair(
    pair: Mirrors, proof: DuplicateProof | None, why: str, *, swap: bool = False
) -> DuplicatePair:
    keep, drop = (pair.other_id, pair.feed_id) if swap else (pair.feed_id, pair.other_id)
    return DuplicatePair(pair=pair, keep_id=keep, drop_id=drop, proof=proof, why=why)
