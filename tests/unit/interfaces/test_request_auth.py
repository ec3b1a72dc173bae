"""Checks that REST, gRPC and MCP share."""

import pytest

from feedmill.interfaces.request_auth import is_cross_origin


@pytest.mark.parametrize(
    ("headers", "refused"),
    [
        pytest.param({}, False, id="no-browser"),
        pytest.param({b"origin": "http://mill:8642"}, False, id="same-origin"),
        pytest.param({b"origin": "http://evil.example"}, True, id="another-host"),
        pytest.param({b"origin": "https://mill:8642"}, True, id="another-scheme"),
        pytest.param({b"origin": "null"}, True, id="no-origin-to-tell"),
        pytest.param({b"sec-fetch-site": "cross-site"}, True, id="browser-says-cross-site"),
        pytest.param({b"sec-fetch-site": "same-site"}, True, id="same-host-on-another-port"),
        pytest.param({b"sec-fetch-site": "none"}, False, id="typed-by-the-user"),
        pytest.param(
            {b"origin": "https://mill:8642", b"x-forwarded-proto": "https"},
            False,
            id="proxy-with-tls",
        ),
        pytest.param(
            {b"origin": "http://mill:8642", b"x-forwarded-proto": "https, http"},
            True,
            id="plain-page-against-tls",
        ),
        pytest.param(
            {b"origin": "https://mill:8642", b"sec-fetch-site": "same-origin"},
            False,
            id="proxy-that-forwards-nothing",
        ),
    ],
)
def test_page_of_another_origin_is_refused(headers: dict[bytes, str], *, refused: bool) -> None:
    assert is_cross_origin({b"host": "mill:8642", **headers}) is refused
