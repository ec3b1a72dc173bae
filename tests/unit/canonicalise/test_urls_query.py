"""Queries are edited piece by piece and never encoded again (D2)."""

import pytest

from feedmill.canonicalise.urls import drop_params, param_name, param_value, sort_params


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        pytest.param("x=1&key&b=", "key&b=", id="valueless and empty stay as written"),
        pytest.param("a=%E9&x&b=%20+", "a=%E9&b=%20+", id="escapes stay, Latin-1 too"),
        pytest.param("%78=1&a=1", "a=1", id="the name is decoded first"),
        pytest.param("a=x&b==x", "a=x&b==x", id="only the name counts"),
        pytest.param("a=1&&b=2", "a=1&&b=2", id="an empty piece is kept"),
        pytest.param("x=1", "", id="emptied"),
        pytest.param("&x=1&", "", id="nothing but empty pieces left"),
        pytest.param("%zz=1&%7=2", "%zz=1&%7=2", id="malformed escapes stay"),
    ],
)
def test_a_dropped_parameter_takes_nothing_else_with_it(query: str, expected: str) -> None:
    assert drop_params(query, lambda name: name == "x") == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        pytest.param("b=1&a=2", "a=2&b=1", id="by name"),
        pytest.param("b=1&a=2&b=0", "a=2&b=1&b=0", id="equal names keep their order"),
        pytest.param("%62=1&a=2&c", "a=2&%62=1&c", id="by decoded name, written as it was"),
        pytest.param("b&&a", "a&b", id="empty pieces go"),
        pytest.param("ab=1&a=2", "a=2&ab=1", id="the name ends at the equals sign"),
        pytest.param("%ff=1&%C3%A9=2", "%C3%A9=2&%ff=1", id="bytes that are no UTF-8 come last"),
    ],
)
def test_parameters_are_sorted_by_name(query: str, expected: str) -> None:
    assert sort_params(query) == expected


def test_a_piece_is_a_name_and_a_value() -> None:
    piece = "caf%C3%A9=a%3Db=c"

    assert (param_name(piece), param_value(piece)) == ("café", "a=b=c")


def test_a_piece_without_an_equals_sign_has_an_empty_value() -> None:
    assert (param_name("key"), param_value("key")) == ("key", "")
