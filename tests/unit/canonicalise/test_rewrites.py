"""What the platforms call their own feeds."""

import pytest

from feedmill.canonicalise.rewrites import (
    blogger,
    feedburner,
    rewritten_url,
    starting_urls,
    wordpress_candidates,
)

BLOG = "https://blog.blogspot.com"


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
    ],
)
def test_an_address_without_its_full_stop_is_asked_second(
    address: str, expected: list[str]
) -> None:
    assert [url for url, _ in starting_urls(address, ())] == expected
