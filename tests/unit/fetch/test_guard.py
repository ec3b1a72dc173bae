"""The egress guard against the vectors, and the rules behind them.

Which addresses are public: the edges of every block.
"""

import json
from collections.abc import Mapping, Sequence
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import pytest

from feedmill.errors import ConfigError
from feedmill.fetch.guard import BAD_PORTS, check_address, check_url, printable_url
from feedmill.fetch.plan import next_hop
from feedmill.model.fetch import Allowed, Hop, Refused

_VECTORS = Path(__file__).parents[2] / "vectors" / "ssrf_urls.json"
_CASES: list[dict[str, Any]] = json.loads(_VECTORS.read_text(encoding="utf-8"))["cases"]
_PUBLIC = "93.184.216.34"
_DENIED = (
    "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "168.63.129.16/32",
    "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24",
    "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15",
    "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
    "::/3", "4000::/2", "8000::/1", "2001::/23", "2001:db8::/32", "2002::/16",
    "2620:4f:8000::/48", "3fff::/20",
)  # fmt: skip


def _gate(url: str, dns: Mapping[str, Sequence[str]]) -> Allowed | Refused:
    """The guard as the fetcher uses it: one lookup, and the whole answer is vetted."""
    verdict = check_url(url)
    if isinstance(verdict, Allowed) and verdict.needs_addresses:
        return check_url(url, dns.get(verdict.host, ()))
    return verdict


def _run(case: dict[str, Any]) -> tuple[Allowed | Refused, int | None]:
    """The verdict on a whole chain, and the hop at which it was refused."""
    dns = case.get("dns") or {name: a[0] for name, a in case.get("dns_sequence", {}).items()}
    url, hops = case["url"], list[Hop]()
    verdict = _gate(url, dns)
    for number, location in enumerate(case.get("redirect_to", ()), start=1):
        step = next_hop(url, 302, location, hops)
        verdict = step if isinstance(step, Refused) else _gate(step.url, dns)
        if isinstance(verdict, Refused):
            return verdict, number
        hops.append(Hop(url=url, status=302, location=location))
        url = verdict.url
    return verdict, None


@pytest.mark.parametrize("case", _CASES, ids=lambda case: f"{case['id']}-{case['why'][:60]}")
def test_the_guard_decides_as_the_vector_says(case: dict[str, Any]) -> None:
    verdict, hop = _run(case)

    if "accept_if" in case:  # every socket of the fetch goes to an address that was vetted
        assert isinstance(verdict, Allowed)
        assert set(verdict.addresses) == {_PUBLIC}
    else:
        assert isinstance(verdict, Allowed) in case.get("accept", [case["allowed"]])
    if case.get("blocked_at_hop") is not None:
        assert hop == case["blocked_at_hop"]


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        pytest.param("https://example.com/a b", "unsafe-character", id="space in the path"),
        pytest.param(" https://example.com/", "unsafe-character", id="leading blank"),
        pytest.param("https://example.com/\n", "unsafe-character", id="trailing newline"),
        pytest.param("https://example.com/\x7f", "unsafe-character", id="delete character"),
        pytest.param("https:\\\\example.com/", "unsafe-character", id="backslashes"),
        pytest.param("https://a@b@example.com/", "malformed-url", id="second at sign"),
        pytest.param("https://exa%6dple.com/", "malformed-url", id="escape in the host"),
        pytest.param("https://u%40x:p@example.com/", "malformed-url", id="escape in the userinfo"),
        pytest.param("https:example.com/", "malformed-url", id="no slashes"),
        pytest.param("https://example.com:65536/", "malformed-url", id="port out of range"),
        pytest.param("https://[v1.fe80]/", "malformed-url", id="IPvFuture"),
        pytest.param("https://ex\ud800ample.com/", "malformed-url", id="lone surrogate"),
        pytest.param("", "scheme", id="empty"),
        pytest.param("data:text/xml,<rss/>", "scheme", id="data URL"),
        pytest.param("https://#", "empty-host", id="only a fragment"),
        pytest.param("https://a..example.com/", "bad-host", id="empty label"),
        pytest.param("https://example.com../", "bad-host", id="two final dots"),
        pytest.param("https://xn--a.example.com/", "bad-host", id="punycode of a control"),
        pytest.param("https://xn--zz--zz.example.com/", "bad-host", id="punycode cut short"),
        pytest.param("https://93.184.216.34./", "non-canonical-ipv4", id="address with final dot"),
        pytest.param("https://u@0x5db8d822/", "non-canonical-ipv4", id="hex after userinfo"),
        pytest.param("https://metadata.google.internal/", "local-name", id="private-use domain"),
        pytest.param("https://x.i2p./", "local-name", id="i2p with final dot"),
        pytest.param("https://wiki/", "dotless-name", id="single label"),
        pytest.param("https://example.com:6379/", "bad-port", id="redis"),
        pytest.param("https://93.184.216.34:25/", "bad-port", id="mail on a literal"),
        pytest.param("https://example.com/" + "a" * 70_000, "too-long", id="seventy kilobytes"),
    ],
)
def test_a_url_that_needs_repair_or_leads_astray_is_refused(url: str, reason: str) -> None:
    verdict = check_url(url)

    assert isinstance(verdict, Refused)
    assert verdict.reason == reason


@pytest.mark.parametrize(
    "port", [80, 443, 591, 3000, 5000, 8000, 8008, 8080, 8081, 8443, 8888, 9000]
)
def test_ports_where_web_servers_live_stay_open(port: int) -> None:
    verdict = check_url(f"http://example.com:{port}/feed", [_PUBLIC])

    assert isinstance(verdict, Allowed)
    assert verdict.port == port


@pytest.mark.parametrize("port", sorted(BAD_PORTS))
def test_no_port_of_another_protocol_is_dialled(port: int) -> None:
    assert check_url(f"http://example.com:{port}/", [_PUBLIC]) == Refused(
        reason="bad-port", detail=str(port)
    )


def test_a_name_is_allowed_only_once_it_is_resolved() -> None:
    unresolved = check_url("HTTPS://Bücher.example.NET:443/Feed")

    assert unresolved == Allowed(
        url="https://xn--bcher-kva.example.net/Feed",
        host="xn--bcher-kva.example.net",
        port=443,
        needs_addresses=True,
    )


def test_one_private_address_among_public_ones_refuses_the_name() -> None:
    verdict = check_url("https://example.com/", [_PUBLIC, "2606:2800:220:1::1", "10.0.0.1"])

    assert verdict == Refused(reason="private-address", detail="10.0.0.1")


def test_a_resolver_that_answers_nonsense_is_not_believed() -> None:
    assert check_url("https://example.com/", ["example.org"]) == Refused(
        reason="bad-address", detail="example.org"
    )


def test_a_literal_is_dialled_where_it_says_and_nowhere_else() -> None:
    same = check_url(f"http://{_PUBLIC}/", [_PUBLIC])
    other = check_url(f"http://{_PUBLIC}/", ["127.0.0.1"])

    assert isinstance(same, Allowed)
    assert same.addresses == (_PUBLIC,)
    assert other == Refused(reason="private-address", detail="127.0.0.1")


def test_credentials_do_not_decide_and_the_url_is_kept_whole() -> None:
    verdict = check_url("https://reader:secret@example.com/feed", [_PUBLIC])

    assert isinstance(verdict, Allowed)
    assert verdict.url == "https://reader:secret@example.com/feed"
    assert verdict.host == "example.com"


class TestOpenedNetworks:
    def test_loopback_is_reached_only_when_the_configuration_opens_it(self) -> None:
        opened = check_url("http://127.0.0.1:8001/", allow_cidrs=["127.0.0.0/8"])
        closed = check_url("http://127.0.0.1:8001/", allow_cidrs=["10.0.0.0/8", "::1/128"])

        assert isinstance(opened, Allowed)
        assert opened.addresses == ("127.0.0.1",)
        assert isinstance(closed, Refused)

    def test_names_and_ports_that_lead_only_into_an_opened_network_are_open(self) -> None:
        networks = ["127.0.0.0/8", "::1"]

        pending = check_url("http://localhost:6379/", allow_cidrs=networks)
        verdict = check_url("http://localhost:6379/", ["127.0.0.1", "::1"], allow_cidrs=networks)

        assert isinstance(pending, Allowed)
        assert pending.needs_addresses
        assert isinstance(verdict, Allowed)

    @pytest.mark.parametrize(
        "addresses",
        [
            pytest.param(["127.0.0.1", _PUBLIC], id="one address lies outside"),
            pytest.param([], id="no address"),
            pytest.param(["nonsense"], id="no address in the answer"),
        ],
    )
    def test_a_local_name_that_leads_elsewhere_stays_closed(self, addresses: list[str]) -> None:
        verdict = check_url("http://localhost/", addresses, allow_cidrs=["127.0.0.0/8"])

        assert verdict == Refused(reason="local-name", detail="localhost")

    def test_an_opened_network_does_not_close_the_internet(self) -> None:
        verdict = check_url("https://example.com/", [_PUBLIC], allow_cidrs=["127.0.0.0/8"])

        assert isinstance(verdict, Allowed)


def test_what_is_shown_of_a_url_holds_no_credentials_and_can_be_encoded() -> None:
    text = printable_url("https://reader:se@cret@example.com/\ud800?" + "x" * 500)

    assert text.startswith("https://example.com/??xxx")
    assert len(text) == 200


def test_text_for_people_has_no_token() -> None:
    text = printable_url("https://example.com/feed?token=hidden&api_key=hidden&tag=news")

    assert text == "https://example.com/feed?token=***&api_key=***&tag=news"


def test_a_verdict_says_in_one_word_whether_the_address_is_allowed() -> None:
    assert check_url("https://example.com/feed", ["93.184.216.34"]).allowed is True
    assert check_url("http://127.0.0.1/").allowed is False


@pytest.mark.parametrize("block", _DENIED)
def test_the_first_and_the_last_address_of_a_special_block_are_refused(block: str) -> None:
    network = ip_network(block)

    first = check_address(str(network[0]))
    last = check_address(str(network[-1]))

    assert first == Refused(reason="private-address", detail=str(network[0]))
    assert last == Refused(reason="private-address", detail=str(network[-1]))


@pytest.mark.parametrize(
    "block",
    # the first and the last two have no public neighbour on one side
    [b for b in _DENIED if "." in b and b not in ("0.0.0.0/8", "224.0.0.0/4", "240.0.0.0/4")],
)
def test_the_neighbours_of_an_ipv4_block_are_public(block: str) -> None:
    network = ip_network(block)

    assert check_address(str(network[0] - 1)) is None
    assert check_address(str(network[-1] + 1)) is None


@pytest.mark.parametrize(
    "address",
    [
        pytest.param("1.0.0.0", id="just above 0/8"),
        pytest.param("223.255.255.255", id="just below multicast"),
        pytest.param("2000::", id="first of the public block"),
        pytest.param("2001:200::", id="just above the protocol assignments"),
        pytest.param("2001:db7:ffff::1", id="just below documentation"),
        pytest.param("2001:db9::1", id="just above documentation"),
        pytest.param("2003::1", id="just above 6to4"),
        pytest.param("3ffe::1", id="just below the new documentation block"),
        pytest.param("3fff:1000::1", id="just above the new documentation block"),
        pytest.param("2620:4f:8001::1", id="just above AS112"),
    ],
)
def test_addresses_beside_the_special_blocks_are_public(address: str) -> None:
    assert check_address(address) is None


@pytest.mark.parametrize(
    "address",
    [
        pytest.param("::ffff:93.184.216.34", id="mapped"),
        pytest.param("::93.184.216.34", id="compatible"),
        pytest.param("::ffff:0:93.184.216.34", id="translated"),
        pytest.param("64:ff9b::93.184.216.34", id="NAT64"),
        pytest.param("64:ff9b:1::1", id="local NAT64"),
        pytest.param("2002:5db8:d822::", id="6to4"),
        pytest.param("2001:0:5db8:d822::", id="Teredo"),
    ],
)
def test_an_ipv4_address_inside_an_ipv6_one_is_refused_even_if_it_is_public(address: str) -> None:
    # Before Python 3.13 a mapped address is spelt in hexadecimal.
    spelt = address if address.startswith("::ffff:93") else str(ip_address(address))
    assert check_address(address) == Refused(reason="private-address", detail=spelt)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param("2606::1%eth0", id="zone id"),
        pytest.param("0127.0.0.1", id="octal"),
        pytest.param("１.1.1.1", id="full-width digit"),
        pytest.param("127.1", id="short"),
    ],
)
def test_what_is_not_plainly_an_address_is_refused(text: str) -> None:
    assert check_address(text) == Refused(reason="bad-address", detail=text)


def test_an_opened_network_opens_its_own_addresses_only() -> None:
    networks = ("127.0.0.1/8", "fd00::/8")  # host bits are ignored

    assert check_address("127.9.9.9", allow_cidrs=networks) is None
    assert check_address("fd12::1", allow_cidrs=networks) is None
    assert check_address("::1", allow_cidrs=networks) is not None
    assert check_address("::ffff:127.0.0.1", allow_cidrs=networks) is not None


def test_a_network_that_is_none_is_reported_with_every_other_mistake() -> None:
    with pytest.raises(ConfigError, match=r"'loopback'.*'10/99'") as caught:
        check_address("127.0.0.1", allow_cidrs=("loopback", "10.0.0.0/8", "10/99"))

    assert len(caught.value.mistakes) == 2
