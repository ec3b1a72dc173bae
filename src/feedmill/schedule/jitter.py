"""Chance that can be replayed: drawn from the feed and the run, never from a generator.

Two feeds that were subscribed in the same second drift apart, and the same feed at the same
instant always gets the same answer (D20).
"""

from datetime import UTC, datetime
from hashlib import sha256


def jitter_share(feed_id: str, run_at: datetime) -> float:
    """A number from -1 up to 1, spread evenly over feeds and runs."""
    at = run_at if run_at.tzinfo is UTC else run_at.astimezone(UTC)
    run = at.isoformat(timespec="microseconds")
    digest = sha256(f"{feed_id}\n{run}".encode("utf-8", "surrogatepass")).digest()
    # 53 bits are what a float holds exactly, so 1 itself is never reached by rounding.
    return (int.from_bytes(digest[:8], "big") >> 11) / 2**52 - 1


def spread(seconds: float, *, share: float, ratio: float) -> float:
    """The duration moved by its share of the ratio, either way."""
    return seconds * (1 + ratio * share)
