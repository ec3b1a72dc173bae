"""Addresses become canonical over real sockets, real TLS, real redirects and real documents."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace
from tests.integration.canonicalise.conftest import Canonicalizing
from tests.support.loopback_feeds import HOSTS, paper, stamped
from tools.loopback_web import LoopbackWeb

from feedmill.engine.subscribe.canonicalise import Face
from feedmill.model.canonical import Canonical, NotCanonical
from feedmill_demo.server.script import Answer, Answering, document, hang_up, redirect

CLEAN = "https://paper.example/feed"
WWW = "https://www.paper.example/feed"
MESSY = "http://www.paper.example/feed/?utm_source=mail"
Web = dict[str, Answering]


def _mirror(url: Callable[[str], str]) -> Web:
    return {"https://mirror.example/x": paper(url(CLEAN)), CLEAN: paper(url(CLEAN))}


def _chain(url: Callable[[str], str]) -> Web:
    return {
        "https://mirror.example/x": redirect(url("https://other.example/x")),
        "https://other.example/x": redirect(url(WWW), 308),
        WWW: paper(url(WWW)),
        CLEAN: redirect(url(WWW)),
    }


def _everything(_: Callable[[str], str]) -> Web:
    same: list[str] = [MESSY, "http://paper.example/feed", CLEAN]
    return dict.fromkeys(same, stamped())


def _secure_only(url: Callable[[str], str]) -> Web:
    return {"http://paper.example/feed": redirect(url(CLEAN)), CLEAN: paper()}


def _no_https(_: Callable[[str], str]) -> Web:
    return {"http://paper.example/feed": paper(), CLEAN: hang_up()}


def _wrong_self(url: Callable[[str], str]) -> Web:
    return {
        WWW: paper(url("https://other.example/feed")),
        "https://other.example/feed": paper(title="The Other"),
        CLEAN: stamped(),
    }


def _dead_self(url: Callable[[str], str]) -> Web:
    own = url("https://other.example/feed")
    return {CLEAN: paper(own), "https://other.example/feed": Answer(status=503)}


def _header(url: Callable[[str], str]) -> Web:
    link = ("Link", f'<{url(CLEAN)}>; rel="self"')
    told = paper(url("https://other.example/"))
    return {
        "https://mirror.example/x": replace(told, headers=(*told.headers, link)),
        CLEAN: paper(url("https://other.example/")),
    }


@pytest.mark.parametrize(
    ("served", "start", "end", "reason", "asked"),
    [
        (_mirror, "https://mirror.example/x", CLEAN, "content_verified", 1),
        (_chain, "https://mirror.example/x", WWW, "redirect_verified", 1),
        (_everything, MESSY, CLEAN, "upgrade_https", 2),
        (_secure_only, "http://paper.example/feed", CLEAN, "response_url", 0),
        (_no_https, "http://paper.example/feed", "http://paper.example/feed", "fallback", 1),
        (_wrong_self, WWW, CLEAN, "signature_verified", 2),
        (_dead_self, CLEAN, CLEAN, "response_url", 2),
        (_header, "https://mirror.example/x", CLEAN, "content_verified", 1),
    ],
)
async def test_an_address_ends_where_the_feed_is_proven(
    served: Callable[[Callable[[str], str]], Web],
    start: str,
    end: str,
    reason: str,
    asked: int,
    canonicalize: Canonicalizing,
) -> None:
    async with LoopbackWeb(*HOSTS) as web:
        for url, answer in served(web.url).items():
            web.put(url, answer)

        found = await canonicalize(web, start)

        assert isinstance(found, Canonical), found
        assert (found.url, found.reason, found.requests) == (web.url(end), reason, asked)
        # What is returned was fetched, and nobody was asked twice.
        assert end in web.asked
        tested = [one.url for one in found.asked]
        assert len(set(tested)) == len(tested) == asked + 1


async def test_a_page_is_no_feed_and_nothing_more_is_asked(canonicalize: Canonicalizing) -> None:
    async with LoopbackWeb(*HOSTS) as web:
        page = b"<!DOCTYPE html><html><head><title>Paper</title></head><body>Hi</body></html>"
        web.put(CLEAN, document(page, "text/html"))

        found = await canonicalize(web, CLEAN)

        assert isinstance(found, NotCanonical)
        assert (found.status, web.asked) == (200, [CLEAN])


async def test_slow_down_ends_the_asking(canonicalize: Canonicalizing) -> None:
    async with LoopbackWeb(*HOSTS) as web:
        web.put(MESSY, paper())
        busy = Answer(status=429, headers=(("Retry-After", "3600"),))
        web.put("http://paper.example/feed", busy)
        web.put(CLEAN, paper())

        found = await canonicalize(web, MESSY, budget=9)

        assert isinstance(found, Canonical)
        assert found.url == web.url(MESSY)
        assert web.asked == [MESSY, "http://paper.example/feed"]


async def test_an_address_that_is_gone_says_so(canonicalize: Canonicalizing) -> None:
    async with LoopbackWeb(*HOSTS) as web:
        web.put(CLEAN, Answer(status=410))

        found = await canonicalize(web, CLEAN)

        assert isinstance(found, NotCanonical)
        assert (found.reason, found.status) == ("gone", 410)


async def test_a_parser_and_a_hash_of_the_callers_own_see_what_the_server_sent(
    canonicalize: Canonicalizing,
) -> None:
    bodies: list[bytes] = []

    def parse(body: bytes, url: str) -> Face | None:
        bodies.append(body)
        return Face() if "nothing" not in url else None

    async with LoopbackWeb(*HOSTS) as web:
        link = ("Link", f'<{web.url(CLEAN)}>; rel="self"')
        web.put(
            "https://mirror.example/x",
            Answer(headers=(("Content-Type", "text/x-feed"), link), body=b"mirrored"),
        )
        web.put(CLEAN, Answer(headers=(("Content-Type", "text/x-feed"),), body=b"original"))
        web.put("https://paper.example/nothing", paper())

        found = await canonicalize(
            web, "https://mirror.example/x", parse_fn=parse, hash_fn=lambda _: "same"
        )
        lost = await canonicalize(web, "https://paper.example/nothing", parse_fn=parse)

        assert isinstance(found, Canonical)
        assert (found.url, found.reason) == (web.url(CLEAN), "content_verified")
        assert bodies[:2] == [b"mirrored", b"original"]
        assert isinstance(lost, NotCanonical)
        assert lost.reason == "not-a-feed"


async def test_credentials_are_shown_to_their_own_host_only(canonicalize: Canonicalizing) -> None:
    async with LoopbackWeb(*HOSTS) as web:
        web.put(WWW, paper(web.url("https://other.example/feed")))
        web.put("https://other.example/feed", paper())
        web.put(CLEAN, paper())
        given = WWW.replace("://", "://me:secret@")

        found = await canonicalize(web, given, budget=9)

        heard = [(visit.url, visit.request.header("authorization")) for visit in web.visits]
        assert heard == [(WWW, "Basic bWU6c2VjcmV0"), ("https://other.example/feed", None)]
        assert isinstance(found, Canonical)
        assert "secret" not in repr(found)


async def test_credentials_are_not_shown_by_http_once_they_were_given_for_https(
    canonicalize: Canonicalizing,
) -> None:
    async with LoopbackWeb(*HOSTS) as web:
        web.put(CLEAN, paper(web.url("http://paper.example/rss")))
        web.put("http://paper.example/rss", paper())
        given = CLEAN.replace("://", "://me:secret@")

        await canonicalize(web, given, prefer_https=False)

        assert [visit.request.header("authorization") for visit in web.visits] == [
            "Basic bWU6c2VjcmV0",
            None,
        ]
