"""Header fields keep their order, their duplicates and their octets."""

from feedmill.fetch.headers import (
    header_list,
    header_text,
    header_value,
    header_values,
    is_sendable,
    redact_headers,
)

_HEADERS = (("Vary", "Accept"), ("ETag", ""), ("etag", ' "a" '), ("VARY", "Origin"))


def test_a_field_is_found_in_any_case_with_all_its_values_in_order() -> None:
    assert header_values(_HEADERS, "vary") == ("Accept", "Origin")
    assert header_list(_HEADERS, "Vary") == "Accept, Origin"


def test_an_empty_value_does_not_hide_the_next_one() -> None:
    assert header_value(_HEADERS, "ETag") == '"a"'
    assert header_value(_HEADERS, "Age") is None


def test_octets_are_sendable_and_line_ends_are_not() -> None:
    assert is_sendable('"caf\xe9"\t')
    assert not is_sendable('"a"\r\nX: y')
    assert not is_sendable("\x00")
    assert not is_sendable("\x7f")
    assert not is_sendable("€")


def test_octets_are_read_as_utf_8_where_they_are() -> None:
    assert header_text("caf\xc3\xa9") == "café"
    assert header_text("caf\xe9") == "café"
    assert header_text("€") == "€"


def test_credentials_are_not_recorded() -> None:
    headers = (("Accept", "*/*"), ("Authorization", "Basic c2VjcmV0"), ("Set-Cookie", "id=1"))

    assert redact_headers(headers) == (
        ("Accept", "*/*"),
        ("Authorization", "[redacted]"),
        ("Set-Cookie", "[redacted]"),
    )
