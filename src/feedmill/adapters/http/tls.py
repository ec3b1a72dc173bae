"""TLS: the trust store, and session caches that make the next handshake cheap."""

import ssl
from pathlib import Path
from zlib import crc32

import pycurl

from feedmill.errors import ConfigError

# The path that is compiled into pycurl's wheels exists on one family of systems only.
_KNOWN_PLACES = (
    "/etc/ssl/certs/ca-certificates.crt",  # Debian, Ubuntu, Arch, Gentoo
    "/etc/pki/tls/certs/ca-bundle.crt",  # Fedora, RHEL
    "/etc/ssl/ca-bundle.pem",  # openSUSE
    "/etc/ssl/cert.pem",  # Alpine, macOS, the BSDs
)
_HOSTS_PER_SHARE = 25  # what libcurl 8 keeps in one session cache; it cannot be configured


def trust_store(ca_file: str | None) -> str:
    """The PEM file with the authorities that we trust."""
    if ca_file is not None:
        if not Path(ca_file).is_file():
            raise ConfigError([f"fetch.ca_file: {ca_file!r} is no file; expected PEM certificates"])
        return ca_file
    for place in (ssl.get_default_verify_paths().cafile, *_KNOWN_PLACES):
        if place and Path(place).is_file():
            return place
    problem = "no trust store was found on this machine"
    raise ConfigError([f"fetch.ca_file: {problem}; install ca-certificates or name a PEM file"])


class SessionCaches:
    """TLS sessions of many hosts, spread over as many of libcurl's small caches as it takes."""

    def __init__(self, hosts: int) -> None:
        self._shares = [_new_share() for _ in range(max(1, hosts // _HOSTS_PER_SHARE))]

    def of(self, host: str) -> pycurl.CurlShare:
        """The cache that this host's sessions are in, always the same one."""
        return self._shares[crc32(host.encode()) % len(self._shares)]

    def close(self) -> None:
        for share in self._shares:
            share.close()


def _new_share() -> pycurl.CurlShare:
    share = pycurl.CurlShare()
    share.setopt(pycurl.SH_SHARE, pycurl.LOCK_DATA_SSL_SESSION)
    return share
