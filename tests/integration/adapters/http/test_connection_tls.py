"""Certificates are verified, sessions are resumed, and the opt-out is for one request only."""

import ssl
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import trustme
from tests.support.loopback_fetcher import fetching, get
from tests.support.raw_http_server import (
    Line,
    Script,
    always,
    answer,
    once,
    redirect,
    serving,
)

from feedmill.adapters.clock import SystemClock
from feedmill.adapters.http import connection as connection_module
from feedmill.adapters.http.fetcher import CurlFetcher
from feedmill.config import FetchConfig
from feedmill.errors import ConfigError

GOOD = answer(body=b"private")


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def ca_file(authority: trustme.CA, tmp_path: Path) -> Iterator[str]:
    with authority.cert_pem.tempfile(dir=str(tmp_path)) as path:
        yield path


def _context(leaf: trustme.LeafCert) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    leaf.configure_cert(context)
    return context


async def test_a_certificate_that_fits_is_accepted_and_the_connection_kept(
    authority: trustme.CA, ca_file: str
) -> None:
    tls = _context(authority.issue_cert("feeds.example"))

    async with serving(always(GOOD), tls=tls) as server, fetching(ca_file=ca_file) as fetcher:
        bodies = [(await get(fetcher, server.url(host="feeds.example"))).body for _ in range(3)]

    assert bodies == [b"private"] * 3
    assert server.connections == 1


async def test_a_certificate_for_an_address_is_accepted(
    authority: trustme.CA, ca_file: str
) -> None:
    tls = _context(authority.issue_cert("127.0.0.1"))

    async with serving(always(GOOD), tls=tls) as server, fetching(ca_file=ca_file) as fetcher:
        response = await get(fetcher, server.url())

    assert response.body == b"private"


def _expired(authority: trustme.CA) -> trustme.LeafCert:
    return authority.issue_cert("feeds.example", not_after=datetime(2020, 1, 1, tzinfo=UTC))


def _wrong_host(authority: trustme.CA) -> trustme.LeafCert:
    return authority.issue_cert("elsewhere.example")


def _stranger(_: trustme.CA) -> trustme.LeafCert:
    return trustme.CA().issue_cert("feeds.example")


@pytest.mark.parametrize("issue", [_expired, _wrong_host, _stranger])
async def test_a_certificate_that_does_not_fit_is_refused_before_anything_is_said(
    issue: object, authority: trustme.CA, ca_file: str
) -> None:
    assert callable(issue)
    tls = _context(issue(authority))

    async with serving(always(GOOD), tls=tls) as server, fetching(ca_file=ca_file) as fetcher:
        url = server.url(host="feeds.example")
        response = await get(fetcher, url, headers=(("Authorization", "Basic eDp5"),))

    assert (response.error, response.status) == ("tls-failure", None)
    assert response.detail
    assert server.heard == []


async def test_the_opt_out_holds_for_its_own_request_only(ca_file: str) -> None:
    tls = _context(trustme.CA().issue_cert("elsewhere.example"))

    async with serving(always(GOOD), tls=tls) as server, fetching(ca_file=ca_file) as fetcher:
        url = server.url(host="feeds.example")
        lenient = await get(fetcher, url, verify_tls=False)
        strict = await get(fetcher, url)
        again = await get(fetcher, url, verify_tls=False)

    # Neither the kept connection nor the TLS session of the lenient request serves the strict.
    assert (lenient.body, strict.error, again.body) == (b"private", "tls-failure", b"private")


@pytest.mark.parametrize("newest", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_sessions_of_many_hosts_are_resumed(
    newest: ssl.TLSVersion, authority: trustme.CA, ca_file: str
) -> None:
    hosts = [f"h{n}.example" for n in range(40)]  # more than one cache of libcurl holds
    tls = _context(authority.issue_cert(*hosts))
    tls.maximum_version = newest
    closing = answer(200, "Connection: close", body=b"x")

    table = {host: [("127.0.0.1",)] for host in hosts}
    async with (
        serving(once(closing), tls=tls) as server,
        fetching(table, ca_file=ca_file) as fetcher,
    ):
        for host in (*hosts, *hosts):
            assert (await get(fetcher, server.url(host=host))).body == b"x"

    assert server.resumed == [False] * 40 + [True] * 40


async def test_a_redirect_from_https_to_http_is_refused(
    authority: trustme.CA, ca_file: str
) -> None:
    tls = _context(authority.issue_cert("feeds.example"))

    async with serving(always(GOOD)) as plain:
        down = redirect(plain.url(host="feeds.example"))
        async with serving(always(down), tls=tls) as server:
            async with fetching(ca_file=ca_file) as fetcher:
                refused = await get(fetcher, server.url(host="feeds.example"))
            async with fetching(ca_file=ca_file, allow_downgrade=True) as fetcher:
                followed = await get(fetcher, server.url(host="feeds.example"))

    assert (refused.error, followed.body) == ("downgrade", b"private")


async def _speaks_plainly(line: Line) -> None:
    await line.say(b"HTTP/1.1 400 This is no TLS\r\n\r\n")
    await line.hold()


async def _never_shakes_hands(line: Line) -> None:
    await line.hold()


@pytest.mark.parametrize(
    ("script", "limit_ms", "reason"),
    [(_speaks_plainly, 10_000, "tls-failure"), (_never_shakes_hands, 500, "timeout-connect")],
)
async def test_a_port_without_tls_has_a_reason(script: Script, limit_ms: int, reason: str) -> None:
    async with serving(script) as server, fetching(connect_timeout_ms=limit_ms) as fetcher:
        response = await get(fetcher, server.url().replace("http:", "https:"))

    assert response.error == reason
    assert server.connections == 1


async def test_an_address_that_hangs_leaves_time_for_the_next_one(
    authority: trustme.CA, ca_file: str
) -> None:
    tls = _context(authority.issue_cert("feeds.example"))
    table = {"feeds.example": [("127.0.0.2", "127.0.0.1")]}

    async with (
        serving(always(GOOD), tls=tls) as good,
        serving(_never_shakes_hands, host="127.0.0.2", port=good.port) as hanging,
        fetching(table, ca_file=ca_file, connect_timeout_ms=10_000) as fetcher,
    ):
        response = await get(fetcher, good.url(host="feeds.example"))

    assert (response.body, hanging.connections) == (b"private", 1)


def test_a_trust_store_that_is_not_there_is_a_mistake_of_the_settings() -> None:
    with pytest.raises(ConfigError, match="ca_file"):
        CurlFetcher(FetchConfig(ca_file="nowhere.pem"), SystemClock())


def test_a_machine_without_a_trust_store_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ca_file: str
) -> None:
    nothing = tmp_path / "nothing.pem"
    paths = ssl.get_default_verify_paths()._replace(cafile=str(nothing))
    monkeypatch.setattr(ssl, "get_default_verify_paths", lambda: paths)
    monkeypatch.setattr(connection_module, "_KNOWN_PLACES", (str(nothing), ca_file))
    assert connection_module.trust_store(None) == ca_file

    monkeypatch.setattr(connection_module, "_KNOWN_PLACES", (str(nothing),))
    with pytest.raises(ConfigError, match="install ca-certificates"):
        connection_module.trust_store(None)
