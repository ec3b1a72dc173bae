"""Feed schemes, mangled protocols and missing ones."""

import pytest

from feedmill.canonicalise.pasted_url import (
    add_missing_protocol,
    convert_feed_scheme,
    repair_protocol,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("feed://e.example/a", "https://e.example/a", id="feed"),
        pytest.param("rss://e.example/a", "https://e.example/a", id="rss"),
        pytest.param("PCAST://e.example/a", "https://e.example/a", id="pcast in capitals"),
        pytest.param("itpc://e.example:81/a", "https://e.example:81/a", id="itpc with a port"),
        pytest.param("podcast://u:p@e.example", "https://u:p@e.example", id="podcast with a user"),
        pytest.param("feed:https://e.example", "https://e.example", id="wrapped"),
        pytest.param("feed:http://e.example", "http://e.example", id="wrapped http stays http"),
        pytest.param("feed://https://e.example", "https://e.example", id="wrapped with slashes"),
        pytest.param("feed:https//e.example", "https//e.example", id="wrapped and mangled"),
        pytest.param("feed:feed://e.example", "https://e.example", id="twice"),
        pytest.param("rss:feed:http://e.example", "http://e.example", id="wrapped twice"),
        pytest.param("feed:e.example", "feed:e.example", id="neither wrapped nor with slashes"),
        pytest.param("feed:file:///x", "feed:file:///x", id="wraps something else"),
        pytest.param("feeds://e.example", "https://e.example", id="feeds"),
        pytest.param("podcasts://e.example", "https://e.example", id="podcasts"),
        pytest.param("web+feed:https://e.example", "https://e.example", id="of a protocol handler"),
        pytest.param("feedly://e.example", "feedly://e.example", id="another scheme"),
        pytest.param("/feed://a", "/feed://a", id="a path"),
    ],
)
def test_feed_schemes_become_https(text: str, expected: str) -> None:
    assert convert_feed_scheme(text) == expected


def test_a_feed_scheme_becomes_the_scheme_asked_for() -> None:
    assert convert_feed_scheme("feed://e.example", "http") == "http://e.example"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("htp://e.example", "http://e.example", id="letter dropped"),
        pytest.param("ttps://e.example", "https://e.example", id="first letter dropped"),
        pytest.param("htttp://e.example", "http://e.example", id="letter doubled"),
        pytest.param("httsp://e.example", "https://e.example", id="letters swapped"),
        pytest.param("jttp://e.example", "http://e.example", id="neighbouring key"),
        pytest.param("hxxps://e.example", "https://e.example", id="disarmed"),
        pytest.param("http//e.example", "http://e.example", id="no colon"),
        pytest.param("http=//e.example", "http://e.example", id="equals sign"),
        pytest.param("http;/e.example", "http://e.example", id="semicolon, one slash"),
        pytest.param("https:/e.example", "https://e.example", id="one slash"),
        pytest.param("http:\\\\e.example\\a", "http://e.example\\a", id="backslashes"),
        pytest.param("http:::////e.example", "http://e.example", id="too many of both"),
        pytest.param("http://./e.example", "http://e.example", id="a dot in front of the host"),
        pytest.param("http://,e.example", "http://e.example", id="a comma in front of the host"),
        pytest.param("http://:/e.example", "http://e.example", id="a colon in front of the host"),
        pytest.param("http : // e.example", "http://e.example", id="blanks"),
        pytest.param("HTTP(S)://e.example", "https://e.example", id="a choice meant literally"),
        pytest.param("http[s]://e.example", "https://e.example", id="in square brackets"),
        pytest.param("http:s//e.example", "https://e.example", id="colon before the s"),
        pytest.param("h:ttp//e.example", "http://e.example", id="colon inside"),
        pytest.param("http:https://e.example", "https://e.example", id="the inner one wins"),
        pytest.param("https://http://e.example", "http://e.example", id="even if it is http"),
        pytest.param("http::http://e.example", "http://e.example", id="two colons between"),
        pytest.param("http://https//e.example", "https://e.example", id="both mangled"),
        pytest.param("http:https/e.example/a", "https://e.example/a", id="a colon and a slash"),
        pytest.param("http://http/e.example", "http://e.example", id="a protocol as host"),
        pytest.param("http:https//e.example", "https://e.example", id="colon, then no colon"),
        pytest.param("/http://e.example", "http://e.example", id="leading slash"),
        pytest.param('"<https://e.example', "https://e.example", id="leading quote and bracket"),
        pytest.param("http:e.example/a", "http://e.example/a", id="no slash before a host"),
        pytest.param("https:www.//e.example", "https://www.e.example", id="www misplaced"),
        pytest.param("https://www/e.example/a", "https://www.e.example/a", id="www without dot"),
        pytest.param(
            "htp://e.example:81?a=http//b#c", "http://e.example:81?a=http//b#c", id="rest"
        ),
    ],
)
def test_a_protocol_one_slip_from_http_is_put_right(text: str, expected: str) -> None:
    assert repair_protocol(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("http://e.example:8080/a", id="fine, with a port"),
        pytest.param("https://e.example/r?url=http://o.example", id="a URL inside the query"),
        pytest.param("https://http.cat/feed", id="a host called http"),
        pytest.param("https://http:81/feed", id="a host called http with a port"),
        pytest.param("https://www/feed", id="a host called www"),
        pytest.param("https://www.e.example//a", id="www as it should be"),
        pytest.param("http.cat/feed", id="a bare host called http"),
        pytest.param("http/feed.xml", id="a directory called http"),
        pytest.param("http:feed", id="an archaic relative reference"),
        pytest.param("ftp://e.example/", id="ftp is two slips away"),
        pytest.param("sftp://e.example/", id="sftp too"),
        pytest.param("nntp://e.example/", id="nntp too"),
        pytest.param("rtsp://e.example/", id="rtsp too"),
        pytest.param("file:///a", id="file"),
        pytest.param("data:text/plain,http://x", id="data"),
        pytest.param("tel:+123", id="tel"),
        pytest.param("https+x://e.example", id="a scheme that begins alike"),
        pytest.param("/path/to/feed", id="a path"),
        pytest.param("", id="empty"),
    ],
)
def test_what_is_no_mangled_http_is_left_alone(text: str) -> None:
    assert repair_protocol(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("e.example/feed", "https://e.example/feed", id="bare"),
        pytest.param("e.example", "https://e.example", id="host only"),
        pytest.param("e.example.", "https://e.example.", id="with the root's dot"),
        pytest.param("e.example?a#b", "https://e.example?a#b", id="query at once"),
        pytest.param("e.example:81/a", "https://e.example:81/a", id="port"),
        pytest.param("//e.example/a", "https://e.example/a", id="scheme-relative"),
        pytest.param("LocalHost:3000", "https://LocalHost:3000", id="localhost"),
        pytest.param("//[::1]/feed", "https://[::1]/feed", id="IPv6"),
        pytest.param("[::1]:81", "https://[::1]:81", id="bare IPv6"),
        pytest.param("192.0.2.1/a", "https://192.0.2.1/a", id="IPv4"),
        pytest.param("bücher.example/a", "https://bücher.example/a", id="international"),
    ],
)
def test_a_credible_host_gets_the_missing_protocol(text: str, expected: str) -> None:
    assert add_missing_protocol(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("https://e.example", id="not missing"),
        pytest.param("feed://e.example", id="another scheme"),
        pytest.param("mailto:a@e.example", id="mailto"),
        pytest.param("a@e.example", id="a mail address"),
        pytest.param("path/to/feed.xml", id="a path with a dot later on"),
        pytest.param("2024/05", id="a number is no host"),
        pytest.param("/feed.xml", id="root-relative"),
        pytest.param("./feed.xml", id="relative"),
        pytest.param("..", id="parent"),
        pytest.param("a..b", id="empty label"),
        pytest.param("feed.", id="only the root's dot"),
        pytest.param("//Users/file.xml", id="a file path"),
        pytest.param("///e.example", id="three slashes"),
        pytest.param("e.example:99999", id="impossible port"),
        pytest.param("not a.host", id="blank"),
        pytest.param("", id="empty"),
    ],
)
def test_what_may_be_a_path_or_something_else_gets_none(text: str) -> None:
    assert add_missing_protocol(text) == text


def test_the_missing_protocol_is_the_one_asked_for() -> None:
    assert add_missing_protocol("e.example", "http") == "http://e.example"
