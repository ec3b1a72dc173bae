"""The one tree of exceptions: surprises only.

    FeedmillError
    ├── UsageError          a caller passed something that has no meaning
    │   ├── UnknownPolicyError   no URL policy of that name
    │   └── AddressError    an address that feedmill does not subscribe to
    ├── NotFoundError       nothing has the name that was asked for
    ├── ConfigError         the settings cannot be used; lists every mistake at once
    ├── StoreError          the store cannot remember or recall; `reason` is the stable word
    │   └── MigrationError  the database does not fit this version of feedmill
    ├── BlobError           the raw store cannot keep or give bytes; `reason` is the stable word
    │   └── BlobMoved       the segment is gone: ask the index again, once
    └── SinkError           events cannot be handed over; they stay in the log

A stranger's bad feed, address or answer is not a surprise: it is a value with a short, stable
reason (`Unreadable`, `Refused`, `Failed`).
"""

from collections.abc import Sequence


class FeedmillError(Exception):
    """Anything feedmill raises on purpose; `reason` is the stable word for it, `hint` the way out."""

    reason = "failed"
    hint = ""


class UsageError(FeedmillError, ValueError):
    """A caller passed something that has no meaning."""

    reason = "usage"


class UnknownPolicyError(UsageError):
    """No URL policy has that name."""

    def __init__(self, name: str, known: Sequence[str]) -> None:
        super().__init__(f"no URL policy is called {name!r}; choose one of: {', '.join(known)}")


class AddressError(UsageError):
    """An address that feedmill does not subscribe to; `reason` says what is wrong with it."""

    def __init__(self, message: str, *, reason: str, hint: str = "") -> None:
        self.reason = reason  # bad-address, or the guard's reason
        self.hint = hint
        super().__init__(message)


class NotFoundError(FeedmillError, LookupError):
    """Nothing has the name that was asked for."""

    reason = "not-found"

    def __init__(self, message: str, hint: str = "") -> None:
        self.hint = hint
        super().__init__(message)


class ConfigError(FeedmillError):
    """The settings cannot be used; the message lists every mistake at once."""

    reason = "config"

    def __init__(self, mistakes: Sequence[str]) -> None:
        self.mistakes = tuple(mistakes)
        super().__init__("; ".join(self.mistakes))


class StoreError(FeedmillError):
    """The store cannot remember or recall; nothing of what was asked was written."""

    def __init__(self, message: str, *, reason: str) -> None:
        self.reason = reason  # busy, disk-full, io-error, read-only, corrupt, cannot-open, …
        super().__init__(message)


class MigrationError(StoreError):
    """The database does not fit this version of feedmill."""


class BlobError(FeedmillError):
    """The raw store cannot keep or give bytes; of a body that was to be kept, nothing was."""

    def __init__(self, reason: str, message: str) -> None:
        self.reason = reason  # disk-full, io-error, read-only, cannot-open, too-slow, damaged, …
        super().__init__(message)


class BlobMoved(BlobError):  # noqa: N818  # nothing is wrong: look again
    """The segment is gone: re-encoded or dropped since the index was asked; ask it again, once."""


class SinkError(FeedmillError):
    """Events cannot be handed over now; none of them is lost, the cursor stays before them."""

    def __init__(self, reason: str, message: str) -> None:
        self.reason = reason  # disk-full, io-error, read-only, …
        super().__init__(message)
