"""A proxy is read once, strictly, and its credentials are in no message."""

import pytest

from feedmill.errors import UsageError
from feedmill.fetch.proxy import read_proxy


@pytest.mark.parametrize(
    ("text", "url", "host", "port"),
    [
        ("http://proxy.example:3128", "http://proxy.example:3128", "proxy.example", 3128),
        ("http://proxy.example", "http://proxy.example:80", "proxy.example", 80),
        ("https://proxy.example/", "https://proxy.example:443", "proxy.example", 443),
        ("http://me:s%40@proxy.example", "http://me:s%40@proxy.example:80", "proxy.example", 80),
        ("http://me@proxy.example", "http://me@proxy.example:80", "proxy.example", 80),
        ("http://[2001:db8::1]:8080", "http://[2001:db8::1]:8080", "2001:db8::1", 8080),
        # The proxy resolves names, never libcurl.
        ("socks5://proxy.example", "socks5h://proxy.example:1080", "proxy.example", 1080),
        ("socks4://proxy.example:9", "socks4a://proxy.example:9", "proxy.example", 9),
        ("socks5h://127.0.0.1:9050", "socks5h://127.0.0.1:9050", "127.0.0.1", 9050),
    ],
)
def test_a_proxy_that_can_be_used(text: str, url: str, host: str, port: int) -> None:
    proxy = read_proxy(text)

    assert (proxy.url, proxy.host, proxy.port) == (url, host, port)


@pytest.mark.parametrize("text", ["", "proxy:3128", "ftp://me:secret@p.example", "socks5:///x"])
def test_a_proxy_that_cannot_be_used(text: str) -> None:
    with pytest.raises(UsageError, match="proxy") as caught:
        read_proxy(text)

    assert "secret" not in str(caught.value)
