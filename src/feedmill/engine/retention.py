"""Letting go (D13), and proving that what is kept is sound.

Content and metadata go by age, counted from the last sighting; entries in a feed's last document
never do, and their identities outlive them, so that an old item never comes back as new. Raw
bytes go when no kept fetch refers to them.
"""

from datetime import timedelta
from typing import Any

from feedmill.engine.rawbytes import body_of
from feedmill.engine.watch import Watch
from feedmill.engine.world import World
from feedmill.errors import FeedmillError

_EVERY_SEC = 3600.0


async def purge(world: World) -> dict[str, int]:
    """Let go of what retention no longer keeps; what went, by kind."""
    now = world.clock.now()
    keep = world.config.retention
    gone = await world.store.purge(before=now - timedelta(days=keep.seen_ttl_days), now=now)
    return {**gone, "segments": await tidy_raw(world)}


async def tidy_raw(world: World) -> int:
    """Drop segments that hold nothing any more; their number."""
    refs = await world.store.blobs()
    return await world.blobs.sweep({ref.segment for ref in refs})


async def keep_tidy(world: World, watch: Watch) -> None:
    """Purge now and then while a run works."""
    await watch.pause(_EVERY_SEC / 4)
    while not watch.is_stopping():
        await purge(world)
        await watch.pause(_EVERY_SEC)


async def verify(world: World) -> dict[str, Any]:
    """Read every raw document and hash it; check the store; list what is wrong."""
    problems = list(await world.store.problems())
    refs = await world.store.blobs()
    for ref in refs:
        try:
            await body_of(ref.sha256, world)
        except FeedmillError as problem:
            problems.append(f"{ref.sha256[:16]}… in {ref.segment}: {problem}")
    return {"documents": len(refs), "problems": problems}
