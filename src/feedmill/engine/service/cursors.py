"""Positions of readers in the event log, for every interface: list and drop."""
# Tested in tests/integration/interfaces/cli/commands/servers/test_cursors.py

from feedmill.engine.run.services import Services
from feedmill.errors import NotFoundError
from feedmill.publish.shapes import CursorPage


async def list_cursors(services: Services) -> CursorPage:
    """All readers with how far they are behind."""
    return CursorPage(items=await services.store.cursors())


async def drop_cursor(consumer: str, services: Services) -> None:
    """Delete a position, so that it does not hold events; NotFoundError when there is none."""
    if consumer.startswith("webhook:"):
        message = f"{consumer} is the position of a webhook"
        hint = f"feedmill webhook remove {consumer.removeprefix('webhook:')}"
        raise NotFoundError(message, hint)
    if not await services.store.drop_cursor(consumer):
        message = f"there is no reader {consumer!r}"
        raise NotFoundError(message, "feedmill cursors list")
