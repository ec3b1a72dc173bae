"""One delivery without its network: which events, which request, what the answer means."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from feedmill.model.event import Event
from feedmill.model.fetch import RawResponse
from feedmill.model.running.webhook import Webhook, WebhookSecret
from feedmill.publish.signing import verify
from feedmill.publish.webhook_delivery import (
    Delivered,
    Undelivered,
    backoff_sec,
    delivery_headers,
    delivery_id,
    exact_batch,
    is_wanted,
    judge_delivery,
    next_batch,
)

NOON = datetime(2025, 10, 14, 12, 0, tzinfo=UTC)
HOOK = Webhook(
    id="hook",
    url="https://receiver.example/hook",
    created_at=NOON,
    secrets=(WebhookSecret(value="fmwh_one"),),
)


def event(seq: int, *, feed: str = "feed", kind: str = "new_entry", **data: object) -> Event:
    return Event(
        seq=seq,
        id=f"event-{seq}",
        type=kind,  # type: ignore[arg-type]  # spelt by the tests
        feed_id=feed,
        occurred_at=NOON,
        data=dict(data),
    )


def batch(read: list[Event], wanted: list[Event], **limits: Any) -> Any:
    chosen = {"max_events": 10, "max_bytes": 10_000, **limits}
    return next_batch(read, wanted, "plain", source="urn:x", **chosen)


@pytest.mark.parametrize(
    ("webhook", "wanted"),
    [
        (HOOK, True),
        (replace(HOOK, types=("new_entry", "feed.state")), True),
        (replace(HOOK, types=("feed.state",)), False),
        (replace(HOOK, feed_id="feed"), True),
        (replace(HOOK, feed_id="another"), False),
        (replace(HOOK, tag="news"), True),
        (replace(HOOK, tag="sport"), False),
        (replace(HOOK, tag="news", types=("feed.state",)), False),
    ],
)
def test_an_event_is_told_when_every_filter_lets_it_through(webhook: Webhook, wanted: bool) -> None:
    assert is_wanted(webhook, event(1), {"feed": ("news",)}) is wanted


def test_a_feed_of_which_nothing_is_known_has_no_tags() -> None:
    assert not is_wanted(replace(HOOK, tag="news"), event(1, feed="unheard-of"), {})


def test_log_that_went_back_is_told_whatever_the_filter() -> None:
    rewound = replace(event(1), type="log.rewound", feed_id="")

    assert is_wanted(replace(HOOK, tag="news", feed_id="f", types=("new_entry",)), rewound, {})


def test_a_batch_holds_the_wanted_events_in_order_and_goes_past_the_rest() -> None:
    read = [event(seq) for seq in range(1, 6)]

    made = batch(read, [read[0], read[2]])

    assert [one["seq"] for one in json.loads(made.body)] == [1, 3]
    assert made.upto == 5


def test_a_batch_is_cut_at_the_number_of_events_and_the_cursor_with_it() -> None:
    read = [event(seq) for seq in range(1, 6)]

    made = batch(read, read, max_events=2)

    assert (len(made.events), made.upto) == (2, 2)


def test_a_batch_is_cut_before_it_grows_too_large() -> None:
    read = [event(seq, text="x" * 400) for seq in range(1, 6)]

    made = batch(read, read, max_bytes=1_300)

    assert (len(made.events), made.upto) == (2, 2)
    assert len(made.body) <= 1_300


def test_one_event_that_is_too_large_by_itself_goes_alone() -> None:
    read = [event(1, text="x" * 4_000), event(2)]

    made = batch(read, read, max_bytes=1_000)

    assert (len(made.events), made.upto) == (1, 1)


def test_cloudevents_are_a_batch_of_envelopes() -> None:
    made = exact_batch([event(1), event(2)], "cloudevents", source="urn:mill")

    assert [one["source"] for one in json.loads(made.body)] == ["urn:mill", "urn:mill"]
    assert made.upto == 2


def test_a_test_is_a_batch_of_nothing() -> None:
    made = exact_batch([], "plain", source="urn:mill")

    assert (made.body, made.events, made.upto) == (b"[]", (), 0)


def test_a_delivery_has_the_same_id_however_often_it_is_sent() -> None:
    once = delivery_id("hook", [event(1), event(2)])

    assert once == delivery_id("hook", [event(1), event(2)])
    assert once != delivery_id("hook", [event(1)])
    assert once != delivery_id("other", [event(1), event(2)])


def test_a_request_is_signed_with_every_secret_that_is_valid_and_says_none() -> None:
    secrets = (
        WebhookSecret(value="fmwh_new"),
        WebhookSecret(value="fmwh_old", valid_until=NOON + timedelta(hours=1)),
        WebhookSecret(value="fmwh_ended", valid_until=NOON),
    )
    made = exact_batch([event(1)], "plain", source="urn:x")

    fields = dict(
        delivery_headers(replace(HOOK, secrets=secrets), made, user_agent="mill", now=NOON)
    )

    signature = fields["Feedmill-Signature"]
    assert verify(signature, made.body, ["fmwh_new"], now=NOON)
    assert verify(signature, made.body, ["fmwh_old"], now=NOON)
    assert not verify(signature, made.body, ["fmwh_ended"], now=NOON)
    assert "fmwh_" not in str(fields)
    assert fields["Feedmill-Delivery"] == delivery_id("hook", made.events)
    assert fields["Content-Type"] == "application/json"


def test_the_type_of_the_body_says_when_it_is_cloudevents() -> None:
    made = exact_batch([event(1)], "cloudevents", source="urn:x")

    fields = delivery_headers(replace(HOOK, format="cloudevents"), made, user_agent="m", now=NOON)

    assert dict(fields)["Content-Type"] == "application/cloudevents-batch+json"


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
def test_any_success_is_a_yes(status: int) -> None:
    response = RawResponse(url=HOOK.url, final_url=HOOK.url, status=status, error="too-slow")

    assert judge_delivery(response) == Delivered(status=status)


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (100, "unexpected-status"),
        (301, "redirect-not-followed"),
        (304, "redirect-not-followed"),
        (400, "client-error"),
        (401, "auth-required"),
        (403, "forbidden"),
        (404, "not-found"),
        (407, "auth-required"),
        (410, "gone"),
        (429, "rate-limited"),
        (500, "server-error"),
        (503, "unavailable"),
        (600, "unexpected-status"),
    ],
)
def test_every_other_answer_has_its_reason(status: int, reason: str) -> None:
    response = RawResponse(url=HOOK.url, final_url=HOOK.url, status=status)

    verdict = judge_delivery(response)

    assert isinstance(verdict, Undelivered)
    assert (verdict.reason, verdict.status) == (reason, status)


@pytest.mark.parametrize(
    ("error", "reason"),
    [("private-address", "private-address"), (None, "connection-failed")],
)
def test_no_answer_has_the_reason_of_the_fetcher(error: Any, reason: str) -> None:
    response = RawResponse(url=HOOK.url, final_url=HOOK.url, error=error, detail="d" * 999)

    verdict = judge_delivery(response)

    assert isinstance(verdict, Undelivered)
    assert (verdict.reason, verdict.status, len(verdict.detail)) == (reason, None, 200)


def test_waits_double_up_to_a_cap_and_are_shortened_by_a_quarter_at_most() -> None:
    waits = [backoff_sec("hook", 7, n, base_sec=5.0, cap_sec=60.0) for n in range(1, 1_100)]

    for number, wait in enumerate(waits, start=1):
        full = min(60.0, 5.0 * 2 ** min(number - 1, 20))
        assert 0.75 * full < wait <= full


def test_a_wait_can_be_replayed_and_differs_between_webhooks() -> None:
    waits = {backoff_sec(f"hook-{n}", 7, 3, base_sec=5.0, cap_sec=60.0) for n in range(20)}
    again = {backoff_sec(f"hook-{n}", 7, 3, base_sec=5.0, cap_sec=60.0) for n in range(20)}

    assert waits == again
    assert len(waits) == 20


def test_secrets_do_not_show_when_a_webhook_is_printed() -> None:
    assert "fmwh_one" not in repr(HOOK)
    assert "fmwh_one" not in str(HOOK)


def test_events_of_an_archive_are_left_out_when_they_are_not_wanted() -> None:
    archived = replace(event(1), data={"backfill": True})

    assert is_wanted(HOOK, archived, {})
    assert not is_wanted(HOOK, archived, {}, backfill=False)
    assert is_wanted(HOOK, event(1), {}, backfill=False)
