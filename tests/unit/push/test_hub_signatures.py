"""Signatures of WebSub deliveries."""

import pytest

from feedmill.push.hub import is_signed, sign_delivery

BODY, SECRET = b"<feed/>", "geheim"


@pytest.mark.parametrize("method", ["sha1", "sha256", "sha384", "sha512"])
def test_every_method_of_the_specification_is_read(method: str) -> None:
    header = sign_delivery(BODY, SECRET, method=method)

    assert header.startswith(f"{method}=")
    assert is_signed(header, BODY, SECRET)
    assert is_signed(header.upper().replace(method.upper(), method), BODY, SECRET)


@pytest.mark.parametrize(
    "header",
    [
        pytest.param(None, id="missing"),
        pytest.param("", id="empty"),
        pytest.param("sha256", id="no digest"),
        pytest.param("md5=" + "0" * 40, id="a method that is not allowed"),
        pytest.param("sha256=" + "0" * 64, id="wrong"),
        pytest.param("sha256=" + "z" * 64, id="not hexadecimal"),
    ],
)
def test_anything_else_is_no_signature(header: str | None) -> None:
    assert not is_signed(header, BODY, SECRET)


def test_another_body_or_secret_does_not_match() -> None:
    header = sign_delivery(BODY, SECRET)

    assert not is_signed(header, BODY + b" ", SECRET)
    assert not is_signed(header, BODY, "other")
