"""How the gRPC door says no: the status of each kind of problem, and what goes with it."""

import sys

import grpc
import msgspec
import pytest

from feedmill.errors import (
    AccessError,
    AddressError,
    BlobError,
    ConflictError,
    CrowdedError,
    CursorError,
    MissingExtraError,
    NoFeedError,
    NotFoundError,
    NotKeptError,
    StoreError,
    UsageError,
)
from feedmill.interfaces.cli.servers import load_grpc
from feedmill.interfaces.grpc.errors import refusal_of
from feedmill.interfaces.grpc.server import grpc_server


@pytest.mark.parametrize(
    ("problem", "code", "reason"),
    [
        (AccessError("?", reason="unauthenticated"), "UNAUTHENTICATED", "unauthenticated"),
        (AccessError("?", reason="forbidden"), "PERMISSION_DENIED", "forbidden"),
        (NotFoundError("?"), "NOT_FOUND", "not-found"),
        (NotKeptError("?"), "NOT_FOUND", "not-kept"),
        (NoFeedError("?", reason="html-page"), "NOT_FOUND", "html-page"),
        (ConflictError("?", reason="paused"), "FAILED_PRECONDITION", "paused"),
        (UsageError("?"), "INVALID_ARGUMENT", "usage"),
        (CursorError("?"), "INVALID_ARGUMENT", "bad-cursor"),
        (AddressError("?", reason="scheme"), "INVALID_ARGUMENT", "scheme"),
        (msgspec.ValidationError("?"), "INVALID_ARGUMENT", "usage"),
        (StoreError("/var/x is full", reason="disk-full"), "UNAVAILABLE", "disk-full"),
        (BlobError("damaged", "/var/x"), "UNAVAILABLE", "damaged"),
        (TimeoutError(), "DEADLINE_EXCEEDED", "timeout"),
        (RuntimeError("/var/secret"), "INTERNAL", "surprise"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else None,
)
def test_each_kind_of_problem_has_its_status_and_keeps_its_reason(
    problem: Exception, code: str, reason: str
) -> None:
    refusal = refusal_of(problem)

    assert (refusal.code, refusal.reason) == (grpc.StatusCode[code], reason)
    assert ("feedmill-reason", reason) in refusal.metadata()
    assert "/var" not in refusal.message


def test_who_has_to_wait_is_told_how_long_in_seconds_and_in_the_words_of_grpc() -> None:
    refusal = refusal_of(CrowdedError("later", reason="rate-limited", retry_after_sec=1.2))

    assert refusal.code == grpc.StatusCode.RESOURCE_EXHAUSTED
    assert refusal.metadata() == (
        ("feedmill-reason", "rate-limited"),
        ("retry-after", "2"),
        ("grpc-retry-pushback-ms", "1200"),
    )


def test_a_hint_is_sent_in_letters_that_a_header_can_hold() -> None:
    refusal = refusal_of(NotFoundError("nothing", "try fm_… or\r\nX: é"))

    assert dict(refusal.metadata())["feedmill-hint"] == "try fm_... orX: ?"


def test_the_door_opens_when_its_packages_are_there() -> None:
    assert load_grpc().grpc_server is grpc_server


def test_a_door_whose_packages_are_missing_says_how_to_get_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "grpc_health", None)

    with pytest.raises(MissingExtraError) as caught:
        load_grpc()

    assert "pip install '.[grpc]'" in caught.value.hint
