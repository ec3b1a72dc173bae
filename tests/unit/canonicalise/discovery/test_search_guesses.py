"""Where a feed often is."""

import pytest

from feedmill.canonicalise.discovery.search import WELL_KNOWN, guess_feeds


def paths(url: str) -> list[str]:
    return [feed.url.removeprefix("https://example.com") for feed in guess_feeds(url)]


@pytest.mark.parametrize("url", ["https://example.com", "https://example.com/index.html?a=1#b"])
def test_the_root_of_a_site_has_well_known_paths(url: str) -> None:
    assert paths(url) == [f"/{name}" for name in WELL_KNOWN]


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com/blog/",
        "https://example.com/blog",
        "https://example.com/blog/index.php",
        "https://me:secret@example.com/blog?x",
    ],
)
def test_a_folder_close_to_the_root_comes_before_it(url: str) -> None:
    assert paths(url)[:4] == ["/blog/feed", "/feed", "/blog/rss.xml", "/rss.xml"]


def test_a_page_far_from_the_root_comes_after_it() -> None:
    assert paths("https://example.com/2024/05/post")[:2] == ["/feed", "/2024/05/post/feed"]


def test_the_page_itself_is_not_guessed() -> None:
    assert "https://example.com/feed" not in [
        g.url for g in guess_feeds("https://example.com/feed")
    ]


def test_the_port_stays() -> None:
    assert guess_feeds("http://example.com:8080/")[0].url == "http://example.com:8080/feed"


def test_what_is_no_web_page_has_no_paths() -> None:
    assert guess_feeds("mailto:somebody@example.com") == ()


def test_guesses_are_marked_as_such() -> None:
    assert {guess.found_by for guess in guess_feeds("https://example.com/")} == {"guess"}
