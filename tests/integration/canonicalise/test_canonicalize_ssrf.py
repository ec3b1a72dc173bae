"""No self URL, variant, redirect or name leads a search to where the guard would not let it go."""

import json
from pathlib import Path
from typing import Any, get_args

import pytest
from tests.integration.canonicalise.conftest import Canonicalizing
from tests.support.loopback_feeds import HOSTS, paper
from tools.loopback_web import LoopbackWeb

from feedmill.canonicalise.urls import http_url, split_url
from feedmill.fetch.guard import check_url
from feedmill.model.canonical import Canonical
from feedmill.model.fetch import RefusalReason, Refused
from feedmill_demo.server.script import redirect

VECTORS = Path(__file__).parents[2] / "vectors" / "ssrf_urls.json"
CASES = [case for case in json.loads(VECTORS.read_text("utf-8"))["cases"] if not case["allowed"]]


def _is_public_once_it_is_read(url: str) -> bool:
    """Whether a disguised number (`http://1.1/`) is a public address in its one real spelling."""
    href = http_url(url)
    is_number = href is not None and split_url(href).host[-1:].isdigit()
    return href is not None and is_number and not isinstance(check_url(href), Refused)


PLAIN = [
    case
    for case in CASES
    if not {"redirect_to", "dns_sequence"} & set(case)
    and not _is_public_once_it_is_read(case["url"])
]
CHAINS = [case for case in CASES if case.get("blocked_at_hop") is not None]
CATEGORIES = sorted({case["category"] for case in PLAIN})
# The little web is the only private address that is open; every other one stays closed.
OWN = "127.0.1.77"
REFUSED = {*get_args(RefusalReason), "dns-failure", "malformed-url"}
FEED = "https://paper.example/feed"


def _web(case: dict[str, Any] | None = None) -> LoopbackWeb:
    web = LoopbackWeb(*HOSTS, "example.com", address=OWN)
    for name, addresses in (case or {}).get("dns", {}).items():
        if name != "example.com":
            web.names[name] = [addresses]
    return web


def _strangers(found: Canonical) -> list[str]:
    """What became of every request that was meant for somebody else than the little web."""
    hosts = {*HOSTS, "example.com"}
    return [
        one.verdict
        for one in found.asked
        if split_url(http_url(one.url) or one.url).host not in hosts
    ]


@pytest.mark.parametrize("category", CATEGORIES)
async def test_a_self_url_out_of_bounds_is_never_dialled(
    category: str, canonicalize: Canonicalizing
) -> None:
    for case in (one for one in PLAIN if one["category"] == category):
        async with _web(case) as web:
            web.put(FEED, paper(case["url"].replace("<", "&lt;")))

            found = await canonicalize(web, FEED)

            assert isinstance(found, Canonical), case
            assert found.url == web.url(FEED), case
            assert set(_strangers(found)) <= REFUSED, (case, found.asked)


@pytest.mark.parametrize("case", CHAINS, ids=lambda case: f"{case['id']}: {case['why']}")
async def test_a_self_url_that_redirects_out_of_bounds_is_not_believed(
    case: dict[str, Any], canonicalize: Canonicalizing
) -> None:
    async with _web(case) as web:
        web.put(FEED, paper(web.url(case["url"])))
        _put_chain(web, case)

        found = await canonicalize(web, FEED)

        assert isinstance(found, Canonical)
        assert found.url == web.url(FEED)
        assert found.asked[1].verdict in {*REFUSED, "downgrade"}
        assert {split_url(url).host for url in web.asked} <= {"paper.example", "example.com"}


@pytest.mark.parametrize("case", CHAINS, ids=lambda case: case["id"])
async def test_an_address_that_redirects_out_of_bounds_leads_nowhere(
    case: dict[str, Any], canonicalize: Canonicalizing
) -> None:
    async with _web(case) as web:
        _put_chain(web, case)

        found = await canonicalize(web, case["url"])

        assert not isinstance(found, Canonical)
        assert found.reason in {*REFUSED, "downgrade"}


@pytest.mark.parametrize("inside", ["10.0.0.1", "169.254.169.254", "127.0.0.1", "::1", "fd00::1"])
async def test_a_cleaner_spelling_whose_name_leads_inside_is_not_dialled(
    inside: str, canonicalize: Canonicalizing
) -> None:
    async with _web() as web:
        web.names["paper.example"] = [(inside,)]
        web.put("https://www.paper.example/feed", paper())

        found = await canonicalize(web, "https://www.paper.example/feed")

        assert isinstance(found, Canonical)
        assert found.url == web.url("https://www.paper.example/feed")
        assert found.asked[1].verdict == "private-address"


@pytest.mark.parametrize("inside", ["10.0.0.1", "169.254.169.254", "127.0.0.1"])
async def test_a_name_that_turns_inside_during_the_search_is_not_followed(
    inside: str, canonicalize: Canonicalizing
) -> None:
    async with _web() as web:
        web.names["paper.example"] = [(OWN,), (inside,)]
        web.put("http://paper.example/feed/", paper())

        found = await canonicalize(web, "http://paper.example/feed/")

        # A connection that is open to the vetted address may be used again; the name leads to
        # no other.
        assert isinstance(found, Canonical)
        assert found.url == web.url("http://paper.example/feed/")
        assert {one.verdict for one in found.asked[1:]} <= {"private-address", "not-found"}
        assert "https://paper.example/feed/" not in web.asked


def _put_chain(web: LoopbackWeb, case: dict[str, Any]) -> None:
    """A chain whose hops on example.com are served; the others are the guard's."""
    here = case["url"]
    for location in case["redirect_to"]:
        is_ours = location.startswith("https://example.com/")
        web.put(here, redirect(web.url(location) if is_ours else location, 302))
        if not is_ours:
            return
        here = location
