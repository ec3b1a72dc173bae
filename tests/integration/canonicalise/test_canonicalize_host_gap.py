"""Probes are as polite as polls: a host's gap is kept between them, whoever asks."""

from functools import partial
from itertools import pairwise

import pytest
from tests.integration.canonicalise.conftest import Canonicalizing
from tests.support.loopback_feeds import HOSTS, paper
from tools.loopback_web import LoopbackWeb

from feedmill.adapters.http.fetcher import CurlFetcher
from feedmill.canonicalise.search import CanonicalOptions
from feedmill.config import Config, HostConfig
from feedmill.interfaces.library import canonicalize_each
from feedmill.model.canonical import Canonical, NotCanonical
from feedmill_demo.server.script import Answer

GAP_SEC = 0.25
# A sleep may end a little early by the server's clock, and never much.
LEAST_SEC = GAP_SEC * 0.9
SLOW = HostConfig(min_gap_ms=int(GAP_SEC * 1000), rps=0)
START = "http://paper.example/feed/?utm_source=mail"


async def test_the_gap_of_a_host_is_kept_between_the_requests_of_one_search(
    canonicalize: Canonicalizing,
) -> None:
    async with LoopbackWeb(*HOSTS) as web:
        web.put(START, paper())

        found = await canonicalize(web, START, host=SLOW)

        at = [visit.at_sec for visit in web.visits]
        assert found.requests == 3
        assert len(at) == 4
        assert min(later - sooner for sooner, later in pairwise(at)) >= LEAST_SEC


async def test_the_gap_is_kept_from_one_search_to_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    async with LoopbackWeb(*HOSTS) as web:
        monkeypatch.setattr(
            "feedmill.adapters.http.fetcher.CurlFetcher", partial(CurlFetcher, resolver=web)
        )
        urls = [f"https://paper.example/{name}" for name in ("a", "b", "c")]
        for url in urls:
            web.put(url, paper())
        config = Config(fetch=web.fetching(), host=SLOW)
        found: list[Canonical | NotCanonical] = []

        await canonicalize_each(map(web.url, urls), CanonicalOptions(), config, found.append)

        at = [visit.at_sec for visit in web.visits]
        assert web.asked == urls
        assert len(found) == 3
        assert min(later - sooner for sooner, later in pairwise(at)) >= LEAST_SEC


async def test_an_address_that_wants_a_long_rest_is_left_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with LoopbackWeb(*HOSTS) as web:
        monkeypatch.setattr(
            "feedmill.adapters.http.fetcher.CurlFetcher", partial(CurlFetcher, resolver=web)
        )
        url = "https://paper.example/feed"
        web.put(url, Answer(status=503, headers=(("Retry-After", "3600"),)))
        config = Config(fetch=web.fetching(), host=HostConfig(min_gap_ms=0, rps=0))
        found: list[Canonical | NotCanonical] = []

        twice = (web.url(url), web.url(url))
        await canonicalize_each(twice, CanonicalOptions(), config, found.append)

        assert [one.reason for one in found] == ["unavailable", "rate-limited"]
        assert web.asked == [url]
