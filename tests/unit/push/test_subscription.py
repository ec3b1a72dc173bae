"""The subscriber's side of WebSub."""

from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from feedmill.model.parsed import Link
from feedmill.model.push import PushSubscription
from feedmill.push.messages import decode_form
from feedmill.push.subscription import (
    MAX_HUBS,
    MAX_LEASE,
    Accepted,
    Announced,
    Challenge,
    Confirmed,
    Denied,
    HubAnswer,
    NotOurs,
    Redirected,
    Refused,
    Unavailable,
    announced_on_page,
    announced_push,
    callback_url,
    is_own_document,
    judge_answer,
    judge_challenge,
    next_hub,
    renew_at,
    subscribe_form,
)

NOON = datetime(2025, 10, 14, 12, 0, tzinfo=UTC)
HUB, TOPIC = "https://hub.example/", "https://paper.example/feed"
ASKED = PushSubscription(token="t" * 43, hub=HUB, topic=TOPIC, secret="s", created_at=NOON)
DAY = timedelta(days=1)
URL = "https://paper.example/feed"
HUB, OTHER = "https://hub.example/", "https://other.example/"


def test_request_names_topic_callback_secret_and_lease() -> None:
    callback = callback_url("https://mill.example/", ASKED.token)
    form = decode_form(subscribe_form(ASKED, callback=callback, lease_sec=60).decode())

    assert callback == f"https://mill.example/push/{ASKED.token}"
    assert form == {
        "hub.mode": "subscribe",
        "hub.topic": TOPIC,
        "hub.callback": callback,
        "hub.secret": "s",
        "hub.lease_seconds": "60",
    }
    end = decode_form(
        subscribe_form(ASKED, callback=callback, lease_sec=60, mode="unsubscribe").decode()
    )
    assert sorted(end) == ["hub.callback", "hub.mode", "hub.topic"]


@pytest.mark.parametrize(
    ("status", "location", "expected"),
    [
        pytest.param(202, None, Accepted(), id="accepted"),
        pytest.param(200, None, Accepted(), id="any 2xx"),
        pytest.param(307, "/new", Redirected(url=f"{HUB}new"), id="moved for now"),
        pytest.param(308, "https://n.example/", Redirected(url="https://n.example/"), id="moved"),
        pytest.param(308, None, Refused(reason="bad-redirect"), id="moved nowhere"),
        pytest.param(307, "mailto:x@y", Refused(reason="bad-redirect"), id="moved to no address"),
        pytest.param(301, "/new", Refused(reason="http-301"), id="a redirect that drops the body"),
        pytest.param(404, None, Refused(reason="http-404"), id="no"),
        pytest.param(429, None, Unavailable(reason="http-429"), id="later"),
        pytest.param(503, None, Unavailable(reason="http-503"), id="broken"),
        pytest.param(None, None, Unavailable(reason="timeout"), id="no answer"),
    ],
)
def test_answer_of_a_hub(status: int | None, location: str | None, expected: HubAnswer) -> None:
    assert judge_answer(HUB, status, location, "timeout") == expected


def test_answer_without_a_reason_is_a_failed_connection() -> None:
    assert judge_answer(HUB, None, None, "") == Unavailable(reason="connection-failed")


def _query(**more: str) -> dict[str, str]:
    asked = {"mode": "subscribe", "topic": TOPIC, "challenge": "c", "lease_seconds": "3600"} | more
    return {f"hub.{name}": value for name, value in asked.items()}


@pytest.mark.parametrize(
    ("query", "known", "expected"),
    [
        pytest.param(
            _query(),
            ASKED,
            Confirmed(challenge="c", mode="subscribe", lease=timedelta(hours=1)),
            id="as asked",
        ),
        pytest.param(
            _query(lease_seconds="99999999"),
            replace(ASKED, state="active"),
            Confirmed(challenge="c", mode="subscribe", lease=MAX_LEASE),
            id="a long lease is clamped",
        ),
        pytest.param(
            _query(lease_seconds="x"),
            replace(ASKED, state="unverified"),
            Confirmed(challenge="c", mode="subscribe", lease=timedelta(seconds=60)),
            id="a lease that is no number is what was asked for",
        ),
        pytest.param(
            _query(lease_seconds="0"),
            ASKED,
            Confirmed(challenge="c", mode="subscribe", lease=timedelta(seconds=1)),
            id="no lease at all",
        ),
        pytest.param(_query(topic="https://x.example/"), ASKED, NotOurs(), id="another topic"),
        pytest.param(_query(challenge=""), ASKED, NotOurs(), id="no challenge"),
        pytest.param(_query(challenge="x" * 5000), ASKED, NotOurs(), id="too long a challenge"),
        pytest.param(_query(), replace(ASKED, state="denied"), NotOurs(), id="not asked for"),
        pytest.param(_query(mode="unsubscribe"), ASKED, NotOurs(), id="we want to stay"),
        pytest.param(
            _query(mode="unsubscribe"),
            replace(ASKED, state="unsubscribing"),
            Confirmed(challenge="c", mode="unsubscribe", lease=timedelta(0)),
            id="we want to leave",
        ),
        pytest.param(_query(mode="denied", reason="no"), ASKED, Denied(reason="no"), id="denied"),
        pytest.param(_query(mode="dance"), ASKED, NotOurs(), id="an unknown mode"),
    ],
)
def test_challenge(query: dict[str, str], known: PushSubscription, expected: Challenge) -> None:
    assert judge_challenge(query, known, asked_lease_sec=60) == expected


def test_document_is_own_when_it_names_an_address_of_its_feed_or_none() -> None:
    assert is_own_document(None, TOPIC)
    assert is_own_document(TOPIC, None, TOPIC)
    assert not is_own_document("https://other.example/feed", TOPIC, None)


def test_renewal_is_due_at_four_fifths_of_the_lease() -> None:
    active = replace(ASKED, verified_at=NOON, lease_until=NOON + 10 * DAY)

    assert renew_at(active) == NOON + 8 * DAY
    assert renew_at(ASKED) is None
    assert renew_at(replace(ASKED, verified_at=NOON)) is None


def test_next_hub_is_the_first_that_was_not_tried() -> None:
    assert next_hub(["a", "b"], []) == "a"
    assert next_hub(["a", "b"], ["a"]) == "b"
    assert next_hub(["a"], ["a"]) is None


def test_without_a_hub_nothing_is_announced() -> None:
    links = [Link(href=URL, rel="self")]

    assert announced_push(links, hubs=(), self_url=URL, url=URL) is None
    assert announced_push((), hubs=("mailto:x@y.example",), self_url=None, url=URL) is None


def test_link_header_comes_first_and_the_document_is_there_to_fall_back_to() -> None:
    links = [Link(href=HUB, rel="hub"), Link(href=f"{URL}?self", rel="self")]

    found = announced_push(links, hubs=(OTHER, HUB), self_url=f"{URL}?doc", url=URL)

    assert found == Announced(hubs=(HUB, OTHER), topic=f"{URL}?self")


@pytest.mark.parametrize(
    ("self_url", "topic"),
    [
        pytest.param(f"{URL}/x", f"{URL}/x", id="self link of the document"),
        pytest.param(None, URL, id="no self link: where it was served"),
        pytest.param("urn:x", URL, id="a self link that is no address"),
    ],
)
def test_topic_is_the_self_link(self_url: str | None, topic: str) -> None:
    found = announced_push((), hubs=(HUB,), self_url=self_url, url=URL)

    assert found == Announced(hubs=(HUB,), topic=topic)


def test_number_of_hubs_is_limited() -> None:
    hubs = [f"https://h{number}.example/" for number in range(50)]

    found = announced_push((), hubs=hubs, self_url=None, url=URL)

    assert found is not None
    assert len(found.hubs) == MAX_HUBS


def test_page_announces_by_link_elements() -> None:
    page = b"""<head><base href="https://paper.example/a/"><link rel="HUB" href="//hub.example">
    <link rel="self" href="me"><link rel="hub" href="javascript:x">"""

    found = announced_on_page(page, "text/html", "https://paper.example/")

    assert found == Announced(hubs=(HUB,), topic="https://paper.example/a/me")


def test_a_subscription_in_a_log_shows_neither_secret_nor_token() -> None:
    at = datetime(2025, 10, 13, tzinfo=UTC)
    subscription = PushSubscription(
        token="hidden", hub="https://hub.example/", topic="t", secret="hidden", created_at=at
    )

    assert "hidden" not in repr(subscription)
