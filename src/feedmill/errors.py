"""The one tree of exceptions: surprises only.

    FeedmillError
    ├── UsageError          a caller passed something that has no meaning
    │   ├── UnknownPolicyError   no URL policy of that name
    │   ├── AddressError    an address that feedmill does not subscribe to
    │   ├── CursorError     a place in a list that no page has given
    │   ├── FilterError     a filter that nothing could pass
    │   │   └── RangeError  a range of time that is empty or too long
    │   ├── ListError       a list of subscriptions that cannot be read
    │   ├── TopicError      topics that cannot be screened for; lists every mistake at once
    │   └── RegexOnlyError  a decision that rests on regular expressions alone
    ├── AccessError         a caller without a token, or with too narrow a one
    ├── NoFeedError         no feed is where an address leads; `reason` says what is there
    ├── NotFoundError       nothing has the name that was asked for
    │   └── NotKeptError    it was here, and retention let it go
    ├── ConflictError       what was asked does not go with how things are
    │   └── SeveralFeedsError    an address that leads to several feeds; `choices` are they
    ├── CandidateError      a window of candidates, or a choice among them, that is not taken
    ├── TicketError         an insertion without a ticket that holds for it
    ├── CrowdedError        too many requests; try again later
    ├── MissingExtraError   a part of feedmill that was not installed
    ├── ScreenerError       a method of screening that cannot answer; `reason` is the stable word
    ├── ConfigError         the settings cannot be used; lists every mistake at once
    ├── StoreError          the store cannot remember or recall; `reason` is the stable word
    │   ├── DamagedRowError one row cannot be read; the others can
    │   └── MigrationError  the database does not fit this version of feedmill
    ├── BlobError           the raw store cannot keep or give bytes; `reason` is the stable word
    │   └── BlobMoved       the segment is gone: ask the index again, once
    ├── NotSentError        a request that could not leave before the lease of its host was over
    ├── SinkError           events cannot be handed over; they stay in the log
    └── ClientError         what feedmill.client could not do
        ├── UnreachableError     no answer, or one that broke off
        ├── AnswerError     an answer that is none of this interface
        ├── GapError        the log has lost what the client did not read yet
        └── ProblemError    the server reports a problem; `status` and `reason` are stable
            ├── TokenError       401 and 403: no token that holds, or too narrow a one
            ├── MissingError     404 and 410
            ├── BusyError        429 and 503: `retry_after_sec` says when to ask again
            └── RefusedError     any other 4xx: the request has no meaning as it is

A publisher's bad feed, address or answer is not a surprise: it is a value with a short, stable
reason (`Unreadable`, `Refused`, `Failed`).
"""
# Tested in tests/unit/interfaces/grpc/test_errors.py

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final, TypeVar

T = TypeVar("T")


class FeedmillError(Exception):
    """Anything feedmill raises on purpose; `reason` is the stable word for it, `hint` the way out."""

    reason = "failed"
    hint = ""


class ReasonedError(FeedmillError):
    """One whose reason, and maybe the way out, is said where it is raised."""

    def __init__(self, message: str, *, reason: str, hint: str = "") -> None:
        self.reason = reason
        self.hint = hint
        super().__init__(message)


class UsageError(FeedmillError, ValueError):
    """A caller passed something that has no meaning."""

    reason = "usage"


class FilterError(UsageError):
    """A filter that nothing could pass, or that contradicts itself."""


class RangeError(FilterError):
    """A range of time that is empty or too long to be answered."""


class UnknownPolicyError(UsageError):
    """No URL policy has that name."""

    def __init__(self, name: str, known: Sequence[str]) -> None:
        super().__init__(f"no URL policy is called {name!r}; choose one of: {', '.join(known)}")


class AddressError(ReasonedError, UsageError):  # bad-address, or the guard's reason
    """An address that feedmill does not subscribe to; `reason` says what is wrong with it."""


class NoFeedError(ReasonedError):
    """No feed is where an address leads; `is_passing` when the server's trouble may pass."""

    def __init__(
        self, message: str, *, reason: str, is_passing: bool = False, hint: str = ""
    ) -> None:
        self.is_passing = is_passing
        super().__init__(message, reason=reason, hint=hint)


class CursorError(UsageError):
    """A place in a list that no page of that list has given."""

    reason = "bad-cursor"

    def __init__(self, cursor: str) -> None:
        super().__init__(
            f"{cursor[:80]!r} is no cursor of this list; take the one that the last page gave"
        )


class ListError(UsageError):
    """A list of subscriptions that cannot be read."""

    reason = "bad-list"


class AccessError(ReasonedError):
    """A caller without a token that holds (`unauthenticated`), or with too narrow a one (`forbidden`)."""


class NotFoundError(FeedmillError, LookupError):
    """Nothing has the name that was asked for."""

    reason = "not-found"

    def __init__(self, message: str, hint: str = "") -> None:
        self.hint = hint
        super().__init__(message)


class NotKeptError(NotFoundError):
    """It was here, and retention let it go."""

    reason = "not-kept"


def required(found: T | None, message: str, hint: str = "") -> T:
    """What was found; NotFoundError when that is nothing."""
    if found is None:
        raise NotFoundError(message, hint)
    return found


class ConflictError(ReasonedError):
    """What was asked does not go with how things are; `reason` says what stands in the way."""


class SeveralFeedsError(ConflictError):
    """An address leads to several feeds and none was chosen; `choices` lists them, best first."""

    def __init__(self, message: str, choices: Sequence[object]) -> None:
        self.choices = tuple(choices)  # model.canonical.FoundFeed
        hint = "ask again with the address of one of `choices`, or with its number as `choose`"
        super().__init__(message, reason="several-feeds", hint=hint)


class CandidateError(ReasonedError):  # model.candidate.CandidateReason
    """A window of candidates, or a choice among them, that is not taken; nothing was written."""


class TicketError(ReasonedError):  # model.confirmation.TicketReason
    """A ticket that does not hold for this insertion; `reason` says why, and nothing was written."""

    def __init__(self, message: str, *, reason: str) -> None:
        hint = "ask the person again with `confirm`; each yes makes a ticket that is good once"
        super().__init__(message, reason=reason, hint=hint)


class CrowdedError(FeedmillError):
    """Too many requests; `retry_after_sec` says when to try again."""

    def __init__(self, message: str, *, reason: str, retry_after_sec: float) -> None:
        self.reason = reason  # rate-limited, too-many-streams
        self.retry_after_sec = retry_after_sec
        super().__init__(message)


def extra_hint(extra: str) -> str:
    """How a part is installed that is not there; feedmill is on no package index."""
    return (
        f"install the extra feedmill[{extra}]: pip install '.[{extra}]' in the checkout of feedmill"
    )


class MissingExtraError(FeedmillError):
    """A part of feedmill needs packages that are installed only on demand."""

    reason = "missing-extra"

    def __init__(self, extra: str, part: str) -> None:
        self.hint = extra_hint(extra)
        super().__init__(f"{part} needs packages that are not installed here")


@contextmanager
def needs_extra(extra: str, part: str) -> Iterator[None]:
    """MissingExtraError when what the block imports is not installed."""
    try:
        yield
    except ImportError as problem:
        raise MissingExtraError(extra, part) from problem


class TopicError(UsageError):
    """Topics that cannot be screened for; the message lists every mistake at once."""

    reason = "bad-topics"

    def __init__(self, mistakes: Sequence[str]) -> None:
        self.mistakes = tuple(mistakes)
        super().__init__("; ".join(self.mistakes))


class RegexOnlyError(UsageError):
    """A decision that rests on regular expressions alone, which is never final (001)."""

    reason = "regex-only"

    def __init__(self, ref: int) -> None:
        self.hint = "screen with lexical, embedding, llm or agent as well"
        super().__init__(
            f"candidate {ref} was matched by regular expressions only, which is not a judgement"
        )


class ScreenerError(ReasonedError):  # model-missing, model-damaged, llm-unavailable, …
    """A method of screening that cannot answer; the others go on without it."""


class ConfigError(FeedmillError):
    """The settings cannot be used; the message lists every mistake at once."""

    reason = "config"

    def __init__(self, mistakes: Sequence[str]) -> None:
        self.mistakes = tuple(mistakes)
        super().__init__("; ".join(self.mistakes))


class SecretKeyError(FeedmillError):
    """A stored secret cannot be decrypted with the keys that were given."""

    reason = "secret-key"

    def __init__(self, message: str, *, hint: str = "") -> None:
        self.hint = hint or (
            "give the key as FEEDMILL_SECRET_KEY, or a file with it as FEEDMILL_SECRET_KEY_FILE;"
            " several keys are separated by a space or a line, the newest first"
        )
        super().__init__(message)


# Of a StoreError: one row or page cannot be read, others can.
DAMAGED_ROW: Final = "damaged-row"
CORRUPT: Final = "corrupt"
DAMAGE: Final = (DAMAGED_ROW, CORRUPT)
DAMAGE_HINT: Final = (
    "`feedmill verify` names every damaged row, where the store can be opened;"
    " docs/how-to/back-up-and-restore.md says how to repair it"
)


class StoreError(ReasonedError):  # busy, disk-full, io-error, read-only, corrupt, cannot-open, …
    """The store cannot remember or recall; nothing of what was asked was written."""


class DamagedRowError(StoreError):
    """One row cannot be read; `key` says which one, `column` and `why` what is wrong with it."""

    def __init__(self, table: str, key: str, column: str, why: str) -> None:
        self.table, self.key, self.column, self.why = table, key, column, why
        message = f"{table}: the row with {key} cannot be read: {column} {why}"
        super().__init__(message, reason=DAMAGED_ROW, hint=DAMAGE_HINT)


class MigrationError(StoreError):
    """The database does not fit this version of feedmill."""


# Of a BlobError: one document cannot be read, others can.
RAW_DAMAGE: Final = ("damaged", "moved")
RAW_DAMAGE_HINT: Final = (
    "`feedmill verify` names every raw document that is missing or damaged;"
    " docs/how-to/back-up-and-restore.md says how to repair the raw store"
)


class BlobError(FeedmillError):
    """The raw store cannot keep or give bytes; of a body that was to be kept, nothing was."""

    def __init__(self, reason: str, message: str) -> None:
        self.reason = reason  # disk-full, io-error, read-only, cannot-open, too-slow, damaged, …
        self.hint = RAW_DAMAGE_HINT if reason in RAW_DAMAGE else ""
        super().__init__(message)


class BlobMoved(BlobError):  # noqa: N818  # nothing is wrong: look again
    """The segment is gone: re-encoded or dropped since the index was asked; ask it again, once."""


class NotSentError(FeedmillError):
    """A request that could not leave before the lease of its host was over; nothing was sent."""

    reason = "not-sent"

    def __init__(self) -> None:
        super().__init__("the lease of the host was over before the request left")


class SinkError(FeedmillError):
    """Events cannot be handed over now; none of them is lost, the cursor stays before them."""

    def __init__(self, reason: str, message: str) -> None:
        self.reason = reason  # disk-full, io-error, read-only, …
        super().__init__(message)


class ClientError(FeedmillError):
    """What feedmill.client could not do."""

    reason = "client"


class UnreachableError(ClientError):
    """No answer, or one that broke off; asking again may help."""

    reason = "unreachable"


class AnswerError(ClientError):
    """An answer that is none of this interface: another program, or another version."""

    reason = "answer"


class GapError(ClientError):
    """The log no longer holds what comes next; everything up to `seq` has been seen."""

    reason = "gap"

    def __init__(self, seq: int, found: int) -> None:
        self.seq, self.found = seq, found
        super().__init__(f"after event {seq} comes event {found}: those between are lost")


class ProblemError(ClientError):
    """A problem that the server reports (RFC 9457); `reason` is the last part of the problem's type."""

    def __init__(
        self,
        message: str,
        *,
        status: int,
        reason: str,
        hint: str = "",
        retry_after_sec: float | None = None,
        document: object = None,
    ) -> None:
        self.status = status
        self.reason = reason
        self.hint = hint
        self.retry_after_sec = retry_after_sec
        self.document = document  # publish.shapes.Problem, with the choices when there are some
        super().__init__(message)


class TokenError(ProblemError):
    """No token that holds, or one that is too narrow for this."""


class MissingError(ProblemError):
    """Nothing has that name, or it was let go."""


class BusyError(ProblemError):
    """Too many requests, or a server that cannot answer now; `retry_after_sec` says when to try again."""


class RefusedError(ProblemError):
    """The request has no meaning as it is."""
