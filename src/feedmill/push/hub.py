"""The hub's side of WebSub without I/O: subscription requests, verification, deliveries (§5, §7).

Only our own meta-feeds are topics of this hub.

Forms (application/x-www-form-urlencoded) and signatures (X-Hub-Signature, WebSub §7.1) of WebSub messages.
"""

import hmac
import re
from collections.abc import Mapping
from typing import Final, Literal

import ada_url

from feedmill.canonicalise.urls import http_url
from feedmill.model.base import Value

MIN_LEASE_SEC: Final = 300
MAX_LEASE_SEC: Final = 1_209_600  # 14 days
MAX_SECRET_BYTES: Final = 199  # §5.1: less than 200
_LEASE_DIGITS: Final = 12
FORM: Final = "application/x-www-form-urlencoded"
_MAX_FIELDS: Final = 50


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


def encode_form(fields: Mapping[str, str]) -> str:
    """The fields in their order."""
    form = ada_url.URLSearchParams("")
    for name, value in fields.items():
        form.append(name, value)
    return str(form)


def decode_form(text: str) -> dict[str, str]:
    """The fields by name; of a repeated one the first counts."""
    found: dict[str, str] = {}
    for name, value in list(ada_url.parse_search_params(text).items())[:_MAX_FIELDS]:
        found.setdefault(name, value[0])
    return found


SIGNATURE: Final = "X-Hub-Signature"

# sha256, sha384 and sha512 are written; sha1 is only read, because old hubs still send it.
_READ: Final = frozenset({"sha1", "sha256", "sha384", "sha512"})
_SPELLING: Final = re.compile(r"\s*([a-z0-9]{4,6})=([0-9a-fA-F]{40,128})\s*")


def sign_delivery(body: bytes, secret: str, *, method: str = "sha256") -> str:
    """The value of the header for a body."""
    return f"{method}={hmac.new(secret.encode(), body, method).hexdigest()}"


def is_signed(header: str | None, body: bytes, secret: str) -> bool:
    """True when the secret signed exactly this body; every comparison takes the same time."""
    match = None if header is None else _SPELLING.fullmatch(header)
    if match is None or match[1] not in _READ:
        return False
    digest = hmac.new(secret.encode(), body, match[1]).hexdigest()
    return hmac.compare_digest(digest, match[2].lower())
