"""Filters that nothing could pass are refused; what pages hold is tested in tests/contracts/store."""

from datetime import UTC, datetime
from typing import Any

import pytest

from feedmill.errors import FilterError
from feedmill.model.derived.search import SearchQuery
from feedmill.model.page import EntryFilter, check_filter

QUERY = SearchQuery(text="bees", required=())
EARLY, LATE = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)


@pytest.mark.parametrize(
    ("filters", "words"),
    [
        ({"tag": " "}, "tag is empty"),
        ({"text": ""}, "text is empty"),
        ({"since": LATE, "until": EARLY}, r"^since .* is after until"),
        ({"published_since": LATE, "published_until": EARLY}, "published_since .* is after"),
        ({"order": "relevance"}, "give one, or another order"),
        (
            {"order": "relevance", "query": QUERY, "ascending": True},
            "the best first",
        ),
    ],
)
def test_filter_that_nothing_could_pass_is_refused(filters: dict[str, Any], words: str) -> None:
    with pytest.raises(FilterError, match=words):
        check_filter(EntryFilter(**filters))


def test_filter_that_something_could_pass_is_let_through() -> None:
    check_filter(EntryFilter(tag="news", since=EARLY, until=EARLY, published_since=EARLY))
    check_filter(EntryFilter(order="relevance", query=QUERY))
