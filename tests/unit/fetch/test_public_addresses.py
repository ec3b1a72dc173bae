"""Which addresses are public: the edges of every block."""

from ipaddress import ip_address, ip_network

import pytest

from feedmill.errors import ConfigError
from feedmill.fetch.public_addresses import check_address
from feedmill.model.fetch import Refused

_DENIED = (
    "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "168.63.129.16/32",
    "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24",
    "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15",
    "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
    "::/3", "4000::/2", "8000::/1", "2001::/23", "2001:db8::/32", "2002::/16",
    "2620:4f:8000::/48", "3fff::/20",
)  # fmt: skip


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
    assert check_address(address) == Refused(
        reason="private-address", detail=str(ip_address(address))
    )


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
