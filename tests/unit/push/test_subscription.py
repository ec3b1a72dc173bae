"""The subscriber's side of WebSub.

Trust by evidence, and its words.
"""

from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from feedmill.model.feed import HubTally, PushSubscription
from feedmill.model.parsed import Link
from feedmill.push.hub import decode_form
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
    counts_as_missed,
    hub_in_words,
    is_own_document,
    is_trusted,
    judge_answer,
    judge_challenge,
    live_subscription,
    never_pushes,
    next_hub,
    push_in_words,
    renew_at,
    subscribe_form,
)

NOON = datetime(2025, 10, 14, 12, 0, tzinfo=UTC)
HUB, TOPIC = "https://hub.example/", "https://paper.example/feed"
ASKED = PushSubscription(token="t" * 43, hub=HUB, topic=TOPIC, secret="s", created_at=NOON)
DAY = timedelta(days=1)
URL = "https://paper.example/feed"
HUB, OTHER = "https://hub.example/", "https://other.example/"


ASKED_TRUST = PushSubscription(
    token="t", hub="https://h.example/", topic="https://p.example/", secret="s", created_at=NOON
)
ACTIVE = replace(ASKED_TRUST, state="active", verified_at=NOON, lease_until=NOON + DAY, streak=3)
TALLY = HubTally(hub="https://h.example/", subscriptions=2, active=2, verified_at=NOON)


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


def test_live_subscription_is_active_and_has_a_lease() -> None:
    assert live_subscription((ASKED_TRUST, ACTIVE), NOON) == ACTIVE
    assert live_subscription((ACTIVE,), NOON + DAY) is None
    assert live_subscription((replace(ACTIVE, lease_until=None),), NOON) is None


@pytest.mark.parametrize(
    ("subscription", "hub", "expected"),
    [
        pytest.param(None, None, False, id="no subscription"),
        pytest.param(replace(ACTIVE, streak=2), None, False, id="too little evidence"),
        pytest.param(ACTIVE, None, True, id="three in a row"),
        pytest.param(ACTIVE, TALLY, True, id="the hub missed nothing"),
        pytest.param(ACTIVE, replace(TALLY, missed_at=NOON), False, id="the hub missed something"),
        pytest.param(
            ACTIVE,
            replace(TALLY, missed_at=NOON, last_push_at=NOON + DAY),
            True,
            id="and has pushed since",
        ),
    ],
)
def test_trust(
    subscription: PushSubscription | None, hub: HubTally | None, *, expected: bool
) -> None:
    assert is_trusted(subscription, hub, trust_after=3) is expected


@pytest.mark.parametrize(
    ("subscription", "last_fetch_at", "expected"),
    [
        pytest.param(None, NOON, False, id="nobody had to push"),
        pytest.param(ASKED_TRUST, NOON, False, id="not verified"),
        pytest.param(ACTIVE, None, False, id="the first poll"),
        pytest.param(ACTIVE, NOON - DAY, False, id="it may be from before"),
        pytest.param(ACTIVE, NOON, True, id="the hub should have pushed it"),
    ],
)
def test_missed(
    subscription: PushSubscription | None, last_fetch_at: datetime | None, *, expected: bool
) -> None:
    assert counts_as_missed(subscription, last_fetch_at=last_fetch_at) is expected


@pytest.mark.parametrize(
    ("hub", "words"),
    [
        pytest.param(replace(TALLY, active=0), "has no active subscription", id="none"),
        pytest.param(TALLY, "has not pushed yet; it accepted 2 subscriptions", id="young"),
        pytest.param(
            replace(TALLY, active=1, verified_at=NOON - 9 * DAY),
            "accepted 1 subscription 9 days ago and has never pushed.",
            id="silent",
        ),
        pytest.param(
            replace(TALLY, by_poll=4, verified_at=None),
            "has never pushed and polls found 4 entries first",
            id="silent and missed",
        ),
        pytest.param(replace(TALLY, pushes=3), "never anything new", id="pushes nothing new"),
        pytest.param(
            replace(TALLY, pushes=3, by_push=3, by_poll=1),
            "brought 3 of 4 new entries first (75 %)",
            id="share",
        ),
    ],
)
def test_hub_in_words(hub: HubTally, words: str) -> None:
    assert words in hub_in_words(hub, NOON)


def test_hub_without_a_subscription_or_with_pings_is_not_silent() -> None:
    late = NOON + 9 * DAY
    assert never_pushes(TALLY, late)
    assert not never_pushes(replace(TALLY, active=0), late)
    assert not never_pushes(replace(TALLY, pushes=1), late)
    assert not never_pushes(replace(TALLY, verified_at=None), late)


def test_feed_in_words() -> None:
    def said(*subscriptions: PushSubscription, trusted: bool = False) -> str:
        return push_in_words(subscriptions, NOON, trusted=trusted, safety_poll=DAY)

    assert said() == "Push: not subscribed to any hub."
    assert "https://h.example/ is asked." in said(ASKED_TRUST)
    assert "is denied: no." in said(replace(ASKED_TRUST, state="denied", last_error="no"))
    assert "polls keep their pace" in said(ACTIVE)
    assert "every 24 h as a safety check" in said(ACTIVE, trusted=True)


def test_words_about_a_hub_mask_tokens_in_its_address() -> None:
    address = "https://h.example/?api_key=k3y"
    shown = [
        hub_in_words(replace(TALLY, hub=address), NOON),
        push_in_words((replace(ASKED_TRUST, hub=address),), NOON, trusted=False, safety_poll=DAY),
        push_in_words((replace(ACTIVE, hub=address),), NOON, trusted=True, safety_poll=DAY),
        push_in_words((replace(ACTIVE, hub=address),), NOON, trusted=False, safety_poll=DAY),
    ]

    assert all("https://h.example/?api_key=*** " in words for words in shown)
    assert "k3y" not in "".join(shown)
