"""Filters that nothing could pass, or that contradict themselves, are refused: a list of nothing would pass for an answer."""
# Tested in tests/integration/interfaces/rest/test_problems.py

from datetime import datetime

from feedmill.errors import FilterError, RangeError
from feedmill.model.page import EntryFilter


def check_filter(where: EntryFilter) -> None:
    """FilterError when a text is empty, a range ends before it begins, or an order does not go with the rest."""
    for name in ("tag", "category", "author", "language", "text"):
        check_text(name, getattr(where, name))
    check_range(where.since, where.until)
    check_range(where.published_since, where.published_until, "published_")
    if where.order == "relevance" and where.query is None:
        message = "relevance is the order of a search: give one, or another order"
        raise FilterError(message)
    if where.order == "relevance" and where.ascending:
        message = (
            "a search by relevance has the best first;"
            " for the oldest first, order it by published or first_seen"
        )
        raise FilterError(message)


def check_text(name: str, text: str | None) -> None:
    """FilterError when a text is empty: it is a variable that a program did not set, not "any"."""
    if text is not None and not text.strip():
        message = f"{name} is empty; leave it out instead"
        raise FilterError(message)


def check_range(since: datetime | None, until: datetime | None, kind: str = "") -> None:
    """RangeError when the range ends before it begins."""
    if since is not None and until is not None and since > until:
        message = f"{kind}since ({since.isoformat()}) is after {kind}until ({until.isoformat()})"
        raise RangeError(message)
