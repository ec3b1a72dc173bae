"""The range that a reader asks for."""

import pytest

from feedmill.media.resume import ByteRange, Unsatisfiable, read_range


@pytest.mark.parametrize(("asked", "found"), [
    pytest.param("bytes=0-9", ByteRange(start=0, end=10), id="the beginning"),
    pytest.param("bytes=90-", ByteRange(start=90, end=100), id="the rest"),
    pytest.param("bytes=-10", ByteRange(start=90, end=100), id="the end"),
    pytest.param("bytes=-1000", ByteRange(start=0, end=100), id="more than there is"),
    pytest.param("Bytes = 90 - 200", ByteRange(start=90, end=100), id="beyond the end"),
    pytest.param("bytes=100-", Unsatisfiable(), id="behind the end"),
    pytest.param("bytes=-0", Unsatisfiable(), id="nothing of the end"),
    pytest.param("bytes=9-1", None, id="backwards"),
    pytest.param("bytes=-", None, id="no number"),
    pytest.param("bytes=0-1,5-6", None, id="several"),
    pytest.param("lines=0-1", None, id="another unit"),
    pytest.param(None, None, id="none"),
])  # fmt: skip
def test_range_is_read(asked: str | None, found: object) -> None:
    assert read_range(asked, 100) == found
