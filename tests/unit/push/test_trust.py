"""Trust by evidence, and its words."""

from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from feedmill.model.push import HubTally, PushSubscription
from feedmill.push.trust import (
    counts_as_missed,
    hub_in_words,
    is_trusted,
    live_subscription,
    never_pushes,
    push_in_words,
)

NOON = datetime(2025, 10, 14, 12, 0, tzinfo=UTC)
DAY = timedelta(days=1)
ASKED = PushSubscription(
    token="t", hub="https://h.example/", topic="https://p.example/", secret="s", created_at=NOON
)
ACTIVE = replace(ASKED, state="active", verified_at=NOON, lease_until=NOON + DAY, streak=3)
TALLY = HubTally(hub="https://h.example/", subscriptions=2, active=2, verified_at=NOON)


def test_live_subscription_is_active_and_has_a_lease() -> None:
    assert live_subscription((ASKED, ACTIVE), NOON) == ACTIVE
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
        pytest.param(ASKED, NOON, False, id="not verified"),
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
    assert "https://h.example/ is asked." in said(ASKED)
    assert "is denied: no." in said(replace(ASKED, state="denied", last_error="no"))
    assert "polls keep their pace" in said(ACTIVE)
    assert "every 24 h as a safety check" in said(ACTIVE, trusted=True)


def test_words_about_a_hub_mask_tokens_in_its_address() -> None:
    address = "https://h.example/?api_key=k3y"
    shown = [
        hub_in_words(replace(TALLY, hub=address), NOON),
        push_in_words((replace(ASKED, hub=address),), NOON, trusted=False, safety_poll=DAY),
        push_in_words((replace(ACTIVE, hub=address),), NOON, trusted=True, safety_poll=DAY),
        push_in_words((replace(ACTIVE, hub=address),), NOON, trusted=False, safety_poll=DAY),
    ]

    assert all("https://h.example/?api_key=*** " in words for words in shown)
    assert "k3y" not in "".join(shown)
