"""Parses the address of a message bus: kind, hosts, credentials and options.

    nats://h1:4222,h2:4222   tls://…       redis://h:6379/0   rediss://…   valkey://…   valkeys://…
    kafka://h1:9092,h2:9092?security.protocol=SASL_SSL&sasl.mechanism=SCRAM-SHA-512

A URL names one host and these name several, so no URL parser reads them. What stands before the
@ is a secret: nothing here repeats an address.
"""

import os
from typing import Final, Literal, NoReturn
from urllib.parse import unquote

from feedmill.config import BusConfig
from feedmill.errors import ConfigError
from feedmill.model.base import Value

BusKind = Literal["nats", "redis", "kafka"]

_KINDS: Final[dict[str, tuple[BusKind, int]]] = {
    "nats": ("nats", 4222),
    "tls": ("nats", 4222),
    "redis": ("redis", 6379),
    "rediss": ("redis", 6379),
    "valkey": ("redis", 6379),
    "valkeys": ("redis", 6379),
    "kafka": ("kafka", 9092),
}
_ENCRYPTED: Final = frozenset({"tls", "rediss", "valkeys"})


class BusAddress(Value):
    """An address that was understood."""

    kind: BusKind
    hosts: tuple[tuple[str, int], ...]
    encrypted: bool = False
    username: str | None = None
    password: str | None = None
    path: str = ""
    options: tuple[tuple[str, str], ...] = ()

    @property
    def shown(self) -> str:
        """The hosts, for messages: without user name and password."""
        return ",".join(f"{host}:{port}" for host, port in self.hosts)


def parse_bus_address(url: str | None) -> BusAddress:
    """The address in its parts; ConfigError says what is wrong with it, and never shows it."""
    if not url:
        _refuse("there is no bus to relay to; set url under [bus], or FEEDMILL_BUS_URL")
    scheme, found, rest = url.partition("://")
    if not found or scheme.lower() not in _KINDS:
        _refuse(f"[bus] url must begin with one of: {', '.join(f'{one}://' for one in _KINDS)}")
    kind, port = _KINDS[scheme.lower()]
    rest, _, query = rest.partition("?")
    authority, _, path = rest.partition("/")
    who, _, where = authority.rpartition("@")
    username, has_password, password = who.partition(":")
    return BusAddress(
        kind=kind,
        hosts=tuple(_host(one, port) for one in where.split(",")),
        encrypted=scheme.lower() in _ENCRYPTED,
        username=unquote(username) if username else None,
        password=unquote(password) if has_password else None,
        path=unquote(path),
        options=tuple(_option(one) for one in query.split("&") if one),
    )


def check_bus_files(config: BusConfig) -> None:
    """ConfigError when a file that the settings name cannot be read: no connection would ever be accepted."""
    named = {"creds_file": config.creds_file, "ca_file": config.ca_file}
    mistakes = [
        f"[bus] {field}: {path} cannot be read; name a file that this user may read"
        for field, path in named.items()
        if path is not None and not os.access(path, os.R_OK)
    ]
    if mistakes:
        raise ConfigError(mistakes)


def _host(text: str, port: int) -> tuple[str, int]:
    name, colon, number = text.strip().rpartition(":")
    if not colon or number.endswith("]"):  # [::1] without a port
        name, number = text.strip(), str(port)
    if not name or not (number.isascii() and number.isdigit() and 0 < int(number) < 65_536):
        _refuse("[bus] url has a host without a name or with a bad port")
    return name, int(number)


def _option(text: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    return unquote(name), unquote(value)


def _refuse(mistake: str) -> NoReturn:
    raise ConfigError([mistake])
