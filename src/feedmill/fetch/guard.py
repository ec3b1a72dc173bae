"""The egress guard: whether a URL and its addresses may be dialled, for every request (D27).

It refuses rather than repairs. Two parsers that disagree about a URL are how a check sees one
host and a connection another, so there is one parser (WHATWG, D2), the caller uses the URL that
comes out of here, and spellings that need repair are refused.

Which IP addresses belong to the public internet (D27).

`ipaddress.is_global` is no guard: on Python 3.11 it calls NAT64, 6to4, site-local and multicast
addresses global. IPv4 is a deny list of the IANA special-purpose registry; IPv6 is the one block
that IANA hands out, 2000::/3, less its special parts. Everything that carries an IPv4 address
inside (mapped, compatible, translated, NAT64) lies outside that block.
"""

import re
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

import ada_url

from feedmill.errors import ConfigError
from feedmill.model.addresses import mask_address
from feedmill.model.base import Value
from feedmill.model.fetch import Allowed, RefusalReason, Refused

MAX_URL_CHARS = 65_536
_UNSAFE = re.compile(r"[\x00-\x20\x7f\\]")
_SHAPE = re.compile(r"(https?)://([^/?#]*)", re.IGNORECASE | re.ASCII)
_WEB_SCHEME = re.compile(r"https?:", re.IGNORECASE | re.ASCII)
_USERINFO = re.compile(r"//[^/?#]*@")
_DEFAULT_PORTS = {"http:": 80, "https:": 443}

_LOCAL_SUFFIXES = (
    "localhost",  # RFC 6761
    "local",  # mDNS, RFC 6762
    "home.arpa",  # RFC 8375
    "onion",  # RFC 7686: a lookup would betray the reader
    "i2p",
    "alt",  # RFC 9476: names outside the DNS
    "internal",  # reserved by ICANN for private use; cloud metadata lives here
    "intranet", "private", "corp", "home", "lan",  # RFC 6762 appendix G: in use inside networks
)  # fmt: skip
# Ports on which something other than a web server listens are never dialled: an HTTP request can be
# made to read as commands of another protocol.
_FETCH_BAD_PORTS = (  # the bad ports of the WHATWG Fetch standard
    0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101,
    102, 103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427,
    465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990,
    993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667,
    6668, 6669, 6679, 6697, 10080,
)  # fmt: skip
_DATA_AND_CONTROL_PORTS = (  # no publisher serves feeds there, and an open one is a prize
    445,  # SMB
    1433, 1434, 1521, 3306, 5432,  # SQL Server, Oracle, MySQL, PostgreSQL
    2181, 2379, 2380,  # ZooKeeper, etcd
    2375, 2376, 10250, 10255,  # Docker, kubelet
    3389, 5900, 5985, 5986,  # remote desktops, WinRM
    5672, 9092,  # AMQP, Kafka
    5984, 6379, 6380, 9042, 9200, 9300, 11211, 27017, 27018, 27019,  # CouchDB, Redis, Cassandra,
    # Elasticsearch, memcached, MongoDB
)  # fmt: skip
BAD_PORTS = frozenset(_FETCH_BAD_PORTS + _DATA_AND_CONTROL_PORTS)
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


class _Target(Value):
    """A URL that parsed, and the parts that the verdict rests on."""

    url: str
    host: str  # without a final dot and without brackets
    port: int
    literal: str | None


def check_url(
    url: str, addresses: Sequence[str] | None = None, *, allow_cidrs: Sequence[str] = ()
) -> Allowed | Refused:
    """Whether the URL may be fetched from the addresses that its host resolved to.

    `addresses` is the resolver's whole answer: one private address refuses all, because the
    next connection could pick it. None means "not resolved yet": the answer is about the URL
    alone and says whether addresses are needed. Networks in `allow_cidrs` are open, and with
    them the names and ports that lead only there.
    """
    target = _read(url)
    if isinstance(target, Refused):
        return target
    closed = _closed(target)
    known = _known_addresses(target, addresses)
    if known is None:
        if closed and not allow_cidrs:
            return closed
        return _allowed(target, (), needs_addresses=True)
    return _with_addresses(target, known, closed, allow_cidrs)


def is_listed_host(host: str, only_hosts: Sequence[str]) -> bool:
    """Whether the host is one of the list; `*.example.com` stands for all names below it."""
    name = host.rstrip(".").lower()
    return any(
        name == listed or (listed.startswith("*.") and name.endswith(listed[1:]))
        for listed in (one.strip().rstrip(".").lower() for one in only_hosts)
    )


def printable_url(url: str) -> str:
    """The beginning of a URL for a person to read: no credentials, no tokens, no lone surrogates."""
    shown = mask_address(_USERINFO.sub("//", url[:MAX_URL_CHARS]))
    return shown.encode("utf-8", "replace").decode()[:200]


def _read(url: str) -> _Target | Refused:
    if (fault := _spelling_fault(url)) is not None:
        return fault
    try:
        parsed = ada_url.URL(url)
    except ValueError:  # also a lone surrogate, which no encoding takes
        return _refused("malformed-url", url)
    raw_host = _raw_host(url)
    host = parsed.hostname.removeprefix("[").removesuffix("]").removesuffix(".")
    literal = host if parsed.host_type != ada_url.HostType.DEFAULT else None
    if parsed.host_type == ada_url.HostType.IPV4 and raw_host != host:
        return _refused("non-canonical-ipv4", raw_host)
    if literal is None and not _is_dns_name(host):
        return _refused("bad-host", host)
    port = int(parsed.port) if parsed.port else _DEFAULT_PORTS[parsed.protocol]
    return _Target(url=parsed.href, host=host, port=port, literal=literal)


def _spelling_fault(url: str) -> Refused | None:
    if len(url) > MAX_URL_CHARS:
        return _refused("too-long", f"{len(url)} characters")
    if _UNSAFE.search(url):
        return _refused("unsafe-character", url)
    shape = _SHAPE.match(url)
    if shape is None:
        return _refused("malformed-url" if _WEB_SCHEME.match(url) else "scheme", url)
    authority = shape[2]
    if not authority:
        return _refused("empty-host", url)
    # Escapes and a second @ are read differently by different parsers, and hide the host.
    if "%" in authority or authority.count("@") > 1:
        return _refused("malformed-url", url)
    return None


def _raw_host(url: str) -> str:
    """The host as it was written, for comparison with the canonical one."""
    authority = url.split("/", 3)[2].partition("?")[0].partition("#")[0]
    return authority.rpartition("@")[2].partition(":")[0]


def _is_dns_name(host: str) -> bool:
    # RFC 1035 2.3.4: labels of 1 to 63 octets, 253 octets in all.
    if len(host) > 253 or not all(0 < len(label) <= 63 for label in host.split(".")):
        return False
    # The parser lets all-ASCII labels pass; one that claims to be IDNA has to decode as such.
    readable = ada_url.idna_to_unicode(host) if "xn--" in host else host
    return not any(label.startswith("xn--") for label in readable.split("."))


def _closed(target: _Target) -> Refused | None:
    """Why the name or the port is out of bounds, whatever the address."""
    if target.literal is None:
        if f".{target.host}".endswith(tuple(f".{suffix}" for suffix in _LOCAL_SUFFIXES)):
            return _refused("local-name", target.host)
        # A dotless name means whatever the resolver's search list makes of it.
        if "." not in target.host:
            return _refused("dotless-name", target.host)
    if target.port in BAD_PORTS:
        return _refused("bad-port", str(target.port))
    return None


def _known_addresses(target: _Target, addresses: Sequence[str] | None) -> tuple[str, ...] | None:
    if target.literal is not None:
        return (target.literal, *(a for a in addresses or () if a != target.literal))
    return None if addresses is None else tuple(addresses)


def _with_addresses(
    target: _Target, known: tuple[str, ...], closed: Refused | None, allow_cidrs: Sequence[str]
) -> Allowed | Refused:
    if closed and not _all_opened(known, allow_cidrs):
        return closed
    if not known:
        return _refused("unresolved", target.host)
    for address in known:
        if (refusal := check_address(address, allow_cidrs=allow_cidrs)) is not None:
            return refusal
    return _allowed(target, known)


def _all_opened(known: tuple[str, ...], allow_cidrs: Sequence[str]) -> bool:
    read = [parse_ip_address(address) for address in known]
    return bool(read) and all(a is not None and is_in_allowed_network(a, allow_cidrs) for a in read)


def _allowed(
    target: _Target, addresses: tuple[str, ...], *, needs_addresses: bool = False
) -> Allowed:
    return Allowed(
        url=target.url,
        host=target.host,
        port=target.port,
        addresses=addresses,
        needs_addresses=needs_addresses,
    )


def _refused(reason: RefusalReason, detail: str) -> Refused:
    return Refused(reason=reason, detail=printable_url(detail))


def check_address(address: str, *, allow_cidrs: Sequence[str] = ()) -> Refused | None:
    """Nothing when the address may be dialled, else why not.

    Made for the address that is really dialled, not only for what a resolver said before.
    """
    read = parse_ip_address(address)
    if read is None:
        return Refused(reason="bad-address", detail=address[:100])
    if is_in_allowed_network(read, allow_cidrs) or is_public(read):
        return None
    mapped = read.ipv4_mapped if isinstance(read, IPv6Address) else None
    # Python 3.13 spells it so, and earlier ones ::ffff:a00:1.
    return Refused(reason="private-address", detail=f"::ffff:{mapped}" if mapped else str(read))


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
