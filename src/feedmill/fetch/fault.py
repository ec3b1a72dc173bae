"""Whose fault a failed poll is: ours, the publisher's (theirs) or the host's."""

from typing import Final

from feedmill.model.running.figures import Fault

SUCCESSFUL_OUTCOMES: Final = frozenset({"fresh", "unchanged", "same-body", "pushed"})

# The server, or the way to it: another feed of this host would have failed alike.
_HOST: Final = frozenset(
    {
        "timeout-connect", "timeout", "too-slow", "dns-failure", "unresolved", "bad-address",
        "connection-failed", "tls-failure", "protocol-error", "rate-limited", "unavailable",
        "server-error",
    }
)  # fmt: skip
# Our settings: an address that the guard refuses, or a limit that the operator can raise.
_OURS: Final = frozenset(
    {
        "malformed-url", "unsafe-character", "too-long", "scheme", "empty-host", "bad-host",
        "non-canonical-ipv4", "dotless-name", "local-name", "bad-port", "private-address", "host-not-listed", "content-type",
        "too-large", "headers-too-large",
    }
)  # fmt: skip
# The server understood who asked, and says that the request was wrong (RFC 9110 15.5).
_BAD_REQUEST: Final = frozenset({400, 405, 406, 411, 412, 413, 414, 415, 416, 417, 421, 422, 431})


def fault_of(outcome: str, status: int | None) -> Fault | None:
    """The fault class of a poll's outcome; None when it did not fail."""
    if outcome in SUCCESSFUL_OUTCOMES:
        return None
    if outcome in _OURS or (outcome == "client-error" and status in _BAD_REQUEST):
        return "ours"
    return "host" if outcome in _HOST else "theirs"
