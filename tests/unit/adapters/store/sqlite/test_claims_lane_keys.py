"""Which feeds share a lane: those of one host, whatever the scheme."""

import pytest

from feedmill.adapters.store.tables.lanes import SHARDS, shard_of
from feedmill.canonicalise.urls import host_key_of


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("https://blog.example/feed", "blog.example"),
        ("http://blog.example/other", "blog.example"),  # both schemes are one server
        ("https://BLOG.example:443/", "blog.example"),
        ("https://blog.example:8443/", "blog.example:8443"),
        ("http://user:secret@blog.example/", "blog.example"),  # never a credential
        ("http://[2001:db8::1]:8080/", "[2001:db8::1]:8080"),
        ("https://bücher.example/", "xn--bcher-kva.example"),
        ("file:feed.xml", "file:feed.xml"),  # ingested by hand: a lane of its own
    ],
)
def test_a_lane_is_a_host(url: str, key: str) -> None:
    assert host_key_of(url) == key


def test_a_shard_never_changes() -> None:
    assert shard_of("blog.example") == 786
    assert {0 <= shard_of(f"host{n}.example") < SHARDS for n in range(500)} == {True}
