"""The score of seed 004, term by term."""

import pytest

from feedmill.canonicalise.policies import cleanliness


@pytest.mark.parametrize(
    ("url", "score"),
    [
        pytest.param("https://e.example/a", 100 + 50 + 20 + 30 + 25 + 15 + 10 + 18.1, id="clean"),
        pytest.param("http://e.example/a", 0 + 50 + 20 + 30 + 25 + 15 + 10 + 18.2, id="no https"),
        pytest.param("https://www.e.example/a", 100 + 20 + 30 + 25 + 15 + 10 + 17.7, id="www"),
        pytest.param("https://e.example/a/", 100 + 50 + 30 + 25 + 15 + 10 + 18.0, id="slash"),
        pytest.param("https://e.example/", 250 + 18.2, id="the root's slash does not count"),
        pytest.param("https://e.example", 250 + 18.3, id="the length is that of the text given"),
        pytest.param("https://e.example/a?b&&c=1", 240 + 17.4, id="two parameters"),
        pytest.param("https://e.example/?a&b&c&d&e&f&g&h", 220 + 16.6, id="never below nothing"),
        pytest.param("https://e.example/a?TS=1", 220 + 17.6, id="tracking"),
        pytest.param("https://u@e.example/a", 235 + 17.9, id="user"),
        pytest.param("https://:p@e.example/a", 235 + 17.8, id="password"),
        pytest.param("https://e.example/a#b", 240 + 17.9, id="fragment"),
        pytest.param("https://e.example/a#", 250 + 18.0, id="empty fragment"),
        pytest.param("https://e.example/" + "a" * 200, 250, id="too long to matter"),
        pytest.param("https://e.example/😀", 250 + 18.0, id="length in UTF-16 units"),
        pytest.param("not a url", 0, id="no URL"),
        pytest.param("https://e.example/\ud800", 0, id="no text"),
    ],
)
def test_cleaner_urls_score_higher(url: str, score: float) -> None:
    assert cleanliness(url) == pytest.approx(score)


def test_the_seeds_examples_come_in_the_seeds_order() -> None:
    examples = [
        "http://www.example.com/feed/?utm_source=x",
        "https://www.example.com/feed",
        "https://example.com/feed/",
        "https://example.com/feed?id=1",
        "https://example.com/feed",
    ]

    ranked = sorted(set(examples), key=cleanliness)

    assert ranked == examples


def test_what_counts_as_tracking_can_be_said() -> None:
    url = "https://e.example/a?ts=1&x=2"

    difference = cleanliness(url, ["x"]) - cleanliness(url, ["y"])

    assert difference == pytest.approx(-25)
