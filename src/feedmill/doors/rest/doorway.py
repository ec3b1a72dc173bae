"""What every route reaches for: the world, the log's bell, the numbers and the settings."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, cast

from litestar.connection import ASGIConnection

from feedmill.config import ServeConfig
from feedmill.engine.access import RateLimiter
from feedmill.engine.bell import Bell
from feedmill.engine.desk import Desk
from feedmill.engine.watch import Watch
from feedmill.engine.world import World
from feedmill.observe.metrics import Metrics


class Streams:
    """How many streams are open, and whether there is room for one more."""

    def __init__(self, most: int) -> None:
        self._most, self._open = most, 0

    def is_full(self) -> bool:
        """True when one more would be too many."""
        return self._open >= self._most

    @contextmanager
    def one_more(self) -> Iterator[None]:
        """Count a stream for as long as it is open."""
        self._open += 1
        try:
            yield
        finally:
            self._open -= 1


class Doorway(NamedTuple):
    """One open door: made when a server starts, gone when it ends."""

    world: World
    watch: Watch
    bell: Bell
    limiter: RateLimiter
    metrics: Metrics
    streams: Streams
    desk: Desk
    is_local: bool  # bound to loopback: without any token, everybody on this machine may come in

    @property
    def config(self) -> ServeConfig:
        """The settings of this door."""
        return self.world.config.serve


def doorway_of(connection: ASGIConnection[Any, Any, Any, Any]) -> Doorway:
    """The doorway that a request came through."""
    return cast("Doorway", connection.app.state.doorway)


def world_of(connection: ASGIConnection[Any, Any, Any, Any]) -> World:
    """The world behind it."""
    return doorway_of(connection).world
