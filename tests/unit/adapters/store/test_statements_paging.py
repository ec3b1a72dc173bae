"""Cursors and words in titles, as every store understands them."""

import pytest

from feedmill.adapters.store.postgres.run_query import title_search
from feedmill.adapters.store.statements import begins_word, page_between, page_of, position
from feedmill.adapters.store.tables.codec import NEVER
from feedmill.adapters.store.tables.contents.entry_codec import article_position
from feedmill.errors import UsageError

ROWS = [(number,) for number in range(5)]


def test_a_row_more_than_asked_for_says_that_there_is_another_page() -> None:
    first = page_of(ROWS[:4], 3, lambda row: row[0], lambda row: f"{row[0]}")
    last = page_of(ROWS[3:], 3, lambda row: row[0], lambda row: f"{row[0]}")

    assert (first.items, first.next) == ((0, 1, 2), "2")
    assert (last.items, last.next) == ((3, 4), None)


@pytest.mark.parametrize(
    ("after", "before", "items", "following", "previous"),
    [
        (None, None, (0, 1), "1", None),
        ("9", None, (0, 1), "1", "0"),
        (None, "9", (1, 0), "0", "1"),
    ],
)
def test_a_page_has_one_order_whichever_way_it_was_read(
    after: str | None,
    before: str | None,
    items: tuple[int, ...],
    following: str | None,
    previous: str | None,
) -> None:
    page = page_between(
        ROWS[:3], 2, lambda row: row[0], lambda row: f"{row[0]}", after=after, before=before
    )

    assert (page.items, page.next, page.previous) == (items, following, previous)


@pytest.mark.parametrize("cursor", ["", "1", "1.2.3", "1.x", "1.1234567890123456789", "١.٢"])
def test_a_cursor_of_another_list_is_refused(cursor: str) -> None:
    with pytest.raises(UsageError):
        position(cursor, 2)


def test_a_cursor_says_where_to_go_on() -> None:
    assert position("-5.7", 2) == (-5, 7)
    assert position(None, 2) is None
    assert article_position(None) == (NEVER, "")
    assert article_position("12.ab.c") == (12, "ab.c")


@pytest.mark.parametrize(
    ("title", "text", "found"),
    [
        ("Straße und Maße", "STRASS", True),
        ("About news", "new", True),
        ("About news", "ews", False),
        ("a.b", "b", True),
        ("a.b", "a+", False),
        (None, "a", False),
    ],
)
def test_a_word_begins_like_that_whatever_its_case(
    title: str | None, text: str, found: bool
) -> None:
    assert begins_word(title, text) is found
    assert title_search(text).match(title) is found


def test_only_what_cannot_match_is_left_to_the_database() -> None:
    ((clause, pattern),) = title_search("50%_\\").conditions
    assert pattern == "%50\\%\\_\\\\%"
    assert "octet_length" in clause  # a title beyond ASCII may fold into ASCII
    assert [value for _, value in title_search("新聞 É 한국").conditions] == ["新聞", "한국"]
    assert [value for _, value in title_search("É").conditions] == ["é"]
