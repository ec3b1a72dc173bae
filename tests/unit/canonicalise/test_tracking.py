"""Which parameters count as tracking, and for whom (D1)."""

import pytest

from feedmill.canonicalise.tracking import (
    ARTICLE_PARAMS,
    FEED_PARAMS,
    IDENTITY_PARAMS,
    adds_only_tracking,
    is_tracking,
    tracking_list,
)


@pytest.mark.parametrize(
    ("name", "identity", "article", "feed"),
    [
        pytest.param("utm_source", True, True, True, id="everybody knows it"),
        pytest.param("UTM_Medium", True, True, True, id="whatever the case"),
        pytest.param("utm_anything", True, False, True, id="003 names five, no family"),
        pytest.param("utm", False, False, False, id="not in the family"),
        pytest.param("ref", True, False, False, id="generic: only for identity"),
        pytest.param("source", True, False, False, id="generic: only for identity"),
        pytest.param("via", False, False, False, id="004 leaves it alone"),
        pytest.param("ref_src", False, False, False, id="004 leaves it alone, too"),
        pytest.param("cHash", False, False, False, id="TYPO3 needs it"),
        pytest.param("mc_cid", True, True, True, id="Mailchimp"),
        pytest.param("msclkid", False, False, True, id="only the long list"),
        pytest.param("obOrigUrl", False, False, True, id="mixed case in the wild"),
        pytest.param("reference", False, False, False, id="whole names only"),
        pytest.param("id", False, False, False, id="functional"),
        pytest.param("", False, False, False, id="no name"),
    ],
)
def test_each_purpose_has_its_own_list(
    name: str, identity: bool, article: bool, feed: bool
) -> None:
    lists = (IDENTITY_PARAMS, ARTICLE_PARAMS, FEED_PARAMS)

    answers = tuple(is_tracking(name, tracking_list(names)) for names in lists)

    assert answers == (identity, article, feed)


def test_a_star_stands_for_a_family() -> None:
    listed = tracking_list(["Foo_*", "Bar"])

    answers = [is_tracking(name, listed) for name in ("foo_", "FOO_x", "foo", "bar", "bar_x")]

    assert answers == [True, True, False, True, False]


def test_a_star_alone_is_no_family_of_everything() -> None:
    assert not is_tracking("id", tracking_list(["*"]))


def test_what_is_no_address_has_no_tracking_added() -> None:
    assert not adds_only_tracking("nonsense", "https://example.com/?utm_source=x")
    assert not adds_only_tracking("https://example.com/feed", "https://example.com/other?utm_a=1")
    assert adds_only_tracking("https://example.com/?a=1", "https://example.com/?a=1&utm_a=1")


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param("/a", "/a;jsessionid=1", True, id="a visit behind the path"),
        pytest.param("/a?b=1", "/a;jsessionid=1?b=1", True, id="beside a query"),
        pytest.param("/a", "/a;jsessionid=1?b=1", False, id="with a new query"),
        pytest.param("/a", "/a;v=2", False, id="another path parameter"),
        pytest.param("/a;jsessionid=1", "/a;jsessionid=2", False, id="another visit"),
    ],
)
def test_a_session_behind_the_path_is_tracking(before: str, after: str, *, expected: bool) -> None:
    site = "https://e.example"

    assert adds_only_tracking(f"{site}{before}", f"{site}{after}") is expected
