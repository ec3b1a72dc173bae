"""Which IP addresses belong to the public internet (D27).

`ipaddress.is_global` is no guard: on Python 3.11 it calls NAT64, 6to4, site-local and multicast
addresses global. IPv4 is a deny list of the IANA special-purpose registry; IPv6 is the one block
that IANA hands out, 2000::/3, less its special parts. Everything that carries an IPv4 address
inside (mapped, compatible, translated, NAT64) lies outside that block.
"""

from collections.abc import Sequence
from functools import lru_cache
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)

from feedmill.errors import ConfigError
from feedmill.model.fetch import Refused

IpAddress = IPv4Address | IPv6Address
IpNetwork = IPv4Network | IPv6Network

_IPV4_DENIED = tuple(
    IPv4Network(block)
    for block in (
        "0.0.0.0/8",  # this network (RFC 791)
        "10.0.0.0/8",  # private (RFC 1918)
        "100.64.0.0/10",  # carrier-grade NAT (RFC 6598); Alibaba's metadata service
        "127.0.0.0/8",  # loopback
        "168.63.129.16/32",  # Azure's host agent: routable on paper, local on Azure
        "169.254.0.0/16",  # link-local; the metadata services
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocol assignments (RFC 6890)
        "192.0.2.0/24",  # TEST-NET-1
        # AS112 and AMT are anycast: the nearest host answers, perhaps on our own network,
        # and no publisher lives there. Refusing costs nothing.
        "192.31.196.0/24",
        "192.52.193.0/24",
        "192.88.99.0/24",  # 6to4 relay (RFC 7526)
        "192.168.0.0/16",  # private
        "192.175.48.0/24",  # AS112, direct delegation
        "198.18.0.0/15",  # benchmarking (RFC 2544)
        "198.51.100.0/24",  # TEST-NET-2
        "203.0.113.0/24",  # TEST-NET-3
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and the broadcast address
    )
)

_IPV6_PUBLIC = IPv6Network("2000::/3")

_IPV6_DENIED = tuple(
    IPv6Network(block)
    for block in (
        "2001::/23",  # protocol assignments: Teredo, ORCHID, benchmarking, AMT, AS112
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4 (RFC 3056): an IPv4 address in disguise
        "2620:4f:8000::/48",  # AS112, direct delegation
        "3fff::/20",  # documentation (RFC 9637)
    )
)


def check_address(address: str, *, allow_cidrs: Sequence[str] = ()) -> Refused | None:
    """Nothing when the address may be dialled, else why not.

    Made for the address that is really dialled, not only for what a resolver said before.
    """
    read = parse_ip_address(address)
    if read is None:
        return Refused(reason="bad-address", detail=address[:100])
    if is_in_allowed_network(read, allow_cidrs) or is_public(read):
        return None
    return Refused(reason="private-address", detail=str(read))


def parse_ip_address(text: str) -> IpAddress | None:
    """The address in the one spelling that means the same to everybody; no zone ids."""
    try:
        return None if "%" in text else ip_address(text)
    except ValueError:
        return None


def is_public(address: IpAddress) -> bool:
    """Whether the address is one that publishers have."""
    if isinstance(address, IPv4Address):
        return not any(address in block for block in _IPV4_DENIED)
    return address in _IPV6_PUBLIC and not any(address in block for block in _IPV6_DENIED)


def is_in_allowed_network(address: IpAddress, allow_cidrs: Sequence[str]) -> bool:
    """Whether the configuration opened a network that holds the address."""
    return any(
        address.version == network.version and address in network
        for network in _networks(tuple(allow_cidrs))
    )


@lru_cache(maxsize=64)
def _networks(cidrs: tuple[str, ...]) -> tuple[IpNetwork, ...]:
    networks: list[IpNetwork] = []
    mistakes: list[str] = []
    for cidr in cidrs:
        try:
            networks.append(ip_network(cidr, strict=False))
        except ValueError:
            mistakes.append(f"allow_cidrs: {cidr!r} is not a network; expected e.g. 127.0.0.0/8")
    if mistakes:
        raise ConfigError(mistakes)
    return tuple(networks)
