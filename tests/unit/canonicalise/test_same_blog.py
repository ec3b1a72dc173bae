"""Formats of one blog are told from parts of it, comments and other blogs; the best one is taken."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from feedmill.canonicalise.same_blog import best_format, format_name, same_blog
from feedmill.model.canonical import FeedFacts
from feedmill.model.parsed import FeedFormat


def blog(
    *numbers: int, form: FeedFormat = "rss20", title: str = "Paper", **more: object
) -> FeedFacts:
    items = tuple((f"paper.example/{number}", f"entry {number}") for number in numbers)
    facts = FeedFacts(
        format=form, title=title, site="paper.example", entries=len(items), items=items,
        dated=len(items), named=len(items), text_chars=100 * len(items),
    )  # fmt: skip
    return replace(facts, **more)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(blog(3, 2, 1), blog(3, 2, 1, form="atom10", title="Paper (Atom)"), id="formats"),
        pytest.param(blog(9, 8, 7), blog(9, 8, 7, 6, 5, 4, 3), id="one is longer"),
        pytest.param(blog(9, 8, 7), blog(8, 7, 6), id="one is cached"),
        pytest.param(blog(1), blog(1, site=""), id="one entry, one home page"),
        pytest.param(blog(2, 1), blog(2, 1, items=(("paper.example/2", ""), ("paper.example/1", ""))), id="no titles"),
    ],
)  # fmt: skip
def test_one_blog_in_two_formats_is_one_feed(one: FeedFacts, other: FeedFacts) -> None:
    assert same_blog(one, other)
    assert same_blog(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(blog(9, 8, 7, 6, 5), blog(9, 7, 5), id="a category"),
        pytest.param(blog(9, 8, 7), blog(9, 8, 7, title="Paper: cats"), id="another title"),
        pytest.param(blog(9, 8, 7), blog(9, 8, 7, site="other.example"), id="another site"),
        pytest.param(blog(9, 8, 7), blog(3, 2, 1), id="no common entry"),
        pytest.param(blog(9, 8, 7, 6, 5, 4), blog(5, 4, 3), id="too far behind"),
        pytest.param(blog(2, 1), blog(2, 1, items=(("paper.example/2", "By: A"), ("paper.example/1", "By: B"))), id="comments"),
        pytest.param(blog(), blog(), id="nothing to compare"),
        pytest.param(blog(4, 3, 2, 1, 0), blog(7, 4, 3, 6), id="both go on otherwise"),
    ],
)  # fmt: skip
def test_other_feeds_are_not_taken_for_one(one: FeedFacts, other: FeedFacts) -> None:
    assert not same_blog(one, other)
    assert not same_blog(other, one)


@given(
    st.lists(st.integers(0, 50), max_size=8, unique=True),
    st.lists(st.integers(0, 50), max_size=8, unique=True),
)
def test_being_one_blog_does_not_depend_on_the_order_of_the_question(
    one: list[int], other: list[int]
) -> None:
    assert same_blog(blog(*one), blog(*other)) == same_blog(blog(*other), blog(*one))


SHORT = blog(2, 1, form="atom10", text_chars=50)


@pytest.mark.parametrize(
    ("formats", "best", "why"),
    [
        ([blog(1)], 0, ""),
        ([SHORT, blog(2, 1, text_chars=900)], 1, "full texts"),
        ([blog(2, 1, form="atom10", dated=1), blog(2, 1)], 1, "dates"),
        ([blog(2, 1, form="atom10", named=0), blog(2, 1)], 1, "ids"),
        ([blog(2, 1, form="atom10"), blog(2, 1, has_hub=True)], 1, "a hub that reports new entries"),
        ([blog(2, 1, form="json11"), blog(2, 1), blog(2, 1, form="atom10")], 2, "the richer format"),
        ([blog(2, 1, form="rss092"), blog(2, 1, form="rss091")], 0, "the first one that the page names"),
    ],
)  # fmt: skip
def test_the_best_format_is_taken_by_the_first_rule_that_tells_them_apart(
    formats: list[FeedFacts], best: int, why: str
) -> None:
    assert best_format(formats) == (best, why)


@pytest.mark.parametrize(
    ("form", "name"), [("atom10", "Atom"), ("json11", "JSON Feed"), ("rss092", "RSS")]
)
def test_a_format_has_the_name_that_people_use(form: str, name: str) -> None:
    assert format_name(form) == name
