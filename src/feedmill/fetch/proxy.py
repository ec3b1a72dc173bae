"""Reads the address of a proxy, strictly and once."""

import ada_url

from feedmill.errors import UsageError
from feedmill.model.base import Value

_DEFAULT_PORTS = {"http": 80, "https": 443, "socks4a": 1080, "socks5h": 1080}

_RESOLVING = {"socks": "socks5h", "socks5": "socks5h", "socks4": "socks4a"}


class Proxy(Value):
    """A proxy in front of a host."""

    url: str  # as libcurl takes it, with an explicit port and perhaps credentials
    host: str
    port: int


def read_proxy(text: str) -> Proxy:
    """The proxy that was configured; UsageError, without its credentials, when it is none."""
    try:
        parsed = ada_url.URL(text)
    except ValueError:
        raise _unusable() from None
    scheme = str(parsed.protocol).removesuffix(":")
    scheme = _RESOLVING.get(scheme, scheme)
    if scheme not in _DEFAULT_PORTS or not parsed.hostname:
        raise _unusable()
    port = int(parsed.port) if parsed.port else _DEFAULT_PORTS[scheme]
    secret = f":{parsed.password}" if parsed.password else ""
    login = f"{parsed.username}{secret}@" if parsed.username else ""
    return Proxy(
        url=f"{scheme}://{login}{parsed.hostname}:{port}",
        host=str(parsed.hostname).strip("[]"),
        port=port,
    )


def _unusable() -> UsageError:
    return UsageError("invalid proxy URL; expected e.g. http://proxy.example:3128")
