"""From what somebody pasted, or a feed declared, to a URL.

What the platforms call their own feeds.
"""

import pytest

from feedmill.canonicalise.pasted_url import (
    blogger,
    decode_entities,
    feedburner,
    resolve_url,
    rewritten_url,
    starting_urls,
    without_surrounding_text,
    wordpress_candidates,
)

BASE = "https://e.example/blog/feed.xml"
BLOG = "https://blog.blogspot.com"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("https://e.example/?a=1&amp;b=2", "https://e.example/?a=1&b=2", id="entity"),
        pytest.param("feed:https://e.example/?a&amp;b", "https://e.example/?a&b", id="both"),
        pytest.param("https://e.example/?a&section=2", "https://e.example/?a&section=2", id="none"),
        pytest.param("&#104;ttp://e.example", "http://e.example/", id="entity in the protocol"),
        pytest.param("  E.example/A \n", "https://e.example/A", id="bare domain"),
        pytest.param("htp:/e.example", "http://e.example/", id="mangled"),
        pytest.param("feed://e.exa\nmple/", "https://e.example/", id="line feed"),
        pytest.param("fe\ned://e.example/", "https://e.example/", id="line feed in the scheme"),
        pytest.param("<https://e.example/a>", "https://e.example/a", id="angle brackets"),
        pytest.param("&quot;e.example&quot;", "https://e.example/", id="quotes"),
        pytest.param("https://u:p@e.example/#f", "https://u:p@e.example/#f", id="kept to fetch"),
        pytest.param("https://e.example:443", "https://e.example/", id="serialised"),
        pytest.param("e.example:81/a", "https://e.example:81/a", id="bare with a port"),
        pytest.param("://e.example/a", "https://e.example/a", id="the letters were not copied"),
        pytest.param("hxxps://e[.]example/a[.]b", "https://e.example/a[.]b", id="disarmed link"),
        pytest.param("view-source:https://e.example/", "https://e.example/", id="view-source"),
        pytest.param("URL: https://e.example/", "https://e.example/", id="label"),
        pytest.param("feed:e.example/a", "https://e.example/a", id="feed scheme without slashes"),
        pytest.param("feed:e.example:81/a", "https://e.example:81/a", id="feed scheme and port"),
        pytest.param("feed://feed://e.example/a", "https://e.example/a", id="feed scheme twice"),
        pytest.param("~~https://e.example/a~~", "https://e.example/a", id="Markdown in pairs"),
        pytest.param("[url]https://e.example/a[/url]", "https://e.example/a", id="BBCode"),
        pytest.param("https%3A%2F%2Fe.example%2Fa%3Fb", "https://e.example/a?b", id="encoded"),
        pytest.param(
            "ｈｔｔｐｓ：／／e.example/？", "https://e.example/%EF%BC%9F", id="wide letters"
        ),
        pytest.param("“https://e.example/”", "https://e.example/", id="typographic quotes"),
        pytest.param("`e.example`", "https://e.example/", id="code marks"),
        pytest.param("https://www.https://e.example/", "https://e.example/", id="www before https"),
        pytest.param("www.http.example/a", "https://www.http.example/a", id="a host called http"),
        pytest.param("A post https://e.example/a.", "https://e.example/a", id="title and address"),
        pytest.param("[A](https://e.example/a)", "https://e.example/a", id="Markdown"),
        pytest.param('<a href="https://e.example/a">', "https://e.example/a", id="HTML"),
        pytest.param("<url>https://e.example/a</url>", "https://e.example/a", id="XML"),
        pytest.param(
            "\u200bhttps://e.exa\ufeffmple/a\u200e", "https://e.example/a", id="invisible"
        ),
        pytest.param(
            "https://e.example/a\u200cb", "https://e.example/a%E2%80%8Cb", id="a joiner in Persian"
        ),
        pytest.param("{e.example/a}", "https://e.example/a", id="braces"),
        pytest.param("「https://e.example/a」", "https://e.example/a", id="Japanese quotes"),
        pytest.param("*e.example/a*", "https://e.example/a", id="Markdown emphasis"),
        pytest.param("e.example.", "https://e.example/", id="end of a sentence"),
        pytest.param("https://e.example./a", "https://e.example/a", id="a full name"),
        pytest.param("RSS: e.example/a", "https://e.example/a", id="label of a list"),
        pytest.param(
            "https://e.example/a https://e.example/a", "https://e.example/a", id="pasted twice"
        ),
    ],
)
def test_an_address_is_understood_as_it_was_meant(text: str, expected: str) -> None:
    assert resolve_url(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param(" ", id="blank"),
        pytest.param('"', id="a lone quote"),
        pytest.param("#a", id="fragment without a base"),
        pytest.param("/feed", id="path without a base"),
        pytest.param("path/to/feed", id="no credible host"),
        pytest.param("mailto:a@e.example", id="mailto"),
        pytest.param("tel:+1", id="tel"),
        pytest.param("data:,x", id="data"),
        pytest.param("file:///etc/passwd", id="file"),
        pytest.param("feed:file:///x", id="wrapped file"),
        pytest.param("javascript:alert(1)", id="javascript"),
        pytest.param("https://", id="no host"),
        pytest.param("//Users/f.xml", id="a file path"),
        pytest.param("not a url at all :::", id="prose"),
        pytest.param("feed:e.example", id="neither wrapped nor with slashes"),
        pytest.param("https://e.example:port/", id="no port"),
        pytest.param("a https://e.example/ b https://f.example/", id="two addresses"),
        pytest.param("https://e.example/ and https://f.example/", id="two, the first in front"),
        pytest.param("javascript:x='https://e.example/'", id="a script with an address"),
        pytest.param("\ud800.example", id="no text"),
        pytest.param("https%3a%2f%2f\ud800.example", id="escapes and no text"),
    ],
)
def test_what_means_no_http_url_is_none(text: str) -> None:
    assert resolve_url(text) is None


@pytest.mark.parametrize(
    ("text", "base", "expected"),
    [
        pytest.param("rss.xml", BASE, "https://e.example/blog/rss.xml", id="relative"),
        pytest.param("../a", BASE, "https://e.example/a", id="parent"),
        pytest.param("#a", BASE, "https://e.example/blog/feed.xml#a", id="fragment"),
        pytest.param("//o.example/a", BASE, "https://o.example/a", id="scheme-relative"),
        pytest.param("feed://o.example/a", BASE, "https://o.example/a", id="feed scheme"),
        pytest.param("htp//o.example", BASE, "http://o.example/", id="mangled"),
        pytest.param("o.example:81/a", BASE, "https://o.example:81/a", id="host and port"),
        pytest.param("https://o.example/", "broken", "https://o.example/", id="base not needed"),
        pytest.param("rss.xml", "broken", None, id="base needed"),
        pytest.param("javascript:alert(1)", BASE, None, id="javascript"),
        pytest.param("", BASE, None, id="empty is missing, not the base"),
    ],
)
def test_a_declared_address_is_read_against_its_document(
    text: str, base: str, expected: str | None
) -> None:
    assert resolve_url(text, base) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("a&amp;b&lt;", "a&b<", id="named"),
        pytest.param("&#38;&#x26;&#X26;", "&&&", id="numbered"),
        pytest.param("&amp;amp;", "&amp;", id="once"),
        pytest.param("&copy=1&notit;&para", "&copy=1&notit;&para", id="not well-formed"),
        pytest.param("&unknown;", "&unknown;", id="unknown"),
        pytest.param("&#x110000;", "\ufffd", id="no character"),
        pytest.param("&#;&#x;&;", "&#;&#x;&;", id="no number, no name"),
        pytest.param("plain", "plain", id="nothing to decode"),
    ],
)
def test_only_entities_that_end_in_a_semicolon_are_decoded(text: str, expected: str) -> None:
    assert decode_entities(text) == expected


@pytest.mark.parametrize("outer", ["http", "https"])
@pytest.mark.parametrize("inner", ["http", "https"])
def test_a_protocol_that_was_pasted_as_a_host_is_a_protocol(outer: str, inner: str) -> None:
    assert resolve_url(f"{outer}://{inner}/example.com/feed") == f"{inner}://example.com/feed"


def test_a_host_that_is_called_http_stays_one() -> None:
    assert resolve_url("http://http/feed") == "http://http/feed"
    assert resolve_url("http://http.example/feed") == "http://http.example/feed"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("https://e.example/a,", "https://e.example/a", id="comma"),
        pytest.param("https://e.example/a).", "https://e.example/a", id="bracket and full stop"),
        pytest.param("https://e.example/a_(b)", "https://e.example/a_(b)", id="its own bracket"),
        pytest.param("https://e.example/a", "https://e.example/a", id="none"),
        pytest.param(
            "https://e.example/a (RSS) - Ada", "https://e.example/a", id="words behind it"
        ),
        pytest.param("https://e.example/a\nSent by Ada", "https://e.example/a", id="the next line"),
        pytest.param(
            "https://e.example/a，很好", "https://e.example/a", id="a sentence without spaces"
        ),
        pytest.param("<https://e.example/a|Ada>", "https://e.example/a", id="a link of a chat"),
        pytest.param("<", "", id="nothing else"),
    ],
)
def test_what_was_copied_with_an_address_is_cut_off(text: str, expected: str) -> None:
    assert without_surrounding_text(text) == expected


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        pytest.param("https://feeds2.feedburner.com/x", "https://feeds.feedburner.com/x", id="2"),
        pytest.param(
            "http://feedproxy.google.com/~r/X/~3/y/?format=xml#z",
            "http://feeds.feedburner.com/~r/X/~3/y",
            id="proxy, query, slash and fragment",
        ),
        pytest.param("https://feeds.feedburner.com//x", "https://feeds.feedburner.com/x", id="//"),
        pytest.param(
            "https://u:p@feeds.feedburner.com:81/x", "https://feeds.feedburner.com/x", id="u"
        ),
        pytest.param("https://feeds.feedburner.com", "https://feeds.feedburner.com/", id="root"),
        pytest.param("https://feedburner.com/x", None, id="another host"),
        pytest.param("https://feeds.feedburner.com.evil.example/x", None, id="a lookalike"),
        pytest.param("nonsense", None, id="no URL"),
    ],
)
def test_feedburner_has_one_host_and_no_query(url: str, expected: str | None) -> None:
    assert feedburner(url) == expected


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        pytest.param("http://blog.blogspot.de/a", f"{BLOG}/a", id="a country"),
        pytest.param("https://blog.blogspot.co.uk/a", f"{BLOG}/a", id="below a second level"),
        pytest.param("https://blog.blogspot.com.br/a", f"{BLOG}/a", id="com below a country"),
        pytest.param("https://a.b.blogspot.in/", "https://a.b.blogspot.com/", id="subdomain"),
        pytest.param(
            "http://beta.blogger.com/feeds/1", "https://www.blogger.com/feeds/1", id="beta"
        ),
        pytest.param(f"{BLOG}/atom.xml", f"{BLOG}/feeds/posts/default", id="old Atom"),
        pytest.param(f"{BLOG}/rss.xml", f"{BLOG}/feeds/posts/default?alt=rss", id="old RSS"),
        pytest.param(f"{BLOG}/rss.xml?alt=rss", f"{BLOG}/feeds/posts/default?alt=rss", id="once"),
        pytest.param(
            "https://blogger.com/rss.xml", "https://www.blogger.com/rss.xml", id="no blog"
        ),
        pytest.param(f"{BLOG}/a?alt=Atom&v=2&max-results=5", f"{BLOG}/a", id="defaults and paging"),
        pytest.param(f"{BLOG}/a?alt=json&redirect=false", f"{BLOG}/a", id="JSON is a wrapping"),
        pytest.param(f"{BLOG}/a?alt", f"{BLOG}/a", id="empty alt"),
        pytest.param(
            f"{BLOG}/a?z=1&alt=rss&b=2", f"{BLOG}/a?alt=rss&b=2&z=1", id="the rest sorted"
        ),
        pytest.param(f"{BLOG}//a/-/%7Et/?#x", f"{BLOG}/a/-/~t", id="tidied"),
        pytest.param("https://blogspot.com/a", None, id="no blog's host"),
        pytest.param("https://blog.blogspot.com.evil.example/a", None, id="a lookalike"),
        pytest.param("https://blog.blogspot.info/a", None, id="no domain of Blogger's"),
        pytest.param("nonsense", None, id="no URL"),
    ],
)
def test_a_blogger_feed_lives_on_com(url: str, expected: str | None) -> None:
    assert blogger(url) == expected


def test_the_first_rewrite_that_knows_the_url_is_applied() -> None:
    url = "http://blog.blogspot.de/atom.xml"

    rewritten = rewritten_url(url, (feedburner, blogger, lambda _: "https://never.example/"))

    assert rewritten == f"{BLOG}/feeds/posts/default"


def test_a_url_that_no_rewrite_knows_is_not_rewritten() -> None:
    assert rewritten_url("HTTP://e.example", (feedburner, blogger)) is None


@pytest.mark.parametrize(
    ("url", "path"),
    [
        pytest.param("https://e.example/?feed=rss2", "/feed", id="RSS"),
        pytest.param("https://e.example/?feed=RDF", "/feed", id="any case"),
        pytest.param(
            "https://e.example/blog/?feed=atom", "/blog/feed/atom", id="Atom, in a folder"
        ),
        pytest.param("https://e.example/?feed=comments-rss", "/comments/feed", id="comments"),
        pytest.param("https://e.example/?feed=comments-atom", "/comments/feed/atom", id="both"),
        pytest.param("https://e.example/blog/feed/?feed=rss2", "/blog/feed", id="pretty already"),
        pytest.param("https://e.example/feed/atom?feed=atom", "/feed/atom", id="pretty Atom"),
        pytest.param("https://e.example/feedback/?feed=rss", "/feedback/feed", id="feedback"),
        pytest.param("https://e.example/feed/blog?feed=rss", "/feed/blog/feed", id="a folder feed"),
        pytest.param("https://e.example/?feed=x&feed=rss", "/feed", id="the one it knows"),
    ],
)
def test_a_wordpress_feed_may_have_a_pretty_address(url: str, path: str) -> None:
    assert wordpress_candidates(url) == (f"https://e.example{path}", f"https://e.example{path}/")


def test_a_wordpress_candidate_keeps_the_other_parameters_and_no_credential() -> None:
    candidates = wordpress_candidates("https://u:p@e.example:81/?cat=3&feed=rss2&tag=%7e#x")

    assert candidates == (
        "https://e.example:81/feed?cat=3&tag=%7e",
        "https://e.example:81/feed/?cat=3&tag=%7e",
    )


@pytest.mark.parametrize(
    "url",
    [
        pytest.param("https://e.example/feed", id="no query"),
        pytest.param("https://e.example/?feed=json", id="another format"),
        pytest.param("https://e.example/?feed=comments-json", id="another format of comments"),
        pytest.param("https://e.example/?feeds=rss2", id="another parameter"),
        pytest.param("nonsense", id="no URL"),
    ],
)
def test_what_is_no_wordpress_feed_has_no_candidates(url: str) -> None:
    assert wordpress_candidates(url) == ()


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        pytest.param(
            "https://e.example/a,", ["https://e.example/a,", "https://e.example/a"], id="end"
        ),
        pytest.param(
            "http://010.0.0.1,", ["http://010.0.0.1,/"], id="never an address in disguise"
        ),
        pytest.param("https://e.example/a", ["https://e.example/a"], id="none"),
        pytest.param("e.example: https://f.example/a", ["https://f.example/a"], id="a name before"),
    ],
)
def test_an_address_without_its_full_stop_is_asked_second(
    address: str, expected: list[str]
) -> None:
    assert [url for url, _ in starting_urls(address, ())] == expected
