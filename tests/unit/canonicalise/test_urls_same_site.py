"""Which addresses belong to one publisher."""

import pytest

from feedmill.canonicalise.urls import is_same_site

FEED = "https://paper.example/feed"


@pytest.mark.parametrize(
    "url",
    ["http://paper.example/", "https://www.paper.example/x?y", "https://me@paper.example/#z"],
)
def test_a_site_is_its_host_with_and_without_www_by_either_protocol(url: str) -> None:
    assert is_same_site(FEED, url)
    assert is_same_site(url, FEED)


@pytest.mark.parametrize(
    "url",
    [
        "https://other.example/feed",
        "https://feeds.paper.example/feed",
        "https://paper.example.evil.example/feed",
        "https://paper.example:8443/feed",
        "https://www.example/feed",
        "https://evil.example/https://paper.example/feed",
        "https://paper.example@evil.example/feed",
    ],
)
def test_another_host_or_port_is_another_site(url: str) -> None:
    assert not is_same_site(FEED, url)
