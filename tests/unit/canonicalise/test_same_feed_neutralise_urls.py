"""A feed's own URLs do not make two copies of it different."""

import pytest

from feedmill.canonicalise.same_feed import neutralise_urls

FEED = "https://www.e.example/feed"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param('"https://e.example/a"', '"/a"', id="own host"),
        pytest.param('"HTTP://WWW.E.Example/a"', '"/a"', id="http, www and case"),
        pytest.param('"https://e.example:443/a"', '"/a"', id="default port"),
        pytest.param('"https://e.example"', '"/"', id="nothing behind the host"),
        pytest.param('<a href=\\"https://e.example\\">', '<a href=\\"/\\">', id="inside JSON"),
        pytest.param(
            '"https://t.example/c?u=https://e.example/a"', '"https://t.example/c?u=/a"', id="nested"
        ),
        pytest.param('"https://e.example/a/"', '"/a"', id="and one trailing slash"),
        pytest.param('"https://o.example/a/"', '"https://o.example/a"', id="a stranger's slash"),
        pytest.param('"https://o.example/a//"', '"https://o.example/a/"', id="only one"),
        pytest.param('"/a/?b"', '"/a?b"', id="a slash before the query"),
        pytest.param('"https://o.example/a/#b"', '"https://o.example/a/#b"', id="not before #"),
        pytest.param('"/"', '"/"', id="the root"),
        pytest.param('"see https://e.example now"', '"see https://e.example now"', id="prose"),
        pytest.param('"https://a.e.example/b"', '"https://a.e.example/b"', id="subdomain"),
        pytest.param(
            '"https://e.example.evil.example/b"',
            '"https://e.example.evil.example/b"',
            id="lookalike",
        ),
        pytest.param('"https://e.example:81/b"', '"https://e.example:81/b"', id="another port"),
        pytest.param('"https://u:p@e.example/b"', '"https://u:p@e.example/b"', id="a user"),
        pytest.param('"https://e.example:port/b"', '"https://e.example:port/b"', id="no URL"),
    ],
)
def test_own_urls_become_root_relative(text: str, expected: str) -> None:
    assert neutralise_urls(text, [FEED]) == expected


def test_the_port_of_a_feed_counts() -> None:
    text = '["https://e.example:81/a","https://e.example/b"]'

    neutral = neutralise_urls(text, ["https://e.example:81/feed"])

    assert neutral == '["/a","https://e.example/b"]'


def test_an_international_host_is_known_in_both_spellings() -> None:
    text = '["https://bücher.example/a","https://xn--bcher-kva.example/b"]'

    neutral = neutralise_urls(text, ["https://bücher.example/feed"])

    assert neutral == '["/a","/b"]'


def test_every_url_given_is_the_feeds_own() -> None:
    text = '["https://a.example/x","https://b.example/y","https://c.example/z"]'

    neutral = neutralise_urls(text, ["https://a.example/", "nonsense", "http://b.example"])

    assert neutral == '["/x","/y","https://c.example/z"]'


def test_without_own_urls_only_slashes_are_dropped() -> None:
    assert neutralise_urls('"https://e.example/a/"', []) == '"https://e.example/a"'
