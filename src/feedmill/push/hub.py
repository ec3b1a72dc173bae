"""The hub's side of WebSub without I/O: subscription requests, verification, deliveries (§5, §7).

Only our own meta-feeds are topics of this hub.
"""

from collections.abc import Mapping
from typing import Final, Literal

from feedmill.canonicalise.urls import http_url
from feedmill.model.base import Value
from feedmill.push.messages import SIGNATURE, encode_form, sign_delivery

MIN_LEASE_SEC: Final = 300
MAX_LEASE_SEC: Final = 1_209_600  # 14 days
MAX_SECRET_BYTES: Final = 199  # §5.1: less than 200
_LEASE_DIGITS: Final = 12


class HubRequest(Value):
    """A subscriber's wish."""

    mode: Literal["subscribe", "unsubscribe"]
    topic: str
    callback: str
    lease_sec: int
    secret: str | None = None


class BadHubRequest(Value):
    """What is wrong with a request, for a person."""

    detail: str


def read_hub_request(
    form: Mapping[str, str], *, default_lease_sec: int
) -> HubRequest | BadHubRequest:
    """The request of a form; parameters that are not known are ignored (§5.1)."""
    mode, topic = form.get("hub.mode", ""), form.get("hub.topic", "")
    callback = http_url(form.get("hub.callback", ""))
    if mode not in ("subscribe", "unsubscribe"):
        return BadHubRequest(detail="hub.mode must be subscribe or unsubscribe")
    if not topic:
        return BadHubRequest(detail="hub.topic is missing")
    if callback is None:
        return BadHubRequest(detail="hub.callback is not an http or https URL")
    secret = form.get("hub.secret") or None
    if secret is not None and len(secret.encode("utf-8", "replace")) > MAX_SECRET_BYTES:
        return BadHubRequest(detail=f"hub.secret is longer than {MAX_SECRET_BYTES} bytes")
    lease_sec = _lease_sec(form.get("hub.lease_seconds"), default_lease_sec)
    if lease_sec is None:
        return BadHubRequest(detail="hub.lease_seconds is not a number of seconds")
    return HubRequest(
        mode="subscribe" if mode == "subscribe" else "unsubscribe",
        topic=topic,
        callback=callback,
        lease_sec=lease_sec,
        secret=secret,
    )


def verification_url(request: HubRequest, challenge: str) -> str:
    """The callback with the challenge; what the subscriber has in its query stays there (§5.3)."""
    fields = {"hub.mode": request.mode, "hub.topic": request.topic, "hub.challenge": challenge}
    if request.mode == "subscribe":
        fields["hub.lease_seconds"] = str(request.lease_sec)
    base, _, fragment = request.callback.partition("#")
    joint = "&" if "?" in base else "?"
    return f"{base}{joint}{encode_form(fields)}" + (f"#{fragment}" if fragment else "")


def is_verified(status: int | None, body: bytes, challenge: str) -> bool:
    """True when the subscriber echoes the challenge."""
    return status is not None and 200 <= status < 300 and body.strip() == challenge.encode()


def delivery_headers(
    content_type: str, links: str, body: bytes, secret: str | None
) -> tuple[tuple[str, str], ...]:
    """The fields of a delivery: the topic's own type and links; signed only when a secret was given."""
    own = (("Content-Type", content_type), ("Link", links))
    return own if secret is None else (*own, (SIGNATURE, sign_delivery(body, secret)))


def _lease_sec(given: str | None, default: int) -> int | None:
    if not given:
        return default
    if not (given.isascii() and given.isdigit() and len(given) <= _LEASE_DIGITS):
        return None
    return min(max(int(given), MIN_LEASE_SEC), MAX_LEASE_SEC)
