"""Which database has which hosts: a map from ranges of shards to addresses.

    0-511=postgresql://user@one/feedmill, 512-1023=postgresql://user@two/feedmill

Every shard has exactly one place. The first in the list is the home cell, wherever its shards begin.
"""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from feedmill.adapters.store.claims import SHARDS, lane_key_of, shard_of
from feedmill.adapters.store.postgres.frontier import host_of
from feedmill.errors import ConfigError
from feedmill.observe.masking import masked

_SPELLING: Final = re.compile(r"([0-9]{1,4})-([0-9]{1,4})=(postgres(?:ql)?://\S+)", re.ASCII)
_NEXT: Final = re.compile(r"[,\s]+(?=[0-9]+-[0-9]+=)", re.ASCII)


class Span(NamedTuple):
    """A range of shards and the database that has them."""

    first: int
    last: int
    url: str

    @property
    def name(self) -> str:
        """The cell as it may be told."""
        return f"{self.first}-{self.last}={masked(self.url)}"


def read_cells(texts: Sequence[str]) -> tuple[Span, ...]:
    """The cells in the order given; ConfigError says everything that is wrong with the list."""
    spans: list[Span] = []
    mistakes: list[str] = []
    for at, text in enumerate(_pieces(texts), start=1):
        found = _SPELLING.fullmatch(text)
        if found is None:
            mistakes.append(
                f"[store] cells: entry {at} will not do: Expected first-last=postgresql://…"
            )
        else:
            spans.append(Span(int(found[1]), int(found[2]), found[3]))
    mistakes += _gaps(spans) if not mistakes else []
    if mistakes:
        raise ConfigError(mistakes)
    return tuple(spans)


def _pieces(texts: Sequence[str]) -> list[str]:
    """The entries of the list, one a line or after commas; an address may have commas of its own."""
    whole = ",".join(texts).strip(", \t\r\n")
    return _NEXT.split(whole) if whole else []


class CellMap:
    """The number of the cell, in the order of the list, of an address or a lane."""

    def __init__(self, spans: Sequence[Span]) -> None:
        self._cells = [0] * SHARDS
        for cell, span in enumerate(spans):
            for shard in range(span.first, span.last + 1):
                self._cells[shard] = cell

    def of_url(self, url: str) -> int:
        """The cell that a feed at this address lives in."""
        return self._cells[shard_of(lane_key_of(url))]

    def of_lane(self, lane_key: str) -> int:
        """The cell that a lane is in."""
        return self._cells[shard_of(host_of(lane_key))]


def _gaps(spans: Sequence[Span]) -> list[str]:
    """What keeps the ranges from being all shards, each once."""
    mistakes: list[str] = []
    urls = [span.url for span in spans]
    if len(set(urls)) < len(urls):
        mistakes.append("[store] cells: two ranges name one database; give each its own")
    following = 0
    for span in sorted(spans):
        if not span.first <= span.last < SHARDS:
            mistakes.append(
                f"[store] cells: {span.first}-{span.last} is no range within 0-{SHARDS - 1}"
            )
        elif span.first > following:
            mistakes.append(f"[store] cells: nobody has {following}-{span.first - 1}")
        elif span.first < following:
            mistakes.append(
                f"[store] cells: {span.first}-{min(span.last, following - 1)} is there twice"
            )
        following = max(following, span.last + 1)
    if following < SHARDS:
        mistakes.append(f"[store] cells: nobody has {following}-{SHARDS - 1}")
    return mistakes
