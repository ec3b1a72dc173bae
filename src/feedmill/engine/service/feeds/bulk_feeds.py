"""One action on many feeds: pause, resume, refetch, add or remove a tag, remove."""
# Tested in tests/integration/interfaces/console/test_feeds.py

from collections.abc import Sequence
from typing import Literal, get_args

from feedmill.engine.run.services import Services
from feedmill.engine.service import queries
from feedmill.errors import NotFoundError, UsageError
from feedmill.model.page import FeedFilter
from feedmill.publish.shapes import FeedChange

BulkAction = Literal["pause", "resume", "refetch", "add-tag", "remove-tag", "remove"]
MAX_BULK_FEEDS = 2_000  # of one action


def bulk_action(name: str, tag: str) -> BulkAction:
    """The action of that name; UsageError for another one, or for a tag that is missing."""
    known: tuple[BulkAction, ...] = get_args(BulkAction)
    found = next((one for one in known if one == name), None)
    if found is None:
        message = f"unknown action {name[:40]!r}; known are: {', '.join(known)}"
        raise UsageError(message)
    is_tag = bool(tag.strip()) and tag.isprintable() and len(tag) <= 100
    if found in ("add-tag", "remove-tag") and not is_tag:
        message = "a tag of 1 to 100 printable characters is needed"
        raise UsageError(message)
    return found


async def matching_feed_ids(where: FeedFilter, services: Services) -> tuple[str, ...]:
    """The feeds that a list shows, at most as many as one action takes."""
    page = await services.store.find_feeds(where, limit=MAX_BULK_FEEDS)
    return tuple(feed.id for feed in page.items)


async def apply_to_feeds(
    action: BulkAction, feed_ids: Sequence[str], services: Services, *, tag: str = ""
) -> int:
    """Do it to each feed; how many there were. A feed that is gone meanwhile is passed over."""
    if action == "refetch":
        return await services.store.make_due(list(feed_ids), services.clock.now())
    done = 0
    for feed_id in dict.fromkeys(feed_ids):
        try:
            await _apply(action, feed_id, services, tag.strip())
        except NotFoundError:
            continue
        done += 1
    return done


async def _apply(action: BulkAction, feed_id: str, services: Services, tag: str) -> None:
    if action == "remove":
        await queries.remove_feed(feed_id, services)
        return
    if action in ("pause", "resume"):
        change = FeedChange(paused=action == "pause")
    else:
        feed = await queries.require_feed(feed_id, services)
        tags = {*feed.tags, tag} if action == "add-tag" else {*feed.tags} - {tag}
        change = FeedChange(tags=tuple(sorted(tags)))
    await queries.change_feed(feed_id, change, services)
