"""Everything the engine needs of the world, in one hand."""

from typing import NamedTuple

from feedmill.config import Config
from feedmill.engine.ports import Blobs, Clock, Fetcher, Store


class World(NamedTuple):
    """The ports and the settings; made by app.py, or by a test out of fakes."""

    clock: Clock
    fetcher: Fetcher
    blobs: Blobs
    store: Store
    config: Config
