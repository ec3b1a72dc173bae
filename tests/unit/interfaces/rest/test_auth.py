"""Where a token is read from, and what an answer's conditions mean."""

from base64 import b64encode

import pytest

from feedmill.interfaces.rest.auth import presented_token


def basic(pair: str) -> str:
    return "Basic " + b64encode(pair.encode()).decode()


@pytest.mark.parametrize(
    ("field", "token"),
    [
        ("Bearer fm_x", "fm_x"),
        ("bearer  fm_x ", "fm_x"),
        ("Bearer", None),
        ("Bearer ", None),
        ("fm_x", None),
        ("Digest fm_x", None),
        (basic("reader:fm_x"), None),
        ("", None),
        (None, None),
    ],
)
def test_a_token_comes_as_a_bearer(field: str | None, token: str | None) -> None:
    assert presented_token(field, basic=False) == token


@pytest.mark.parametrize(
    ("field", "token"),
    [
        (basic("reader:fm_x"), "fm_x"),
        (basic(":fm_x"), "fm_x"),
        (basic("reader:"), None),
        (basic("reader"), None),
        ("Basic !!!", None),
        ("Basic /////w==", None),  # no text
        ("Bearer fm_x", "fm_x"),
    ],
)
def test_a_feed_reader_may_send_it_as_a_password(field: str, token: str | None) -> None:
    assert presented_token(field, basic=True) == token
