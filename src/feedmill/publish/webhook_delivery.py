"""Webhook delivery without I/O: batches, signed requests, verdicts on answers, backoff."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from typing import Final, Literal

import msgspec

from feedmill.model.base import Value
from feedmill.model.event import Event
from feedmill.model.fetch import FailureReason, Headers, RawResponse, RefusalReason
from feedmill.model.running.webhook import EventFormat, TopicContent, Webhook
from feedmill.publish.cloudevents import TRACEPARENT, cloudevent
from feedmill.publish.signing import SIGNATURE, sign

DELIVERY: Final = "Feedmill-Delivery"
WEBHOOK: Final = "Feedmill-Webhook"

_TYPES: Final = {"plain": "application/json", "cloudevents": "application/cloudevents-batch+json"}
_DETAIL_CHARS: Final = 200


class Batch(Value):
    """Events of one request, in order, and how far the cursor goes once it is settled."""

    events: tuple[Event, ...]
    body: bytes
    upto: int
    content: TopicContent | None = None  # of a topic of our hub, instead of events


class Delivered(Value):
    status: int


class Undelivered(Value):
    """Not taken; `gone` says that it never will be."""

    reason: FailureReason | RefusalReason | Literal["gone"]
    status: int | None = None
    detail: str = ""


def is_wanted(
    webhook: Webhook, event: Event, tags: Mapping[str, Sequence[str]], *, backfill: bool = True
) -> bool:
    """True when the event passes the webhook's filters; `tags` are those of each feed.

    `backfill=False` leaves out what was read from an archive.

    `log.rewound` passes all: it is about the log itself.
    """
    return event.type == "log.rewound" or (
        (not webhook.types or event.type in webhook.types)
        and (webhook.feed_id is None or event.feed_id == webhook.feed_id)
        and (backfill or not event.data.get("backfill"))
        and (webhook.tag is None or webhook.tag in tags.get(event.feed_id, ()))
    )


def next_batch(
    read: Sequence[Event],
    wanted: Sequence[Event],
    form: EventFormat,
    *,
    source: str,
    max_events: int,
    max_bytes: int,
) -> Batch:
    """The first of the wanted events, as many as fit; at least one, however large it is.

    When all are taken the cursor goes on to the last that was read: what no filter wanted is not
    looked at again.
    """
    pieces: list[bytes] = []
    size = 2
    for event in wanted[:max_events]:
        piece = _encoded(event, form, source)
        if pieces and size + len(piece) + 1 > max_bytes:
            break
        pieces.append(piece)
        size += len(piece) + 1
    taken = tuple(wanted[: len(pieces)])
    upto = read[-1].seq if len(taken) == len(wanted) else taken[-1].seq
    return Batch(events=taken, body=b"[" + b",".join(pieces) + b"]", upto=upto)


def exact_batch(events: Sequence[Event], form: EventFormat, *, source: str) -> Batch:
    """Exactly these events, for a dead letter; none of them for a test."""
    pieces = [_encoded(event, form, source) for event in events]
    upto = events[-1].seq if events else 0
    return Batch(events=tuple(events), body=b"[" + b",".join(pieces) + b"]", upto=upto)


def delivery_id(webhook_id: str, events: Sequence[Event]) -> str:
    """A name for these events to this webhook: the same however often they are sent."""
    ids = "\n".join([webhook_id, *(event.id for event in events)])
    return sha256(ids.encode()).hexdigest()[:32]


def delivery_headers(
    webhook: Webhook,
    batch: Batch,
    *,
    user_agent: str,
    now: datetime,
    traceparent: str | None = None,
) -> Headers:
    """The fields of the request, signed with every secret that is valid now."""
    valid = [
        secret.value
        for secret in webhook.secrets
        if secret.valid_until is None or now < secret.valid_until
    ]
    return (
        ("User-Agent", user_agent),
        ("Accept", "*/*"),
        ("Content-Type", _TYPES.get(webhook.format, "application/json")),
        (WEBHOOK, webhook.id),
        (DELIVERY, delivery_id(webhook.id, batch.events)),
        (SIGNATURE, sign(batch.body, valid, now)),
        *(((TRACEPARENT, traceparent),) if traceparent else ()),
    )


def judge_delivery(response: RawResponse) -> Delivered | Undelivered:
    """What an answer means. Any 2xx is a yes, whatever follows it; everything else is tried again."""
    status = response.status
    if status is None:
        reason = response.error or "connection-failed"
        return Undelivered(reason=reason, detail=response.detail[:_DETAIL_CHARS])
    if 200 <= status < 300:
        return Delivered(status=status)
    return Undelivered(reason=_reason(status), status=status)


def backoff_sec(
    webhook_id: str, after: int, attempts: int, *, base_sec: float, cap_sec: float
) -> float:
    """How long to wait after so many failures: doubled each time up to a cap, and spread.

    The spread is up to a quarter less, drawn from the webhook and the attempt, so that webhooks
    which failed together do not come back together.
    """
    full = min(cap_sec, base_sec * 2.0 ** min(attempts - 1, 63))
    digest = sha256(f"{webhook_id}\n{after}\n{attempts}".encode()).digest()
    return full * (1 - 0.25 * int.from_bytes(digest[:6], "big") / 2**48)


def _encoded(event: Event, form: EventFormat, source: str) -> bytes:
    return msgspec.json.encode(cloudevent(event, source) if form == "cloudevents" else event)


def _reason(status: int) -> FailureReason | Literal["gone"]:
    match status:
        case 410:
            return "gone"
        case 401 | 407:
            return "auth-required"
        case 403:
            return "forbidden"
        case 404:
            return "not-found"
        case 429:
            return "rate-limited"
        case 503:
            return "unavailable"
        case _ if status < 400:
            return "redirect-not-followed" if status >= 300 else "unexpected-status"
        case _ if status < 500:
            return "client-error"
        case _:
            return "server-error" if status < 600 else "unexpected-status"
