"""The one door to the URL parser."""

import pytest

from feedmill.canonicalise.urls import (
    HttpUrl,
    has_scheme,
    hides_ipv4,
    http_url,
    is_plain,
    join_url,
    resolve,
    split_url,
)

BASE = "https://example.com/blog/feed.xml"


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        pytest.param("post.html", "https://example.com/blog/post.html", id="relative path"),
        pytest.param("/post", "https://example.com/post", id="root-relative"),
        pytest.param("../a", "https://example.com/a", id="parent"),
        pytest.param("?p=1", "https://example.com/blog/feed.xml?p=1", id="query only"),
        pytest.param("#c", "https://example.com/blog/feed.xml#c", id="fragment only"),
        pytest.param("//cdn.example.org/x", "https://cdn.example.org/x", id="scheme-relative"),
        pytest.param(" \n/post\t", "https://example.com/post", id="white space around"),
        pytest.param("https:/post", "https://example.com/post", id="same scheme, one slash"),
        pytest.param("http:\\\\other.example\\a", "http://other.example/a", id="backslashes"),
    ],
)
def test_a_relative_reference_is_joined_with_its_base(reference: str, expected: str) -> None:
    assert resolve(reference, BASE) == expected


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        pytest.param("HTTP://Example.COM:80/a/../b#c", "HTTP://Example.COM:80/a/../b#c", id="http"),
        pytest.param("  https://e.example/ü  ", "https://e.example/ü", id="stripped only"),
        pytest.param("mailto:a@b.example", "mailto:a@b.example", id="mailto"),
        pytest.param("tag:b.example,2024:1", "tag:b.example,2024:1", id="tag"),
        pytest.param("urn:uuid:1", "urn:uuid:1", id="urn"),
        pytest.param("javascript:x()", "javascript:x()", id="javascript"),
        pytest.param("", "", id="empty is no address"),
        pytest.param("   ", "", id="blank is no address"),
    ],
)
def test_what_is_absolute_or_empty_keeps_its_own_spelling(reference: str, expected: str) -> None:
    assert resolve(reference, BASE) == expected


@pytest.mark.parametrize(
    ("reference", "base"),
    [
        pytest.param("/post", None, id="no base"),
        pytest.param("/post", "not a base", id="broken base"),
        pytest.param("post", "mailto:a@b.example", id="base without a path"),
        pytest.param("//[half", BASE, id="broken reference"),
        pytest.param("/\ud800", BASE, id="lone surrogate"),
    ],
)
def test_a_reference_that_cannot_be_joined_stays_as_it_is(reference: str, base: str | None) -> None:
    assert resolve(reference, base) == reference


@pytest.mark.parametrize(
    ("text", "base", "expected"),
    [
        pytest.param("HTTPS://E.example", None, "https://e.example/", id="serialised"),
        pytest.param("/a", BASE, "https://example.com/a", id="joined"),
        pytest.param("http://e.example/", "broken", "http://e.example/", id="base not needed"),
        pytest.param("http:e.example", "broken", "http://e.example/", id="absolute in disguise"),
        pytest.param("/a", None, None, id="relative without base"),
        pytest.param("/a", "broken", None, id="relative with a broken base"),
        pytest.param("", BASE, None, id="empty"),
        pytest.param("file:///etc/passwd", None, None, id="file"),
        pytest.param("file:///etc/passwd", BASE, None, id="file with a base"),
        pytest.param("etc/passwd", "file:///", None, id="file by its base"),
        pytest.param("ftp://e.example/", None, None, id="ftp"),
        pytest.param("http://e.example:99999/", None, None, id="impossible port"),
        pytest.param("http://\ud800/", None, None, id="lone surrogate"),
    ],
)
def test_only_http_urls_pass_the_door(text: str, base: str | None, expected: str | None) -> None:
    assert http_url(text, base) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("mailto:a@b.example", True, id="scheme"),
        pytest.param("localhost:80", True, id="a host that looks like one"),
        pytest.param("/a:b", False, id="path"),
        pytest.param("1a:b", False, id="no letter first"),
    ],
)
def test_a_scheme_is_letters_up_to_a_colon(text: str, expected: bool) -> None:
    assert has_scheme(text) is expected


def test_a_url_comes_apart_into_its_parts() -> None:
    parts = split_url("https://u:p%40@example.com:8080/a@b//c?d=/e?#f#g")

    assert parts == HttpUrl(
        scheme="https",
        userinfo="u:p%40",
        host="example.com",
        port="8080",
        path="/a@b//c",
        query="d=/e?",
        fragment="f#g",
    )


@pytest.mark.parametrize(
    ("href", "host", "port"),
    [
        pytest.param("http://[::1]/", "[::1]", "", id="IPv6 without port"),
        pytest.param("http://[::1]:81/", "[::1]", "81", id="IPv6 with port"),
        pytest.param("http://u@e.example/", "e.example", "", id="name without port"),
    ],
)
def test_a_port_is_told_from_an_ipv6_address(href: str, host: str, port: str) -> None:
    parts = split_url(href)

    assert (parts.host, parts.port) == (host, port)


@pytest.mark.parametrize(
    "href",
    [
        pytest.param("https://e.example/", id="shortest"),
        pytest.param("https://e.example/?", id="empty query"),
        pytest.param("https://e.example/#", id="empty fragment"),
        pytest.param("https://u:p@e.example:1/a?b#c", id="all parts"),
        pytest.param("http://[::1]:81//", id="IPv6 and an empty segment"),
    ],
)
def test_the_parts_of_a_url_make_up_the_url(href: str) -> None:
    assert join_url(split_url(href)) == href


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("https://e.example/a-b/2025/c.html", True, id="a page"),
        pytest.param("http://www.e-f.example/?a=1&b=%20#c", True, id="a query and a fragment"),
        pytest.param("https://e.example", False, id="the slash is missing"),
        pytest.param("https://E.example/", False, id="a host in capitals"),
        pytest.param("https://e.example:443/", False, id="a port"),
        pytest.param("https://u@e.example/", False, id="a user"),
        pytest.param("https://10.0.0.1/", False, id="an address of numbers"),
        pytest.param("https://e.0x1/", False, id="a number in disguise"),
        pytest.param("https://xn--a.example/", False, id="punycode"),
        pytest.param("https://e.example/a/../b", False, id="a dot segment"),
        pytest.param("https://e.example/%2e%2e/b", False, id="an escaped dot segment"),
        pytest.param("https://e.example/a b", False, id="something to escape"),
        pytest.param("https://e.example/?a='", False, id="something to escape in a query"),
        pytest.param(" https://e.example/", False, id="white space"),
        pytest.param("ftp://e.example/", False, id="another scheme"),
    ],
)
def test_most_urls_are_plain_to_see(text: str, expected: bool) -> None:
    assert is_plain(text) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("http://8.0.0.1/", False, id="as it is"),
        pytest.param("https://a1:b2@8.0.0.1:81/", False, id="with credentials and a port"),
        pytest.param("http://https://8.0.0.1/", False, id="behind a mangled protocol"),
        pytest.param("http://8.0.0.1./", False, id="with a final dot"),
        pytest.param("http://010.0.0.1/", True, id="octal"),
        pytest.param("http://8.1/", True, id="short"),
        pytest.param("http://8.0.0.1@010.0.0.1/", True, id="only its user is written so"),
        pytest.param("http://010.0.0.1/8.0.0.1", True, id="only its path is written so"),
        pytest.param("http://010.0.0.1?8.0.0.1", True, id="only its query is written so"),
        pytest.param("http://010.0.0.1#@8.0.0.1", True, id="only its fragment is written so"),
    ],
)
def test_an_ipv4_address_in_another_spelling_is_hidden(text: str, *, expected: bool) -> None:
    assert hides_ipv4(text, "http://8.0.0.1/") is expected


def test_a_name_is_no_hidden_ipv4_address() -> None:
    assert not hides_ipv4("e.example", "https://e.example/")
