"""The hub's side of WebSub."""

import pytest

from feedmill.push.hub import (
    MAX_LEASE_SEC,
    MIN_LEASE_SEC,
    BadHubRequest,
    HubRequest,
    decode_form,
    delivery_headers,
    is_verified,
    read_hub_request,
    verification_url,
)

CALLBACK, TOPIC = "https://reader.example/cb", "https://mill.example/tags/a/feed.atom"


def _form(**more: str) -> dict[str, str]:
    asked = {"mode": "subscribe", "topic": TOPIC, "callback": CALLBACK} | more
    return {f"hub.{name}": value for name, value in asked.items()} | {"foo": "bar"}


@pytest.mark.parametrize(
    ("given", "lease_sec"),
    [
        pytest.param("", 600, id="the default"),
        pytest.param("1000", 1000, id="as asked"),
        pytest.param("1", MIN_LEASE_SEC, id="not too short"),
        pytest.param("99999999999", MAX_LEASE_SEC, id="not too long"),
    ],
)
def test_request_is_read_with_its_lease(given: str, lease_sec: int) -> None:
    found = read_hub_request(_form(lease_seconds=given, secret="x"), default_lease_sec=600)

    assert found == HubRequest(
        mode="subscribe", topic=TOPIC, callback=CALLBACK, lease_sec=lease_sec, secret="x"
    )


def test_unsubscription_is_read() -> None:
    found = read_hub_request(_form(mode="unsubscribe"), default_lease_sec=600)

    assert isinstance(found, HubRequest)
    assert (found.mode, found.secret) == ("unsubscribe", None)


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        pytest.param({"mode": "publish"}, "hub.mode", id="mode"),
        pytest.param({"topic": ""}, "hub.topic", id="topic"),
        pytest.param({"callback": "ftp://x.example/"}, "hub.callback", id="callback"),
        pytest.param({"secret": "x" * 200}, "hub.secret", id="secret"),
        pytest.param({"lease_seconds": "-1"}, "hub.lease_seconds", id="lease"),
    ],
)
def test_bad_request_says_what_is_wrong(wrong: dict[str, str], word: str) -> None:
    found = read_hub_request(_form(**wrong), default_lease_sec=600)

    assert isinstance(found, BadHubRequest)
    assert found.detail.startswith(word)


def test_verification_keeps_the_query_of_the_callback() -> None:
    asked = HubRequest(mode="subscribe", topic=TOPIC, callback=f"{CALLBACK}?id=1", lease_sec=600)
    left = HubRequest(mode="unsubscribe", topic=TOPIC, callback=f"{CALLBACK}#x", lease_sec=600)

    url = verification_url(asked, "c")
    assert url.startswith(f"{CALLBACK}?id=1&hub.mode=subscribe&")
    assert decode_form(url.partition("?")[2])["hub.lease_seconds"] == "600"
    assert verification_url(left, "c").startswith(f"{CALLBACK}?hub.mode=unsubscribe&")
    assert verification_url(left, "c").endswith("#x")
    assert "lease" not in verification_url(left, "c")


def test_only_the_challenge_verifies() -> None:
    assert is_verified(200, b"c\n", "c")
    assert not is_verified(200, b"d", "c")
    assert not is_verified(404, b"c", "c")
    assert not is_verified(None, b"", "c")


def test_delivery_has_type_and_links_of_its_topic_and_a_signature_for_a_secret() -> None:
    plain = delivery_headers("text/xml", "<x>; rel=self", b"x", None)
    signed = delivery_headers("text/xml", "<x>; rel=self", b"x", "s")

    assert plain == (("Content-Type", "text/xml"), ("Link", "<x>; rel=self"))
    assert dict(signed)["X-Hub-Signature"].startswith("sha256=")
