"""Fetchers for the stories: loopback opened, short limits, names from a table."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from feedmill.adapters.clock import SystemClock
from feedmill.adapters.http.fetcher import CurlFetcher
from feedmill.config import FetchConfig
from feedmill.fetch.plan import plan_fetch
from feedmill.model.fetch import RawResponse

LOOPBACK = FetchConfig(
    allow_cidrs=("127.0.0.0/8",),
    timeout_ms=60_000,
    connect_timeout_ms=30_000,
    retry_wait_ms=10,
)


class TableResolver:
    """Addresses by name; a list of answers is given out one by one, the last one for ever."""

    def __init__(self, table: Mapping[str, Sequence[tuple[str, ...]]]) -> None:
        self._table = {host: list(answers) for host, answers in table.items()}
        self.asked: list[str] = []

    async def resolve(self, host: str) -> tuple[str, ...]:
        self.asked.append(host)
        if host[0].isdigit():
            return (host,)
        answers = self._table.get(host, [()])
        return answers.pop(0) if len(answers) > 1 else answers[0]

    async def close(self) -> None:
        self.asked.append("closed")


EXAMPLE = {"feeds.example": [("127.0.0.1",)], "other.example": [("127.0.0.1",)]}


@asynccontextmanager
async def fetching(
    table: Mapping[str, Sequence[tuple[str, ...]]] | None = None, **settings: Any
) -> AsyncIterator[CurlFetcher]:
    """A fetcher that is closed at the end of the story."""
    config = msgspec.structs.replace(LOOPBACK, **settings)
    fetcher = CurlFetcher(config, SystemClock(), resolver=TableResolver(table or EXAMPLE))
    try:
        yield fetcher
    finally:
        await fetcher.close()


async def get(
    fetcher: CurlFetcher,
    url: str,
    *,
    headers: Sequence[tuple[str, str]] = (),
    verify_tls: bool = True,
    proxy: str | None = None,
    **limits: Any,
) -> RawResponse:
    """The answer to a plain request under these limits."""
    config = msgspec.structs.replace(LOOPBACK, **limits)
    plan = plan_fetch(url, None, config, extra_headers=headers)
    return await fetcher.fetch(plan, verify_tls=verify_tls, proxy=proxy)
