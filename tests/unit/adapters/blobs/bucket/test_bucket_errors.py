"""What an object store says, and the one word that we make of it."""

import pytest
from obstore.exceptions import (
    BaseError,
    GenericError,
    PermissionDeniedError,
    UnauthenticatedError,
)

from feedmill.adapters.blobs.bucket.bucket import is_missing, is_past_the_end, object_error


def said(status: int, code: str = "") -> str:
    body = f"<Error><Code>{code}</Code><Message>long words</Message></Error>" if code else ""
    return f"Generic S3 error: Error performing PUT in 1ms - status code: {status} Words: {body}"


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (GenericError(said(500, "InternalError")), "unreachable"),
        (GenericError(said(503, "SlowDown")), "unreachable"),
        (GenericError(said(429)), "unreachable"),
        (GenericError(said(409, "OperationAborted")), "unreachable"),
        (GenericError("HTTP error: error sending request"), "unreachable"),
        (GenericError(said(403, "AccessDenied")), "denied"),
        (PermissionDeniedError(said(403, "SignatureDoesNotMatch")), "denied"),
        (UnauthenticatedError("no token"), "denied"),
        (GenericError("Error performing PUT http://169.254.169.254/latest/api/token"), "denied"),
        (GenericError(said(404, "NoSuchBucket")), "cannot-open"),
        (FileNotFoundError(said(404, "NoSuchBucket")), "cannot-open"),
        (GenericError(said(400, "InvalidBucketName")), "cannot-open"),
        (FileNotFoundError(said(404, "ContainerNotFound")), "cannot-open"),
        (GenericError(said(301, "PermanentRedirect")), "refused"),
        (GenericError(said(400, "AuthorizationHeaderMalformed")), "refused"),
        (GenericError(said(501, "NotImplemented")), "unreachable"),
    ],
)
def test_every_error_has_one_stable_reason_and_names_the_place(
    error: BaseError | FileNotFoundError, reason: str
) -> None:
    told = object_error(error, "s3://bucket/prefix")

    assert told.reason == reason
    assert str(told).startswith("s3://bucket/prefix: ")
    assert "long words" not in str(told)


def test_the_clients_own_words_stay_inside_because_they_may_hold_a_signature() -> None:
    error = GenericError("error sending request for url (https://x.example/c?sig=sesame)")

    assert "sesame" not in str(object_error(error, "az://container"))


def test_a_missing_object_is_told_from_a_missing_bucket() -> None:
    assert is_missing(FileNotFoundError(said(404, "NoSuchKey")))
    assert is_missing(FileNotFoundError("Object at location x not found"))
    assert not is_missing(FileNotFoundError(said(404, "NoSuchBucket")))
    assert not is_missing(GenericError(said(404, "NoSuchKey")))


@pytest.mark.parametrize(
    ("message", "past"),
    [
        (said(416, "InvalidRange"), True),
        ("Generic InMemory error: Invalid range: Wanted range starting at 5", True),
        ("Generic LocalFileSystem error: StartTooLarge { requested: 5 }", True),
        (said(500), False),
    ],
)
def test_a_range_behind_the_end_is_known(message: str, past: bool) -> None:
    assert is_past_the_end(GenericError(message)) is past
