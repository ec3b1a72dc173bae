"""Signatures of webhook deliveries: HMAC-SHA256 over the time and the body, in one header.

    Feedmill-Signature: t=1760443200,v1=5257a869…,v1=9ab1c2…

`t` is in seconds since 1970, and what is signed is `t.body`: a recorded delivery cannot be sent
again later with another time. There is one `v1` for each secret that is valid, two while a secret
is being replaced; a receiver accepts any of them.
"""

import hmac
import re
from collections.abc import Sequence
from datetime import datetime
from hashlib import sha256
from typing import Final

SIGNATURE: Final = "Feedmill-Signature"
TOLERANCE_SEC: Final = 300.0

_MAX_HEADER_CHARS: Final = 2_048
_TIME: Final = re.compile(r"[0-9]{1,12}")
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")


def sign(body: bytes, secrets: Sequence[str], at: datetime) -> str:
    """The value of the header for a body that is sent at that time."""
    seconds = int(at.timestamp())
    digests = [f"v1={_digest(body, secret, seconds)}" for secret in secrets]
    return ",".join([f"t={seconds}", *digests])


def verify(
    header: str,
    body: bytes,
    secrets: Sequence[str],
    *,
    now: datetime,
    tolerance_sec: float = TOLERANCE_SEC,
) -> bool:
    """True when one of the secrets signed exactly this body, not longer ago than tolerated.

    For receivers. The body is the octets as they came, before they are parsed. Every
    comparison takes the same time, wherever the difference is.
    """
    read = _read(header)
    if read is None:
        return False
    seconds, given = read
    if abs(now.timestamp() - seconds) > tolerance_sec:
        return False
    matches = [
        hmac.compare_digest(_digest(body, secret, seconds), digest)
        for secret in secrets
        for digest in given
    ]
    return any(matches)


def _read(header: str) -> tuple[int, list[str]] | None:
    """The time and the signatures; None for a header that is none of ours."""
    if len(header) > _MAX_HEADER_CHARS:
        return None
    pairs = [piece.strip().partition("=") for piece in header.split(",")]
    times = [value for name, _, value in pairs if name == "t"]
    given = [value for name, _, value in pairs if name == "v1" and _DIGEST.fullmatch(value)]
    if len(times) != 1 or not _TIME.fullmatch(times[0]):
        return None
    return int(times[0]), given


def _digest(body: bytes, secret: str, seconds: int) -> str:
    return hmac.new(secret.encode(), f"{seconds}.".encode() + body, sha256).hexdigest()
