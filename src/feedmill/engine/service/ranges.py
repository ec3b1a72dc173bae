"""Ranges of time that end before they begin are refused: a list of nothing would pass for an answer."""
# Tested in tests/integration/interfaces/cli/test_wrong_usage.py

from datetime import datetime

from feedmill.errors import RangeError
from feedmill.model.page import EntryFilter


def check_filter(where: EntryFilter) -> None:
    """RangeError when one of its ranges ends before it begins: no entry could be in it."""
    check_range(where.since, where.until)
    check_range(where.published_since, where.published_until, "published_")


def check_range(since: datetime | None, until: datetime | None, kind: str = "") -> None:
    """RangeError when the range ends before it begins."""
    if since is not None and until is not None and since > until:
        message = f"{kind}since ({since.isoformat()}) is after {kind}until ({until.isoformat()})"
        raise RangeError(message)
