"""Tags are clean, unique whatever their case, and in a stable order."""

from hypothesis import given
from hypothesis import strategies as st

from feedmill.model.parsed import Category
from feedmill.normalise.fields import MAX_CATEGORY_CHARS, clean_categories


def tags(*terms: str, max_tags: int = 256) -> tuple[str, ...]:
    return clean_categories([Category(term=term) for term in terms], max_tags)


def test_the_first_spelling_of_a_tag_stays() -> None:
    assert tags("News", "NEWS", "news", "Straße", "STRASSE") == ("News", "Straße")


def test_tags_are_sorted_without_regard_to_case() -> None:
    assert tags("b", "A", "C") == ("A", "b", "C")


def test_tags_are_clean_text() -> None:
    assert tags(" R&amp;D ", "<b>x</b>", "", "<br>") == ("R&D", "x")


def test_a_label_stands_in_for_a_missing_term() -> None:
    found = clean_categories(
        [Category(term=" ", label="Label"), Category(term="t", label="other")], 256
    )

    assert found == ("Label", "t")


def test_the_first_tags_are_kept_when_there_are_too_many() -> None:
    assert tags("z", "Z", "y", "x", max_tags=2) == ("y", "z")


def test_a_tag_is_never_long() -> None:
    (tag,) = tags("x" * 1000)

    assert len(tag) == MAX_CATEGORY_CHARS


@given(st.lists(st.text(max_size=5)))
def test_cleaning_tags_twice_changes_nothing(terms: list[str]) -> None:
    once = tags(*terms)

    assert tags(*once) == once
    assert len({tag.casefold() for tag in once}) == len(once)
