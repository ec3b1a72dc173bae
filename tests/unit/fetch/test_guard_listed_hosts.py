"""Egress to listed hosts only: exact names, and names below a wildcard."""

import pytest

from feedmill.fetch.guard import is_listed_host


@pytest.mark.parametrize(
    ("host", "listed"),
    [
        ("example.com", True),
        ("EXAMPLE.com.", True),
        ("a.feeds.example", True),
        ("feeds.example", False),
        ("badfeeds.example", False),
        ("www.example.com", False),
    ],
)
def test_a_host_is_listed_by_its_name_or_below_a_wildcard(host: str, listed: bool) -> None:
    assert is_listed_host(host, (" Example.com", "*.feeds.example")) is listed
