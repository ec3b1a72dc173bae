"""Redirects: where they may lead and when they are a move."""

import pytest

from feedmill.fetch.redirects import next_hop, permanent_target, resolve_location, same_origin
from feedmill.model.fetch import Follow, Hop, Refused

_HERE = "https://example.com/a/feed"


def _hops(*statuses: int) -> tuple[Hop, ...]:
    return tuple(
        Hop(url=f"https://example.com/{n}", status=status, location=f"/{n + 1}")
        for n, status in enumerate(statuses)
    )


@pytest.mark.parametrize(
    ("location", "url", "stays"),
    [
        pytest.param("/b", "https://example.com/b", True, id="absolute path"),
        pytest.param("b?c=1", "https://example.com/a/b?c=1", True, id="relative path"),
        pytest.param("//example.com/b", "https://example.com/b", True, id="scheme-relative"),
        pytest.param("https://www.example.com/", "https://www.example.com/", False, id="host"),
        pytest.param("https://example.com:8443/", "https://example.com:8443/", False, id="port"),
        pytest.param(" /b\t", "https://example.com/b", True, id="white space around it"),
        pytest.param("/my feed", "https://example.com/my%20feed", True, id="space in the path"),
        pytest.param("/caf\xc3\xa9", "https://example.com/caf%C3%A9", True, id="UTF-8 octets"),
        pytest.param("/caf\xe9", "https://example.com/caf%C3%A9", True, id="Latin-1 octets"),
        pytest.param("https://u:p@example.com/b", "https://example.com/b", True, id="credentials"),
    ],
)
def test_a_location_is_resolved_against_the_current_url(
    location: str, url: str, stays: bool
) -> None:
    step = next_hop(_HERE, 302, location)

    assert step == Follow(url=url)
    assert same_origin(_HERE, url) is stays


@pytest.mark.parametrize(
    ("status", "location", "reason"),
    [
        pytest.param(200, "/b", "not-a-redirect", id="success"),
        pytest.param(300, "/b", "not-a-redirect", id="a choice for people"),
        pytest.param(304, "/b", "not-a-redirect", id="not modified"),
        pytest.param(302, None, "no-location", id="no Location"),
        pytest.param(302, "  ", "no-location", id="blank Location"),
        pytest.param(302, "https://[bad/", "bad-location", id="unreadable"),
        pytest.param(302, "/b\r\nX: y", "bad-location", id="line end"),
        pytest.param(302, "\\\\example.net", "bad-location", id="backslashes"),
        pytest.param(302, "file:///etc/passwd", "scheme", id="file"),
        pytest.param(302, "data:,x", "scheme", id="data"),
        pytest.param(302, "https://10.0.0.1/", "private-address", id="private network"),
        pytest.param(302, "http://example.com/a/feed", "downgrade", id="https to http"),
        pytest.param(302, "feed#top", "redirect-loop", id="only the fragment differs"),
    ],
)
def test_a_redirect_that_may_not_be_followed_says_why(
    status: int, location: str | None, reason: str
) -> None:
    step = next_hop(_HERE, status, location)

    assert isinstance(step, Refused)
    assert step.reason == reason


def test_a_loop_through_another_page_is_seen() -> None:
    hops = (Hop(url="https://example.com/1", status=302, location="/2"),)

    step = next_hop("https://example.com/2", 302, "https://EXAMPLE.com:443/1", hops)

    assert step == Refused(reason="redirect-loop", detail="https://example.com/1")


def test_the_fifth_redirect_is_followed_and_the_sixth_is_not() -> None:
    fifth = next_hop("https://example.com/4", 302, "/5", _hops(302, 302, 302, 302))
    sixth = next_hop("https://example.com/5", 302, "/6", _hops(302, 302, 302, 302, 302))

    assert isinstance(fifth, Follow)
    assert sixth == Refused(reason="too-many-redirects", detail="5")


def test_a_downgrade_is_followed_where_the_configuration_allows_it() -> None:
    step = next_hop(_HERE, 301, "http://example.com/feed", allow_downgrade=True)

    assert step == Follow(url="http://example.com/feed")


def test_an_upgrade_to_https_is_followed() -> None:
    step = next_hop("http://example.com/feed", 308, "https://example.com/feed")

    assert step == Follow(url="https://example.com/feed")


def test_a_redirect_into_an_opened_network_is_followed() -> None:
    step = next_hop(
        "http://127.0.0.1:8001/", 302, "http://127.0.0.1:8002/", allow_cidrs=["127.0.0.0/8"]
    )

    assert isinstance(step, Follow)


def test_the_fragment_of_the_old_url_is_inherited_unless_the_new_one_has_its_own() -> None:
    assert resolve_location(f"{_HERE}#x", "/b") == "https://example.com/b#x"
    assert resolve_location(f"{_HERE}#x", "/b#y") == "https://example.com/b#y"


def test_a_location_from_nowhere_leads_nowhere() -> None:
    assert resolve_location("not a url", "/b") is None
    assert resolve_location("not a url", "https://example.com/") is None


@pytest.mark.parametrize(
    ("statuses", "moved_to"),
    [
        pytest.param((), None, id="no redirect"),
        pytest.param((301,), "https://example.com/1", id="moved permanently"),
        pytest.param((308, 308), "https://example.com/2", id="permanent twice"),
        pytest.param((301, 308, 301), "https://example.com/3", id="a mixed permanent chain"),
        pytest.param((302,), None, id="found"),
        pytest.param((301, 302), None, id="a temporary end"),
        pytest.param((307, 301), None, id="a temporary beginning"),
        pytest.param((303,), None, id="see other"),
    ],
)
def test_only_a_chain_of_permanent_hops_is_a_move(
    statuses: tuple[int, ...], moved_to: str | None
) -> None:
    assert permanent_target(_hops(*statuses)) == moved_to


@pytest.mark.parametrize(
    "location",
    [
        pytest.param("http://example.com/b", id="leaves https"),
        pytest.param("https://[bad/", id="leads nowhere"),
    ],
)
def test_a_bad_permanent_hop_is_no_move(location: str) -> None:
    assert permanent_target([Hop(url=_HERE, status=301, location=location)]) is None


def test_a_move_carries_neither_fragment_nor_credentials() -> None:
    hop = Hop(url="http://example.com/#old", status=301, location="https://u:p@example.org/f#x")

    assert permanent_target([hop]) == "https://example.org/f"


def test_an_unreadable_url_has_no_origin_in_common_with_anything() -> None:
    assert same_origin("https://a.example.com/x", "https://a.example.com:443/y")
    assert not same_origin("nowhere", "nowhere")
    assert not same_origin("https://a.example.com/", "nowhere")
    assert not same_origin("https://a.example.com/", "http://a.example.com/")
