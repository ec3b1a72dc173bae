"""What a feed sends of its own goes to its own host, and to nobody else."""

import pytest

from feedmill.config import FetchConfig
from feedmill.fetch.guard import check_url
from feedmill.fetch.plan import is_trusted, plan_feed_fetch, without_credentials
from feedmill.model.feed import FeedOverrides
from feedmill.model.fetch import Refused

OWN = FeedOverrides(
    username="reader", headers=(("X-Key", "hush"),), user_agent="Paper/1", verify_tls=False
)


def test_headers_name_and_credentials_are_sent() -> None:
    sent = dict(plan_feed_fetch("https://a.example/feed", OWN, FetchConfig()).headers)

    assert sent["X-Key"] == "hush"
    assert sent["User-Agent"] == "Paper/1"
    assert sent["Authorization"].startswith("Basic ")


def test_a_stranger_sees_the_name_and_no_secret() -> None:
    own = without_credentials(OWN)
    sent = dict(plan_feed_fetch("https://b.example/feed", own, FetchConfig()).headers)

    assert own.verify_tls
    assert sent["User-Agent"] == "Paper/1"
    assert sent.keys().isdisjoint({"X-Key", "Authorization"})


@pytest.mark.parametrize(
    ("url", "given", "expected"),
    [
        ("https://a.example/other", "https://a.example/feed", True),
        ("https://a.example/feed", "http://a.example/feed", True),
        ("http://a.example/feed", "https://a.example/feed", False),
        ("https://a.example:8443/feed", "https://a.example/feed", False),
        ("https://b.example/feed", "https://a.example/feed", False),
        ("https://a.example/feed", "", False),
    ],
)
def test_an_address_is_trusted_on_the_same_host_and_not_below_https(
    url: str, given: str, *, expected: bool
) -> None:
    assert is_trusted(url, given) is expected


@pytest.mark.parametrize("url", ["http://010.0.0.1/", "http://0x8.1/#x", "http://a:b@010.0.0.1/"])
def test_an_ipv4_address_in_disguise_is_left_for_the_guard_to_refuse(url: str) -> None:
    plan = plan_feed_fetch(url, FeedOverrides(), FetchConfig())

    assert plan.url == url
    assert isinstance(check_url(plan.url), Refused)
