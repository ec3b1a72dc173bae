"""Errors of an object store: a stable reason for each, with advice.

The client's own words are never passed on: they hold whole requests, and with some providers a
signature is part of the address. A status and the provider's code are all that is quoted.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from obstore.exceptions import BaseError, PermissionDeniedError, UnauthenticatedError

from feedmill.errors import BlobError

# What a call may raise: a missing object is the built-in error.
OBJECT_STORE_ERRORS: Final = (BaseError, FileNotFoundError)

_STATUS: Final = re.compile(r"status code: (\d{3})")
_CODE: Final = re.compile(r"<Code>(\w{1,60})</Code>")
_NO_BUCKET: Final = frozenset({"NoSuchBucket", "ContainerNotFound", "InvalidBucketName"})
_PAST_THE_END: Final = ("StartTooLarge", "Invalid range", "InvalidRange")
_METADATA: Final = "169.254.169.254"  # asked for credentials when there are none at hand
_CROWDED: Final = (408, 409, 425, 429)


def object_error(error: Exception, place: str) -> BlobError:
    """The object store's error in our words; `place` is its address, which holds no secret."""
    said = str(error)
    status, code = _status(said), _code(said)
    answer = " ".join(filter(None, (str(status or ""), code))) or "no answer"
    if code in _NO_BUCKET or (isinstance(error, FileNotFoundError) and code != "NoSuchKey"):
        advice = "the bucket is not there; create it, or correct [blobs] url"
        return BlobError("cannot-open", f"{place}: {advice} ({answer})")
    if _is_denied(error, status) or _METADATA in said:
        advice = (
            "the object store does not accept the credentials; check the key, its secret and what "
            "they may do (read, write, list and delete), in the variables of the provider such as "
            "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
        )
        return BlobError("denied", f"{place}: {advice} ({answer})")
    if status is not None and 300 <= status < 500 and status not in _CROWDED:
        advice = "the object store refuses the request; check [blobs] url, the region and endpoint"
        return BlobError("refused", f"{place}: {advice} ({answer})")
    advice = "the object store does not answer; feedmill goes on by itself when it does"
    return BlobError("unreachable", f"{place}: {advice} ({answer})")


@contextmanager
def object_errors(place: str, *, missing: Exception | None = None) -> Iterator[None]:
    """Errors of the object store become ours; `missing` is what is raised for an object that is not there."""
    try:
        yield
    except OBJECT_STORE_ERRORS as error:
        if missing is not None and is_missing(error):
            raise missing from error
        raise object_error(error, place) from error


def name_taken_error(place: str) -> BlobError:
    """Something else lies under the name of a segment; nothing is ever overwritten."""
    return BlobError(
        "taken", f"{place}: something else has the name of a segment; nothing was kept"
    )


def is_missing(error: Exception) -> bool:
    """True when the object is not there, and the bucket is, as far as it was said."""
    return isinstance(error, FileNotFoundError) and _code(str(error)) not in _NO_BUCKET


def is_past_the_end(error: Exception) -> bool:
    """True when a range begins behind the last byte."""
    said = str(error)
    return _status(said) == 416 or any(mark in said for mark in _PAST_THE_END)


def _is_denied(error: Exception, status: int | None) -> bool:
    return isinstance(error, PermissionDeniedError | UnauthenticatedError) or status in (401, 403)


def _status(said: str) -> int | None:
    found = _STATUS.search(said)
    return int(found[1]) if found else None


def _code(said: str) -> str | None:
    found = _CODE.search(said)
    return found[1] if found else None
