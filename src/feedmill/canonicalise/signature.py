"""What two copies of one feed have in common, whatever address they were fetched from."""

import re
from collections.abc import Iterable

from feedmill.canonicalise.urls import http_url, split

# The host runs up to a slash or a quote (an escaped one, inside JSON, too). Possessive, so that a
# megabyte without either is read once.
_ABSOLUTE = re.compile(r'https?://([^\s"\'<>\\/?#}@]++)(?:/|(?=\\?"))', re.IGNORECASE)
_TRAILING_SLASH = re.compile(r'("(?:https?://|/)[^"]+)/([?"])')


def neutralise_urls(text: str, urls: Iterable[str]) -> str:
    """The JSON text of a feed with the feed's own URLs made root-relative.

    A feed fetched by http, without www or with a slash more often links to itself in that same
    spelling; that makes it no other feed. Hosts are compared without `www.`, ports count; one
    trailing slash is dropped from every quoted URL.
    """
    hosts = {host for url in urls if (host := _own_host(url)) is not None}
    if hosts:
        text = _ABSOLUTE.sub(lambda match: "/" if _is_own(match, hosts) else match[0], text)
    return _TRAILING_SLASH.sub(r"\1\2", text)


def _own_host(url: str) -> str | None:
    href = http_url(url)
    if href is None:
        return None
    parts = split(href)
    host = parts.host.removeprefix("www.")
    return f"{host}:{parts.port}" if parts.port else host


def _is_own(match: re.Match[str], hosts: set[str]) -> bool:
    host = match[1].lower().removeprefix("www.")
    if host in hosts:
        return True
    if host.isascii() and ":" not in host:
        return False
    return _own_host(match[0]) in hosts  # punycode or a default port spelt out
