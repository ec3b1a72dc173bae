"""The library's own way to the network, led to a little web on loopback."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import pytest
from tools.loopback_web import LoopbackWeb

import feedmill
from feedmill.adapters.http.fetcher import CurlFetcher
from feedmill.config import Config, HostConfig
from feedmill.model.canonical import Canonical, NotCanonical

Canonicalizing = Callable[..., Awaitable[Canonical | NotCanonical]]


@pytest.fixture
def canonicalize(monkeypatch: pytest.MonkeyPatch) -> Canonicalizing:
    """`await canonicalize(web, url)`: everything is real but the names, which the web resolves."""

    async def search(
        web: LoopbackWeb, url: str, *, host: HostConfig | None = None, **options: Any
    ) -> Canonical | NotCanonical:
        monkeypatch.setattr(
            "feedmill.adapters.http.fetcher.CurlFetcher", partial(CurlFetcher, resolver=web)
        )
        config = Config(fetch=web.fetching(), host=host or HostConfig(min_gap_ms=0, rps=0))
        return await feedmill.canonicalize(web.url(url), config=config, **options)

    return search
