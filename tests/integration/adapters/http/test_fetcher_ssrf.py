"""No redirect, name or environment leads a request to where the guard would not let it go."""

import asyncio
import ssl
from pathlib import Path

import pytest
import trustme
from tests.support.loopback_fetcher import LOOPBACK, fetching, get
from tests.support.raw_http_server import (
    Line,
    always,
    answer,
    by_path,
    once,
    redirect,
    serving,
)

from feedmill.fetch.guard import check_url
from feedmill.fetch.plan import plan_fetch
from feedmill.model.fetch import Hop, Refused, Validators


async def test_redirects_are_followed_one_by_one_and_recorded() -> None:
    answers = {
        "/a": redirect("/b?x=1#top", 301),
        "/b?x=1": redirect("c", 308),
        "/c": answer(body=b"here"),
    }
    async with serving(by_path(answers)) as server, fetching() as fetcher:
        response = await get(fetcher, server.url("/a"))

    assert response.body == b"here"
    assert response.url == server.url("/a")
    assert response.final_url == server.url("/c#top")
    assert response.hops == (
        Hop(url=server.url("/a"), status=301, location="/b?x=1#top"),
        Hop(url=server.url("/b?x=1#top"), status=308, location="c"),
    )
    assert server.connections == 1


@pytest.mark.parametrize(
    ("location", "reason"),
    [
        ("http://10.0.0.1/", "private-address"),
        ("http://169.254.169.254/latest/meta-data", "private-address"),
        ("http://[::1]/", "private-address"),
        ("http://0x0a000001/", "private-address"),
        ("http://inside.example/", "private-address"),
        ("http://mixed.example/", "private-address"),
        ("http://nowhere.example/", "dns-failure"),
        ("file:///etc/passwd", "scheme"),
        ("gopher://127.0.0.1:25/", "scheme"),
        ("data:text/xml,<rss/>", "scheme"),
        ("ftp://feeds.example/", "scheme"),
        ("/start", "redirect-loop"),
        ("http://exa mple/", "bad-location"),
        ("", "no-location"),
    ],
)
async def test_a_redirect_out_of_bounds_ends_the_chain_with_its_reason(
    location: str, reason: str
) -> None:
    table: dict[str, list[tuple[str, ...]]] = {
        "feeds.example": [("127.0.0.1",)],
        "inside.example": [("192.168.1.1",)],
        "mixed.example": [("127.0.0.1", "10.1.1.1")],
    }

    script = by_path({"/start": redirect(location)})
    async with serving(script) as server, fetching(table) as fetcher:
        response = await get(fetcher, server.url("/start", host="feeds.example"))

    assert response.error == reason
    assert len(server.heard) == 1


async def test_a_chain_ends_at_its_limit() -> None:
    async def script(line: Line) -> None:
        while True:
            heard = await line.hear()
            await line.say(redirect(f"{heard.target}x"))

    async with serving(script) as server, fetching() as fetcher:
        response = await get(fetcher, server.url("/"), max_redirects=4)

    assert (response.error, len(response.hops)) == ("too-many-redirects", 4)
    assert len(server.heard) == 5


async def test_a_redirect_with_a_body_without_end_is_followed_all_the_same() -> None:
    async def script(line: Line) -> None:
        heard = await line.hear()
        if heard.target == "/b":
            await line.say(answer(body=b"here"))
            return
        await line.say(b"HTTP/1.1 302 Found\r\nLocation: /b\r\nTransfer-Encoding: chunked\r\n\r\n")
        while True:
            await line.say(b"1000\r\n" + b"z" * 4096 + b"\r\n")

    async with serving(script) as server, fetching() as fetcher:
        response = await get(fetcher, server.url("/a"))

    assert (response.body, response.capped) == (b"here", False)


async def test_the_deadline_is_one_for_the_whole_chain() -> None:
    async def script(line: Line) -> None:
        while True:
            heard = await line.hear()
            if heard.target == "/xxx":
                await line.hold()
            await line.say(redirect(f"{heard.target}x"))

    async with serving(script) as server, fetching() as fetcher:
        response = await get(fetcher, server.url("/"), timeout_ms=2_000)

    assert (response.error, len(response.hops)) == ("timeout", 3)


async def test_credentials_and_validators_stay_with_the_origin_they_were_meant_for() -> None:
    async with serving(always(answer(body=b"there"))) as other:
        answers = {"/a": redirect("/b"), "/b": redirect(other.url("/c", host="other.example"))}
        async with serving(by_path(answers)) as server, fetching() as fetcher:
            url = server.url("/a", host="feeds.example")
            plan = plan_fetch(
                url.replace("http://", "http://me:secret@"),
                Validators(etag='"a"', url=url),
                LOOPBACK,
                extra_headers=(("X-Key", "k"), ("User-Agent", "special/1")),
            )
            response = await fetcher.fetch(plan)

    first, second = server.heard
    third = other.heard[0]
    assert (first.value("Authorization") or "").startswith("Basic ")
    assert second.value("Authorization") == first.value("Authorization")
    assert (first.value("If-None-Match"), second.value("If-None-Match")) == ('"a"', None)
    assert {n.lower() for n, _ in third.headers} == {
        "host",
        "user-agent",
        "accept",
        "accept-encoding",
    }
    assert third.value("User-Agent") == "special/1"
    assert response.request_headers == third.headers[1:]
    assert "secret" not in response.url + response.final_url + response.detail


async def test_a_url_that_carries_credentials_is_not_fetched() -> None:
    async with serving(always(answer(body=b"x"))) as server, fetching() as fetcher:
        plan = plan_fetch(server.url(), None, LOOPBACK)
        loose = server.url().replace("http://", "http://me:secret@")
        response = await fetcher.fetch(type(plan)(
            url=loose, headers=plan.headers, conditional=False, limits=plan.limits
        ))  # fmt: skip

    assert response.error == "malformed-url"
    assert server.heard == []


async def test_a_name_that_changes_its_address_after_the_check_is_not_followed_there() -> None:
    rebinding = {"feeds.example": [("127.0.0.1",), ("10.0.0.1",)]}

    async with serving(always(redirect("/b"))) as server, fetching(rebinding) as fetcher:
        response = await get(fetcher, server.url("/a", host="feeds.example"))

    assert response.error == "private-address"
    assert [heard.target for heard in server.heard] == ["/a"]


async def test_without_the_setting_loopback_is_out_of_bounds() -> None:
    table = {"feeds.example": [("127.0.0.1",)]}

    async with serving(always(answer())) as server, fetching(table, allow_cidrs=()) as fetcher:
        by_name = await get(fetcher, server.url(host="feeds.example"))
        literal = await get(fetcher, server.url())

    assert (by_name.error, literal.error) == ("private-address", "private-address")
    assert server.connections == 0


@pytest.mark.parametrize("addresses", [
    ("93.184.216.34", "10.0.0.1"), ("::1",), ("not an address",), ("64:ff9b::7f00:1",), (),
])  # fmt: skip
async def test_the_guard_says_the_same_with_and_without_opened_networks(
    addresses: tuple[str, ...],
) -> None:
    url = "http://feeds.example/"
    verdict = check_url(url, addresses)

    async with fetching({"feeds.example": [addresses]}, allow_cidrs=()) as fetcher:
        response = await get(fetcher, url)

    assert isinstance(verdict, Refused)
    assert response.error == (verdict.reason if addresses else "dns-failure")


async def test_proxies_of_the_environment_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "http_proxy",
        "HTTP_PROXY",
        "https_proxy",
        "HTTPS_PROXY",
        "all_proxy",
        "ALL_PROXY",
    ):
        monkeypatch.setenv(name, "http://127.0.0.1:9")

    async with serving(always(answer(body=b"direct"))) as server, fetching() as fetcher:
        response = await get(fetcher, server.url())

    assert response.body == b"direct"


async def test_a_feeds_own_proxy_is_asked_and_resolves_the_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("no_proxy", "*")
    table = {"proxy.example": [("127.0.0.1",)]}

    async with serving(always(answer(body=b"by proxy"))) as proxy, fetching(table) as fetcher:
        address = proxy.url("", host="proxy.example").replace("//", "//me:secret@")
        before = await get(fetcher, proxy.url(host="127.0.0.1"))
        response = await get(fetcher, "http://nowhere.example/feed", proxy=address)
        direct = await get(fetcher, "http://nowhere.example/feed")

    assert response.body == b"by proxy"
    assert before.error is None
    assert proxy.heard[1].target == "http://nowhere.example/feed"
    assert proxy.heard[1].value("Proxy-Authorization") is not None
    assert direct.error == "dns-failure"  # the next fetch does not inherit the proxy


async def test_a_proxy_whose_name_moves_is_dialled_at_the_address_that_was_resolved() -> None:
    table = {
        "proxy.example": [("127.0.0.1",), ("127.0.0.2",), ("127.0.0.1",)],
        "feeds.example": [("127.0.0.1",), ("127.0.0.2",)],
    }

    async with (
        serving(once(answer(body=b"first"))) as first,
        serving(once(answer(body=b"second")), host="127.0.0.2", port=first.port),
        fetching(table) as fetcher,
    ):
        proxy, direct = first.url("", host="proxy.example"), first.url(host="feeds.example")
        bodies = []
        for _ in range(3):
            answers = await asyncio.gather(
                get(fetcher, "http://nowhere.example/feed", proxy=proxy), get(fetcher, direct)
            )
            bodies.append(tuple(response.body for response in answers))

    assert bodies == [(b"first", b"first"), (b"second", b"second"), (b"first", b"second")]


async def test_https_goes_through_a_proxy_untouched(tmp_path: Path) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("feeds.example").configure_cert(tls)

    async with serving(always(answer(200, "X: real", body=b"x")), tls=tls) as server:

        async def tunnel(line: Line) -> None:
            await line.hear()
            await line.say(b"HTTP/1.1 200 Go\r\nX: from the proxy\r\n\r\n")
            await line.relay(server.port)

        async with (
            serving(tunnel) as proxy,
            fetching({}, ca_file=str(tmp_path / "ca.pem")) as fetcher,
        ):
            url = server.url(host="feeds.example")
            response = await get(fetcher, url, proxy=proxy.url(""))

    assert (response.body, response.headers[0]) == (b"x", ("X", "real"))
    assert proxy.heard[0].method == "CONNECT"
    assert proxy.heard[0].target == f"feeds.example:{server.port}"


async def test_a_proxy_that_will_not_connect_is_no_answer_of_the_server() -> None:
    async with serving(always(answer(403, body=b"no"))) as proxy, fetching() as fetcher:
        response = await get(fetcher, "https://feeds.example/", proxy=proxy.url(""))

    assert (response.error, response.status) == ("connection-failed", None)


async def test_a_private_address_is_refused_behind_a_proxy_too() -> None:
    async with serving(always(answer())) as proxy, fetching() as fetcher:
        response = await get(fetcher, "http://10.0.0.1/", proxy=proxy.url(""))

    assert (response.error, proxy.heard) == ("private-address", [])


async def test_a_proxy_that_cannot_be_reached_is_an_outcome() -> None:
    async with serving(always(answer())) as proxy:
        pass
    async with fetching() as fetcher:
        dead = await get(fetcher, "http://feeds.example/", proxy=proxy.url(""))
        unknown = await get(fetcher, "http://feeds.example/", proxy="http://nowhere.example:3128")

    assert (dead.error, unknown.error) == ("connection-failed", "dns-failure")
