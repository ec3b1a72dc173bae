"""Letting go (D13), and proving that what is kept is sound.

Content and metadata go by age, counted from the last sighting; entries in a feed's last document
never do, and their identities outlive them, so that an old item never comes back as new. Raw
bytes go when no kept fetch refers to them.
"""

from datetime import timedelta
from typing import Any

from feedmill.engine.trouble import Trouble
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
    """Sweep segments into which the index no longer points; the number that went."""
    gone = 0
    for segment in await world.blobs.segments():
        live = await world.store.blobs(segment=segment.name)
        if await world.blobs.sweep(segment.name, live) == "dropped":
            gone += 1
    return gone


async def keep_tidy(world: World, watch: Watch) -> None:
    """Purge now and then while a run works."""
    await watch.pause(_EVERY_SEC / 4)
    trouble = Trouble("purge", watch)
    while not watch.is_stopping():
        try:
            await purge(world)
        except FeedmillError as problem:
            trouble.met(problem)
            await trouble.rest()
            continue
        trouble.over()
        await watch.pause(_EVERY_SEC)


async def verify(world: World) -> dict[str, Any]:
    """Read every raw document and hash it; check the store; list what is wrong."""
    refs = await world.store.blobs()
    found = await world.blobs.verify(refs)
    problems = [*(await world.store.problems()), *(str(problem) for problem in found)]
    return {"documents": len(refs), "problems": problems}
