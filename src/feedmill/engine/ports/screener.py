"""Port: one method of scoring texts by topics."""

from collections.abc import Sequence
from typing import Protocol

from feedmill.model.screening import Method, Score, ScreenText, TopicSet


class Screener(Protocol):
    """One method of judging texts by topics; a text that it cannot judge has no score."""

    name: Method
    failure: str  # why texts of the last call have no score; empty when all is well

    async def score(self, texts: Sequence[ScreenText], topics: TopicSet) -> tuple[Score, ...]: ...
    async def close(self) -> None: ...
