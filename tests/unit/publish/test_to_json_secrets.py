"""How tokens, webhooks and dead letters are shown: everything but what is secret."""

from datetime import UTC, datetime, timedelta

from feedmill.model.event import Event
from feedmill.model.running.webhook import DeadLetter, Token, Webhook, WebhookSecret
from feedmill.publish.ndjson import position_of_line
from feedmill.publish.to_json import dead_letter_wire, token_wire, webhook_wire

NOON = datetime(2025, 10, 14, 12, 0, tzinfo=UTC)


def test_a_token_is_shown_with_its_times_in_utc() -> None:
    token = Token(id="t", name="n", scopes=("read",), created_at=NOON, last_used_at=NOON)

    assert token_wire(token) == {
        "id": "t",
        "name": "n",
        "scopes": ["read"],
        "created_at": "2025-10-14T12:00:00Z",
        "expires_at": None,
        "revoked_at": None,
        "last_used_at": "2025-10-14T12:00:00Z",
    }


def test_of_the_secrets_of_a_webhook_only_their_ends_are_shown() -> None:
    until = NOON + timedelta(hours=1)
    secrets = (WebhookSecret(value="fmwh_new"), WebhookSecret(value="fmwh_old", valid_until=until))
    webhook = Webhook(id="w", url="https://h.example/", created_at=NOON, secrets=secrets, cursor=7)

    shown = webhook_wire(webhook)

    assert shown["secrets"] == [{"valid_until": None}, {"valid_until": "2025-10-14T13:00:00Z"}]
    assert (shown["cursor"], shown["state"], shown["format"]) == (7, "active", "plain")
    assert "fmwh_" not in str(shown)


def test_a_dead_letter_is_shown_with_its_events() -> None:
    event = Event(seq=1, id="e", type="feed.state", feed_id="f", occurred_at=NOON)
    letter = DeadLetter(
        id="l", webhook_id="w", events=(event,), reason="timeout", attempts=20, died_at=NOON
    )

    shown = dead_letter_wire(letter)

    assert shown["events"][0]["seq"] == 1
    assert (shown["reason"], shown["status"], shown["detail"]) == ("timeout", None, None)


def test_a_line_that_is_no_json_has_no_number() -> None:
    assert position_of_line(b'{"seq": 4')[0] == 0
