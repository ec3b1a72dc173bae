"""Whose fault a failed poll is."""

from typing import get_args

import pytest

from feedmill.fetch.fault import fault_of
from feedmill.model.fetch import FailureReason, RefusalReason


@pytest.mark.parametrize(
    ("outcome", "status", "fault"),
    [
        pytest.param("fresh", 200, None, id="a document is no failure"),
        pytest.param("unchanged", 304, None, id="neither is a 304"),
        pytest.param("same-body", 200, None, id="nor a 200 with the same body"),
        pytest.param("private-address", None, "ours", id="our guard refuses the address"),
        pytest.param("too-large", 200, "ours", id="a limit of ours that can be raised"),
        pytest.param("client-error", 406, "ours", id="the server says our request is wrong"),
        pytest.param("client-error", 402, "theirs", id="another 4xx is about the address"),
        pytest.param("not-found", 404, "theirs", id="the publisher took the feed away"),
        pytest.param("gone", 410, "theirs", id="and said so"),
        pytest.param("malformed", 200, "theirs", id="what is served is no feed"),
        pytest.param("truncated", 200, "theirs", id="the body was cut"),
        pytest.param("redirect-loop", 302, "theirs", id="the address leads nowhere"),
        pytest.param("server-error", 500, "host", id="the server failed"),
        pytest.param("rate-limited", 429, "host", id="the host asks for patience"),
        pytest.param("timeout-connect", None, "host", id="the host does not answer"),
        pytest.param("dns-failure", None, "host", id="the host has no address"),
        pytest.param("a-reason-of-tomorrow", None, "theirs", id="unknown reasons are not ours"),
    ],
)
def test_fault_of_an_outcome(outcome: str, status: int | None, fault: str | None) -> None:
    assert fault_of(outcome, status) == fault


def test_every_reason_of_a_failure_has_a_fault() -> None:
    reasons = (*get_args(FailureReason), *get_args(RefusalReason))

    assert {fault_of(reason, None) for reason in reasons} == {"ours", "theirs", "host"}
